"""
Known wrong behaviours, planted one at a time: the simulation must find every one.

Each is what some bridge really does, or what a careless change would make of ours. A
mutant is a function that is called with a `Patch` and replaces production code through
it; `mutants` looks for them. What is done wrong is here; what is misread, in `misread`.
"""

from __future__ import annotations

from datetime import timedelta
from importlib import import_module
from typing import Any

from msgspec.structs import replace

from bascule import reconcile, runner, sweeper
from bascule.decide import Cancel, Done, Plan, Release, Submit, Trouble
from bascule.errors import StoreFailed
from bascule.model import Deadlines, Phase, key
from bascule.platforms.embedded import store, writing
from tests.fakes import manager as fake_manager
from tests.simulation import misread
from tests.simulation.planting import MUTANTS, Patch, mutant, planted

rules, ending, living, plan, submitting, waiting = (
    import_module(f"bascule.decide{room}") for room in ("", ".ending", ".living", ".plan", ".submitting", ".waiting")
)


def _unsaved_before(patch: Patch, *kinds: type) -> None:
    def make(save: Any) -> Any:
        async def saved(self: Any, job: Any, intended: Plan) -> Any:
            if isinstance(intended.action, kinds):
                return replace(job, status=intended.status)
            return await save(self, job, intended)

        return saved

    patch.put(reconcile.Reconciler, "_save", make)


@mutant
def id_stored_only_after_the_reply_without_an_intent(patch: Patch) -> None:
    """A crash between the submit and the save forgets the job."""
    _unsaved_before(patch, Submit)


@mutant
def released_before_the_id_is_saved(patch: Patch) -> None:
    """The two phases in the wrong order."""
    _unsaved_before(patch, Release)


@mutant
def resubmit_on_time_out(patch: Patch) -> None:
    """Silence is taken for a no."""

    def make(old: Any) -> Any:
        def not_submitted(job: Any, intent: Any, trouble: Trouble, now: Any) -> Plan:
            return old(job, intent, replace(trouble, kind="Unavailable"), now)

        return not_submitted

    patch.put(submitting, "_not_submitted", make)


@mutant
def saved_without_compare_and_set(patch: Patch) -> None:
    """The last writer wins."""

    def make(save: Any) -> Any:
        async def saved(self: Any, job: Any, events: Any = ()) -> Any:
            fresh = await self.get(job.ref)
            return await save(self, job if fresh is None else replace(job, version=fresh.version), events)

        return saved

    patch.put(store.Store, "save", make)
    patch.put(writing.Transaction, "require", lambda old: lambda self, epoch: None)


@mutant
def a_lease_without_an_epoch(patch: Patch) -> None:
    """A driver that was frozen goes on as if nothing had happened."""
    patch.put(writing.Transaction, "require", lambda old: lambda self, epoch: None)


@mutant
def a_final_phase_is_left_again(patch: Patch) -> None:
    """A late wish rewrites the past."""

    def make(old: Any) -> Any:
        def over(job: Any, seen: Any, now: Any) -> Plan:
            if job.spec.cancel and job.status.phase is Phase.FAILED:
                return Plan(status=replace(job.status, phase=Phase.CANCELLED))
            return old(job, seen, now)

        return over

    patch.put(rules, "over", make)


@mutant
def a_cancel_is_lost_when_the_manager_is_down(patch: Patch) -> None:
    """It is asked once, and whether it arrived does not matter."""

    def make(old: Any) -> Any:
        def after_action(job: Any, seen: Any, now: Any) -> Any:
            happened = seen.happened
            if happened is not None and isinstance(happened.action, Cancel):
                seen = replace(seen, happened=replace(happened, result=Done()))
            return old(job, seen, now)

        return after_action

    patch.put(living, "_after_action", make)
    patch.put(living, "ask_again_in", lambda old: lambda stop, now: 0.0 if stop.asked_at is None else 1e9)


@mutant
def a_deleted_object_goes_before_its_job(patch: Patch) -> None:
    """No finalizer."""

    def make(old: Any) -> Any:
        def decided(job: Any, handle: Any, seen: Any, now: Any) -> Plan:
            if job.deleted_at is not None:
                return Plan(status=job.status, remove=True)
            return old(job, handle, seen, now)

        return decided

    patch.put(rules, "living", make)


@mutant
def a_cancelled_doubt_is_over(patch: Patch) -> None:
    """A job of which we know no id cannot need a cancel."""

    def make(old: Any) -> Any:
        def decided(job: Any, intent: Any, seen: Any, now: Any) -> Plan:
            if job.spec.cancel and seen.happened is None:
                return ending.end_before_submit(job, now, phase=Phase.CANCELLED, reason="", message="not submitted")
            return old(job, intent, seen, now)

        return decided

    patch.put(rules, "submitting", make)


@mutant
def absence_needs_no_settling(patch: Patch) -> None:
    """What is not there yet was never sent, or is lost."""
    patch.put(submitting, "timedelta", lambda old: lambda **span: timedelta(0))
    patch.put(living, "timedelta", lambda old: lambda **span: timedelta(0))


