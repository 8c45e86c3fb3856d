"""
How jobs and targets are named on a command line: also as we print them, ``job/NAME``.

KIND may stand in the name too (``get job/train``), and before names that need none.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from bascule.errors import Mistake

JOB_KINDS = ("job", "jobs")
TARGET_KINDS = ("target", "targets")
KINDS = (*JOB_KINDS, *TARGET_KINDS)


def job_name(text: str) -> str:
    """Return the name of a job, given as NAME, `job/NAME` or `jobs/NAME`."""
    return _without(JOB_KINDS, text)


def target_name(text: str) -> str:
    """Return the name of a target, given as NAME, `target/NAME` or `targets/NAME`."""
    return _without(TARGET_KINDS, text)


def add_kind_and_names(parser: argparse.ArgumentParser, kinds: str, names: str) -> None:
    """Add KIND and NAME..., which `settle` makes sense of; *kinds* and *names* are their helps."""
    parser.add_argument("kind", metavar="KIND", help=kinds)
    parser.add_argument("names", metavar="NAME", nargs="*", help=names)


def settle(args: argparse.Namespace, command: str, *, bare: bool = False, all_of_them: bool = False) -> None:
    """
    Make `args.kind` ``job`` or ``target``, and `args.names` names alone; raise `Mistake` where they are neither.

    With *bare* a single word that is no kind is a job's name; with *all_of_them* no names are all there are.
    """
    kind, names = args.kind, args.names
    before, slash, _ = kind.partition("/")
    if slash and before in KINDS:
        kind, names = before, [kind, *names]
    elif kind not in KINDS and bare and not names:
        kind, names = "job", [kind]
    elif kind not in KINDS:
        raise _no_kind(command, kind, names)
    if not names and not all_of_them:
        raise Mistake(f"`bascule {command} {kind}` names none", hint=f"say which: `bascule {command} {kind} NAME`")
    args.kind = "job" if kind in JOB_KINDS else "target"
    args.names = [(job_name if args.kind == "job" else target_name)(name) for name in names]
    if odd := [name for name in args.names if "/" in name]:
        raise Mistake(f"`{odd[0]}` is not the name of a {args.kind}", hint="name jobs and targets one kind at a time")


def _no_kind(command: str, word: str, names: Sequence[str]) -> Mistake:
    from difflib import get_close_matches

    near = get_close_matches(word, KINDS, n=1)
    meant = " ".join(["bascule", command, "job", word, *names])
    hint = f"did you mean `{near[0]}`? `{meant}` is about jobs" if near else f"for jobs of that name: `{meant}`"
    return Mistake(f"there is no KIND `{word}`", hint=hint)


def _without(kinds: Sequence[str], text: str) -> str:
    kind, slash, name = text.partition("/")
    return name if slash and kind in kinds and name else text
