"""slurmctld, killed within seconds of a release, comes back with the job held: what ran must not run again."""

from __future__ import annotations

import pytest

from bascule.errors import Refused
from bascule.managers.slurm.description import MARKS
from bascule.managers.slurm.rewound import BEGAN
from bascule.model import Absent, CannotTell, Found, Phase, Reason, Report, Source
from tests.managers.slurm.test_contract import MiddleWorld, NewWorld, OldRememberingWorld, OldWorld

SETTLES = 60.0


class MarkedWorld(OldWorld):
    """22.05 without accounting: what ran is known from the shared folder alone."""

    submission = "Held"
    shares = True


class NewMarkedWorld(NewWorld):
    """26.05 without accounting."""

    accounting = False


@pytest.fixture(params=[NewWorld, MiddleWorld, OldRememberingWorld], ids=lambda world: world.__name__)
async def world(request, tmp_path):
    async with request.param(tmp_path) as world:
        yield world


@pytest.fixture
async def marked(tmp_path):
    async with MarkedWorld(tmp_path) as world:
        yield world


@pytest.fixture
async def new(tmp_path):
    async with NewWorld(tmp_path) as world:
        yield world


async def released(world, **spec):
    order = world.order(held=True, **spec)
    handle = await world.manager.submit(order)
    await world.manager.release(handle)
    return order, handle


def mark(world, handle, *, start="", result=""):
    folder = world.folder / MARKS / handle.key
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (("start.0", start), ("result.0", result)):
        if text:
            (folder / name).write_text(f"{text} .\n")


