"""What is said of a command line that is not understood: what is wrong with it, and what was meant."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from bascule.errors import Mistake

_CHOICE = re.compile(r"argument (\S+): invalid choice: '(.*)' \(choose from (.*)\)", re.DOTALL)

INSTEAD = {
    "ps": "bascule get jobs",
    "status": "bascule get jobs` or `bascule describe job NAME",
    "jobs": "bascule get jobs",
    "targets": "bascule get targets",
    "list": "bascule get jobs",
    "ls": "bascule get jobs",
    "top": "bascule get jobs --watch",
    "squeue": "bascule get jobs",
    "qstat": "bascule get jobs",
    "sacct": "bascule get jobs -o wide",
    "sinfo": "bascule get targets",
    "show": "bascule describe job NAME",
    "scontrol": "bascule describe job NAME",
    "rm": "bascule delete job NAME",
    "kill": "bascule cancel NAME",
    "stop": "bascule cancel NAME",
    "scancel": "bascule cancel NAME",
    "qdel": "bascule cancel NAME",
    "sbatch": "bascule submit FILE",
    "qsub": "bascule submit FILE",
    "srun": "bascule run FILE",
    "start": "bascule run FILE",
    "output": "bascule logs NAME",
    "log": "bascule logs NAME",
    "tail": "bascule logs -f NAME",
    "attach": "bascule logs -f NAME",
    "daemon": "bascule serve",
}
"""What those who come from elsewhere type, and what does it here."""


def of_message(message: str, prog: str) -> Mistake:
    """Return the `Mistake` for what argparse says in *message* of a line that begins with *prog*."""
    how = f"`{prog} --help` shows what it takes"
    found = _CHOICE.fullmatch(message)
    if found is None:
        return Mistake(f"`{prog}`: {message}", hint=how)
    what, word, known = found.groups()
    noun = "command" if what == "COMMAND" else what
    fault = f"there is no {noun} `{word}`"
    if prog == "bascule" and word in INSTEAD:
        return Mistake(fault, hint=f"`{INSTEAD[word]}` does that here; `bascule help` lists the commands")
    near = _nearest(word, re.findall(r"[\w-]+", known))
    return Mistake(fault, hint=f"did you mean `{near[0]}`? {how}" if near else how)


def of_surplus(surplus: Sequence[str], found: argparse.Namespace, parser: argparse.ArgumentParser) -> Mistake:
    """Return the `Mistake` for *surplus* words that *parser* has no use for; *found* is what it has understood."""
    hint = _meant(surplus, found, parser)
    how = f"`{parser.prog} --help` shows what it takes"
    return Mistake(f"`{parser.prog}` does not take `{shlex.join(surplus)}`", hint=hint or how)


def _meant(surplus: Sequence[str], found: argparse.Namespace, parser: argparse.ArgumentParser) -> str:
    first = surplus[0].partition("=")[0]
    if first.startswith("-"):
        options = [option for action in parser._actions for option in action.option_strings]  # noqa: SLF001
        near = [option for option in options if first.startswith("--") and option.startswith(first)]
        near = near or _nearest(first, options)
        if near:
            return f"did you mean {' or '.join(f'`{option}`' for option in near)}?"
    if getattr(parser, "takes_rest", False):
        given = getattr(found, "file", None) or " ".join(getattr(found, "files", ()))
        if Path(given).is_file():
            return f"what the script is to be given stands after `--`: `-- {shlex.join(surplus)}`"
        whole = shlex.join(filter(None, [given, *surplus]))
        return f"`--wrap {shlex.quote(whole)}` runs a command; `-- {shlex.join(surplus)}` hands it to a script"
    if getattr(found, "name", None) in ("job", "jobs", "target") and not first.startswith("-"):
        return f"the name alone is enough: `{parser.prog} {shlex.join(surplus)}`"
    return ""


def _nearest(word: str, known: Sequence[str]) -> list[str]:
    from difflib import get_close_matches

    return get_close_matches(word, known, n=1)
