"""
Take the snippets out of a page and run them, in order, in one folder.

The word after the fence says what happens: ``console`` lines that begin with ``$ `` are
typed into one shell, and what follows each must be in what it prints or says (stdout,
stderr: which comes first is not ours to tell), ``...`` standing for anything; ``sh`` and ``python`` are run; ``yaml`` is read, and an object of ours validated;
``text``, ``toml`` and ``json`` are only shown. ``file=NAME`` saves a snippet instead, and
``not-run="why"`` leaves it alone.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

from bascule.errors import Mistake
from bascule.spec import load_text

ONLY_SHOWN = {"text", "toml", "json"}
END = "\x1e"  # stands between the outputs of two commands


@dataclass(frozen=True)
class Snippet:
    """One fenced block of a page."""

    where: str
    language: str
    options: dict[str, str]
    text: str


def snippets_of(page: Path) -> list[Snippet]:
    """Return the fenced blocks of *page*, in order."""
    snippets = []
    for token in MarkdownIt().parse(page.read_text()):
        if token.type == "fence" and token.map:
            language, *options = shlex.split(token.info) or [""]
            pairs = dict(option.partition("=")[::2] for option in options)
            snippets.append(Snippet(f"{page.name}:{token.map[0] + 1}", language, pairs, token.content))
    return snippets


def run(snippet: Snippet, *, folder: Path, settings: dict[str, str]) -> None:
    """Do in *folder* what a reader would do with *snippet*; raise AssertionError where the page is wrong."""
    if "not-run" in snippet.options:
        assert snippet.options["not-run"], f"{snippet.where} gives no reason not to run it"
        return
    if name := snippet.options.get("file"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(snippet.text)
    match snippet.language:
        case "console":
            type_in(snippet, folder=folder, settings=settings)
        case "sh" | "python" if not name:
            program = ["sh", "-eu"] if snippet.language == "sh" else [sys.executable]
            done = execute([*program, "-c", snippet.text], folder=folder, settings=settings)
            assert done.returncode == 0, f"{snippet.where} ended with {done.returncode}:\n{done.stdout}"
        case "yaml":
            validate(snippet)
        case language:
            assert name or language in ONLY_SHOWN, f"{snippet.where} must say what it is"


def type_in(snippet: Snippet, *, folder: Path, settings: dict[str, str]) -> None:
    """Type the commands into one shell, and look for what the page shows after each."""
    commands = list(commands_of(snippet.text))
    assert commands, f"{snippet.where} has no line that begins with `$ `"
    mark = f"printf '{END}%s{END}' $1; printf '{END}{END}' >&2"
    script = "\n".join(f"{command}\nset -- $?; {mark}; (exit $1)" for command, _ in commands)
    done = execute(["sh", "-c", script], folder=folder, settings=settings, apart=True)
    printed, said = done.stdout.split(END)[:-1], done.stderr.split(END)[:-1]
    assert len(printed) == len(said) == 2 * len(commands), f"{snippet.where} broke off:\n{done.stdout}{done.stderr}"
    for number, (command, shown) in enumerate(commands):
        output, code = printed[2 * number : 2 * number + 2]
        words = said[2 * number]
        code_is_shown = commands[number + 1 : number + 2] and "$?" in commands[number + 1][0]
        assert code == "0" or code_is_shown, f"{snippet.where}: `{command}` ended with {code}:\n{output}{words}"
        absent = first_absent(shown, output, words)
        assert absent is None, f"{snippet.where}: `{command}` does not print {absent!r} but:\n{output}{words}"


def commands_of(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each command with the lines that the page shows after it."""
    for block in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        lines = block.splitlines()
        length = 1 + next((n for n, line in enumerate(lines) if not line.endswith("\\")), 0)
        yield "\n".join(lines[:length]), [" ".join(line.split()) for line in lines[length:] if line.strip()]


def first_absent(shown: list[str], *streams: str) -> str | None:
    """Return the first line of *shown* that none of *streams* has after those before it."""
    left = [[" ".join(line.split()) for line in stream.splitlines()] for stream in streams]
    for line in shown:
        pattern = re.compile(".*".join(map(re.escape, line.split("..."))))
        if line != "..." and not any(skip_past(pattern, lines) for lines in left):
            return line
    return None


def skip_past(pattern: re.Pattern[str], lines: list[str]) -> bool:
    """Drop all of *lines* up to the first that matches; where none does, drop nothing and return False."""
    found = next((number for number, line in enumerate(lines, start=1) if pattern.fullmatch(line)), 0)
    del lines[:found]
    return bool(found)


def execute(
    command: list[str], *, folder: Path, settings: dict[str, str], apart: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run *command* as a reader would, but without a terminal; keep stdout and stderr *apart*, or have both in stdout."""
    return subprocess.run(
        command,
        cwd=folder,
        env=settings,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE if apart else subprocess.STDOUT,
        text=True,
        timeout=240,
    )


def validate(snippet: Snippet) -> None:
    """Read a YAML snippet as people's files are read."""
    try:
        objects = load_text(snippet.text, source=snippet.where)
    except Mistake as mistake:
        raise AssertionError("\n".join([mistake.message, *mistake.problems])) from mistake
    assert objects, f"{snippet.where} is empty"
