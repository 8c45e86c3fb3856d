"""The contract of platforms: lists, watches and secrets."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest
from msgspec.structs import replace

from bascule.errors import Mistake
from bascule.model import Duration, Phase, Ref, TargetRef, TargetStatus
from bascule.ports import Change, Selector
from tests.contracts.platform_world import change_of, in_phase, told


class Listing:
    """Which jobs, in which order."""

    async def test_all_jobs_oldest_first(self, world):
        names = ["c", "a", "b"]
        for name in names:
            await world.stored(name)
            await world.a_moment()

        assert names == await world.names(Selector())

    async def test_a_changed_job_keeps_its_place(self, world):
        first = await world.stored("second")
        await world.a_moment()
        second = await world.stored("first")
        await world.driver.save(in_phase(first, Phase.QUEUED))

        assert [first.name, second.name] == await world.names(Selector())

    async def test_no_job_is_an_empty_list(self, world):
        assert [] == await world.names(Selector())

    async def test_listed_jobs_are_whole(self, world):
        job = await world.saved(Phase.QUEUED, labels={"a": "b"})

        async with aclosing(world.driver.list(Selector())) as jobs:
            assert [job] == [one async for one in jobs]

    async def test_by_namespace_and_name(self, world):
        for namespace, name in [("default", "a"), ("other", "a"), ("default", "b"), ("default", "c")]:
            await world.stored(name, namespace=namespace)

        assert ["a", "b", "c"] == sorted(await world.names(Selector(namespace="default")))
        assert ["a", "a", "c"] == sorted(await world.names(Selector(names=("c", "a", "none"))))
        assert ["a"] == await world.names(Selector(namespace="other", names=("a", "b")))

    async def test_by_labels_all_of_which_must_fit(self, world):
        odd = {'gr"öße.of/it': 'a"b'} if world.takes_any_text else {"example.org/Size_of.it": "a-B.c"}
        await world.stored("one", labels={"project": "x", **odd})
        await world.stored("two", labels={"project": "x"})
        await world.stored("three", labels={"project": "y"})

        assert ["one", "two"] == await world.names(Selector(labels={"project": "x"}))
        assert ["one"] == await world.names(Selector(labels={"project": "x", **odd}))
        assert [] == await world.names(Selector(labels={"project": "x%"}))

    async def test_by_phase(self, world):
        for phase in (Phase.QUEUED, Phase.RUNNING, Phase.FAILED):
            await world.saved(phase, name=phase.value.lower())

        assert {"queued", "failed"} == set(await world.names(Selector(phases=(Phase.FAILED, Phase.QUEUED))))
        assert ["running"] == await world.names(Selector(phases=(Phase.RUNNING,)))

    async def test_by_target(self, world):
        await world.stored("here")
        await world.stored("there", spec=replace(world.job().spec, target=TargetRef("hpc")))

        assert ["there"] == await world.names(Selector(target="hpc"))

    async def test_live_is_not_final_or_being_deleted(self, world):
        for phase in Phase:
            await world.saved(phase, name=phase.value.lower())
        await world.front.delete(Ref("default", "failed"))

        live = await world.names(Selector(live=True))
        rest = await world.names(Selector(live=False))

        assert {"succeeded", "cancelled"} == set(rest)
        assert {phase.value.lower() for phase in Phase} - set(rest) == set(live)

    async def test_a_job_with_a_time_to_go_is_live(self, world):
        """
        After a restart somebody must still remove it.
        """
        spec = replace(world.job().spec, ttl_after_finished=Duration(minutes=5))
        await world.saved(Phase.SUCCEEDED, name="goes", spec=spec)
        await world.saved(Phase.SUCCEEDED, name="stays")

        assert ["goes"] == await world.names(Selector(live=True))

    async def test_final_phases_among_the_live(self, world):
        """
        A job that has ended and is being deleted still needs the driver.
        """
        done = await world.saved(Phase.SUCCEEDED)
        await world.front.delete(done.ref)
        await world.saved(Phase.SUCCEEDED)

        assert [done.name] == await world.names(Selector(phases=(Phase.SUCCEEDED,), live=True))

    async def test_at_most_as_many_as_asked_for(self, world):
        for name in "abc":
            await world.stored(name)

        assert ["a", "b"] == await world.names(Selector(limit=2))
        assert [] == await world.names(Selector(limit=0))

    async def test_a_long_list_is_whole_while_it_is_written_to(self, world):
        """
        What was there before and after the list is in it once, whatever is written meanwhile.
        """
        await asyncio.gather(*(world.stored(f"job-{n:04}") for n in range(450)))
        seen = []

        async with aclosing(world.driver.list(Selector())) as jobs:
            async for job in jobs:
                seen.append(job.name)
                if len(seen) % 90 == 0:
                    current = await world.driver.get(job.ref)
                    await world.driver.save(in_phase(current, Phase.QUEUED))
                    await world.stored(f"new-{len(seen)}")

        assert [f"job-{n:04}" for n in range(450)] == sorted(name for name in seen if name.startswith("job-"))

    async def test_a_list_of_large_jobs_is_whole(self, world):
        for n in range(9):
            await world.stored(f"large-{n}", script="x" * (world.largest_script - 100))

        assert [f"large-{n}" for n in range(9)] == await world.names(Selector())
        assert [f"large-{n}" for n in range(7)] == await world.names(Selector(limit=7))


class Watching:
    """Never too little."""

    async def test_tells_of_jobs_written_by_anybody(self, world):
        for watcher in (world.driver, world.front):
            async with aclosing(watcher.watch()) as watch:
                job = await world.stored()
                await told(watch, change_of(job))
                job = await world.driver.save(in_phase(job, Phase.QUEUED))
                await told(watch, change_of(job))
                job = await world.front.change(replace(job, spec=replace(job.spec, cancel=True)))
                await told(watch, change_of(job))
                job = await world.front.delete(job.ref)
                await told(watch, change_of(job))
                await world.driver.remove(job)
                await told(watch, change_of(job))

    async def test_tells_of_targets(self, world):
        for watcher in (world.driver, world.front):
            async with aclosing(watcher.watch()) as watch:
                made = await world.front.put_target(world.target())
                await told(watch, Change("target", made.ref))
                await world.driver.save_target(replace(made, status=TargetStatus(version="1")))
                await told(watch, Change("target", made.ref))
                await world.front.delete_target(made.ref)
                await told(watch, Change("target", made.ref))

    async def test_begins_when_it_is_asked_for(self, world):
        """
        Whoever lists after `watch` misses nothing, however late the first look at the watch is.
        """
        async with aclosing(world.driver.watch()) as watch:
            jobs = [await world.stored() for _ in range(3)]

            await told(watch, *map(change_of, jobs))

    async def test_many_changes_at_once_are_all_told(self, world):
        async with aclosing(world.driver.watch()) as one, aclosing(world.front.watch()) as two:
            jobs = await asyncio.gather(
                *(face.create(world.job()) for _ in range(100) for face in (world.driver, world.front))
            )
            jobs = await asyncio.gather(*(world.driver.save(in_phase(job, Phase.QUEUED)) for job in jobs))

            await told(one, *map(change_of, jobs))
            await told(two, *map(change_of, jobs))

    async def test_a_change_while_one_is_looked_at_is_told(self, world):
        """
        The second change comes while the first is being worked on, as in every busy hour.
        """
        async with aclosing(world.driver.watch()) as watch:
            for _ in range(20):
                job = await world.stored()
                await told(watch, change_of(job))
                await world.driver.save(in_phase(job, Phase.QUEUED))
                await told(watch, change_of(job))

    async def test_who_waits_is_woken(self, world):
        job = await world.stored()
        async with aclosing(world.driver.watch()) as watch, asyncio.TaskGroup() as tasks:
            waiting = tasks.create_task(told(watch, change_of(job)))
            await asyncio.sleep(0)

            await world.front.delete(job.ref)
            await waiting


class Secrets:
    """What nobody else shall see."""

    async def test_a_secret_is_read_when_it_is_needed(self, world):
        """
        A secret that was renewed is the new one at its next use.
        """
        world.put_secret("default", "hpc-token", "token", "one")
        assert "one" == await world.driver.secret("default", "hpc-token", "token")

        world.put_secret("default", "hpc-token", "token", "two é")
        assert "two é" == await world.driver.secret("default", "hpc-token", "token")

    async def test_a_missing_secret_is_a_mistake_with_a_hint(self, world):
        """
        The message tells which is missing, and nothing of those that are there.
        """
        world.put_secret("default", "hpc-token", "token", "canary")

        for name, key in (("hpc-token", "password"), ("other", "token")):
            with pytest.raises(Mistake, match=name) as caught:
                await world.driver.secret("default", name, key)
            assert caught.value.hint
            assert "canary" not in caught.value.message + caught.value.hint