class TestWithAccounting:
    async def test_a_run_that_ended_is_the_answer(self, world):
        _, handle = await released(world)
        world.cluster.start(int(handle.id))
        world.cluster.finish(int(handle.id), exit_code=3)
        world.cluster.rewind(int(handle.id))

        report = await world.see(handle)

        assert (Phase.FAILED, Reason.EXIT_CODE, 3) == (report.phase, report.reason, report.exit_code)
        assert Source.HISTORY is report.source

    async def test_a_run_without_an_end_is_waited_for_and_then_lost(self, world):
        """
        Its node ends it as soon as that registers; no release makes it run again.
        """
        _, handle = await released(world)
        world.cluster.start(int(handle.id))
        world.cluster.rewind(int(handle.id))

        at_first = await world.see(handle)
        await world.clock.sleep(SETTLES)
        later = await world.see(handle)

        assert CannotTell(BEGAN) == at_first
        assert isinstance(later, Absent)

    @pytest.mark.parametrize("ended", [True, False])
    async def test_it_is_not_released_again(self, world, ended, monkeypatch):
        monkeypatch.setattr("bascule.managers.slurm.changing.JUST_NOW", 0.0)
        order, handle = await released(world)
        world.cluster.start(int(handle.id))
        if ended:
            world.cluster.finish(int(handle.id))
        world.cluster.rewind(int(handle.id))

        for release in (world.manager.release, world.manager.unhold):
            with pytest.raises(Refused, match="it ran before"):
                await release(handle)

        assert world.cluster.live[int(handle.id)].held
        assert 1 == world.starts(order.key)

    async def test_one_that_never_started_is_held_and_can_be_released(self, world, monkeypatch):
        monkeypatch.setattr("bascule.managers.slurm.changing.JUST_NOW", 0.0)
        order, handle = await released(world)
        world.cluster.rewind(int(handle.id))

        held = await world.see(handle)
        await world.manager.release(handle)
        world.cluster.start(int(handle.id))

        assert Phase.HELD is held.phase
        assert Phase.RUNNING is (await world.see(handle)).phase
        assert 1 == world.starts(order.key)

    async def test_a_job_that_was_requeued_and_is_held_is_held(self, world):
        """
        Its first run is over, and is not the run that is held.
        """
        _, handle = await released(world)
        world.cluster.start(int(handle.id))
        world.cluster.requeue(int(handle.id))
        world.cluster.hold(world.cluster.live[int(handle.id)], hold=True)

        report = await world.see(handle)

        assert (Phase.HELD, 1) == (report.phase, report.restarts)

    async def test_a_cancellation_that_was_undone_is_one(self, world):
        _, handle = await released(world)
        await world.manager.cancel(handle)
        world.cluster.rewind(int(handle.id))

        assert Phase.CANCELLED is (await world.see(handle)).phase

    async def test_what_is_held_of_it_is_told_to_the_sweeper(self, world):
        order, handle = await released(world)
        world.cluster.start(int(handle.id))
        world.cluster.finish(int(handle.id))
        world.cluster.rewind(int(handle.id))

        (stray,) = await world.manager.sweep("tests2")

        assert (order.key, handle.id, True, False) == (stray.key, stray.handle.id, stray.held, stray.over)

    async def test_one_that_was_requeued_and_held_is_no_hold_of_ours(self, world):
        order, handle = await released(world)
        world.cluster.start(int(handle.id))
        world.cluster.requeue(int(handle.id))
        world.cluster.hold(world.cluster.live[int(handle.id)], hold=True)

        (stray,) = await world.manager.sweep("tests2")
        found = await world.manager.find(order.key, world.now())

        assert not stray.held
        assert isinstance(found, Found)
        assert not found.matches[0].held

    async def test_a_silent_database_hides_no_hold(self, new):
        handle = await new.manager.submit(new.order(held=True))
        new.cluster.database_is_down = True

        assert Phase.HELD is (await new.see(handle)).phase

    async def test_a_silent_database_lets_no_hold_be_taken_for_what_ran(self, new):
        _, handle = await released(new)
        new.cluster.start(int(handle.id))
        new.cluster.rewind(int(handle.id))
        await new.see(handle)
        new.cluster.database_is_down = True
        await new.clock.sleep(SETTLES + 1)

        assert CannotTell(BEGAN) == await new.see(handle)

    async def test_held_jobs_cost_a_question_a_minute(self, new):
        handles = [await new.manager.submit(new.order(f"job{n}", held=True)) for n in range(30)]
        seen = await new.manager.observe(handles)
        for _ in range(10):
            await new.clock.sleep(30)
            seen = await new.manager.observe(handles, seen.cursor)

        assert new.server.requests["GET /slurmdb/v0.0.45/jobs"] <= 1 + 10


