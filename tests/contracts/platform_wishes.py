"""The contract of platforms: what people write, specs of jobs and targets."""

from __future__ import annotations

import asyncio
import re

import pytest
from msgspec.structs import replace

from bascule.errors import Conflict, Mistake
from bascule.model import JobStatus, Phase, Ref, TargetStatus
from bascule.ports import Selector
from tests.contracts.platform_world import in_phase


class Jobs:
    """Create, change, delete."""

    async def test_a_new_job_has_a_uid_a_version_and_a_time(self, world):
        """
        What the platform gives is given by it alone, whatever was handed in.
        """
        asked = replace(world.job(), uid="mine", version="7", generation=9, status=JobStatus(phase=Phase.RUNNING))

        job = await world.front.create(asked)

        assert job.uid not in {"", "mine"}
        assert job.version
        assert (1, JobStatus(), None) == (job.generation, job.status, job.deleted_at)
        assert abs(job.created_at - world.clock.now()).total_seconds() < 60

    async def test_what_was_created_is_read_by_all(self, world):
        job = await world.stored(labels={"project": "x"}, annotations={"note": "y"})

        assert job == await world.front.get(job.ref) == await world.driver.get(job.ref)

    async def test_what_is_not_there_is_none(self, world):
        assert await world.front.get(Ref("default", "nobody")) is None

    async def test_a_taken_name_is_a_conflict(self, world):
        """
        The job that bears the name is not touched.
        """
        job = await world.stored("train", script="one")

        with pytest.raises(Conflict, match="train"):
            await world.stored("train", script="two")

        assert job == await world.front.get(job.ref)

    async def test_of_many_who_want_a_name_one_gets_it(self, world):
        answers = await asyncio.gather(
            *(
                face.create(world.job("train", script=str(n)))
                for n in range(10)
                for face in (world.front, world.driver)
            ),
            return_exceptions=True,
        )

        [winner] = [answer for answer in answers if not isinstance(answer, Conflict)]
        assert winner == await world.front.get(winner.ref)

    async def test_namespaces_keep_names_apart(self, world):
        one, two = [await world.stored("train", namespace=namespace) for namespace in ("default", "other")]

        assert one.uid != two.uid
        assert one == await world.front.get(Ref("default", "train"))
        assert two == await world.front.get(Ref("other", "train"))

    async def test_a_name_used_again_is_another_job(self, world):
        first = await world.stored("train")
        await world.driver.remove(first)

        second = await world.stored("train")

        assert first.uid != second.uid
        assert first.version != second.version

    async def test_every_field_of_a_spec_comes_back(self, world):
        job = await world.stored(spec=world.every_field_of_spec())

        assert world.every_field_of_spec() == (await world.driver.get(job.ref)).spec

    @pytest.mark.parametrize(
        "text",
        [
            "#!/bin/sh\r\necho 'a' \"b\" `c` $d \\e %s {f}\r\n",
            "no newline, NUL \0, bell \a, é, 日本, \U0001f680, \u2028",
            "x",
            "é\n",
        ],
        ids=["quotes", "control", "large", "large-unicode"],
    )
    async def test_a_script_comes_back_byte_for_byte(self, world, text):
        if len(text) < 3:
            text *= (world.largest_script - 100) // len(text.encode())
        job = await world.stored(script=text)

        assert world.script(text).encode() == (await world.driver.get(job.ref)).spec.run.script.encode()

    async def test_labels_and_annotations_may_hold_any_text(self, world):
        odd = {"größe": "日本 🚀", 'a"b': "'; DROP TABLE jobs; --", "bascule.dev/x": "", "%": "_"}
        labels = odd
        if not world.takes_any_text:
            odd, labels = {"bascule.dev/x": "日本 🚀'; --\n", "a.b-c_D": ""}, {"bascule.dev/x": "", "a.b-c_D": "E_f"}

        job = await world.stored(labels=labels, annotations=odd)

        assert (labels, odd) == ((await world.driver.get(job.ref)).labels, job.annotations)

    @pytest.mark.parametrize("name", ["a" * 253, "it's", "%", "a_c", "ä/ö ü", "日本"])
    async def test_a_name_finds_only_itself(self, world, name):
        if not world.takes_any_text and not re.fullmatch("a+", name):
            with pytest.raises(Mistake):
                await world.stored(name)
            return
        await world.stored("abc")
        job = await world.stored(name)

        assert job == await world.front.get(Ref("default", name))
        assert [name] == await world.names(Selector(names=(name,)))

    async def test_a_changed_spec_moves_version_and_generation(self, world):
        job = await world.stored()

        changed = await world.front.change(replace(job, spec=replace(job.spec, cancel=True)))

        assert changed.spec.cancel
        assert job.generation + 1 == changed.generation
        assert job.version != changed.version
        assert changed == await world.driver.get(job.ref)

    async def test_changed_labels_move_the_version_alone(self, world):
        job = await world.stored()

        changed = await world.front.change(replace(job, labels={"a": "b"}, annotations={"c": "d"}))

        assert ({"a": "b"}, {"c": "d"}) == (changed.labels, changed.annotations)
        assert job.generation == changed.generation
        assert job.version != changed.version

    async def test_a_change_that_changes_nothing_writes_nothing(self, world):
        job = await world.stored()

        assert job == await world.front.change(job)

    async def test_a_change_of_what_has_moved_on_is_a_conflict(self, world):
        job = await world.stored()
        moved = await world.driver.save(in_phase(job, Phase.QUEUED))

        with pytest.raises(Conflict):
            await world.front.change(replace(job, spec=replace(job.spec, cancel=True)))

        assert moved == await world.front.get(job.ref)

    async def test_a_change_leaves_the_status_alone(self, world):
        """
        Specs are people's, statuses the driver's, whatever else is in the job that is handed in.
        """
        job = await world.saved(Phase.RUNNING)

        asked = replace(in_phase(job, Phase.FAILED), spec=replace(job.spec, hold=True), uid="other", created_at=None)
        changed = await world.front.change(asked)

        assert job.status == changed.status == (await world.driver.get(job.ref)).status
        assert (job.uid, job.created_at) == (changed.uid, changed.created_at)

    async def test_a_deleted_job_stays_until_the_driver_lets_it_go(self, world):
        job = await world.stored()

        deleted = await world.front.delete(job.ref)

        assert deleted == await world.driver.get(job.ref)
        assert abs(deleted.deleted_at - world.clock.now()).total_seconds() < 60
        assert job.uid == deleted.uid
        assert deleted.generation in {job.generation, job.generation + 1}, "Kubernetes counts it as a change"
        assert job.version != deleted.version

    async def test_a_second_delete_changes_nothing(self, world):
        job = await world.stored()
        deleted = await world.front.delete(job.ref)

        assert deleted == await world.front.delete(job.ref)

    async def test_nothing_to_delete_is_none(self, world):
        assert await world.front.delete(Ref("default", "nobody")) is None

    async def test_a_name_is_taken_until_its_job_is_removed(self, world):
        job = await world.stored("train")
        await world.front.delete(job.ref)

        with pytest.raises(Conflict):
            await world.stored("train")

    async def test_a_job_that_is_being_deleted_can_be_changed(self, world):
        """
        Letting go of a job whose manager is gone is such a change.
        """
        job = await world.stored()
        deleted = await world.front.delete(job.ref)

        changed = await world.front.change(replace(deleted, annotations={"bascule.dev/abandon": "true"}))

        assert deleted.deleted_at == changed.deleted_at
        assert changed == await world.driver.get(job.ref)


