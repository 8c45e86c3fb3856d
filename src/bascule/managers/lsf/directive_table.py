"""
bsub's options, one line each: what they set, or why they cannot be had here.

Most go to bsub as they are, within the form's ``EXTRA_PARAMS``. The page
`docs/managers/lsf.md` shows the others to people; a test compares them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

_ARRAY = re.compile(r"([^\[\]]*)\[([0-9,:-]+)\](?:%(\d+))?")


class Directive(NamedTuple):
    """An option of bsub. *why*: it cannot be had; no *read*: it goes to bsub as it is, or has no effect."""

    takes: bool = True
    read: Callable[[str], dict[str, Any]] | None = None
    why: str = ""
    ignored: bool = False


def run_limit(text: str) -> dict[str, Any]:
    """LSF's ``[hours:]minutes``, as a duration; a host that it is measured by is no matter of ours."""
    found = re.fullmatch(r"(?:(\d{1,6}):)?(\d{1,6})", text)
    if found is None or not int(found[1] or 0) * 60 + int(found[2]):
        raise ValueError(f"`{text}` is no run limit; bsub's forms are `90` and `1:30`")
    return {"walltime": f"{int(found[1] or 0)}h{int(found[2])}m"}


def name(text: str) -> dict[str, Any]:
    """A job's name, which we give ourselves, and the array that it may hold."""
    if "[" not in text:
        return {}
    found = _ARRAY.fullmatch(text)
    if found is None:
        raise ValueError(f"`{text}` is no array; bsub's form is `name[1-10]%4`")
    return {"array": found[2], **({"parallelism": int(found[3])} if found[3] else {})}


def folder(text: str) -> dict[str, Any]:
    if not text.startswith("/"):
        raise ValueError(f"`{text}` is no absolute path")
    return {"folder": text}


def environment(text: str) -> dict[str, Any]:
    if text.lower() in {"all", "none"}:
        return {}
    raise ValueError("write `env:` in the job: it goes along without bsub's help")


def output(text: str) -> dict[str, Any]:
    return {"output": text}


def error(text: str) -> dict[str, Any]:
    return {"error": text}


_NOBODY = "nobody would be there to talk to it"
_AS_IT_IS = Directive()
_FLAG = Directive(takes=False)

DIRECTIVES: dict[str, Directive] = {
    **dict.fromkeys(
        [
            *("a", "alloc_flags", "app", "b", "C", "c", "clusters", "core_isolation", "cn_cu", "cn_mem", "D", "data"),
            *("datagrp", "E", "Ep", "eptl", "ext", "F", "f", "freq", "G", "g", "gpu", "hostfile", "i", "k", "L"),
            *("Lp", "ln_mem", "ln_slots", "M", "m", "n", "network", "nnodes", "notify", "outdir", "P", "p"),
            *("ptl", "Q", "q", "R", "S", "smt", "sla", "sp", "stage", "step_cgroup", "T", "t", "U", "u", "v", "w"),
            *("wa", "wt", "We"),
        ],
        _AS_IT_IS,
    ),
    **dict.fromkeys(["B", "csm", "hl", "jsm", "N", "Ne", "r", "rn", "ti", "ul", "x"], _FLAG),
    "cwd": Directive(read=folder),
    "e": Directive(read=error),
    "eo": Directive(read=error),
    "env": Directive(read=environment),
    "H": Directive(takes=False, why="write `hold: true` in the job"),
    "I": Directive(takes=False, why=_NOBODY),
    "Ip": Directive(takes=False, why=_NOBODY),
    "Is": Directive(takes=False, why=_NOBODY),
    "IS": Directive(takes=False, why=_NOBODY),
    "ISp": Directive(takes=False, why=_NOBODY),
    "ISs": Directive(takes=False, why=_NOBODY),
    "IX": Directive(takes=False, why=_NOBODY),
    "is": Directive(why="the file lies where you submit from; write it as `files.inputs`, or its path there as `-i`"),
    "J": Directive(read=name),
    "Jd": Directive(read=lambda text: {"description": text}),
    "jsdl": Directive(why="write the job as a job"),
    "jsdl_strict": Directive(why="write the job as a job"),
    "K": Directive(takes=False, why="`bascule run` waits for a job"),
    "o": Directive(read=output),
    "oo": Directive(read=output),
    "pack": Directive(why="write each job as a job of its own"),
    "s": Directive(why="write `signal` in the job"),
    "tty": Directive(takes=False, why=_NOBODY),
    "W": Directive(read=run_limit),
    "XF": Directive(takes=False, why=_NOBODY),
    "Zs": Directive(takes=False, ignored=True),
}
MAY_REPEAT = frozenset({"R", "f"})
