"""The wrapper, really run: the script as it was written, its output at once, its end told exactly."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from bascule.managers.lsf.ends import from_files, names_of
from bascule.managers.lsf.wrapper import wrapped

pytestmark = pytest.mark.slow


class Job:
    """A folder with a wrapper in it, run as LSF runs it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, script: str, arguments=(), **more) -> None:
        settings = {
            "environment": {},
            "secrets": {},
            "folder": "",
            "output": "job.out",
            "error": "job.err",
            "inputs": {},
            "is_array": False,
        }
        (self.folder / "bascule.sh").write_text(wrapped(script, arguments, **{**settings, **more}))

    def start(self, index: int = 0) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            ["/bin/sh", "./bascule.sh"],
            cwd=self.folder,
            env={**os.environ, "LSB_JOBID": "236", "LSB_JOBINDEX": str(index)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def run(self, script: str, *args, index: int = 0, **more) -> int:
        self.write(script, *args, **more)
        process = self.start(index)
        self.said = process.communicate(timeout=60)[0].decode()
        return process.returncode

    def end(self, index: int | None = None):
        texts = {what: self.read(name) for what, name in names_of(index).items()}
        return from_files(texts, "236")

    def read(self, name: str) -> str:
        path = self.folder / name
        return path.read_text() if path.exists() else ""

    def wait_for(self, name: str, text: str) -> None:
        ends = time.monotonic() + 60
        while text not in self.read(name):
            assert time.monotonic() < ends, f"no {text!r} in {name}"
            time.sleep(0.01)


def ended(process: subprocess.Popen[bytes]) -> int:
    """Wait for the end, and return its code."""
    process.communicate(timeout=60)
    return process.returncode


@pytest.fixture
def job(tmp_path):
    return Job(tmp_path)


class TestScript:
    def test_it_runs_byte_for_byte(self, job):
        odd = "#!/bin/sh\r\nprintf 'a\\tb %s\\n' \"$1\"\n: 'EOF `x` $y \\'\nEND_OF_SCRIPT\ncat \"$0\" >copy\n"
        script = odd.replace("\r", "").replace("END_OF_SCRIPT", ": END_OF_SCRIPT")

        job.run(script, ["it's a 'test' $HOME"])

        assert script == job.read("copy")
        assert "a\tb it's a 'test' $HOME\n" == job.read("job.out")

    def test_another_interpreter_runs_it(self, job):
        job.run("#!/usr/bin/env python3\nprint(1 + 1)\n")

        assert "2\n" == job.read("job.out")

    def test_output_and_errors_are_apart_and_there_at_once(self, job):
        job.write("#!/bin/sh\necho out\necho err >&2\nread x <fifo\n")
        os.mkfifo(job.folder / "fifo")

        process = job.start()
        job.wait_for("job.out", "out\n")
        job.wait_for("job.err", "err\n")
        (job.folder / "fifo").write_text("go\n")

        assert 0 == ended(process)

    def test_lsf_is_told_nothing_of_what_it_prints(self, job):
        job.run("#!/bin/sh\necho out; echo err >&2\n")

        assert "" == job.said

    def test_the_environment_is_the_jobs(self, job):
        job.run('#!/bin/sh\necho "$A|$B"\n', environment={"A": "x 'y' $z"}, secrets={"B": "s\n2"})

        assert "x 'y' $z|s\n2\n" == job.read("job.out")

    def test_it_runs_where_it_shall_and_its_inputs_are_there(self, job, tmp_path):
        elsewhere = tmp_path / "else where"
        elsewhere.mkdir()
        (job.folder / "in.txt").write_text("12345")

        code = job.run("#!/bin/sh\npwd; cat in.txt\n", folder=str(elsewhere), inputs={"in.txt": 5})

        assert 0 == code
        assert f"{elsewhere}\n12345" == (elsewhere / "job.out").read_text()

    def test_patterns_are_filled_in(self, job):
        job.run("#!/bin/sh\necho hi\n", output="o.%J.%I", index=7, is_array=True)

        assert "hi\n" == job.read("o.236.7")

    def test_a_first_run_begins_anew_and_a_second_goes_on(self, job):
        (job.folder / "job.out").write_text("somebody else's\n")

        job.run("#!/bin/sh\necho once\n")
        job.run("#!/bin/sh\necho again\n")

        assert "once\nagain\n" == job.read("job.out")


class TestEnds:
    @pytest.mark.parametrize("code", [0, 3, 125, 127, 137, 143, 255])
    def test_an_exit_code_is_an_exit_code(self, job, code):
        assert code == job.run(f"#!/bin/sh\nexit {code}\n")
        assert (code, None) == (job.end().exit_code, job.end().signal)

    @pytest.mark.parametrize("name", ["KILL", "TERM", "SEGV", "USR2", "ABRT"])
    def test_a_signal_is_a_signal(self, job, name):
        number = signal.Signals[f"SIG{name}"]

        assert -number == job.run(f"#!/bin/sh\nkill -{name} $$\n")
        assert number == job.end().signal

    def test_start_and_end_have_their_times(self, job):
        job.run("#!/bin/sh\n")

        assert job.end().started <= job.end().ended

    def test_a_signal_to_all_reaches_the_script_and_spares_the_wrapper(self, job):
        job.write("#!/bin/sh\ntrap 'echo got; exit 7' USR1\necho ready\nwhile :; do sleep 0.05; done\n")

        process = job.start()
        job.wait_for("job.out", "ready")
        os.killpg(process.pid, signal.SIGUSR1)

        assert 7 == ended(process)
        assert "ready\ngot\n" == job.read("job.out")
        assert 7 == job.end().exit_code

    def test_tasks_of_one_folder_are_told_apart(self, job):
        for index in (1, 2):
            job.run('#!/bin/sh\nexit "$LSB_JOBINDEX"\n', output="o_%I", error="e_%I", index=index, is_array=True)

        assert [1, 2] == [job.end(index).exit_code for index in (1, 2)]

    def test_nothing_but_marks_and_output_is_left(self, job):
        job.run("#!/bin/sh\nkill -9 $$\n")

        left = {path.name for path in job.folder.iterdir()}
        assert {"bascule.sh", "bascule.start.0", "bascule.result.0", "job.out", "job.err"} == left


class TestTroubles:
    @pytest.mark.parametrize(
        ("more", "word"),
        [
            ({"folder": "/no/such/folder"}, "the folder /no/such/folder is not there"),
            ({"output": "/no/such/out"}, "/no/such/out could not be written"),
            ({"error": "/no/such/err"}, "/no/such/err could not be written"),
            ({"inputs": {"in.txt": 5}}, "in.txt has not come whole"),
        ],
    )
    def test_what_keeps_it_from_starting_is_told(self, job, more, word):
        (job.folder / "in.txt").write_text("1234")

        code = job.run("#!/bin/sh\necho ran\n", **more)

        assert 125 == code
        assert word in job.end().failed
        assert word in job.said
        assert "" == job.read("job.out")

    def test_a_wrapper_with_secrets_is_closed_to_others_and_goes_at_the_end(self, job):
        job.write('#!/bin/sh\nstat -c %a bascule.sh\necho "$KEY"\n', secrets={"KEY": "canary"})
        (job.folder / "bascule.sh").chmod(0o644)

        ended(job.start())

        assert "600\ncanary\n" == job.read("job.out")
        assert not (job.folder / "bascule.sh").exists()
        assert [] == [
            path.name for path in job.folder.iterdir() if path.name != "job.out" and "canary" in path.read_text()
        ]

    def test_a_wrapper_that_other_tasks_need_stays(self, job):
        job.run("#!/bin/sh\n", secrets={"KEY": "canary"}, is_array=True, index=1)

        assert (job.folder / "bascule.sh").exists()
