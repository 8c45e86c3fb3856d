"""The first process of a controller pod: its agent may be killed at any moment, and nothing is said twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

AROUND = """
import os, signal, sys, time
from pathlib import Path
from bascule.cli import guardian
from bascule.cli.guardian import End, Frame, Place, frame_of, guard

guardian.FIRST_PAUSE = 0.01
lives = Path(sys.argv[1])
text = b"".join(b"line %d\\n" % n for n in range(200))


def tell(sink, end):
    os.write(sink, frame_of(Frame(end=end)))


def hand(sink, data, upto, attempt=1, stream="output"):
    os.write(sink, frame_of(Frame(size=len(data), place=Place(stream, attempt, {"": upto})), data))


def life():
    number = int(lives.read_text()) + 1 if lives.exists() else 1
    lives.write_text(str(number))
    return number


def agent(progress, sink):
BODY


sys.exit(guard(agent, message_file=sys.argv[2]))
"""


@pytest.fixture
def guarded(tmp_path):
    """Return what runs an agent of which the body is given."""
    (tmp_path / "message").write_text("")

    def run(body):
        source = AROUND.replace("BODY", textwrap.indent(textwrap.dedent(body).strip(), "    "))
        return subprocess.Popen(
            [sys.executable, "-c", source, tmp_path / "lives", tmp_path / "message"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )

    return run


WHOLE = b"".join(b"line %d\n" % n for n in range(200))


def test_the_output_is_passed_on_and_the_end_is_its_own(guarded, tmp_path):
    process = guarded("""
        hand(sink, text, len(text))
        hand(sink, b"oh\\n", 3, stream="error")
        tell(sink, End(3, "ExitCode: exit code 3"))
        return 0
    """)

    out, err = process.communicate(timeout=30)

    assert (3, WHOLE, b"oh\n") == (process.returncode, out, err)
    assert "ExitCode: exit code 3" == (tmp_path / "message").read_text()


def test_an_agent_that_is_killed_is_followed_by_one_that_goes_on_at_the_byte(guarded):
    """
    Nine are killed, each after it has handed over some bytes and a part of the next frame.
    """
    process = guarded("""
        number = life()
        attempt, offsets = progress.of("output")
        at = offsets.get("", 0)
        while at < len(text):
            piece = text[at:at + 37]
            if number < 10 and at >= number * 120:
                frame = frame_of(Frame(size=len(piece), place=Place("output", 1, {"": at + len(piece)})), piece)
                os.write(sink, frame[:-5])
                os.kill(os.getpid(), signal.SIGKILL)
            hand(sink, piece, at + len(piece))
            at += len(piece)
        tell(sink, End(0, "Succeeded"))
        return 0
    """)

    out, err = process.communicate(timeout=60)

    assert (0, WHOLE) == (process.returncode, out)
    assert 9 == err.count(b"another takes over")


def test_a_new_attempt_begins_at_its_first_byte(guarded):
    process = guarded("""
        number = life()
        if number == 1:
            hand(sink, b"first", 5)
            hand(sink, b"second", 6, attempt=2)
            os.kill(os.getpid(), signal.SIGKILL)
        assert progress.of("output") == (2, {"": 6}), progress.of("output")
        assert progress.of("error") == (0, {})
        tell(sink, End(0, "Succeeded"))
        return 0
    """)

    out, err = process.communicate(timeout=30)

    assert (0, b"firstsecond") == (process.returncode, out), err


def test_an_agent_that_fails_is_told_of_and_followed_by_another(guarded):
    process = guarded("""
        if life() == 1:
            raise ValueError("a bug")
        tell(sink, End(0, "Succeeded"))
        return 0
    """)

    _, err = process.communicate(timeout=30)

    assert 0 == process.returncode
    assert b"ValueError: a bug" in err
    assert b"the agent ended with 70" in err


def test_an_agent_that_is_asked_to_leave_leaves_and_nobody_follows(guarded, tmp_path):
    process = guarded("""
        import asyncio
        life()
        async def wait():
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, left.set)
            await left.wait()
        left = asyncio.Event()
        asyncio.run(wait())
        hand(sink, b"last words", 10)
        return 1
    """)
    until((tmp_path / "lives").exists)
    time.sleep(0.2)  # until it listens; sooner it would simply be ended, which is as well

    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=30)

    assert 143 == process.returncode
    assert b"last words" == out
    assert "1" == (tmp_path / "lives").read_text()


def test_what_it_passes_on_can_be_large(guarded):
    process = guarded("""
        for n in range(64):
            hand(sink, b"x" * 262144, (n + 1) * 262144)
        tell(sink, End(0, "Succeeded"))
        return 0
    """)

    out, _ = process.communicate(timeout=60)

    assert 64 * 262144 == len(out)


def until(condition, within=20.0):
    ends = time.monotonic() + within
    while not condition():
        assert time.monotonic() < ends
        time.sleep(0.01)


def test_where_there_is_no_place_for_a_message_none_is_left(guarded, tmp_path):
    Path(tmp_path / "message").unlink()
    process = guarded("""
        tell(sink, End(73, "Cancelled"))
        return 0
    """)

    process.communicate(timeout=30)

    assert 73 == process.returncode
    assert not (tmp_path / "message").exists()
