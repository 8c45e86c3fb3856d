"""A job that is tried again: what its earlier attempts have written stays."""

from msgspec.structs import replace

from bascule.model import Array, key_for
from tests.managers.local.homes import INSTALLATION


async def attempts(home, count, script='echo "attempt $BASCULE_ATTEMPT"', **spec):
    """Run as many attempts of one job, one after the other; return their handles."""
    order = home.order(script, **spec)
    handles = []
    for number in range(1, count + 1):
        key = key_for(order.job.name, installation=INSTALLATION, uid=order.job.uid, attempt=number)
        job = replace(order.job, status=replace(order.job.status, attempt=number))
        handles.append(await home.manager.submit(order._replace(job=job, key=key)))
        await home.end_of(handles[-1])
    return handles


async def output_of(home, handle, index=None):
    """Return all that is read of a job's output."""
    return (await home.manager.read(handle, "output", 0, 1000, index)).data


async def test_each_attempt_has_files_of_its_own(home):
    first, second, third = await attempts(home, 3)

    assert b"attempt 1\n" == await output_of(home, first)
    assert b"attempt 2\n" == await output_of(home, second)
    assert b"attempt 3\n" == await output_of(home, third)
    assert {f"job{middle}.{end}" for middle in ("", ".2", ".3") for end in ("out", "err")} == {
        path.name for path in home.work.iterdir()
    }


async def test_each_attempt_of_a_task_too(home):
    first, second = await attempts(home, 2, array=Array("4"))

    assert b"attempt 1\n" == await output_of(home, first, 4)
    assert b"attempt 2\n" == await output_of(home, second, 4)
    assert "attempt 2\n" == home.read("job_4.2.out")


async def test_a_file_that_was_named_has_all_attempts(home):
    """
    It goes on where it ended; of a later attempt only its own part is shown.
    """
    _, second, third = await attempts(home, 3, output="all.txt")

    assert "attempt 1\nattempt 2\nattempt 3\n" == home.read("all.txt")
    assert b"attempt 2\nattempt 3\n" == await output_of(home, second)
    assert b"attempt 3\n" == await output_of(home, third)


async def test_another_job_begins_the_file_anew(home):
    await home.run("echo old", output="all.txt")
    await home.run("echo new", output="all.txt")

    assert "new\n" == home.read("all.txt")
