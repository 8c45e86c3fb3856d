"""
The contract finds what it is for: each manager here is wrong in one way, and one of its behaviours says so.
"""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from bascule.errors import Refused, Unavailable, Uncertain
from bascule.model import Absent, CannotTell, Found, Handle, Match, Phase, Reason, Report, Stray
from tests.fakes.kinds import BLIND, CHOSEN, FORGETFUL, HELD
from tests.fakes.manager import FakeManager
from tests.managers import test_fakes as fakes
from tests.virtual import run_virtual

CONTRACTS = {HELD: fakes.TestHeld, CHOSEN: fakes.TestChosen, FORGETFUL: fakes.TestForgetful, BLIND: fakes.TestBlind}


class SubmitsTwice(FakeManager):
    async def submit(self, order):
        await super().submit(order)
        return await super().submit(order)


class ForgetsTheHold(FakeManager):
    async def submit(self, order):
        return await super().submit(order._replace(held=False))


class GoesByIdAlone(FakeManager):
    async def observe(self, handles, cursor=""):
        return await super().observe([Handle(handle.id) for handle in handles], cursor)

    async def cancel(self, handle, index=None):
        await super().cancel(Handle(handle.id), index)


class CallsPurgedAbsent(FakeManager):
    async def find(self, key, since, *, may_have_run=False):
        answer = await super().find(key, since)
        return Absent("not in the list", self.clock.now()) if isinstance(answer, CannotTell) else answer


class KnowsEveryWord(FakeManager):
    async def observe(self, handles, cursor=""):
        seen = await super().observe(handles, cursor)
        answers = {id_: self.bent(answer) for id_, answer in seen.answers.items()}
        return replace(seen, answers=answers)

    def bent(self, answer):
        return replace(answer, phase=Phase.FAILED) if isinstance(answer, Report) and answer.phase is None else answer


class CallsSignalsExitCodes(KnowsEveryWord):
    def bent(self, answer):
        if isinstance(answer, Report) and answer.signal:
            return replace(answer, signal=None, exit_code=128 + answer.signal, reason=Reason.EXIT_CODE)
        return answer


class TellsOfAll(FakeManager):
    async def observe(self, handles, cursor=""):
        return await super().observe([Handle(job.id, job.key) for job in self.outside.living()], cursor)


class TellsOfSome(FakeManager):
    async def observe(self, handles, cursor=""):
        return await super().observe(handles[:-1], cursor)


class LeavesATask(FakeManager):
    async def observe(self, handles, cursor=""):
        self.task = asyncio.get_running_loop().create_task(asyncio.sleep(60))
        return await super().observe(handles, cursor)


class TakesSilenceForRefusal(FakeManager):
    async def submit(self, order):
        try:
            return await super().submit(order)
        except Uncertain as silence:
            raise Unavailable(silence.message) from silence


class RetriesByItself(FakeManager):
    async def submit(self, order):
        try:
            return await super().submit(order)
        except Uncertain:
            return await super().submit(order)


class GivesIdsOfItsOwn(FakeManager):
    async def submit(self, order):
        self.abilities = replace(self.abilities, key="searched")
        try:
            return await super().submit(order)
        finally:
            self.abilities = replace(self.abilities, key="chosen")


class TakesRefusalForSilence(FakeManager):
    async def submit(self, order):
        try:
            return await super().submit(order)
        except Refused as no:
            raise Uncertain(no.message) from no


class WaitsForEver(FakeManager):
    async def submit(self, order):
        try:
            return await super().submit(order)
        except Uncertain:
            await asyncio.sleep(3600)
            raise


class AsksOneByOne(FakeManager):
    async def observe(self, handles, cursor=""):
        seen = [await super(AsksOneByOne, self).observe([handle]) for handle in handles]
        return replace(seen[-1], answers={id_: answer for each in seen for id_, answer in each.answers.items()})


class RemembersAbsence(FakeManager):
    absent = ()

    async def find(self, key, since, *, may_have_run=False):
        if self.absent and self.absent[0] == key:
            return self.absent[1]
        answer = await super().find(key, since)
        if isinstance(answer, Absent):
            self.absent = key, answer
        return answer


class CancelsNothing(FakeManager):
    async def cancel(self, handle, index=None):
        await super().release(handle)


class FindsByPrefix(FakeManager):
    async def find(self, key, since, *, may_have_run=False):
        jobs = [job for job in self.outside.living() if job.key.startswith(key)]
        found = tuple(Match(Handle(job.id, job.key), Report(Phase.QUEUED)) for job in jobs)
        return Found(found) if found else Absent("not in the list", self.clock.now())


class SweepsEverything(FakeManager):
    async def sweep(self, installation):
        return [Stray(job.key, Handle(job.id, job.key), job.held) for job in self.outside.living()]


class ComplainsOfWhatIsOver(FakeManager):
    async def cancel(self, handle, index=None):
        if self.outside.live[handle.id].ended is not None:
            raise Refused("it is over already")
        await super().cancel(handle, index)


