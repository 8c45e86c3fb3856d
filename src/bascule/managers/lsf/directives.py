"""
`#BSUB` lines, read as bsub would, into settings; Application Center itself knows none.

Each line becomes a setting, or a problem that names the line: nothing that a script
asks for is dropped in silence. `directive_table` has the options.
"""

from __future__ import annotations

import shlex
from typing import Any, NamedTuple

from bascule.managers.lsf.directive_table import DIRECTIVES, MAY_REPEAT, Directive

PREFIX = "#BSUB"


class Found(NamedTuple):
    """What a script asks for, and what of it cannot be had."""

    settings: dict[str, Any]
    problems: tuple[str, ...] = ()


class _Wrong(Exception):
    """A line that cannot be had; the message says why."""


def directives_in(script: str) -> Found:
    """Return what the `#BSUB` lines of *script* ask for."""
    settings: dict[str, Any] = {}
    problems: list[str] = []
    commands = False
    for number, line in enumerate(script.split("\n"), start=1):
        stripped = line.strip()
        if stripped and not stripped.startswith("#"):
            commands = True
        if not line.startswith(PREFIX):
            continue
        where = f"#BSUB line {number}: `{stripped[:120]}`"
        if commands:
            problems.append(f"{where} stands behind the first command; move it to the top")
            continue
        found = options_in(line[len(PREFIX) :])
        _join(settings, found.settings)
        problems += [f"{where}: {problem}" for problem in found.problems]
    return Found(settings, tuple(problems))


def options_in(text: str) -> Found:
    """Return what the options in *text* ask for."""
    try:
        words = shlex.split(text, comments=True)
    except ValueError as wrong:
        return Found({}, (f"cannot be taken apart ({wrong})",))
    settings: dict[str, Any] = {}
    problems: list[str] = []
    while words:
        try:
            _join(settings, _next(words))
        except (_Wrong, ValueError) as wrong:
            problems.append(str(wrong))
    return Found(settings, tuple(problems))


def _next(words: list[str]) -> dict[str, Any]:
    word = words.pop(0)
    directive = _directive(word)
    value = ""
    if directive.takes:
        if not words:
            raise _Wrong(f"`{word}` needs a value")
        value = words.pop(0)
    if directive.why:
        raise _Wrong(f"`{word}`: {directive.why}")
    if directive.ignored:
        return {}
    if directive.read is not None:
        return directive.read(value)
    return {word[1:]: value if directive.takes else True}


def _directive(word: str) -> Directive:
    if not word.startswith("-") or len(word) < 2:
        raise _Wrong(f"`{word[:80]}` is no option")
    if word[1:] not in DIRECTIVES:
        raise _Wrong(f"`{word[:80]}` is no option of bsub that is known here")
    return DIRECTIVES[word[1:]]


def _join(settings: dict[str, Any], more: dict[str, Any]) -> None:
    for name, value in more.items():
        if name in MAY_REPEAT:
            settings[name] = [*settings.get(name, []), *(value if isinstance(value, list) else [value])]
        else:
            settings[name] = value
