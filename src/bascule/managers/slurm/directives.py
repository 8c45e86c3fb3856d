"""
`#SBATCH` lines, read as sbatch would, into settings; slurmrestd itself ignores them.

Each line becomes a setting, or a problem that names the line: nothing that a script
asks for is dropped in silence. `directive_table` has the options.
"""

from __future__ import annotations

import shlex
from typing import Any, NamedTuple

from bascule.managers.slurm.directive_table import LONG, SHORT, Directive

PREFIX = "#SBATCH"


class Found(NamedTuple):
    """What a script asks for, what of it cannot be had, and what has no effect."""

    settings: dict[str, Any]
    problems: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()


class _Wrong(Exception):
    """A line that cannot be had; the message says why."""


def directives_in(script: str) -> Found:
    """Return what the `#SBATCH` lines of *script* ask for."""
    settings: dict[str, Any] = {}
    problems: list[str] = []
    ignored: list[str] = []
    for number, line in enumerate(script.split("\n"), start=1):
        stripped = line.strip()
        if stripped and not stripped.startswith("#"):
            break  # sbatch stops at the first command
        if not line.startswith(PREFIX):
            continue  # sbatch needs no space behind it
        where = f"line {number}: `{stripped[:120]}`"
        try:
            for directive, value in _options(line[len(PREFIX) :]):
                if directive.setting is not None:
                    settings.update(_read(directive, value))
                elif directive.why:
                    problems.append(f"{where}: {directive.why}")
                else:
                    ignored.append(f"{where} has no effect here")
        except _Wrong as wrong:
            problems.append(f"{where}: {wrong}")
    return Found(settings, tuple(problems), tuple(ignored))


def _read(directive: Directive, value: str | None) -> dict[str, Any]:
    try:
        read = directive.read(value or "")
    except ValueError as wrong:
        raise _Wrong(str(wrong)) from wrong
    return read if isinstance(read, dict) else {str(directive.setting): read}


def _options(text: str) -> list[tuple[Directive, str | None]]:
    """Take a line apart as getopt would."""
    try:
        words = shlex.split(text, comments=True)
    except ValueError as wrong:
        raise _Wrong(f"cannot be taken apart ({wrong})") from wrong
    found: list[tuple[Directive, str | None]] = []
    while words:
        word = words.pop(0)
        if word.startswith("--") and len(word) > 2:
            name, has_value, value = word[2:].partition("=")
            directive = _long(name)
            given: str | None = value if has_value else None
        elif word.startswith("-") and len(word) > 1:
            directive = _short(word[1])
            given = word[2:].removeprefix("=") or None
        else:
            raise _Wrong(f"`{word}` is no option")
        if given is None and directive.takes == "value":
            if not words:
                raise _Wrong(f"`{word}` needs a value")
            given = words.pop(0)
        if given is not None and directive.takes == "nothing":
            raise _Wrong(f"`{word}` takes no value")
        found.append((directive, given))
    return found


def _long(name: str) -> Directive:
    if name in LONG:
        return LONG[name]
    near = [known for known in LONG if known.startswith(name)]
    if len(near) == 1:
        return LONG[near[0]]
    raise _Wrong(f"`--{name}` is no option of sbatch that is known here")


def _short(letter: str) -> Directive:
    if letter in SHORT:
        return LONG[SHORT[letter]]
    raise _Wrong(f"`-{letter}` is no option of sbatch that is known here")