class TestSaidToRun:
    async def test_an_end_that_slurmctld_has_forgotten_is_the_answer(self, world):
        """
        Nothing runs any more, and slurmctld would say for ever that it does.
        """
        _, handle = await world.running()
        world.cluster.finish(int(handle.id), exit_code=3)
        world.cluster.resurrect(int(handle.id))
        await world.clock.sleep(SETTLES)
        world.manager._observer.forget(handle)

        report = await world.see(handle)

        assert (Phase.FAILED, Reason.EXIT_CODE, Source.HISTORY) == (report.phase, report.reason, report.source)

    async def test_one_that_does_run_runs(self, world):
        _, handle = await world.running()
        await world.clock.sleep(SETTLES)
        world.manager._observer.forget(handle)

        assert Phase.RUNNING is (await world.see(handle)).phase

    async def test_one_that_was_requeued_and_runs_again_runs(self, world):
        _, handle = await world.running()
        world.cluster.requeue(int(handle.id))
        world.cluster.start(int(handle.id))
        await world.clock.sleep(SETTLES)
        world.manager._observer.forget(handle)

        report = await world.see(handle)

        assert (Phase.RUNNING, 1) == (report.phase, report.restarts)

    async def test_a_marker_counts_once_slurm_has_had_its_time(self, marked):
        """
        It is written before slurmctld hears of the end, and does not know why.
        """
        _, handle = await marked.running()
        mark(marked, handle, start=f"{handle.id} 0 100 0", result=f"{handle.id} 0 130 4 0")

        await marked.clock.sleep(SETTLES)
        at_first = await marked.see(handle)
        await marked.clock.sleep(SETTLES)
        later = await marked.see(handle)

        assert Phase.RUNNING is at_first.phase
        assert (Phase.FAILED, 4, Source.MARKER) == (later.phase, later.exit_code, later.source)

    async def test_a_marker_is_remembered_while_others_are_looked_up(self, tmp_path):
        """
        A newer version reads a job that does not move only now and then.
        """
        async with NewMarkedWorld(tmp_path) as world:
            _, handle = await world.running()
            mark(world, handle, start=f"{handle.id} 0 100 0", result=f"{handle.id} 0 130 4 0")
            for n in range(4):
                await world.clock.sleep(1900)
                held = await world.manager.submit(world.order(f"held{n}", held=True))
                seen = await world.manager.observe([handle, held])

        assert (Phase.FAILED, 4) == (seen.answers[handle.id].phase, seen.answers[handle.id].exit_code)

    async def test_running_jobs_cost_a_question_in_ten_minutes(self, new):
        handles = [await new.manager.submit(new.order(f"job{n}")) for n in range(30)]
        for handle in handles:
            new.cluster.start(int(handle.id))
        seen = await new.manager.observe(handles)
        for _ in range(140):
            await new.clock.sleep(30)
            seen = await new.manager.observe(handles, seen.cursor)

        assert new.server.requests["GET /slurmdb/v0.0.45/jobs"] <= 1 + 7


class TestWithMarker:
    async def test_a_run_that_ended_is_the_answer(self, marked):
        _, handle = await released(marked)
        mark(marked, handle, start=f"{handle.id} 0 100 0", result=f"{handle.id} 0 130 4 0")
        marked.cluster.start(int(handle.id))
        marked.cluster.rewind(int(handle.id))

        report = await marked.see(handle)

        assert (Phase.FAILED, 4, Source.MARKER) == (report.phase, report.exit_code, report.source)

    async def test_one_that_ends_meanwhile_is_the_answer_then(self, marked):
        _, handle = await released(marked)
        mark(marked, handle, start=f"{handle.id} 0 100 0")
        marked.cluster.rewind(int(handle.id))

        at_first = await marked.see(handle)
        mark(marked, handle, result=f"{handle.id} 0 130 0 0")
        await marked.clock.sleep(SETTLES + 1)
        later = await marked.see(handle)

        assert CannotTell(BEGAN) == at_first
        assert Phase.SUCCEEDED is later.phase

    async def test_one_that_left_no_end_is_lost(self, marked):
        _, handle = await released(marked)
        mark(marked, handle, start=f"{handle.id} 0 100 0")
        marked.cluster.rewind(int(handle.id))
        await marked.see(handle)
        await marked.clock.sleep(SETTLES)

        assert isinstance(await marked.see(handle), Absent)

    async def test_it_is_not_released_again(self, marked, monkeypatch):
        monkeypatch.setattr("bascule.managers.slurm.changing.JUST_NOW", 0.0)
        _, handle = await released(marked)
        mark(marked, handle, start=f"{handle.id} 0 100 0")
        marked.cluster.rewind(int(handle.id))

        with pytest.raises(Refused, match="it ran before"):
            await marked.manager.release(handle)

        assert marked.cluster.live[int(handle.id)].held

    @pytest.mark.parametrize("start", ["{other} 0 100 0", "{id} 1 100 0"], ids=["another id", "another restart"])
    async def test_the_marker_of_another_run_says_nothing(self, marked, start):
        handle = await marked.manager.submit(marked.order(held=True))
        mark(marked, handle, start=start.format(id=handle.id, other=int(handle.id) + 1))

        report = await marked.see(handle)

        assert isinstance(report, Report)
        assert Phase.HELD is report.phase
