"""Reading states and output, cheaply and within bounds."""

import asyncio
import os

import pytest

from bascule.errors import Refused, Unavailable
from bascule.managers.local import output
from bascule.managers.local.spool import Spool
from bascule.model import Absent, CannotTell, Found, Phase, Report
from tests.managers.local.homes import wait_for


async def test_output_is_read_live_and_in_pieces(home):
    handle = await home.submit("echo one; while [ ! -f go ]; do sleep 0.02; done; echo two")
    await home.becomes(handle, Phase.RUNNING)
    await home.wrote("job.out", "one\n")
    first = await home.manager.read(handle, "output", 0, 100)
    (home.work / "go").touch()
    await home.end_of(handle)

    second = await home.manager.read(handle, "output", len(first.data), 100)

    assert (b"one\n", b"two\n", 8) == (first.data, second.data, second.size)


async def test_a_gigabyte_of_output_is_read_within_bounds(home):
    handle = await home.submit("truncate -s 1G job.out; echo end")
    await home.end_of(handle)

    chunk = await home.manager.read(handle, "output", 0, 1 << 40)
    end = await home.manager.read(handle, "output", 1 << 30, 100)

    assert output.LARGEST == len(chunk.data)
    assert b"end\n" == end.data


async def test_output_that_the_job_has_truncated_shows_its_size(home):
    """
    Whoever reads on at an old offset can tell by the size that it has become shorter.
    """
    handle = await home.submit("echo a long first line; : >job.out; echo short")
    await home.end_of(handle)

    beyond = await home.manager.read(handle, "output", 18, 100)
    again = await home.manager.read(handle, "output", 0, 100)

    assert (b"", 6, False) == (beyond.data, beyond.size, beyond.gone)
    assert b"short\n" == again.data


@pytest.mark.parametrize("trick", ["rm job.out", "rm job.out; mkfifo job.out", "rm job.out; mkdir job.out"])
async def test_output_that_is_no_file_any_more_is_gone(home, trick):
    handle = await home.submit(trick)
    await home.end_of(handle)

    assert (await home.manager.read(handle, "output", 0, 100)).gone


async def test_an_observation_without_news_says_so(home):
    handle = await home.submit("true", hold=True)
    await home.becomes(handle, Phase.HELD)
    await wait_for(home.spool.news.exists)
    first = await home.manager.observe([handle])

    second = await observed_at_rest(home, handle, first.cursor)

    assert not first.unchanged
    assert second.unchanged
    assert {} == second.answers


async def observed_at_rest(home, handle, cursor):
    """Observe *handle* once its last state was announced, which is a moment after it can be read."""
    for _ in range(500):
        found = await home.manager.observe([handle], cursor)
        if found.unchanged:
            break
        cursor = found.cursor
        await asyncio.sleep(0.02)
    return found


async def test_a_change_is_news(home):
    handle = await home.submit("true", hold=True)
    await home.becomes(handle, Phase.HELD)
    await wait_for(home.spool.news.exists)
    cursor = (await home.manager.observe([handle])).cursor

    await home.manager.unhold(handle)
    await home.end_of(handle)

    assert not (await home.manager.observe([handle], cursor)).unchanged


async def test_another_job_is_news(home):
    """
    Nothing has moved, and yet the cursor of one question does not answer another.
    """
    one, other = await home.submit("true", hold=True), await home.submit("true", hold=True)
    await home.becomes(one, Phase.HELD)
    await home.becomes(other, Phase.HELD)
    await wait_for(home.spool.news.exists)
    cursor = (await home.manager.observe([one])).cursor

    seen = await home.manager.observe([one, other], cursor)

    assert {one.id, other.id} == set(seen.answers)


async def test_what_has_not_changed_is_not_read_again(home, monkeypatch):
    """
    A thousand jobs cost a thousand looks at a file's time, not a thousand files.
    """
    handles = [await home.submit("true", hold=True) for _ in range(3)]
    for handle in handles:
        await home.becomes(handle, Phase.HELD)
    await home.manager.observe(handles)
    monkeypatch.delattr(Spool, "state")

    seen = await home.manager.observe(handles)

    assert [Phase.HELD] * 3 == [answer.phase for answer in seen.answers.values()]


async def test_what_is_forgotten_is_gone_and_the_users_files_are_not(home):
    handle = await home.submit("echo mine")
    await home.end_of(handle)

    await home.manager.forget(handle)

    assert not home.spool.folder(handle.id).exists()
    assert "mine\n" == home.read("job.out")
    assert isinstance(await home.manager.find(handle.key, None), Absent)


async def test_what_runs_is_not_forgotten(home):
    handle = await home.submit("sleep 60")
    await home.becomes(handle, Phase.RUNNING)

    with pytest.raises(Refused, match="to look after"):
        await home.manager.forget(handle)

    assert isinstance(await home.manager.find(handle.key, None), Found)
    await home.manager.cancel(handle)
    await home.end_of(handle)


async def test_a_home_that_is_not_there_proves_nothing(home):
    """
    A disk that is not mounted must not look like a job that never was.
    """
    handle = await home.submit("true")
    await home.end_of(handle)
    away = home.folder.with_name("away")
    home.folder.rename(away)

    answer = await home.see(handle)
    away.rename(home.folder)

    assert isinstance(answer, CannotTell)
    assert isinstance(await home.see(handle), Report)


@pytest.mark.parametrize("key", ["../../etc", "a/b", "", "UPPER", "x" * 100, "."])
async def test_a_key_is_never_a_way_out_of_the_folder(home, key):
    assert isinstance(await home.manager.find(key, None), Absent)


async def test_a_read_only_home_accepts_nothing_and_says_why(home, monkeypatch):
    def refuse(*_, **__):
        raise OSError(30, os.strerror(30))

    monkeypatch.setattr("bascule.managers.local.spool.os.open", refuse)

    with pytest.raises(Unavailable, match="Read-only file system"):
        await home.submit("true")

    monkeypatch.undo()
    assert [] == list(home.spool.kept())
