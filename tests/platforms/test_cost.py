"""What one job costs does not grow with how many have been: no statement of everyday passes over the table."""

from __future__ import annotations

import pytest

from bascule.model import Phase, key_for
from bascule.ports import Selector
from tests.contracts.platform_world import change_of, event, in_phase, told
from tests.platforms.embedded_world import EmbeddedWorld
from tests.virtual import VirtualLoop


@pytest.fixture
async def world(tmp_path):
    async with EmbeddedWorld(tmp_path) as world:
        yield world


@pytest.fixture
async def statements(world):
    """Collect what the driver's connections run."""
    await world.driver.create(world.job())  # the writing connection is there from now on
    seen = []
    for connection in (world.driver._reader._connection, world.driver._writer._pen._connection):
        connection.set_trace_callback(seen.append)
    world.driver._pages._connection.set_trace_callback(seen.append)
    return seen


def passes_over_jobs(world, statement):
    """Tell whether SQLite would look at jobs, or their parts, one after the other."""
    if statement.split()[0] not in {"SELECT", "UPDATE", "DELETE", "INSERT"}:
        return False
    plan = world.front._reader._connection.execute(f"EXPLAIN QUERY PLAN {statement}").fetchall()
    steps = [row[3] for row in plan]
    return any(
        step.startswith(("SCAN jobs", "SCAN specs", "SCAN events"))
        or step == "SEARCH jobs USING INTEGER PRIMARY KEY (rowid>?)"
        for step in steps
    )


class TestStatements:
    loop_factory = VirtualLoop

    async def test_a_life_of_a_job(self, world, statements):
        watch = world.driver.watch()
        job = await world.driver.create(world.job("train"))
        await told(watch, change_of(job))
        job = await world.driver.save(in_phase(job, Phase.QUEUED, attempt=1), [event()])
        await world.driver.get(job.ref)
        key = key_for(job.name, installation=world.driver.installation, uid=job.uid, attempt=1)
        assert await world.driver.bearer(key) == job
        await world.driver.events(job.ref)
        await world.driver.delete(job.ref)
        await world.driver.remove(await world.driver.get(job.ref))
        await watch.aclose()

        assert len(statements) > 20
        assert not [statement for statement in statements if passes_over_jobs(world, statement)]

    @pytest.mark.parametrize(
        "selector",
        [
            Selector(live=True),
            Selector(live=True, labels={"a": "b"}, target="local"),
            Selector(phases=(Phase.RUNNING, Phase.QUEUED)),
            Selector(names=("a", "b")),
            Selector(namespace="default", names=("a",)),
        ],
    )
    async def test_lists_of_what_is_alive_or_named(self, world, statements, selector):
        async for _ in world.driver.list(selector):
            pass

        assert statements
        assert not [statement for statement in statements if passes_over_jobs(world, statement)]
