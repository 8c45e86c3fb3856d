"""Known wrong behaviours, as in `planted`: answers that are taken for what they are not."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from msgspec.structs import replace

from bascule import monitor
from bascule.decide import Cancel, Plan
from bascule.model import Absent, Phase, Reason, Report
from tests.fakes import reading
from tests.simulation.planting import Patch, mutant

rules, ending, living, submitting = (
    import_module(f"bascule.decide{room}") for room in ("", ".ending", ".living", ".submitting")
)


def _observed(patch: Patch, change: Callable[[Any, Any], Any]) -> None:
    def make(poll: Any) -> Any:
        async def polled(self: Any) -> Any:
            observe = self._observe

            async def bent(handles: Any, cursor: str = "") -> Any:
                return change(await observe(handles, cursor), handles)

            self._observe = bent
            try:
                return await poll(self)
            finally:
                self._observe = observe

        return polled

    patch.put(monitor.Monitor, "poll", make)


@mutant
def an_empty_list_means_finished(patch: Patch) -> None:
    """A partial answer is taken for the whole truth."""

    def fill(seen: Any, handles: Any) -> Any:
        missing = {
            handle.id: Report(Phase.SUCCEEDED, state="GONE") for handle in handles if handle.id not in seen.answers
        }
        return seen if seen.unchanged else replace(seen, answers={**missing, **seen.answers})

    _observed(patch, fill)


@mutant
def no_changes_means_no_jobs(patch: Patch) -> None:
    """The warning "no changes" comes with an empty list."""

    def fill(seen: Any, handles: Any) -> Any:
        if not seen.unchanged:
            return seen
        gone = {handle.id: Report(Phase.FAILED, state="GONE", reason=Reason.LOST) for handle in handles}
        return replace(seen, unchanged=False, answers=gone)

    _observed(patch, fill)


@mutant
def silence_means_lost(patch: Patch) -> None:
    """A failed poll is news about the jobs."""

    def make(poll: Any) -> Any:
        async def polled(self: Any) -> Any:
            answered = await poll(self)
            if not answered:
                for ref in list(self._tracked):
                    self._news[ref] = Report(Phase.FAILED, state="GONE", reason=Reason.LOST)
                    self._wake(ref)
            return answered

        return polled

    patch.put(monitor.Monitor, "poll", make)


@mutant
def not_found_means_failed(patch: Patch) -> None:
    """A purged record is a failure."""

    def make(old: Any) -> Any:
        def cannot_tell(job: Any, status: Any, why: str, now: Any) -> Any:
            return ending.end_attempt(job, status, now, phase=Phase.FAILED, reason=Reason.EXIT_CODE, message=why)

        return cannot_tell

    patch.put(living, "_cannot_tell", make)


@mutant
def purged_means_success(patch: Patch) -> None:
    """What is gone must have ended well."""

    def make(old: Any) -> Any:
        def absent(job: Any, status: Any, answer: Absent, seen: Any, now: Any) -> Any:
            return ending.end_attempt(job, status, now, phase=Phase.SUCCEEDED, reason="", message="gone")

        return absent

    patch.put(living, "_absent", make)


@mutant
def an_id_is_trusted_without_its_key(patch: Patch) -> None:
    """Ids are reused by real managers."""
    patch.put(reading.Reader, "is_ours", lambda old: lambda self, job, handle: job.id == handle.id)


@mutant
def asked_to_cancel_means_cancelled(patch: Patch) -> None:
    """The answer to the request is taken for its effect."""

    def make(old: Any) -> Any:
        def decided(job: Any, handle: Any, seen: Any, now: Any) -> Plan:
            if seen.happened is not None and isinstance(seen.happened.action, Cancel):
                return ending.end_attempt(job, job.status, now, phase=Phase.CANCELLED, reason="", message="asked")
            return old(job, handle, seen, now)

        return decided

    patch.put(rules, "living", make)


@mutant
def an_unknown_word_means_failed(patch: Patch) -> None:
    """Every release of a manager brings new words."""

    def fill(seen: Any, handles: Any) -> Any:
        answers = {
            name: replace(answer, phase=Phase.FAILED, reason=Reason.EXIT_CODE)
            if isinstance(answer, Report) and answer.phase is None
            else answer
            for name, answer in seen.answers.items()
        }
        return replace(seen, answers=answers)

    _observed(patch, fill)


@mutant
def a_manager_at_rest_is_polled_as_often(patch: Patch) -> None:
    """Nothing slows the watching down."""
    patch.put(monitor.Monitor, "_adapt", lambda old: lambda self, took, moved: setattr(self, "_interval", 0.5))


@mutant
def an_answer_is_as_old_as_its_question(patch: Patch) -> None:
    """A slow submit is over its settling time when its answer comes, and its job not yet to be seen."""

    def make(old: Any) -> Any:
        def have(job: Any, *of: Any, **because: Any) -> Plan:
            found = old(job, *of, **because)
            if found.status.intent is None or job.status.intent is None:
                return found
            intent = replace(found.status.intent, asked_at=job.status.intent.asked_at)
            return replace(found, status=replace(found.status, intent=intent))

        return have

    def forget(old: Any) -> Any:
        def absent(job: Any, status: Any, answer: Absent, seen: Any, now: Any) -> Any:
            return old(job, status, answer, replace(seen, asked_ago=None), now)

        return absent

    patch.put(submitting, "_have", make)
    patch.put(living, "_absent", forget)
