"""
Where the log of this process goes: stderr.

What a person must know, a command says in words of its own. So without ``-v`` only bugs
are logged; ``serve``, which nobody looks at, logs what happens.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import MutableMapping
from typing import Any

import structlog

from bascule.cli import output

LEVELS = (logging.ERROR, logging.INFO, logging.DEBUG)


def set_up(verbose: int | None, *, least: int = logging.ERROR) -> None:
    """Log to stderr what is at least as grave as *least*, or more with each ``-v``."""
    level = min(least, LEVELS[min(verbose or 0, len(LEVELS) - 1)])
    processors: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
        structlog.processors.format_exc_info,
        _line,
    ]
    structlog.configure(
        processors=processors,
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=lambda *_: _Stderr(),
        cache_logger_on_first_use=False,
    )


class _Stderr:
    """Writes to whatever stderr is at that moment: a live display takes it over for a while."""

    def msg(self, text: str) -> None:
        output.say(text)

    log = debug = info = warning = error = critical = exception = msg


def _line(_: Any, __: str, event: MutableMapping[str, Any]) -> str:
    """Return one line for people: time, level, what happened, and the facts."""
    at, level, what = event.pop("at"), event.pop("level"), event.pop("event")
    trace = event.pop("exception", "")
    facts = " ".join(f"{key}={_value(value)}" for key, value in event.items())
    line = output.clean(f"{at} {level:<7} {what} {facts}")
    colour = {"warning": output.YELLOW, "error": output.RED, "critical": output.RED}.get(level, output.DIM)
    return output.coloured(line, colour, sys.stderr) + (f"\n{trace}" if trace else "")


def _value(value: object) -> str:
    text = str(value)
    return repr(text) if not text or any(letter.isspace() for letter in text) else text
