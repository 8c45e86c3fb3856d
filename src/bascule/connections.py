"""
The outside, as the core holds it: one connection per target and credential.

A connection joins a manager with its monitor, knows whether the target answers, counts
the jobs that are active there, and keeps the list of jobs that wait for it. What it
learns about the target becomes the target's conditions, written when they change.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from random import Random

from msgspec.structs import replace

from bascule.decide.health import conditions_of
from bascule.errors import Error, Fenced, Unavailable
from bascule.journal import Logger
from bascule.model import Health, Ref, Target
from bascule.monitor import Monitor
from bascule.ports import Clock, Manager, Platform

FIRST_PROBE = 2.0
LONGEST_PROBE, LONGEST_REFUSED = 120.0, 30.0  # the latter where only a credential is to be renewed
log = Logger(__name__)

Connect = Callable[[Target, str], Awaitable[Manager]]
"""Make the manager of a target for jobs of a namespace; raises `Mistake` where the target is wrong."""


class Connection:
    """One target under one credential."""

    def __init__(
        self,
        target: Target,
        manager: Manager,
        *,
        platform: Platform,
        clock: Clock,
        wake: Callable[[Ref], None],
        luck: Random,
        listed: asyncio.Event,
        is_watched: bool = True,
    ) -> None:
        limits = target.spec.limits
        rest = limits.poll_interval.total_seconds() if limits.poll_interval else None
        self.target = target
        self.manager = manager
        self.is_watched = is_watched
        """Whether its jobs are watched here, and not by other processes."""
        self.reachable: bool | None = None
        self.silence = ""
        self.instance = ""
        self.monitor = Monitor(
            manager.observe, manager.abilities, clock, wake=wake, heard=self._heard_by_monitor, rest=rest, luck=luck
        )
        self._platform = platform
        self._clock = clock
        self._wake = wake
        self._listed = listed
        self._waiting: dict[Ref, None] = {}
        self._probe = asyncio.Event()
        self._written = target.status

    async def run(self) -> None:
        """Watch, and look for a silent target until it answers; until cancelled."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._watch(), name=f"monitor {self.target.name}")
                tasks.create_task(self._look_for_silent_target(), name=f"probe {self.target.name}")
        finally:
            await self.manager.aclose()

    async def _watch(self) -> None:
        # A look at the first few jobs would only keep the one at all of them waiting.
        await self._listed.wait()
        await self.monitor.run()

    def wait_for(self, ref: Ref) -> None:
        """Note that *ref* waits for this target, to be woken when it answers."""
        self._waiting[ref] = None

    def heard(self, trouble: Error | None) -> None:
        """Take note of how a call to the manager went: None is an answer."""
        if trouble is None or not isinstance(trouble, Unavailable):
            if self.reachable is not True:
                self.reachable, self.silence = True, ""
                self.wake_waiting()
        else:
            words = f"{trouble.message} ({trouble.hint})" if trouble.hint else trouble.message
            self.silence = words
            self.reachable = False
            self._probe.set()

    def wake_waiting(self) -> None:
        """Let every waiting job look again."""
        waiting, self._waiting = self._waiting, {}
        for ref in waiting:
            self._wake(ref)

    def _heard_by_monitor(self, trouble: Error | None) -> None:
        was = self.reachable
        self.heard(trouble)
        if self.reachable is not was or was is None:
            self._probe.set()

    async def _look_for_silent_target(self) -> None:
        wait = FIRST_PROBE
        if self.manager.abilities.volatile:
            self._probe.set()
        while True:
            await self._probe.wait()
            self._probe.clear()
            health = await self.manager.probe()
            self.instance = health.instance or self.instance
            if health.reachable and health.authenticated and health.compatible:
                wait = FIRST_PROBE
                self.heard(None)
            else:
                self.heard(Unavailable(health.message, hint=health.hint))
            await self.write(health)
            if not self.reachable:
                await self._clock.sleep(wait)
                refused = health.reachable and not health.authenticated
                wait = min(wait * 2.0, LONGEST_REFUSED if refused else LONGEST_PROBE)
                self._probe.set()

    async def write(self, health: Health) -> None:
        """Put *health* into the target's conditions, if it differs."""
        status = conditions_of(health, self._written, self.target.generation, self._clock.now())
        if status == self._written:
            return
        try:
            fresh = await self._platform.target(self.target.ref)
            if fresh is not None and fresh.uid == self.target.uid:
                await self._platform.save_target(replace(fresh, status=status))
            self._written = status
        except Fenced:
            raise
        except Unavailable as trouble:
            log.warning("target.not_written", target=str(self.target.ref), error=str(trouble))


