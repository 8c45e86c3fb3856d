"""
The one place that prints: data to stdout, talk to stderr.

Talk is for people and never fails: a terminal that is gone stops nobody. Data that
cannot be written does. What comes from outside is cleaned of control characters first.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TextIO

from bascule.errors import Error, Mistake, StoreFailed

RED, GREEN, YELLOW, BLUE, MAGENTA, CYAN, DIM, BOLD = "31", "32", "33", "34", "35", "36", "2", "1"
PHASE_COLOURS = {
    "Succeeded": GREEN,
    "Failed": RED,
    "Cancelled": YELLOW,
    "Running": CYAN,
    "Unknown": MAGENTA,
    "Held": YELLOW,
}


def is_terminal(stream: TextIO | None) -> bool:
    """Tell whether a person looks at *stream*."""
    with suppress(OSError, ValueError):
        return stream is not None and stream.isatty()
    return False


def wants_colour(stream: TextIO | None) -> bool:
    """Tell whether *stream* is to be coloured; see no-color.org."""
    return is_terminal(stream) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def wants_drawing() -> bool:
    """Tell whether the terminal can draw a line anew."""
    return os.environ.get("TERM", "dumb") not in ("", "dumb")


def draws() -> bool:
    """Tell whether a person looks at all that we print, on a terminal that can draw."""
    return is_terminal(sys.stdout) and is_terminal(sys.stderr) and wants_drawing()


def coloured(text: str, colour: str, stream: TextIO | None = None) -> str:
    """Return *text* in *colour*, where *stream* (stdout unless given) has colours."""
    if not colour or not wants_colour(stream or sys.stdout):
        return text
    return f"\x1b[{colour}m{text}\x1b[0m"


def clean(text: str) -> str:
    """Return *text* as one line that does nothing to a terminal."""
    line = " ".join(text.split())
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in line)


def say(text: str) -> None:
    """Talk: one line, to stderr."""
    if sys.stderr is None:
        return
    with suppress(OSError, ValueError):
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()


def data(text: str) -> None:
    """Print lines of data, to stdout."""
    if sys.stdout is None:
        raise _closed()
    try:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
    except OSError as fault:
        raise unwritable(fault) from fault


def unwritable(fault: OSError) -> Exception:
    """Return what it means that stdout could not be written; what is still in its buffer is given up."""
    let_go_of_stdout()
    if sys.stdout is None:
        return _closed()
    if isinstance(fault, BrokenPipeError):
        return fault
    return StoreFailed(f"stdout cannot be written: {fault.strerror}", hint="see where it was sent, and try again")


def table(
    header: Sequence[str], rows: Iterable[Sequence[str]], *, colours: Sequence[str] = (), cut: bool = False
) -> None:
    """
    Print *rows* below *header*, aligned; *colours* are for the second column, row by row.

    With *cut* the last column ends where a terminal's line does.
    """
    cells = [header, *([clean(cell) or "-" for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    if cut and (line := _line_length()):
        room = max(line - sum(width + 3 for width in widths[:-1]), len(header[-1]))
        cells = [(*row[:-1], row[-1] if len(row[-1]) <= room else f"{row[-1][: room - 1]}…") for row in cells]
        widths[-1] = min(widths[-1], room)
    lines = []
    for number, row in enumerate(cells):
        padded = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        if colours and number:
            padded[1] = coloured(padded[1], colours[number - 1])
        lines.append("   ".join(padded).rstrip())
    data("\n".join(lines))


def _line_length() -> int:
    """Return how many letters a line of the terminal has that stdout is; 0 where it is none."""
    with suppress(OSError, ValueError):
        if is_terminal(sys.stdout):
            return os.get_terminal_size(sys.stdout.fileno()).columns
    return 0


def tell(error: Error) -> None:
    """Say what went wrong, and what to do."""
    say(f"{coloured('bascule:', RED, sys.stderr)} {clean(error.message)}")
    problems = error.problems if isinstance(error, Mistake) else ()
    if len(problems) != 1 or problems[0] not in error.message:  # one may be all of the message
        for problem in problems:
            say(f"  {clean(problem)}")
    if error.hint:
        hint(error.hint)


def hint(text: str) -> None:
    """Say what to do."""
    say(f"{coloured('hint:', CYAN, sys.stderr)} {clean(text)}")


def let_go_of_stdout() -> None:
    """Send what is still in the buffer nowhere, after its reader has gone."""
    if sys.stdout is None:
        return
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def fill_standard_descriptors() -> None:
    """
    Give a standard stream that was closed (``>&-``) something to be.

    Else whatever is opened next, a lock or a socket, takes its number, and gets a job's output.
    """
    for number, mode in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, mode)  # the lowest number that is free


def _closed() -> BrokenPipeError:
    return BrokenPipeError(errno.EPIPE, "stdout is closed")


def note(text: str) -> None:
    """Say *text*, which may come from outside."""
    say(f"bascule: {clean(text)}")
