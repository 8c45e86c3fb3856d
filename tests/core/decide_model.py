"""
The smallest world in which `decide` can live: one job, a pure cluster, and passes that may stop anywhere.

Carries plans out as `reconcile` does (save, act, ask again with what happened), and looks at
each plan before: what must hold whatever happens is in `Passes.judge`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from msgspec.structs import replace

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
    Submit,
    Trouble,
    Unhold,
    decide,
)
from bascule.model import (
    Absent,
    Answer,
    Found,
    Handle,
    Job,
    JobSpec,
    JobStatus,
    Match,
    Phase,
    Reason,
    Report,
    Run,
    TargetRef,
)
from bascule.ports import Abilities

Fate = Literal["done", "refused", "nobody there", "request lost", "reply lost", "late"]
START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(eq=False)
class Thing:
    """An outside job."""

    id: str
    key: str
    held: bool
    phase: Phase
    submitted_at: datetime
    visible_at: datetime
    exit_code: int = 0
    restarts: int = 0


class Cluster:
    """Outside jobs, of which those that are not held may start."""

    def __init__(self, abilities: Abilities) -> None:
        self.abilities = abilities
        self.things: list[Thing] = []
        self.started: dict[str, set[str]] = {}
        self.pending: list[Callable[[], None]] = []

    def submit(self, key: str, *, held: bool, now: datetime, lag: timedelta) -> Thing:
        """Take a job in; under a chosen id, what bears it already is the answer."""
        if self.abilities.key == "chosen":
            for thing in self.things:
                if thing.key == key:
                    return thing
        name = key if self.abilities.key == "chosen" else str(100 + len(self.things))
        thing = Thing(name, key, held, Phase.QUEUED, now, now + lag)
        self.things.append(thing)
        return thing

    def start(self, thing: Thing) -> None:
        """Let a waiting job run."""
        thing.phase = Phase.RUNNING
        self.started.setdefault(thing.key, set()).add(thing.id)

    def of(self, handle: Handle) -> Thing | None:
        """Return the job of *handle*."""
        return next((thing for thing in self.things if thing.id == handle.id and thing.key == handle.key), None)

    def report(self, thing: Thing) -> Report:
        """Say how a job stands."""
        phase = Phase.HELD if thing.held and thing.phase is Phase.QUEUED else thing.phase
        failed = phase is Phase.FAILED
        return Report(
            phase, str(phase), Reason.EXIT_CODE if failed else "", exit_code=thing.exit_code, restarts=thing.restarts
        )


class Passes:
    """The process: it may stop before and after each action, and begins anew from what was saved."""

    def __init__(self, abilities: Abilities, *, hold_submits: bool, spec: JobSpec) -> None:
        self.abilities = abilities
        self.cluster = Cluster(abilities)
        self.hold_submits = hold_submits
        self.now = START
        self.job = Job("default", "job", "uid-1", spec, JobStatus(), created_at=START)
        self.news: Answer | None = None
        self.is_removed = False
        self.look_in: float | None = 0.0

    def run(self, fates: list[Fate], *, stop_after: int = 99, reachable: bool | None = True, lag: float = 0.0) -> None:
        """Make one pass, in which the actions meet *fates*; stop where a crash would, counted in half steps."""
        happened: Happened | None = None
        for half in range(0, 24, 2):
            if self.is_removed:
                return
            seen = Seen(
                "tests2",
                self.abilities,
                held_submit=self.hold_submits,
                news=self.news if happened is None else None,
                happened=happened,
                reachable=reachable,
                silence="" if reachable else "nobody there",
            )
            plan = decide(self.job, seen, self.now)
            self.judge(seen, plan)
            self.job = replace(self.job, status=plan.status)
            self.news = None if happened is None else self.news
            if plan.remove:
                self.is_removed = True
                return
            self.look_in = plan.look_again_in
            if plan.action is None or half >= stop_after:
                return
            happened = Happened(plan.action, self._act(plan.action, fates.pop(0) if fates else "done", lag))
            if half + 1 >= stop_after:
                return

    def judge(self, seen: Seen, plan: Plan) -> None:
        """Fail where *plan* breaks a promise."""
        before, after, action = self.job.status, plan.status, plan.action
        if before.phase.is_final:
            assert after.phase is before.phase, "a final phase was left"
            assert action is None or isinstance(action, Forget), "an action for a job that is over"
        assert after.attempt >= before.attempt, "attempts go forward only"
        if before.handle is not None and after.attempt == before.attempt:
            assert after.handle == before.handle, "a second handle for one attempt"
        if isinstance(action, Submit):
            assert after.intent is not None, "a submit without an intent on record"
            assert (after.key, after.handle) == (action.key, None), "a submit of something else than the intent"
            if before.intent is not None:
                self._judge_resubmit(seen, before)
        if isinstance(action, Release):
            assert after.handle == action.handle, "a release before the id is on record"
            assert before.released_at is None, "a second release"
        if plan.remove and self.job.spec.on_delete == "Cancel":
            ours = [thing for thing in self.cluster.things if thing.key == before.key and not thing.held]
            seen_by_all = [thing for thing in ours if thing.visible_at <= self.now]
            assert all(thing.phase.is_final for thing in seen_by_all), "the object went while its job was alive"

    def _judge_resubmit(self, seen: Seen, before: JobStatus) -> None:
        assert before.intent is not None
        assert seen.happened is not None, "a second submit without having looked"
        absent = seen.happened.result
        assert isinstance(absent, Absent), "a second submit without proof of absence"
        settled = before.intent.asked_at + timedelta(seconds=self.abilities.settles)
        assert absent.as_of >= settled, "a second submit before the first had time to settle"

    def _act(self, action: Action, fate: Fate, lag: float) -> Done | Trouble | Found | Absent:
        if isinstance(action, Find):
            return self._find(action) if fate in {"done", "late"} else Trouble("Unavailable", "no answer")
        if fate == "refused":
            return Trouble("Refused", "no") if isinstance(action, Submit) else Trouble("Unavailable", "busy")
        if fate == "nobody there":
            return Trouble("Unavailable", "nobody there")
        if fate == "request lost":
            return Trouble("Uncertain", "no answer")
        if fate == "late":
            self.cluster.pending.append(lambda: self._effect(action, lag) and None)
            return Trouble("Uncertain", "no answer")
        done = self._effect(action, lag)
        return done if fate == "done" else Trouble("Uncertain", "no answer")

    def _find(self, action: Find) -> Found | Absent:
        things = [t for t in self.cluster.things if t.key == action.key and t.visible_at <= self.now]
        if not things:
            return Absent("all was read", self.now)
        handle = [Handle(thing.id, thing.key) for thing in things]
        waits = [thing.held and thing.phase is Phase.QUEUED for thing in things]
        reports = [self.cluster.report(thing) for thing in things]
        return Found(tuple(Match(*match) for match in zip(handle, reports, waits, strict=True)))

    def _effect(self, action: Action, lag: float) -> Done:
        if isinstance(action, Submit):
            span = timedelta(seconds=lag)
            thing = self.cluster.submit(action.key, held=action.held, now=self.now, lag=span)
            return Done(Handle(thing.id, thing.key))
        thing = self.cluster.of(action.handle) if not isinstance(action, Find) else None
        if thing is None:
            return Done()
        match action:
            case Release() | Unhold():
                thing.held = False
            case Hold():
                thing.held = thing.held or thing.phase is Phase.QUEUED
            case Cancel() if not thing.phase.is_final:
                thing.phase = Phase.CANCELLED
            case _:
                pass
        return Done()

    def observe(self) -> None:
        """Bring news of the recorded job."""
        handle = self.job.status.handle
        if handle is None or self.job.status.phase.is_final:
            return
        thing = self.cluster.of(handle)
        visible = thing is not None and thing.visible_at <= self.now
        self.news = self.cluster.report(thing) if thing is not None and visible else Absent("all was read", self.now)


def spec_of(**fields: object) -> JobSpec:
    """Return a job's spec."""
    return JobSpec(TargetRef("there"), run=Run(command=("true",)), **fields)  # type: ignore[arg-type]
