"""
`#SBATCH` lines, read as sbatch would, into settings; slurmrestd itself ignores them.

Each line becomes a setting, or a problem that names the line: nothing that a script
asks for is dropped in silence. `directive_table` has the options.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any, NamedTuple

from bascule.managers.slurm.directive_table import LONG, SHORT, Directive

PREFIX = "#SBATCH"
MEMORY = ("mem", "mem-per-cpu", "mem-per-gpu")
EXCLUDING = (MEMORY, ("exclusive", "oversubscribe"))
"""Options of which sbatch takes one: 22.05 some of them in any order, 26.05 none of them."""
GPUS_PER_NODE = "gpus-per-node"


class Found(NamedTuple):
    """What a script asks for, what of it cannot be had, what has no effect, and what a later line took back."""

    settings: dict[str, Any]
    problems: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    overridden: tuple[str, ...] = ()


class _Wrong(Exception):
    """A part of a line that cannot be had; the message says why."""


class _Option(NamedTuple):
    """One option, where it stands, and what it sets."""

    name: str
    where: str
    line: int
    value: str | None
    sets: dict[str, Any]


def directives_in(script: str) -> Found:
    """Return what the `#SBATCH` lines of *script* ask for."""
    options: dict[str, _Option] = {}
    problems: list[str] = []
    ignored: list[str] = []
    overridden: list[str] = []
    for number, line in enumerate(script.split("\n"), start=1):
        stripped = line.strip()
        if stripped and not stripped.startswith("#"):
            break  # sbatch stops at the first command
        if not line.startswith(PREFIX):
            continue  # sbatch needs no space behind it
        where = f"line {number}: `{stripped[:120]}`"
        for part in _options(line[len(PREFIX) :]):
            if isinstance(part, _Wrong):
                problems.append(f"{where}: {part}")
                continue
            name, value = part
            directive = LONG[name]
            if directive.setting is None:
                if directive.why:
                    problems.append(f"{where}: `--{name}`: {directive.why}")
                else:
                    ignored.append(f"{where} has no effect here")
                continue
            try:
                option = _Option(name, where, number, value, _read(directive, value))
            except _Wrong as wrong:
                problems.append(f"{where}: {wrong}")
                continue
            earlier = options.pop(name, None)
            if earlier is not None and earlier.sets != option.sets:
                # As sbatch has it: the later one wins, and nobody is told.
                overridden.append(f"{earlier.where}: line {number} has `--{name}` again, and counts")
            options[name] = option
    problems += _contradictions(options)
    settings: dict[str, Any] = {}
    for option in options.values():
        settings.update(option.sets)
    gpus = options.get(GPUS_PER_NODE)
    if gpus is not None and "gres" in options:
        settings["gres"] = ",".join(options[name].sets["gres"] for name in ("gres", GPUS_PER_NODE))
    return Found(settings, tuple(problems), tuple(ignored), tuple(overridden))


def _contradictions(options: dict[str, _Option]) -> Iterator[str]:
    """Tell what excludes each other."""
    for group in EXCLUDING:
        given = sorted((options[name] for name in group if name in options), key=lambda option: option.line)
        for option in given[1:]:
            yield f"{option.where}: `--{option.name}` and `--{given[0].name}` (line {given[0].line}) exclude each other"
    gpus, gres = options.get(GPUS_PER_NODE), options.get("gres")
    if gpus is not None and gres is not None and any(part.startswith("gpu") for part in str(gres.value).split(",")):
        last, first = sorted((gpus, gres), key=lambda option: option.line, reverse=True)
        yield f"{last.where}: `--{last.name}` and `--{first.name}` (line {first.line}) both ask for GPUs of each node"


def _read(directive: Directive, value: str | None) -> dict[str, Any]:
    try:
        read = directive.read(value or "")
    except ValueError as wrong:
        raise _Wrong(str(wrong)) from wrong
    return read if isinstance(read, dict) else {str(directive.setting): read}


def _options(text: str) -> Iterator[tuple[str, str | None] | _Wrong]:
    """Take a line apart as getopt would; after a fault go on with the next option."""
    try:
        words = shlex.split(text, comments=True)
    except ValueError as wrong:
        yield _Wrong(f"cannot be taken apart ({wrong})")
        return
    while words:
        word = words.pop(0)
        try:
            yield _option(word, words)
        except _Wrong as wrong:
            yield wrong
            while words and not words[0].startswith("-"):
                words.pop(0)  # what belongs to it, or is as stray as it


def _option(word: str, words: list[str]) -> tuple[str, str | None]:
    """Return the option that *word* is, with its value, which may be the first of the following *words*."""
    if word.startswith("--") and len(word) > 2:
        name, has_value, value = word[2:].partition("=")
        name = _long(name)
        given: str | None = value if has_value else None
    elif word.startswith("-") and len(word) > 1:
        name = _short(word[1])
        given = word[2:].removeprefix("=") or None
    else:
        raise _Wrong(f"`{word}` is no option")
    takes = LONG[name].takes
    if given is None and takes == "value":
        if not words:
            raise _Wrong(f"`{word}` needs a value")
        given = words.pop(0)
    if given is not None and takes == "nothing":
        raise _Wrong(f"`{word}` takes no value")
    return name, given


def _long(name: str) -> str:
    if name in LONG:
        return name
    near = [known for known in LONG if known.startswith(name)]
    if len(near) == 1:
        return near[0]
    raise _Wrong(f"`--{name}` is no option of sbatch that is known here")


def _short(letter: str) -> str:
    if letter in SHORT:
        return SHORT[letter]
    raise _Wrong(f"`-{letter}` is no option of sbatch that is known here")
