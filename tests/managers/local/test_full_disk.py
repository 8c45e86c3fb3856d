"""A disk that is full: what was accepted is not lost, and what cannot be accepted is said."""

import asyncio
import subprocess

import pytest

from bascule.errors import Unavailable
from bascule.model import Phase
from tests.managers.local.homes import Home
from tests.needs import missing, needs_root

pytestmark = [needs_root, pytest.mark.root]


@pytest.fixture
async def small(tmp_path):
    """Return a home on a disk of its own, of four mebibytes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if run("mount", "-t", "tmpfs", "-o", "size=4m,mode=700", "tmpfs", str(disk)):
        missing("the right to mount", hint="run the tests as root")
    home = Home(disk)
    home.work = tmp_path / "work"
    home.work.mkdir()
    yield home
    try:
        await home.close()
    finally:
        run("umount", "-l", str(disk))


def run(*command):
    """Run a command; return its exit code."""
    return subprocess.run(command, capture_output=True).returncode


def fill(home):
    """Use up the disk; return what to remove to have room again."""
    path = home.folder / "filler"
    run("dd", "if=/dev/zero", f"of={path}", "bs=4k")
    return path


async def test_a_submit_is_refused_with_the_reason_and_leaves_nothing(small):
    await small.run("true")
    filler = fill(small)

    with pytest.raises(Unavailable, match="No space left"):
        await small.submit("true")
    filler.unlink()

    assert 3 == (await small.run("exit 3")).exit_code


async def test_a_result_waits_for_room(small):
    """
    The wrapper tries until it can write what became of the job.
    """
    handle = await small.submit("echo x >ready; while [ ! -f go ]; do sleep 0.02; done; echo over >over; exit 7")
    await small.wrote("ready")
    filler = fill(small)
    (small.work / "go").touch()
    await small.wrote("over")
    between = await small.see(handle)
    filler.unlink()

    report = await small.end_of(handle)

    assert Phase.RUNNING is between.phase
    assert 7 == report.exit_code


async def test_a_waiting_job_starts_once_there_is_room(small):
    """
    An intent that cannot be written down is not acted upon.
    """
    handle = await small.submit('echo "$BASCULE_KEY" >>ran; exit 5', hold=True)
    await small.becomes(handle, Phase.HELD)
    filler = fill(small)
    await small.manager.unhold(handle)
    await asyncio.sleep(0.5)
    between = await small.see(handle)
    filler.unlink()

    report = await small.end_of(handle)

    assert Phase.HELD is between.phase
    assert 5 == report.exit_code
    assert f"{handle.id}\n" == small.read("ran")
