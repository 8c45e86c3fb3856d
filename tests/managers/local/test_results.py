"""How jobs end, told truthfully: exit codes, signals, and starts that failed."""

import os
import signal
import sys

import pytest

from bascule.model import Phase, Reason, Run, Source

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("code", [1, 3, 126, 127, 129, 130, 137, 141, 143, 255])
async def test_an_exit_code_is_one_whatever_shells_mean_by_it(home, code):
    """
    `exit 143` is no SIGTERM; where the shell does not tell the two apart, we say that we infer.
    """
    report = await home.run(f"exit {code}")

    if code in {130, 141}:
        assert (Reason.SIGNAL, code - 128, Source.INFERRED) == (report.reason, report.signal, report.source)
        return
    assert (Phase.FAILED, Reason.EXIT_CODE) == (report.phase, report.reason)
    assert (code, None) == (report.exit_code, report.signal)
    assert f"exit code {code}" == report.explanation
    assert Source.MARKER is report.source


@pytest.mark.parametrize("name", ["HUP", "QUIT", "ABRT", "KILL", "SEGV", "USR1", "TERM", "XCPU"])
async def test_a_death_by_signal_is_no_exit_code(home, name):
    number = signal.Signals[f"SIG{name}"]

    report = await home.run(f"ulimit -c 0; kill -{name} $$; sleep 9")

    assert (Phase.FAILED, Reason.SIGNAL) == (report.phase, report.reason)
    assert (None, number) == (report.exit_code, report.signal)
    assert f"killed by SIG{name} ({number})" == report.explanation
    assert Source.MARKER is report.source


@pytest.mark.parametrize("name", ["INT", "PIPE"])
async def test_deaths_of_which_no_shell_speaks_are_inferred(home, name):
    report = await home.run(f"kill -{name} $$; sleep 9")

    assert (Reason.SIGNAL, signal.Signals[f"SIG{name}"]) == (report.reason, report.signal)
    assert Source.INFERRED is report.source


async def test_a_job_that_is_killed_from_outside_says_by_what(home):
    handle = await home.submit("echo $$ >pid; exec sleep 60")
    pid = int(await home.wrote("pid", "\n"))
    os.kill(pid, signal.SIGKILL)

    report = await home.end_of(handle)

    assert (Phase.FAILED, Reason.SIGNAL, 9) == (report.phase, report.reason, report.signal)


async def test_success_has_its_times_in_order(home):
    report = await home.run("true")

    assert Phase.SUCCEEDED is report.phase
    assert report.submitted_at <= report.started_at <= report.finished_at


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"working_directory": "/nonexistent"}, "there is no working directory `/nonexistent`"),
        ({"working_directory": "/etc/passwd"}, "is no directory"),
        ({"output": "no/such/folder/out"}, "cannot write its output"),
        ({"error": "/no/such/folder/err"}, "cannot write its error"),
        ({"output": "/"}, "Is a directory"),
        ({"run": Run(command=("no-such-program",))}, "there is no program `no-such-program`"),
        ({"run": Run(command=("./no-such-program",))}, "there is no program"),
        ({"run": Run(script_path="/no/such/script")}, "there is no program `/no/such/script`"),
        ({"run": Run(script_path="/etc/passwd")}, "chmod +x"),
        ({"run": Run(script="#!/no/such/shell\ntrue\n")}, "names `/no/such/shell`"),
        ({"run": Run(script="#!/bin/sh\r\ntrue\r\n")}, "CR LF"),
        ({"env": {"BIG": "x" * 200_000}}, "Argument list too long"),
    ],
)
async def test_what_cannot_be_started_fails_with_the_reason(home, spec, words):
    """
    Never silently, and never as an exit code of the job.
    """
    report = await home.run("true", **spec)

    assert (Phase.FAILED, Reason.START_FAILED) == (report.phase, report.reason)
    assert words in report.explanation
    assert report.exit_code is None


async def test_what_the_kernel_cannot_execute_failed_to_start(home):
    """
    It is found out by the shell, after the wrapper has begun.
    """
    program = home.work / "program"
    program.write_bytes(b"\x7fELF and nothing more")
    program.chmod(0o755)

    report = await home.run(run=Run(script_path=str(program)))

    assert (Phase.FAILED, Reason.START_FAILED) == (report.phase, report.reason)


async def test_a_fifo_that_nobody_reads_holds_nobody(home):
    os.mkfifo(home.work / "fifo")

    report = await home.run("true", output="fifo")
    after = await home.run("true")

    assert Reason.START_FAILED == report.reason
    assert "nobody reads" in report.explanation
    assert Phase.SUCCEEDED is after.phase


async def test_a_program_is_looked_for_on_the_jobs_own_path(home):
    tool = home.work / "tool"
    tool.write_text('#!/bin/sh\nprintf "%s|" "$@"\n')
    tool.chmod(0o755)

    report = await home.run(
        run=Run(command=("tool", "a b", "$HOME", "*", "")), arguments=("--", "'q\""), env={"PATH": f"{home.work}:/bin"}
    )

    assert Phase.SUCCEEDED is report.phase
    assert "a b|$HOME|*||--|'q\"|" == home.read("job.out")


async def test_a_path_that_leads_nowhere_does_not_break_the_wrapper(home):
    """
    The wrapper uses nothing but what is built into the shell.
    """
    report = await home.run("exit 5", env={"PATH": "/nowhere"})

    assert 5 == report.exit_code


async def test_a_script_is_run_by_what_its_first_line_names(home):
    script = f"#!{sys.executable}\nimport sys\nprint(sys.argv[1:], end='')\n"

    await home.run(run=Run(script=script), arguments=("x y", "z"))

    assert "['x y', 'z']" == home.read("job.out")


async def test_a_script_arrives_byte_for_byte(home):
    """
    Quotes, backslashes, odd line ends and a missing last line end are the user's own.
    """
    body = '#!/bin/sh\ncat "$0"\nexit 0\n\'"\\ $x `y` %s \r\n\x01 \N{SNOWMAN} \tend'

    report = await home.run(run=Run(script=body))

    assert Phase.SUCCEEDED is report.phase
    assert body.encode() == (home.work / "job.out").read_bytes()


async def test_a_script_of_a_mebibyte_runs(home):
    report = await home.run("exit 4\n" + "# filler\n" * 116_000)

    assert 4 == report.exit_code