class SaysNothing(FakeManager):
    async def signal(self, handle, name):
        pass

    def check(self, job):
        pass


class DecodesOutput(FakeManager):
    async def read(self, handle, stream, offset, limit, index=None):
        chunk = await super().read(handle, stream, offset, limit, index)
        return replace(chunk, data=chunk.data.decode(errors="replace").encode())


class ReadsAll(FakeManager):
    async def read(self, handle, stream, offset, limit, index=None):
        return await super().read(handle, stream, offset, 1 << 40, index)


class KnowsNoOwnJobs(FakeManager):
    async def submit(self, order):
        if order.key in self.outside.live:
            raise Refused(f"`{order.key}` exists already")
        return await super().submit(order)


class ProbesLoudly(FakeManager):
    async def probe(self):
        health = await super().probe()
        if not health.reachable:
            raise Unavailable(health.message)
        return health


@pytest.mark.parametrize(
    ("wrong", "abilities", "rule", "arguments"),
    [
        (SubmitsTwice, HELD, "a_submitted_job_is_found_by_its_key", {}),
        (ForgetsTheHold, HELD, "our_hold_is_told_until_the_release", {}),
        (GoesByIdAlone, HELD, "a_stranger_under_our_id_is_never_taken_for_ours", {}),
        (GoesByIdAlone, HELD, "a_stranger_under_our_id_is_not_cancelled", {}),
        (CallsPurgedAbsent, FORGETFUL, "a_purged_job_without_a_history_is_never_called_absent", {}),
        (CallsPurgedAbsent, BLIND, "who_cannot_search_cannot_tell", {}),
        (KnowsEveryWord, HELD, "an_unknown_word_is_no_phase", {}),
        (CallsSignalsExitCodes, HELD, "a_signal_is_told_from_an_exit_code", {}),
        (TellsOfAll, HELD, "many_are_asked_for_in_one_call_and_only_they_are_answered", {}),
        (TellsOfSome, HELD, "many_are_asked_for_in_one_call_and_only_they_are_answered", {}),
        (LeavesATask, HELD, "a_cancelled_call_leaks_nothing_and_may_be_repeated", {"name": "observe"}),
        (TakesSilenceForRefusal, HELD, "a_cut_submit_is_uncertain_and_the_search_is_not", {"when": "after"}),
        (RetriesByItself, HELD, "a_cut_submit_is_uncertain_and_the_search_is_not", {"when": "after"}),
        (GivesIdsOfItsOwn, CHOSEN, "a_submit_that_arrives_late_starts_nothing_beside_the_second", {}),
        (GivesIdsOfItsOwn, CHOSEN, "a_submit_that_is_doubled_on_its_way_is_one_job", {}),
        (ForgetsTheHold, HELD, "a_held_submit_that_is_doubled_starts_nothing_and_is_seen_twice", {}),
        (CancelsNothing, HELD, "a_cancel_that_is_doubled_on_its_way_is_a_cancel", {}),
        (TakesRefusalForSilence, HELD, "a_submit_that_the_manager_refuses_is_final_and_did_not_happen", {}),
        (RemembersAbsence, HELD, "a_submit_that_arrives_late_is_found_from_then_on", {}),
        (WaitsForEver, HELD, "a_call_that_is_never_answered_ends_all_the_same", {"name": "submit"}),
        (AsksOneByOne, HELD, "many_cost_few_requests", {}),
        (FindsByPrefix, HELD, "a_longer_key_is_another_job", {}),
        (SweepsEverything, HELD, "a_sweep_lists_ours_and_no_strangers", {}),
        (ComplainsOfWhatIsOver, HELD, "cancelling_what_is_over_changes_nothing", {}),
        (SaysNothing, BLIND, "who_cannot_signal_says_so", {}),
        (SaysNothing, HELD, "a_signal_reaches_a_running_job", {}),
        (SaysNothing, HELD, "check_names_an_option_that_it_does_not_know", {}),
        (DecodesOutput, HELD, "output_is_read_byte_for_byte", {}),
        (ReadsAll, HELD, "a_read_gives_no_more_than_was_asked_for", {}),
        (KnowsNoOwnJobs, CHOSEN, "a_second_submit_of_a_key_is_recognised", {}),
        (ProbesLoudly, HELD, "a_probe_of_a_silent_manager_says_so_and_raises_nothing", {}),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else value if isinstance(value, str) else "",
)
def test_a_wrong_manager_is_found_out(wrong, abilities, rule, arguments, tmp_path):
    contract = CONTRACTS[abilities]

    async def judged(manager_type):
        async with contract.world_type(tmp_path) as world:
            world.manager = manager_type(world.outside, abilities, clock=world.clock)
            await getattr(contract(), f"test_{rule}")(world, **arguments)

    run_virtual(judged(FakeManager))
    with pytest.raises((AssertionError, Refused, Unavailable, Uncertain, TimeoutError, pytest.fail.Exception)):
        run_virtual(judged(wrong))
