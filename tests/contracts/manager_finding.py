"""The contract of managers: three answers to where a key is, and the sweep."""

from __future__ import annotations

from datetime import timedelta

from bascule.model import Absent, CannotTell, Found, Phase, Source, belongs_to, key_for
from tests.contracts.manager_world import INSTALLATION
from tests.contracts.owed import owed_if


class Finding:
    """Looking for what may have been submitted."""

    @owed_if("key=none")
    async def test_who_cannot_search_cannot_tell(self, world):
        """
        No key, no proof of absence: the honest answer is the third.
        """
        order, _ = await world.running()

        assert isinstance(await world.manager.find(order.key, world.now()), CannotTell)

    @owed_if("!key=none")
    async def test_a_submitted_job_is_found_by_its_key(self, world):
        since = world.now() - timedelta(minutes=1)
        order, handle = await world.running()

        found = await world.manager.find(order.key, since)

        assert isinstance(found, Found)
        assert [(handle.id, order.key)] == [(match.handle.id, match.handle.key) for match in found.matches]
        assert Phase.RUNNING is found.matches[0].report.phase

    @owed_if("!key=none")
    async def test_a_found_handle_is_as_good_as_the_one_from_submit(self, world):
        """
        Whoever adopts by key can watch and cancel like whoever submitted.
        """
        since = world.now() - timedelta(minutes=1)
        order, _ = await world.running()

        found = await world.manager.find(order.key, since)
        handle = found.matches[0].handle
        await world.becomes(handle, Phase.RUNNING)
        await world.manager.cancel(handle)

        await world.becomes(handle, Phase.CANCELLED)

    @owed_if("!key=none")
    async def test_absence_has_evidence_and_a_time(self, world):
        """
        The core may submit again only after an absence that is newer than its intent.
        """
        before = world.now()

        answer = await world.manager.find(world.order().key, before)

        assert isinstance(answer, Absent)
        assert answer.evidence
        assert before <= answer.as_of <= world.now()

    @owed_if("!key=none")
    async def test_a_longer_key_is_another_job(self, world):
        """
        Attempt 1 is not found by looking for attempt 11, nor the other way round.
        """
        order = world.order(attempt=11)
        await world.manager.submit(order)
        shorter = order.key.removesuffix("1")

        assert isinstance(await world.manager.find(shorter, world.now()), Absent)
        assert isinstance(await world.manager.find(order.key + "1", world.now()), Absent)

    @owed_if("!key=none")
    async def test_a_job_that_is_over_is_found_with_its_end(self, world):
        since = world.now() - timedelta(minutes=1)
        order, _, _ = await world.over(exit_code=3)

        found = await world.manager.find(order.key, since)

        assert isinstance(found, Found)
        assert found.matches[0].report.is_over
        assert world.fails_with == found.matches[0].report.exit_code

    @owed_if("holds")
    async def test_our_hold_is_told_until_the_release(self, world):
        since = world.now() - timedelta(minutes=1)
        order = world.order(held=True)
        handle = await world.manager.submit(order)

        before = await world.manager.find(order.key, since)
        await world.manager.release(handle)
        after = await world.manager.find(order.key, since)

        assert [True] == [match.held for match in before.matches]
        assert [False] == [match.held for match in after.matches]

    @owed_if("key=searched", "holds")
    async def test_two_jobs_of_one_key_are_both_told_oldest_first(self, world):
        """
        Should a doubt ever have left two, the core must see both to keep one.
        """
        since = world.now() - timedelta(minutes=1)
        order = world.order(held=True)
        first = await world.manager.submit(order)
        await world.clock.sleep(1)
        second = await world.manager.submit(order)

        found = await world.manager.find(order.key, since)

        assert [first.id, second.id] == [match.handle.id for match in found.matches]

    @owed_if("history", "world.purge")
    async def test_a_purged_job_is_found_in_the_history(self, world):
        since = world.now() - timedelta(minutes=1)
        order, handle, _ = await world.over(exit_code=3)
        await world.purge(handle)

        found = await world.manager.find(order.key, since)

        assert isinstance(found, Found)
        assert Phase.FAILED is found.matches[0].report.phase
        assert Source.HISTORY is found.matches[0].report.source

    @owed_if("key=searched", "!history", "world.purge")
    async def test_a_purged_job_without_a_history_is_never_called_absent(self, world):
        """
        It may have run: an absence here would let it run again.
        """
        since = world.now() - timedelta(minutes=1)
        order, handle, _ = await world.over()
        await world.purge(handle)

        assert isinstance(await world.manager.find(order.key, since), CannotTell)

    @owed_if("!key=none")
    async def test_a_sweep_lists_ours_and_no_strangers(self, world):
        """
        Another installation's jobs, and people's own, are not ours to touch.
        """
        mine = world.order()
        theirs = mine._replace(key=key_for("job", installation="other7", uid="u", attempt=1))
        for order in (mine, theirs):
            await world.manager.submit(order)

        strays = await world.manager.sweep(INSTALLATION)

        assert [mine.key] == [stray.key for stray in strays]
        assert all(belongs_to(stray.key, INSTALLATION) for stray in strays)

    @owed_if("holds", "!key=none")
    async def test_a_sweep_tells_held_from_released_from_over(self, world):
        """
        Only what is held can be an orphan; what may run or has run is no sweeper's business.
        """
        held, released, over = [await world.manager.submit(world.order(name, held=True)) for name in "abc"]
        await world.manager.release(released)
        await world.manager.cancel(over)
        await world.becomes(over, Phase.CANCELLED)

        strays = {stray.handle.id: stray for stray in await world.manager.sweep(INSTALLATION)}

        assert strays[held.id].held
        assert not strays[held.id].over
        assert not strays[released.id].held
        assert over.id not in strays or strays[over.id].over