_Key = tuple[Ref, str, bool]


class Connections:
    """All connections, made when first needed and made anew when their target changes."""

    def __init__(
        self, connect: Connect, *, platform: Platform, clock: Clock, wake: Callable[[Ref], None], luck: Random
    ) -> None:
        self._connect = connect
        self._platform = platform
        self._clock = clock
        self._wake = wake
        self._luck = luck
        self._open: dict[_Key, Connection] = {}
        self._tasks: dict[_Key, asyncio.Task[None]] = {}
        self._active: dict[Ref, set[Ref]] = {}
        self._limits: dict[Ref, int | None] = {}
        self._want_room: dict[Ref, dict[Ref, None]] = {}
        self._lock = asyncio.Lock()
        self._group: asyncio.TaskGroup | None = None
        self.listed = asyncio.Event()
        """Set once what lives from before is known; nothing is observed until then."""

    async def run(self) -> None:
        """Own the connections' tasks until cancelled; they end with it."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            await asyncio.get_running_loop().create_future()

    def all(self) -> list[Connection]:
        """Return the open connections."""
        return list(self._open.values())

    async def to(self, target: Target, namespace: str, *, watched: bool = True) -> Connection:
        """
        Return the connection for jobs of *namespace*; raise `Mistake` where the target is wrong.

        Not *watched*, nothing is asked by it: others do, and only what needs no asking is wanted.
        """
        secret = target.spec.credentials.secret
        whose = namespace if secret is not None and secret.from_ == "JobNamespace" else ""
        key = (target.ref, whose, watched)
        found = self._open.get(key)
        if found is not None and _is_same(found.target, target):
            return found
        async with self._lock:
            found = self._open.get(key)
            if found is not None and _is_same(found.target, target):
                return found
            if found is not None:
                await self._close(key)
            manager = await self._connect(target, namespace)
            made = Connection(
                target,
                manager,
                platform=self._platform,
                clock=self._clock,
                wake=self._wake,
                luck=self._luck,
                listed=self.listed,
                is_watched=watched,
            )
            if found is not None:
                for ref in found.monitor.handles():
                    self._wake(ref)
                found.wake_waiting()
            self._open[key] = made
            if self._group is None:
                raise RuntimeError("connections are used before they run")
            if not watched:
                return made
            self._tasks[key] = self._group.create_task(made.run(), name=f"connection {target.ref}")
            return made

    def kept(self, target: Ref, namespace: str) -> Connection | None:
        """Return what is still open to a target that is gone, for jobs of *namespace*."""
        return self._open.get((target, namespace, True)) or self._open.get((target, "", True))

    def may_start(self, target: Target, ref: Ref) -> bool:
        """Tell whether *ref* may become active there, and keep its place if so."""
        active = self._active.setdefault(target.ref, set())
        limit = self._limits[target.ref] = target.spec.limits.active_jobs
        if ref not in active and limit is not None and len(active) >= limit:
            return False
        active.add(ref)
        return True

    def count_in(self, target: Ref, ref: Ref) -> None:
        """Count an active job, whatever the limit."""
        self._active.setdefault(target, set()).add(ref)

    def count_out(self, target: Ref, ref: Ref) -> None:
        """Make room: *ref* is not active there. The first that waits for room is woken."""
        active = self._active.get(target)
        if active is None:
            return
        active.discard(ref)
        waiting, limit = self._want_room.get(target), self._limits.get(target)
        if waiting and (limit is None or len(active) < limit):
            first = next(iter(waiting))
            del waiting[first]
            self._wake(first)

    def wait_for_room(self, target: Ref, ref: Ref) -> None:
        """Let *ref* be woken when there is room, in the order of asking."""
        self._want_room.setdefault(target, {})[ref] = None

    def count_out_everywhere(self, ref: Ref) -> None:
        """Make room wherever *ref* was counted: it is gone."""
        for target in list(self._active):
            self._want_room.get(target, {}).pop(ref, None)
            self.count_out(target, ref)

    async def _close(self, key: _Key) -> None:
        was = self._open.pop(key, None)
        if was is not None and not was.is_watched:
            await was.manager.aclose()
        task = self._tasks.pop(key, None)
        if task is not None:
            task.cancel()
            await asyncio.wait([task])


def _is_same(one: Target, other: Target) -> bool:
    return one.uid == other.uid and one.spec == other.spec


__all__ = ["Connect", "Connection", "Connections"]