class Targets:
    """Make, change, remove."""

    async def test_a_new_target_is_read_by_all(self, world):
        made = await world.front.put_target(world.target(url="https://hpc:6820", options={"partition": "main"}))

        assert made.uid
        assert (1, TargetStatus()) == (made.generation, made.status)
        assert made == await world.front.target(made.ref) == await world.driver.target(made.ref)
        assert made in [one async for one in world.driver.targets()]

    async def test_no_target_is_none(self, world):
        assert await world.driver.target(Ref("default", "nowhere")) is None

    async def test_a_changed_target_keeps_its_uid_and_status(self, world):
        made = await world.front.put_target(world.target())
        saved = await world.driver.save_target(replace(made, status=TargetStatus(version="26.05")))

        changed = await world.front.put_target(world.target(url="https://new"))

        assert (made.uid, saved.status, 2) == (changed.uid, changed.status, changed.generation)
        assert changed == await world.driver.target(made.ref)

    async def test_a_target_put_again_writes_nothing(self, world):
        made = await world.front.put_target(world.target())

        assert made == await world.front.put_target(world.target())

    async def test_a_targets_status_leaves_its_spec_alone(self, world):
        made = await world.front.put_target(world.target(url="https://hpc"))

        asked = replace(made, spec=world.target(url="https://other").spec, status=TargetStatus(version="26.05"))
        await world.driver.save_target(asked)

        stored = await world.front.target(made.ref)
        assert ("https://hpc", "26.05", 1) == (stored.spec.url, stored.status.version, stored.generation)

    async def test_a_status_for_a_target_that_moved_on_is_a_conflict(self, world):
        made = await world.front.put_target(world.target())
        changed = await world.front.put_target(world.target(url="https://new"))

        with pytest.raises(Conflict):
            await world.driver.save_target(replace(made, status=TargetStatus(version="26.05")))

        assert changed == await world.front.target(made.ref)

    async def test_a_target_can_be_removed_once(self, world):
        made = await world.front.put_target(world.target())

        assert await world.front.delete_target(made.ref)
        assert not await world.front.delete_target(made.ref)
        assert await world.driver.target(made.ref) is None
