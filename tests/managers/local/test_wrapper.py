"""The wrapper under every shell that may be somebody's `/bin/sh`: the same traces under all."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from bascule.managers.local import traces, wrapper
from bascule.managers.local.judging import Evidence, judge
from bascule.model import Reason
from tests.needs import needs_command

SHELLS = [
    pytest.param(["dash"], marks=needs_command("dash"), id="dash"),
    pytest.param(["bash", "--posix"], marks=needs_command("bash"), id="bash"),
]
of_each_shell = pytest.mark.parametrize("shell", SHELLS)


def wrap(folder, shell, *program, launch=1, groups=(), **environment):
    """Run a program in the wrapper; return its folder, its output, and what is judged of it."""
    path = wrapper.install(folder)
    command = [*shell, path, folder, str(launch), "boot", *groups, "--", *program]
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        start_new_session=True,
        env={**os.environ, **environment},
    )
    result, _ = traces.result(folder, launch)
    began = traces.birth(folder, "start", launch) is not None
    return done, judge(Evidence(result, began=began, failed=traces.failed(folder, launch)))


@of_each_shell
@pytest.mark.parametrize("code", [0, 1, 126, 127, 128, 129, 137, 143, 255])
def test_exit_codes_are_exact(tmp_path, shell, code):
    _, end = wrap(tmp_path, shell, "/bin/sh", "-c", f"exit {code}")

    assert (code, None, False) == (end.exit_code, end.signal, end.inferred)


@of_each_shell
@pytest.mark.parametrize("name", ["HUP", "QUIT", "ABRT", "KILL", "SEGV", "USR1", "USR2", "ALRM", "TERM", "XCPU", "SYS"])
def test_signals_are_exact(tmp_path, shell, name):
    number = signal.Signals[f"SIG{name}"]

    _, end = wrap(tmp_path, shell, "/bin/sh", "-c", f"ulimit -c 0; kill -{number:d} $$")

    assert (None, number, False) == (end.exit_code, end.signal, end.inferred)


@of_each_shell
@pytest.mark.parametrize("name", ["INT", "PIPE"])
def test_silent_signals_are_inferred(tmp_path, shell, name):
    _, end = wrap(tmp_path, shell, "/bin/sh", "-c", f"kill -{name} $$")

    assert (signal.Signals[f"SIG{name}"], True) == (end.signal, end.inferred)


@of_each_shell
@pytest.mark.parametrize("content", [b"\x7fELF\0garbage", b"#!/no/such/shell\n"], ids=["no program", "no interpreter"])
def test_what_cannot_be_executed_is_no_exit_code(tmp_path, shell, content):
    program = tmp_path / "program"
    program.write_bytes(content)
    program.chmod(0o755)

    _, end = wrap(tmp_path, shell, program)

    assert Reason.START_FAILED == end.reason


@of_each_shell
def test_what_the_program_writes_is_all_that_is_written(tmp_path, shell):
    """
    The shell's own words about a killed child are kept apart.
    """
    done, _ = wrap(tmp_path, shell, "/bin/sh", "-c", "echo out; echo err >&2; kill -9 $$")

    assert (b"out\n", b"err\n") == (done.stdout, done.stderr)


@of_each_shell
def test_the_program_has_no_descriptor_of_the_wrapper(tmp_path, shell):
    done, _ = wrap(
        tmp_path, shell, "/bin/sh", "-c", "for n in 3 4 5 6 7 8 9 10 11; do [ -e /proc/$$/fd/$n ] && echo $n; done"
    )

    assert b"" == done.stdout


@of_each_shell
def test_arguments_arrive_as_they_are(tmp_path, shell):
    odd = ["", " ", "a  b", "*", "$HOME", "`x`", "'", '"', "\\", "--", "-n", "new\nline"]

    done, _ = wrap(tmp_path, shell, "/usr/bin/printf", "%s|", *odd)

    assert "".join(f"{word}|" for word in odd).encode() == done.stdout


@of_each_shell
def test_it_needs_nothing_from_the_path(tmp_path, shell):
    shell = [subprocess.check_output(["which", shell[0]], text=True).strip(), *shell[1:]]

    _, end = wrap(tmp_path, shell, "/bin/sh", "-c", "exit 5", PATH="/nowhere")

    assert 5 == end.exit_code


@of_each_shell
def test_a_launch_begins_once(tmp_path, shell):
    """
    The second wrapper of a launch, and one that comes too late, start nothing.
    """
    program = ("/bin/sh", "-c", f"echo ran >>{tmp_path}/ran")
    wrap(tmp_path, shell, *program)
    wrap(tmp_path, shell, *program)

    too_late = not traces.fence(tmp_path, 1)
    fenced = traces.fence(tmp_path, 2)
    done, _ = wrap(tmp_path, shell, *program, launch=2)

    assert too_late
    assert fenced
    assert traces.fence(tmp_path, 2), "a fence that is there already is one"
    assert 1 == done.returncode
    assert b"" == done.stderr
    assert "ran\n" == (tmp_path / "ran").read_text()


@of_each_shell
def test_a_group_that_cannot_be_entered_keeps_nobody(tmp_path, shell):
    """
    The program runs without it, and it is noted.
    """
    _, end = wrap(tmp_path, shell, "/bin/sh", "-c", "exit 6", groups=["/no/such/group/cgroup.procs"])

    assert 6 == end.exit_code
    assert traces.kept_out(tmp_path, 1, "/no/such/group")


@of_each_shell
def test_signals_to_the_whole_session_leave_the_wrapper(tmp_path, shell):
    """
    It stays to write down what they did to the program.
    """
    script = "trap 'exit 8' HUP TERM INT; kill -HUP -$PPID; kill -TERM -$PPID; kill -INT -$PPID; sleep 5"

    _, end = wrap(tmp_path, shell, "/bin/sh", "-c", script)

    assert 8 == end.exit_code


@pytest.mark.parametrize(
    "text", [b"", b"12", b"12 345 boot", b"x y boot .\n", b"12 345 .\n", b"\xff\xfe .\n", b"1 2 3 4 .\n"]
)
def test_a_torn_trace_is_none(tmp_path, text):
    for name in ("begun.1", "result.1", "failed.1"):
        (tmp_path / name).write_bytes(text)

    assert traces.birth(tmp_path, "begun", 1) is None
    assert (None, None) == traces.result(tmp_path, 1) or text == b"12 345 .\n"
    assert traces.failed(tmp_path, 1) is None


def test_a_new_text_is_a_new_file(tmp_path, monkeypatch):
    """
    Running shells read on in theirs.
    """
    old = wrapper.install(tmp_path)
    monkeypatch.setattr(wrapper, "TEXT", wrapper.TEXT + "# more\n")

    assert old != wrapper.install(tmp_path)
    assert old.exists()
    assert [] == [path for path in Path(tmp_path).iterdir() if path.suffix != ".sh"]
