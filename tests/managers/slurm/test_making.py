"""Folders of jobs are made in a thread, many in one go."""

from __future__ import annotations

import asyncio

import pytest

from bascule.errors import Mistake
from bascule.managers.slurm import making
from bascule.managers.slurm.making import Folders


async def test_those_who_ask_together_share_the_way_to_a_thread(tmp_path, monkeypatch):
    batches = []
    make = Folders._make
    monkeypatch.setattr(Folders, "_make", lambda self, batch: batches.append(len(batch)) or make(self, batch))
    folders = Folders(str(tmp_path))

    await asyncio.gather(*(folders.make(f"{tmp_path}/job-{n}", "nobody-here") for n in range(30)))
    await folders.make(f"{tmp_path}/alone", "nobody-here")

    assert 31 == len(list(tmp_path.iterdir()))
    assert [30, 1] == batches


async def test_one_that_cannot_be_made_hurts_no_other(tmp_path):
    folders = Folders(str(tmp_path))
    (tmp_path / "file").touch()

    bad, good = await asyncio.gather(
        folders.make(f"{tmp_path}/file/job", "x"), folders.make(f"{tmp_path}/job", "x"), return_exceptions=True
    )

    assert isinstance(bad, Mistake)
    assert good is None
    assert (tmp_path / "job").is_dir()


async def test_who_gives_up_hurts_no_other(tmp_path):
    folders = Folders(str(tmp_path))

    async with asyncio.TaskGroup() as tasks:
        gives_up = tasks.create_task(folders.make(f"{tmp_path}/a", "x"))
        stays = tasks.create_task(folders.make(f"{tmp_path}/b", "x"))
        await asyncio.sleep(0)
        gives_up.cancel()

    assert stays.done()
    assert (tmp_path / "b").is_dir()


async def test_a_fault_of_our_own_reaches_all_who_wait(tmp_path, monkeypatch):
    def broken(root, path, user):
        raise ZeroDivisionError

    monkeypatch.setattr(making, "make", broken)

    with pytest.raises(ZeroDivisionError):
        async with asyncio.timeout(5):
            await Folders(str(tmp_path)).make(f"{tmp_path}/a", "x")
