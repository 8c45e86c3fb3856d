"""
One job from its start until nothing of it is left.

A `Run` looks when it is due or was stirred: at its wrapper, at the clock, and, once the
job is to end, at all that still lives of it. It ends when the wrapper is gone and
nobody is left; whatever a job leaves running is ended with it.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from msgspec.structs import replace

from bascule.managers.local import cgroups, traces
from bascule.managers.local.ending import Ending
from bascule.managers.local.judging import Evidence, judge
from bascule.managers.local.processes import (
    Marks,
    Process,
    catches,
    lives,
    memory_kills,
    seconds_since,
    send,
    signal_number,
    watch,
)
from bascule.managers.local.records import LEFTOVERS, WALLTIME, Birth, Outline, State, Stop
from bascule.managers.local.spool import Spool

_LOOK_AGAIN = 0.2
_LOOK_ONCE_MORE = 0.02
_LOOK_FOR_WRAPPER = 1.0
_REST = 3600.0
_WRAPPER_ENDS_WITHIN = 1.0


class Run:
    """One started job."""

    def __init__(self, outline: Outline, state: State, spool: Spool, *, ours: bool) -> None:
        self.outline = outline
        self.state = state
        self.look_at = 0.0
        self.descriptor: int | None = None
        self.wants_warning = False
        self._spool = spool
        self._folder = spool.folder(outline.key)
        self._ours = ours
        self._gone = False
        self._knows_session = ours
        self._status: int | None = None
        self._ending: Ending | None = None
        if state.wrapper is not None:
            self._watch(state.wrapper)

    @property
    def key(self) -> str:
        """The job's key."""
        return self.outline.key

    @property
    def is_ending(self) -> bool:
        """Tell whether it matters what still lives of the job."""
        return self._gone or self.state.stop is not None or self.state.wrapper is None

    @property
    def marks(self) -> Marks:
        """By what the job's processes are known."""
        wrapper = self.state.wrapper if self._knows_session else None
        return Marks(str(self._folder), wrapper, self.state.groups)

    @property
    def is_empty_for_sure(self) -> bool:
        """Tell, without a walk over all processes, that a group nobody can leave is empty."""
        if not self._gone or self.state.stop is not None:
            return False
        whole = [group for group in self.state.groups if Path(group, "cgroup.kill").exists() and self._entered(group)]
        return bool(whole) and not cgroups.is_populated(whole)

    def stir(self) -> None:
        """Look at the next opportunity."""
        self.look_at = 0.0

    def reaped(self, pid: int, status: int) -> None:
        """Take note of a child's end: it tells the truth where the wrapper no longer can."""
        if self.state.wrapper is not None and pid == self.state.wrapper.pid:
            self.stir()
            return
        born = traces.birth(self._folder, "start", self.state.launch)
        if born is None or born.pid != pid:
            return
        stop = self.state.stop
        if stop is None or not (stop.by_force or status == signal.SIGTERM):
            self._status = status

    def notice(self, now: float) -> None:
        """Look at the wrapper and at the clock."""
        self.look_at = now + _REST
        wrapper = self.state.wrapper
        if wrapper is None:
            wrapper = traces.birth(self._folder, "begun", self.state.launch)
            if wrapper is None:
                self.look_at = now + _LOOK_AGAIN
                return
            self.state = replace(self.state, wrapper=wrapper)
            self._watch(wrapper)
        if not self._gone and not lives(wrapper):
            self._gone = True
            self._unwatch()
        if self.descriptor is None and not self._gone and not self._ours:
            self.look_at = now + _LOOK_FOR_WRAPPER
        if not self._gone and self.state.stop is None:
            self._look_at_the_clock(now, seconds_since(wrapper, now))

    def stop(self, cause: str, now: float) -> bool:
        """Begin to end the job; False where it has come to its end by itself, or is being ended already."""
        wrapper = self.state.wrapper
        if self.state.stop is not None or (wrapper is not None and not lives(wrapper)):
            return False
        self.state = replace(self.state, stop=Stop(cause, now))
        self.stir()
        return True

    def end_on(self, now: float, family: list[Process]) -> bool:
        """Go on ending the job, of which *family* lives; True once it is over."""
        wrapper = self.state.wrapper
        if self._ending is None:
            self._ending = Ending(self.state.groups, wrapper.pid if wrapper and self._knows_session else None)
        nobody_is_left = self._ending.nobody_is_left(family, now)
        if nobody_is_left and (self._gone or wrapper is None):
            return True
        if wrapper is None:
            return False
        if self.state.stop is None and not family:
            self.look_at = now + _LOOK_ONCE_MORE
            return False
        stop = self.state.stop or Stop(LEFTOVERS, now)
        by_force_at = stop.since + self.outline.grace
        if now < by_force_at:
            self._ending.ask(family)
            self.look_at = min(now + _LOOK_AGAIN, by_force_at)
        else:
            stop = replace(stop, by_force=True)
            self.look_at = now + self._ending.force(family)
            if not family and now > by_force_at + _WRAPPER_ENDS_WITHIN:
                send([wrapper], signal.SIGKILL)
        self.state = replace(self.state, stop=stop)
        return False

    def conclude(self, boot: str) -> State:
        """Return the last state of a job of which nothing is left."""
        self._unwatch()
        result, finished = traces.result(self._folder, self.state.launch)
        state = self.state
        seen = Evidence(
            result=result,
            status=self._status,
            began=traces.birth(self._folder, "start", state.launch) is not None,
            failed=traces.failed(self._folder, state.launch),
            cause=state.stop.cause if state.stop else "",
            restarted=state.boot != boot,
            walltime=state.walltime,
            kills=cgroups.memory_kills(state.groups),
            kills_around=memory_kills() - state.ooms if state.boot == boot else 0,
            counted=any(self._entered(group) and cgroups.counts_kills(group) for group in state.groups),
            limited=self.outline.need.memory > 0,
        )
        cgroups.remove(state.groups)
        return replace(state, word="over", stop=None, finished=finished or time.time(), end=judge(seen))

    def _look_at_the_clock(self, now: float, lived: float) -> None:
        limit = self.state.walltime
        if limit is None:
            return
        if lived >= limit:
            self.stop(WALLTIME, now)
            return
        left = limit - lived
        if self.outline.warn is not None and not self.state.warned:
            if left <= self.outline.warn[1]:
                self.wants_warning = True
            else:
                left -= self.outline.warn[1]
        self.look_at = min(self.look_at, now + left)

    def warn(self, family: list[Process]) -> None:
        """Send the warning to whoever in the job can take it; for the others it would be the end."""
        if self.outline.warn is not None:
            number = signal_number(self.outline.warn[0])
            send((one.birth for one in family if catches(one.birth, number)), number)
        self.wants_warning = False
        self.state = replace(self.state, warned=True)

    def _entered(self, group: str) -> bool:
        return Path(group).exists() and not traces.kept_out(self._folder, self.state.launch, group)

    def _watch(self, wrapper: Birth) -> None:
        self.descriptor = watch(wrapper)
        self._knows_session = self._knows_session or lives(wrapper)

    def _unwatch(self) -> None:
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None