@mutant
def submitted_without_the_hold(patch: Patch) -> None:
    """The manager picks the id, and the job may run before we know it."""
    patch.put(reconcile, "must_hold", lambda old: lambda abilities, submission: False)


@mutant
def never_released(patch: Patch) -> None:
    """The second phase is forgotten."""

    def make(old: Any) -> Any:
        async def release(self: Any, handle: Any) -> None:
            return None

        return release

    patch.put(fake_manager.FakeManager, "release", make)


@mutant
def released_again_and_again(patch: Patch) -> None:
    """The user's own hold is taken for ours."""

    def make(old: Any) -> Any:
        def wish(job: Any, status: Any, handle: Any, seen: Any, now: Any) -> Any:
            if status.phase is Phase.HELD:
                return Release(handle), status, None
            return old(job, status, handle, seen, now)

        return wish

    patch.put(living, "_wish", make)


@mutant
def nobody_sweeps(patch: Patch) -> None:
    """Held orphans stay."""

    def make(old: Any) -> Any:
        async def sweep(connection: Any, platform: Any) -> int:
            return 0

        return sweep

    patch.put(runner, "sweep", make)


@mutant
def the_sweeper_takes_everything(patch: Patch) -> None:
    """Whatever is held goes, recorded or not."""
    patch.put(sweeper, "is_orphan", lambda old: lambda stray, job: True)


@mutant
def all_attempts_bear_one_key(patch: Patch) -> None:
    """A retry is taken for the attempt before it."""
    patch.put(
        waiting,
        "key_for",
        lambda old: (
            lambda name, *, installation, uid, attempt: old(name, installation=installation, uid=uid, attempt=1)
        ),
    )


@mutant
def a_key_of_the_process(patch: Patch) -> None:
    """Whoever comes after a crash looks for another key."""
    serial = iter(range(10**9))

    def make(old: Any) -> Any:
        def find(job: Any, intent: Any, seen: Any, now: Any) -> Plan:
            found = old(job, intent, seen, now)
            action = found.action
            if not isinstance(action, plan.Find):
                return found
            return replace(
                found,
                action=replace(
                    action, key=key.key_for("other", installation="zzzzzz", uid=str(next(serial)), attempt=1)
                ),
            )

        return find

    patch.put(submitting, "_look", make)


@mutant
def acting_though_the_disk_is_full(patch: Patch) -> None:
    """What could not be saved is done all the same."""

    def make(save: Any) -> Any:
        async def saved(self: Any, job: Any, intended: Plan) -> Any:
            try:
                return await save(self, job, intended)
            except StoreFailed:
                return replace(job, status=intended.status)

        return saved

    patch.put(reconcile.Reconciler, "_save", make)


@mutant
def a_new_process_counts_as_it_goes(patch: Patch) -> None:
    """What a former one left outside is not counted before others may join it."""

    def make(old: Any) -> Any:
        async def resync(self: Any) -> None:
            self.connections.listed.set()
            await old(self)

        return resync

    patch.put(runner.Runner, "_resync", make)
    patch.put(runner, "is_active", lambda old: lambda status: False)


@mutant
def a_stop_counts_only_once_it_is_on_record_that_we_asked(patch: Patch) -> None:
    """A crash between the cancel and the record of it makes a time-out somebody's cancel."""

    def make(old: Any) -> Any:
        def ended(job: Any, status: Any, report: Any) -> Any:
            return None if status.stop is None or status.stop.asked_at is None else old(job, status, report)

        return ended

    patch.put(living, "ended_by_stop", make)


@mutant
def a_restored_backup_is_taken_for_the_truth(patch: Patch) -> None:
    """Jobs that went outside since the copy was made go once more."""
    patch.put(waiting, "_is_older_than_the_store", lambda old: lambda job, seen: False)


@mutant
def a_release_is_never_made_again(patch: Patch) -> None:
    """The manager was restarted, and has forgotten it."""
    patch.put(living, "release_again_in", lambda old: lambda status, abilities, now: None)


@mutant
def a_predecessor_is_not_waited_for(patch: Patch) -> None:
    """`after` is a wish."""

    def make(old: Any) -> Any:
        def held_back(job: Any, seen: Any, now: Any) -> Any:
            return old(replace(job, spec=replace(job.spec, after=())), seen, now)

        return held_back

    patch.put(waiting, "_held_back_by_itself", make)


@mutant
def a_deadline_is_left_to_the_manager(patch: Patch) -> None:
    """Some managers know no walltime."""

    def make(old: Any) -> Any:
        def stop(job: Any, status: Any, abilities: Any, now: Any) -> Any:
            plain = replace(job, spec=replace(job.spec, deadlines=Deadlines()))
            return old(plain, status, replace(abilities, walltime=True), now)

        return stop

    patch.put(living, "wanted_stop", make)


@mutant
def a_detached_job_is_cancelled(patch: Patch) -> None:
    """Deleting the object ends the job, whatever `onDelete` says."""
    patch.put(living, "is_let_go", lambda old: lambda job: False)


__all__ = ["MUTANTS", "misread", "planted"]
