"""The contract of platforms: what the driver writes, and what keeps two drivers apart."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from bascule.errors import Conflict, Fenced
from bascule.model import JobStatus, Phase, Ref, TargetStatus, key_for, parts_of
from tests.contracts.platform_world import EVERY_FIELD_OF_STATUS, event, in_phase


class Driving:
    """Save and remove, by compare-and-set."""

    async def test_every_field_of_a_status_comes_back(self, world):
        job = await world.stored()

        saved = await world.driver.save(replace(job, status=EVERY_FIELD_OF_STATUS))

        assert EVERY_FIELD_OF_STATUS == saved.status
        assert job.version != saved.version
        assert saved == await world.front.get(job.ref)

    async def test_a_save_leaves_the_spec_alone(self, world):
        """
        Specs are people's, statuses the driver's, whatever else is in the job that is handed in.
        """
        job = await world.stored(labels={"a": "b"})

        await world.driver.save(replace(in_phase(job, Phase.QUEUED), spec=replace(job.spec, cancel=True), labels={}))

        stored = await world.front.get(job.ref)
        assert (job.spec, job.labels, job.generation) == (stored.spec, stored.labels, stored.generation)

    async def test_a_save_of_what_has_moved_on_is_a_conflict(self, world):
        """
        A wish that came in between is not lost, and nothing is told that did not happen.
        """
        job = await world.stored()
        changed = await world.front.change(replace(job, spec=replace(job.spec, cancel=True)))

        with pytest.raises(Conflict):
            await world.driver.save(in_phase(job, Phase.QUEUED), [event()])

        assert changed == await world.front.get(job.ref)
        assert not await world.front.events(job.ref)

    @pytest.mark.parametrize("version", ["", "0", "-1", "x", "\uff19", "99999999999999999999999"])
    async def test_a_version_that_was_never_given_is_a_conflict(self, world, version):
        job = await world.stored()

        with pytest.raises(Conflict):
            await world.driver.save(replace(in_phase(job, Phase.QUEUED), version=version))

        assert job == await world.front.get(job.ref)

    async def test_a_deletion_in_between_is_a_conflict(self, world):
        job = await world.stored()
        deleted = await world.front.delete(job.ref)

        with pytest.raises(Conflict):
            await world.driver.save(in_phase(job, Phase.QUEUED))

        assert deleted == await world.front.get(job.ref)

    async def test_of_many_saves_of_a_version_one_wins(self, world):
        job = await world.stored()

        answers = await asyncio.gather(
            *(world.driver.save(in_phase(job, Phase.QUEUED, message=str(n))) for n in range(20)),
            return_exceptions=True,
        )

        [winner] = [answer for answer in answers if not isinstance(answer, Conflict)]
        assert winner == await world.front.get(job.ref)

    async def test_nothing_is_lost_in_a_storm_of_conflicts(self, world):
        """
        Ten who count and ten who wish, each reading again after a conflict: every count and wish is there.
        """
        ref = (await world.stored()).ref

        async def count():
            while True:
                job = await world.driver.get(ref)
                try:
                    return await world.driver.save(in_phase(job, Phase.QUEUED, retries=job.status.retries + 1))
                except Conflict:
                    continue

        async def wish(name):
            while True:
                job = await world.front.get(ref)
                try:
                    return await world.front.change(replace(job, labels={**job.labels, name: "yes"}))
                except Conflict:
                    continue

        await asyncio.gather(*(count() for _ in range(10)), *(wish(f"wish-{n}") for n in range(10)))

        job = await world.front.get(ref)
        assert 10 == job.status.retries
        assert {f"wish-{n}" for n in range(10)} == job.labels.keys()

    async def test_a_removed_job_is_gone(self, world):
        job = await world.saved(Phase.SUCCEEDED)

        await world.driver.remove(job)

        assert await world.front.get(job.ref) is None
        with pytest.raises(Conflict):
            await world.driver.remove(job)
        with pytest.raises(Conflict):
            await world.driver.save(job)

    async def test_a_job_that_has_moved_on_is_not_removed(self, world):
        job = await world.stored()
        await world.front.change(replace(job, labels={"keep": "me"}))

        with pytest.raises(Conflict):
            await world.driver.remove(job)

        assert await world.front.get(job.ref)

    async def test_who_was_taken_over_can_write_nothing(self, world):
        """
        A process that was frozen wakes up after its successor took over: whatever it still wants, it is too late.
        """
        job = await world.stored()
        made = await world.front.put_target(world.target())
        await world.successor()

        for late in (
            world.driver.save(in_phase(job, Phase.QUEUED), [event()]),
            world.driver.remove(job),
            world.driver.save_target(replace(made, status=TargetStatus(version="26.05"))),
        ):
            with pytest.raises(Fenced):
                await late

        assert job == await world.front.get(job.ref)
        assert made == await world.front.target(made.ref)
        assert not await world.front.events(job.ref)

    async def test_the_successor_goes_on(self, world):
        job = await world.saved(Phase.SUBMITTING)
        successor = await world.successor()

        saved = await successor.save(in_phase(job, Phase.QUEUED))

        assert saved == await world.front.get(job.ref)

    async def test_a_key_leads_to_its_job(self, world):
        """
        Of each attempt that was made; not of one that was not, nor of a stranger's.
        """
        job = await world.stored("train")
        job = await world.driver.save(replace(job, status=JobStatus(attempt=2)))

        async def bearer(attempt=1, installation=world.driver.installation):
            key = key_for(job.name, installation=installation, uid=job.uid, attempt=attempt)
            return await world.driver.bearer(key)

        assert job == await bearer(1) == await bearer(2)
        assert await bearer(3) is None
        assert await bearer(installation="other") is None
        assert await world.driver.bearer("no key") is None

    async def test_all_processes_are_of_one_installation(self, world):
        installation = world.driver.installation

        key = key_for("x", installation=installation, uid="u", attempt=1)
        assert installation == parts_of(key).installation == (await world.successor()).installation


class Events:
    """What happened, for the person who asks why."""

    async def test_events_come_back_in_order(self, world):
        job = await world.stored()
        events = [event("Intended", after=1), event("Submitted", after=2), event("Queued", "日本", after=2)]

        job = await world.driver.save(in_phase(job, Phase.SUBMITTING), events[:2])
        await world.driver.save(in_phase(job, Phase.QUEUED), events[2:])

        assert events == list(await world.front.events(job.ref))

    async def test_the_same_event_again_is_one_with_the_last_time_and_a_count(self, world):
        job = await world.stored()

        job = await world.driver.save(job, [event("Refused", after=n) for n in range(3)])
        job = await world.driver.save(job, [event("Refused", after=7)])

        [kept] = await world.front.events(job.ref)
        assert replace(event("Refused", after=7), count=4) == kept

    async def test_the_same_event_after_another_is_told_anew(self, world):
        job = await world.stored()
        events = [event("Unreachable", after=1), event("Reachable", after=2), event("Unreachable", after=3)]

        for one in events:
            job = await world.driver.save(job, [one])

        assert events == list(await world.front.events(job.ref))

    async def test_of_many_events_the_last_are_kept(self, world):
        job = await world.stored()
        events = [event(message=str(n), after=n) for n in range(500)]

        for some in (events[:300], events[300:]):
            job = await world.driver.save(job, some)

        kept = list(await world.front.events(job.ref))
        assert 100 <= len(kept) <= 300
        assert events[-len(kept) :] == kept

    async def test_nothing_happened_to_what_is_not_there(self, world):
        assert not await world.front.events(Ref("default", "nobody"))

    async def test_a_name_used_again_starts_a_new_story(self, world):
        job = await world.stored("train")
        await world.driver.remove(await world.driver.save(job, [event()]))

        job = await world.stored("train")

        assert not await world.front.events(job.ref)
