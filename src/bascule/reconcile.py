"""
One pass over one job: load it, decide, save, act, and decide again with what happened.

A plan's status is saved before its action is done, by compare-and-set. So a pass that
was overtaken (a changed job, another driver) stops before it touches the outside.
"""

from __future__ import annotations

from collections.abc import Callable

import structlog
from msgspec.structs import replace

from bascule.connections import Connection, Connections
from bascule.decide import (
    Action,
    Cancel,
    Done,
    Find,
    Forget,
    Happened,
    Hold,
    Plan,
    Release,
    Seen,
    Signal,
    Submit,
    Trouble,
    Unhold,
    Update,
    decide,
    must_hold,
)
from bascule.errors import Conflict, Error, Mistake, StoreFailed
from bascule.failpoints import failpoint
from bascule.journal import Logger
from bascule.model import Absent, CannotTell, Found, Job, JobStatus, Phase, Reason, Ref, Target
from bascule.ports import Clock, Manager, Order, Platform

MOST_STEPS = 12
"""Steps in one pass; a job that needs more is looked at again at once."""
HAND_OVER_AGAIN = 30.0  # nobody tells when there is another process that could move a job
log = Logger(__name__)


class Reconciler:
    """Makes passes over jobs."""

    def __init__(
        self, platform: Platform, connections: Connections, clock: Clock, *, gone: Callable[[Ref], None]
    ) -> None:
        self._platform = platform
        self._connections = connections
        self._clock = clock
        self._dependents: dict[Ref, set[Ref]] = {}
        self._asked: dict[Ref, float] = {}
        self._gone = gone

    def dependents(self, ref: Ref) -> set[Ref]:
        """Return the jobs that were seen to wait for *ref*; they are to be looked at when it moves."""
        return self._dependents.pop(ref, set())

    async def look(self, ref: Ref) -> float | None:
        """Make one pass over *ref*; return the seconds until it should be looked at again."""
        job = await self._platform.get(ref)
        if job is None:
            self._let_go(ref)
            return None
        with structlog.contextvars.bound_contextvars(job=str(ref)):
            return await self._pass(job)

    async def take_up(self, job: Job, target: Target | None) -> Plan | None:
        """Keep *job*, just read, in mind where nothing is to be done for it now; None where it needs a pass."""
        if not self._platform.drives(job, target):
            return None
        connection, problem = await self._connection(job, target)
        seen = await self._seen(job, target, connection, problem, None)
        plan = decide(job, seen, self._clock.now())
        if plan.action is not None or plan.remove or plan.status != job.status:
            return None
        self._follow(job, connection, seen)
        return plan

    async def _pass(self, job: Job) -> float | None:
        target = await self._platform.target(job.target_ref)
        if not self._platform.drives(job, target):
            self._stand_by(job)
            return None
        passes_on = self._platform.hands_over(job, target)
        connection, problem = await self._connection(job, target)
        if target is None and connection is not None:
            target = connection.target
        happened: Happened | None = None
        for _ in range(MOST_STEPS):
            seen = await self._seen(job, target, connection, problem, happened)
            plan = decide(job, seen, self._clock.now())
            if passes_on and plan.status.intent is not None and job.status.intent is None:
                try:
                    await self._platform.hand_over(job)
                except Mistake as mistake:
                    connection, problem = None, mistake
                    continue
                self._stand_by(job)
                return None
            try:
                job = await self._save(job, plan)
            except Conflict:
                # Somebody changed the spec meanwhile: decide anew, and keep what the last action brought.
                fresh = await self._platform.get(job.ref)
                if fresh is None or fresh.uid != job.uid:
                    raise
                job = fresh
                continue
            self._follow(job, connection, seen)
            if plan.remove:
                await self._platform.remove(job)
                self._let_go(job.ref)
                return None
            if plan.action is None:
                return HAND_OVER_AGAIN if passes_on and problem is not None else plan.look_again_in
            if connection is None:
                return plan.look_again_in or 60.0
            failpoint(f"core.before.{type(plan.action).__name__.lower()}")
            happened = Happened(plan.action, await self._act(job, plan.action, connection))
            failpoint(f"core.after.{type(plan.action).__name__.lower()}")
        return 0.0

    def _stand_by(self, job: Job) -> None:
        """Keep the place of *job*, which another process moves."""
        self._asked.pop(job.ref, None)
        for connection in self._connections.all():
            connection.monitor.untrack(job.ref)
        self._connections.count_in(job.target_ref, job.ref)

    async def _connection(self, job: Job, target: Target | None) -> tuple[Connection | None, Mistake | None]:
        if target is None:
            ends = is_active(job.status) and (job.deleted_at is not None or job.spec.cancel)
            if ends and (kept := self._connections.kept(job.target_ref, job.namespace)) is not None:
                return kept, None  # to cancel it, what was known of a target that went with it will do
            return None, Mistake(
                f"there is no target `{job.target_ref}`", hint="make it with `bascule apply -f`, or name another"
            )
        try:
            starts = job.status.intent is None and not job.status.phase.is_final
            if starts:
                await self._platform.admit(job, target)
            passes_on = self._platform.hands_over(job, target)
            if passes_on and job.status.phase.is_final:
                return None, None  # whoever moved it has seen to what is outside
            connection = await self._connections.to(target, job.namespace, watched=not passes_on)
            if starts:
                connection.manager.check(job)
        except Mistake as mistake:
            # The target or the job is wrong; a job that is outside already keeps its connection if there is one.
            return None, mistake
        return connection, None

    async def _seen(
        self,
        job: Job,
        target: Target | None,
        connection: Connection | None,
        problem: Mistake | None,
        happened: Happened | None,
    ) -> Seen:
        status = job.status
        starts = status.intent is None and not status.phase.is_final
        predecessors: dict[str, Phase | None] = {}
        if starts:
            for after in job.spec.after:
                other = await self._platform.get(Ref(job.namespace, after.job))
                predecessors[after.job] = other.status.phase if other is not None else None
        if connection is None or target is None:
            return Seen(
                installation=self._platform.installation,
                target_exists=target is not None,
                problem=problem.words if problem else "",
                hint=problem.hint if problem else "",
                predecessors=predecessors,
                distrusts_before=self._platform.distrusts_before,
            )
        abilities = connection.manager.abilities
        if not connection.is_watched:
            # Which run of a forgetful manager is asked, is for whoever asks it to know.
            abilities = replace(abilities, volatile=False)
        return Seen(
            installation=self._platform.installation,
            abilities=abilities,
            held_submit=must_hold(abilities, target.spec.submission),
            news=connection.monitor.news(job.ref) if happened is None else None,
            happened=happened,
            predecessors=predecessors,
            has_room=not starts or self._connections.may_start(target, job.ref),
            reachable=connection.reachable,
            address=target.address,
            silence=connection.silence,
            instance=connection.instance,
            asked_ago=self._clock.monotonic() - self._asked[job.ref] if job.ref in self._asked else None,
            distrusts_before=self._platform.distrusts_before,
        )

    async def _save(self, job: Job, plan: Plan) -> Job:
        if plan.status == job.status:
            return job
        saved = await self._platform.save(replace(job, status=plan.status), plan.events)
        failpoint("core.saved")
        for event in plan.events:
            log.info("job.event", reason=event.reason, message=event.message)
        return saved

    def _follow(self, job: Job, connection: Connection | None, seen: Seen) -> None:
        """Bring what is kept in memory about *job* in line with what is on record."""
        status = job.status
        if status.phase.is_final or status.intent is None:
            self._asked.pop(job.ref, None)
        active = is_active(status)
        if active:
            self._connections.count_in(job.target_ref, job.ref)
        else:
            self._connections.count_out(job.target_ref, job.ref)
        if status.reason == Reason.WAITING_FOR_JOB:
            for after in job.spec.after:
                self._dependents.setdefault(Ref(job.namespace, after.job), set()).add(job.ref)
        if connection is None:
            return
        if seen.news is not None:
            connection.monitor.taken_in(job.ref, seen.news)
        if status.handle is not None and active:
            connection.monitor.track(job.ref, status.handle, status)
        else:
            connection.monitor.untrack(job.ref)
            if status.reason == Reason.TARGET_FULL and not status.phase.is_final:
                self._connections.wait_for_room(job.target_ref, job.ref)
            elif status.reason == Reason.TARGET_UNREACHABLE or (seen.reachable is False and not status.phase.is_final):
                connection.wait_for(job.ref)

    def _let_go(self, ref: Ref) -> None:
        self._asked.pop(ref, None)
        for connection in self._connections.all():
            connection.monitor.untrack(ref)
        self._connections.count_out_everywhere(ref)
        self._gone(ref)

    async def _act(
        self, job: Job, action: Action, connection: Connection
    ) -> Done | Trouble | Found | Absent | CannotTell:
        """Do one thing outside, once, and put how it went into words that `decide` knows."""
        try:
            result = await self._do(job, action, connection.manager)
        except StoreFailed:
            raise
        except Error as error:
            trouble = Trouble.of(error)
            log.warning("job.trouble", action=type(action).__name__, kind=trouble.kind, error=error.message)
            if trouble.kind == "Unavailable":
                connection.heard(error)
            return trouble
        finally:
            if isinstance(action, Submit):
                self._asked[job.ref] = self._clock.monotonic()
        connection.heard(None)
        if connection.manager.abilities.volatile and isinstance(result, Done) and result.handle is not None:
            connection.instance = result.handle.instance
        if not isinstance(action, Find | Forget):
            connection.monitor.hurry()
        return result

    async def _do(self, job: Job, action: Action, manager: Manager) -> Done | Found | Absent | CannotTell:
        match action:
            case Submit(key=key, held=held):
                secrets = {
                    name: await self._platform.secret(job.namespace, wanted.name, wanted.key)
                    for name, wanted in job.spec.secret_env.items()
                }
                return Done(await manager.submit(Order(job, key, held, secrets)))
            case Find(key=key, since=since, may_have_run=may_have_run):
                return await manager.find(key, since, may_have_run=may_have_run)
            case Release(handle=handle):
                await manager.release(handle)
            case Cancel(handle=handle):
                await manager.cancel(handle)
            case Hold(handle=handle):
                await manager.hold(handle)
            case Unhold(handle=handle):
                await manager.unhold(handle)
            case Update(handle=handle, walltime=walltime):
                await manager.update(handle, walltime)
            case Signal(handle=handle, name=name):
                await manager.signal(handle, name)
            case Forget(handle=handle):
                await manager.forget(handle)
        return Done()


def is_active(status: JobStatus) -> bool:
    """Tell whether a job counts against its target's `limits.activeJobs`: it is outside, or may be."""
    return (status.intent is not None or status.handle is not None) and not status.phase.is_final
