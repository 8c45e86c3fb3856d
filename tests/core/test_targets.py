"""
Many targets, and targets that change: one in trouble is nobody else's trouble.
"""

import pytest
from msgspec.structs import replace

from bascule.errors import Unavailable
from bascule.model import Duration, Limits, Phase, Reason, Ref
from tests.core.world import World
from tests.fakes.course import Course
from tests.fakes.faults import ANY, HANGS, REFUSED
from tests.fakes.kinds import HELD
from tests.virtual import VirtualLoop

loop_factory = VirtualLoop


@pytest.mark.parametrize("call", ["submit", "observe", "find", ANY])
@pytest.mark.parametrize("fault", [HANGS, REFUSED], ids=["hangs", "refuses"])
async def test_one_target_in_trouble_delays_no_job_of_another(call, fault):
    async with World(HELD) as world:
        await world.add_target("sick")
        world.faults_at("sick").always(call, fault)
        for number in range(40):
            await world.submit(f"sick{number}", target="sick")
        await world.pass_time(5)
        began = world.clock.monotonic()

        await world.submit()
        await world.settle()

        assert world.clock.monotonic() - began < 20


async def test_three_targets_that_hang_delay_no_job_of_a_fourth():
    """
    However many are in trouble: whoever is well is served.
    """
    async with World(HELD) as world:
        for name in ("sick1", "sick2", "sick3"):
            await world.add_target(name)
            world.faults_at(name).always("submit", HANGS)
            for number in range(40):
                await world.submit(f"{name}-{number}", target=name)
        await world.pass_time(5)
        began = world.clock.monotonic()

        await world.submit()
        await world.settle()

        assert world.clock.monotonic() - began < 20


async def test_a_target_that_does_not_exist_is_waited_for():
    async with World(HELD) as world:
        await world.submit(target="later")
        await world.until(lambda: world.status().reason == Reason.TARGET_NOT_FOUND)
        await world.pass_time(600)

        await world.add_target("later")
        await world.settle(within=120)

        assert Phase.SUCCEEDED is world.phase_of()


async def test_a_changed_target_keeps_its_jobs():
    """
    The owner changes a limit while jobs run: they are watched on.
    """
    async with World(HELD) as world:
        world.outside.course = Course(runs_for=300.0)
        await world.submit()
        await world.until_phase(Phase.RUNNING)
        target = world.target()

        limits = Limits(active_jobs=7, poll_interval=Duration(seconds=5))
        await world.front.put_target(replace(target, spec=replace(target.spec, limits=limits)))
        await world.settle(within=600)

        assert Phase.SUCCEEDED is world.phase_of()
        assert 1 == world.requests["submit"]


async def test_a_job_whose_target_is_removed_is_kept_until_it_is_back():
    """
    The outside job lives on: nothing is concluded from the lack of a way to it.
    """
    async with World(HELD) as world:
        await world.submit()
        await world.until_phase(Phase.RUNNING)

        await world.front.delete_target(Ref("default", "there"))
        await world.pass_time(3600)
        meanwhile = world.phase_of()
        await world.add_target("there")
        await world.settle(within=600)

        assert not meanwhile.is_final or meanwhile is Phase.SUCCEEDED
        assert Phase.SUCCEEDED is world.phase_of()


async def test_a_cancel_waits_for_a_target_that_was_removed():
    async with World(HELD) as world:
        await running(world)
        await world.front.delete_target(Ref("default", "there"))
        await world.crash()
        await world.delete()
        await world.pass_time(600)
        still_there = world.job() is not None

        await world.add_target("there")
        await world.gone(within=600)

        assert still_there
        assert not [job for job in world.outside_jobs() if job.ended is None]


async def test_a_target_that_answers_again_is_noticed_within_its_probe():
    """
    Jobs go on by themselves, and soon: waits grow, and not without end.
    """
    async with World(HELD) as world:
        world.outside.is_down = True
        for number in range(30):
            await world.submit(f"job{number}")
        await world.pass_time(7200)

        world.outside.is_down = False
        back_at = world.clock.monotonic()
        await world.until(lambda: len(world.outside.living()) == 30)

        assert world.clock.monotonic() - back_at < 150


@pytest.mark.parametrize("after", [7200, 7230, 7260, 7290])
async def test_a_credential_that_is_renewed_is_noticed_soon(after):
    """
    Somebody who has renewed it waits for it; a target that is silent is left alone for longer.
    """
    async with World(HELD) as world:
        world.outside.locked = True
        await world.submit()
        await world.pass_time(after)

        world.outside.locked = False
        renewed_at = world.clock.monotonic()
        await world.until(lambda: len(world.outside.living()) == 1)

        assert world.clock.monotonic() - renewed_at < 40


async def test_a_target_whose_status_moves_costs_no_look_at_its_jobs():
    """
    With 100,000 jobs there, a pass over each whenever their target answers again would take a minute.
    """
    async with World(HELD) as world:
        await running(world)
        await world.pass_time(60)
        target, process = world.target(), world.process.platform
        before = process.reads

        await process.save_target(replace(target, status=replace(target.status, version="26.05.1")))
        await world.pass_time(1)
        unmoved = process.reads
        await world.front.put_target(replace(target, spec=replace(target.spec, limits=Limits(active_jobs=7))))
        await world.pass_time(1)

        assert before == unmoved
        assert process.reads > unmoved


async def test_a_target_that_cannot_be_read_just_then_ends_no_driver(monkeypatch):
    """
    Whoever asks for news of a target may get no answer: its jobs are looked at all the same.
    """
    async with World(HELD) as world:
        world.outside.course = Course(runs_for=600.0)
        await world.submit()
        await world.until_phase(Phase.RUNNING)
        platform, read = world.process.platform, world.process.platform.target
        answers = iter([Unavailable("no answer")])

        async def silent_once(ref):
            for trouble in answers:
                raise trouble
            return await read(ref)

        monkeypatch.setattr(platform, "target", silent_once)
        target = world.target()
        await world.front.put_target(replace(target, spec=replace(target.spec, limits=Limits(active_jobs=7))))
        await world.settle(within=1200)

        assert world.process.died is None
        assert Phase.SUCCEEDED is world.phase_of()


async def test_a_job_that_is_deleted_with_its_target_is_cancelled():
    """
    What is known of the target will do for that, as long as this process lives.
    """
    async with World(HELD) as world:
        await running(world)

        await world.front.delete_target(Ref("default", "there"))
        await world.delete()
        await world.gone(within=600)

        assert not [job for job in world.outside_jobs() if job.ended is None]


async def test_a_job_says_that_its_target_was_removed():
    async with World(HELD) as world:
        await running(world)

        await world.front.delete_target(Ref("default", "there"))
        await world.until(lambda: "there is no target" in world.status().message)

        assert Phase.RUNNING is world.phase_of()


async def running(world):
    """Have a job run for a day."""
    world.outside.course = Course(runs_for=86400.0)
    await world.submit()
    await world.until_phase(Phase.RUNNING)
