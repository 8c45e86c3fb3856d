"""The library and the command are one: what one has stored, the other knows."""

from __future__ import annotations

import subprocess
import sys

import pytest

import bascule
from bascule.errors import Mistake

pytestmark = pytest.mark.long


async def test_both_run_a_job_in_the_folder_they_are_called_in(terminal):
    """
    A job that the command has submitted is the same work to the library, so it attaches.
    """
    file = terminal.yaml("job.yaml", "a: run: {command: [pwd]}")
    assert 0 == terminal.run("submit", "job.yaml").returncode

    async with bascule.connect() as bridge:
        job = await bridge.submit(bascule.load(file))
        await job.wait()
        written = b"".join([piece async for piece in job.logs()])

    assert f"{terminal.folder}\n".encode() == written


async def test_another_folder_is_other_work(terminal, monkeypatch):
    file = terminal.yaml("job.yaml", "a: run: {command: [pwd]}")
    terminal.run("submit", "job.yaml")
    (terminal.folder / "elsewhere").mkdir()
    monkeypatch.chdir(terminal.folder / "elsewhere")

    async with bascule.connect() as bridge:
        with pytest.raises(Mistake, match="differs in `workingDirectory`"):
            await bridge.submit(bascule.load(file))


async def test_applied_again_from_elsewhere_a_job_stays_where_it_is(terminal, monkeypatch):
    file = terminal.yaml("job.yaml", "a: run: {command: [pwd]}, suspend: true")

    async with bascule.connect() as bridge:
        first = await bridge.apply(bascule.load(file))
        (terminal.folder / "elsewhere").mkdir()
        monkeypatch.chdir(terminal.folder / "elsewhere")
        second = await bridge.apply(bascule.load(file))

        assert ("created", "unchanged") == (first, second)
        assert str(terminal.folder) == (await bridge.job("a").get()).spec.working_directory


PROGRAM = """
import asyncio, logging, sys
import bascule, bascule.runner

if "basic" in sys.argv:
    logging.basicConfig()
if "structlog" in sys.argv:
    import structlog
    structlog.configure()

async def main():
    async with bascule.connect():
        bascule.runner.log.warning("something is odd", job="a")

asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("listener", "out", "err"),
    [
        ("nobody", "", ""),
        ("basic", "", "WARNING:bascule.runner:event='something is odd' job='a'"),
        ("structlog", "something is odd", ""),
    ],
)
def test_the_library_says_nothing_unless_somebody_listens(terminal, listener, out, err):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, listener], capture_output=True, text=True, timeout=30, check=True
    )

    assert (bool(out), bool(err)) == (bool(done.stdout), bool(done.stderr))
    assert out in done.stdout
    assert err in done.stderr
