"""
`decide` under everything that can happen to a job, in any order.

Whatever the manager, the network, the user and the kill do: a final phase is never left,
one attempt has one handle, at most one job of a key ever starts, and a cancel always ends.
"""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec.structs import replace

from bascule.model import Phase, Reason, Retry
from bascule.ports import Abilities
from tests.core.decide_model import Passes, Thing, spec_of

SETTLES = 60.0
CHOSEN = Abilities(key="chosen", walltime=False, settles=SETTLES)
HELD = Abilities(key="searched", holds=True, history=True, hold=True, settles=SETTLES)
KINDS = {"chosen": (CHOSEN, False), "held": (HELD, True), "direct": (HELD, False)}
FATES = st.lists(
    st.sampled_from(["done", "done", "refused", "nobody there", "request lost", "reply lost", "late"]), max_size=4
)
RETRY = Retry(limit=2, reasons=(Reason.EXIT_CODE, Reason.LOST))


class DecideMachine(RuleBasedStateMachine):
    """One job, from its acceptance to wherever it comes."""

    @initialize(kind=st.sampled_from(sorted(KINDS)), retries=st.booleans(), hold=st.booleans())
    def accept(self, kind, retries, hold):
        abilities, hold_submits = KINDS[kind]
        self.kind = kind
        spec = spec_of(retry=RETRY if retries else Retry(), hold=hold and abilities.hold)
        self.passes = Passes(abilities, hold_submits=hold_submits, spec=spec)
        self.cluster = self.passes.cluster

    @property
    def alive(self) -> list[Thing]:
        return [thing for thing in self.cluster.things if not thing.phase.is_final]

    # The process

    @precondition(lambda self: not self.passes.is_removed)
    @rule(
        fates=FATES,
        stop_after=st.sampled_from([99, 99, 99, 0, 1, 2, 3, 4, 5]),
        reachable=st.sampled_from([True, True, None, False]),
        lag=st.sampled_from([0.0, 1.0, 20.0]),
    )
    def make_a_pass(self, fates, stop_after, reachable, lag):
        self.passes.run(fates, stop_after=stop_after, reachable=reachable, lag=lag)

    @rule()
    def bring_news(self):
        self.passes.observe()

    @rule(seconds=st.sampled_from([1, 5, 30, 70, 3600, 86400]))
    def let_time_pass(self, seconds):
        """What is late comes within the settling time, unless jobs are held: then it may come whenever it likes."""
        if self.kind != "held":
            self.let_late_things_happen()
        self.passes.now += timedelta(seconds=seconds)

    @rule()
    def let_late_things_happen(self):
        pending, self.cluster.pending = self.cluster.pending, []
        for happen in pending:
            happen()

    # The user

    @rule(
        change=st.sampled_from(
            [{"cancel": True}, {"suspend": True}, {"suspend": False}, {"hold": True}, {"hold": False}, *[{}] * 5]
        )
    )
    def change(self, change):
        if not change or ("hold" in change and self.kind == "chosen"):
            return
        job = self.passes.job
        self.passes.job = replace(job, spec=replace(job.spec, **change), generation=job.generation + 1)

    @rule(sure=st.sampled_from([False] * 5 + [True]))
    def delete(self, sure):
        if sure and self.passes.job.deleted_at is None:
            self.passes.job = replace(self.passes.job, deleted_at=self.passes.now)

    # The cluster

    @precondition(lambda self: any(thing.phase is Phase.QUEUED and not thing.held for thing in self.alive))
    @rule()
    def start(self):
        self.cluster.start(next(t for t in self.alive if t.phase is Phase.QUEUED and not t.held))

    @precondition(lambda self: any(thing.phase is Phase.RUNNING for thing in self.alive))
    @rule(exit_code=st.sampled_from([0, 3]))
    def finish(self, exit_code):
        thing = next(thing for thing in self.alive if thing.phase is Phase.RUNNING)
        thing.exit_code, thing.phase = exit_code, Phase.FAILED if exit_code else Phase.SUCCEEDED

    @precondition(lambda self: any(thing.phase is Phase.RUNNING for thing in self.alive))
    @rule()
    def requeue(self):
        thing = next(thing for thing in self.alive if thing.phase is Phase.RUNNING)
        thing.phase, thing.restarts = Phase.QUEUED, thing.restarts + 1

    @precondition(lambda self: self.alive)
    @rule()
    def cancel_from_outside(self):
        self.alive[0].phase = Phase.CANCELLED

    # What must hold

    @invariant()
    def at_most_one_job_of_a_key_ever_starts(self):
        if hasattr(self, "cluster"):
            assert all(len(ids) == 1 for ids in self.cluster.started.values()), self.cluster.started

    @invariant()
    def attempts_never_run_side_by_side(self):
        if hasattr(self, "cluster"):
            assert 1 >= sum(thing.phase is Phase.RUNNING for thing in self.alive)

    @invariant()
    def what_is_over_for_us_is_over_outside(self):
        if hasattr(self, "passes") and self.passes.job.status.phase.is_final:
            handle = self.passes.job.status.handle
            thing = self.cluster.of(handle) if handle else None
            assert thing is None or thing.phase.is_final, thing

    def teardown(self):
        """From wherever it stands, a cancel ends it, and nothing is left that may run."""
        if not hasattr(self, "passes"):
            return
        self.change({"cancel": True})
        for _ in range(60):
            self.let_late_things_happen()
            self.passes.observe()
            if not self.passes.is_removed:
                self.passes.run([])
            self.passes.now += timedelta(seconds=max(self.passes.look_in or 0.0, 30.0))
        status = self.passes.job.status
        assert self.passes.is_removed or status.phase.is_final, f"a cancel did not end: {status}"
        may_run = [thing for thing in self.alive if not thing.held]
        assert not may_run, f"runs on after the end: {may_run} {status}"


TestDecide = DecideMachine.TestCase
TestDecide.settings = settings(max_examples=200, stateful_step_count=40)
TestDecide.pytestmark = [pytest.mark.timeout(600)]  # to shrink a failure takes its time
