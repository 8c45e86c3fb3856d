"""What a job finds around it: environment, files, descriptors, and where its output goes."""

import os
from pathlib import Path

import pytest

from bascule.model import Gpus, Phase, Resources

pytestmark = pytest.mark.slow


async def test_a_job_has_the_environment_of_whoever_submitted_it(home, monkeypatch):
    """
    As people know it from `sbatch`: and what the job says wins.
    """
    monkeypatch.setenv("SUBMITTER", "has this")
    monkeypatch.setenv("BOTH", "submitter")

    await home.run('echo "$SUBMITTER, $BOTH, $OWN"', env={"BOTH": "job", "OWN": "a\nb"})

    assert "has this, job, a\nb\n" == home.read("job.out")


async def test_a_job_knows_who_it_is(home):
    handle = await home.submit('echo "$BASCULE_KEY $BASCULE_JOB $BASCULE_ATTEMPT"', name="who")
    await home.end_of(handle)

    assert f"{handle.id} who 1\n" == home.read("who.out")


async def test_a_secret_is_in_the_environment_and_nowhere_else(home):
    """
    Not in a command line, not readable by others, and gone when the job is over.
    """
    handle = await home.submit(
        'cat /proc/$PPID/cmdline /proc/$$/cmdline >lines; echo "$KEY" >told', secrets={"KEY": "canary-7Q"}
    )
    folder = home.spool.folder(handle.id)
    modes = {path: path.stat().st_mode & 0o077 for path in (folder, folder / "order")}
    await home.end_of(handle)

    kept = b"".join(path.read_bytes() for path in home.spool.place.rglob("*") if path.is_file())

    assert "canary-7Q\n" == home.read("told")
    assert "canary-7Q" not in home.read("lines")
    assert {0} == set(modes.values())
    assert b"canary-7Q" not in kept


async def test_a_job_has_an_empty_stdin_and_only_the_usual_descriptors(home):
    await home.run("cat; exec ls -l /proc/self/fd >descriptors")

    shown = home.read("descriptors")

    assert shown.count(" -> ") == 4  # stdin, stdout, stderr, and the folder that ls reads
    assert " 0 -> /dev/null" in shown


async def test_a_job_starts_with_the_default_signals(home):
    """
    Whatever the shells around it do, an interrupt is not ignored.
    """
    of_the_c_library = 0b11 << 31  # 32 and 33: it lets no program set them, and whatever they were is inherited

    await home.run("grep -E 'Sig(Ign|Blk)' /proc/self/status")

    assert {0} == {int(mask, 16) & ~of_the_c_library for mask in home.read("job.out").split()[1::2]}


async def test_a_job_is_in_a_session_of_its_own(home):
    """
    A closed terminal, or a signal to the group of whoever submitted it, does not reach it.
    """
    handle = await home.submit("read -r _ _ _ _ _ session _ </proc/self/stat; echo $session")
    await home.end_of(handle)

    assert f"{home.wrapper(handle)}\n" == home.read("job.out")


async def test_the_umask_is_that_of_the_submitter(home):
    kept = os.umask(0o027)
    try:
        handle = await home.submit("umask; : >file")
    finally:
        os.umask(kept)
    await home.end_of(handle)

    assert "0027\n" == home.read("job.out")
    assert 0o640 == (home.work / "file").stat().st_mode & 0o777
    assert 0o640 == (home.work / "job.out").stat().st_mode & 0o777


async def test_output_and_error_are_apart(home):
    handle = await home.submit("echo out; echo err >&2")
    await home.end_of(handle)

    assert ("out\n", "err\n") == (home.read("job.out"), home.read("job.err"))
    assert b"err\n" == (await home.manager.read(handle, "error", 0, 100)).data


async def test_output_and_error_may_be_one_file(home):
    await home.run("echo one; echo two >&2; echo three", output="both", error="both")

    assert "one\ntwo\nthree\n" == home.read("both")


async def test_names_of_output_files_have_patterns(home):
    handle = await home.submit("echo here", name="train", output="%x-%j-100%%.log")
    await home.end_of(handle)

    assert "here\n" == home.read(f"train-{handle.id}-100%.log")


async def test_output_of_an_earlier_run_is_not_mixed_with_this_ones(home):
    (home.work / "job.out").write_text("from yesterday, and much longer than today's\n")

    await home.run("echo today")

    assert "today\n" == home.read("job.out")


async def test_before_it_starts_a_job_has_no_output(home):
    """
    What an earlier attempt wrote under the same name is not this one's.
    """
    (home.work / "job.out").write_text("from the attempt before\n")
    handle = await home.submit("true", hold=True)

    chunk = await home.manager.read(handle, "output", 0, 100)

    assert b"" == chunk.data


async def test_a_name_too_long_for_a_file_still_has_its_output(home):
    handle = await home.submit("echo long", name="n" * 253)
    report = await home.end_of(handle)

    assert Phase.SUCCEEDED is report.phase
    assert b"long\n" == (await home.manager.read(handle, "output", 0, 100)).data


@pytest.mark.parametrize("name", ["a b", "$(touch hacked)", "; touch hacked", "-rf", "'\"", "\N{SNOWMAN}", "%"])
async def test_odd_names_are_only_names(home, name):
    handle = await home.submit("echo x", name=name)
    report = await home.end_of(handle)

    assert Phase.SUCCEEDED is report.phase
    assert "x\n" == home.read(f"{name}.out")
    assert not (home.work / "hacked").exists()


async def test_without_a_working_directory_it_is_a_folder_of_the_jobs_own(home):
    handle = await home.submit("pwd; echo kept >file", working_directory=None)
    await home.end_of(handle)
    place = Path(handle.place) / "work"

    assert f"{place}\n" == (place / "job.out").read_text()
    assert "kept\n" == (place / "file").read_text()


async def test_gpus_are_handed_out_by_number(home):
    """
    Two jobs at once see different ones, and a job that asked for none sees none.
    """
    asks = Resources(gpus_per_node=Gpus(1))
    handles = [
        await home.submit(f'echo "$CUDA_VISIBLE_DEVICES" >gpu{n}; sleep 0.5', resources=asks, name=f"gpu{n}")
        for n in range(2)
    ]
    none = await home.submit('echo "[$CUDA_VISIBLE_DEVICES]" >none')
    for handle in (*handles, none):
        await home.end_of(handle)

    assert {"0\n", "1\n"} == {home.read("gpu0"), home.read("gpu1")}
    assert "[]\n" == home.read("none")
