"""LSF's commands, as a user may have them run: bkill, bstop, bresume, bmod; and what bsub reads of its options."""

from __future__ import annotations

import re
import shlex
import signal

from tests.fakes.lsf.cluster import FakeCluster, FakeJob, Said

WITH_VALUE = {
    *("J", "q", "P", "G", "g", "app", "sla", "m", "R", "w", "U", "u", "sp", "Lp", "b", "t", "c", "C", "D", "F", "M"),
    *("p", "S", "T", "v", "We", "W", "E", "Ep", "Jd", "a", "ext", "Q", "k", "gpu", "network", "freq", "i", "o", "e"),
    *("oo", "eo", "cwd", "env", "L", "n", "wa", "wt", "outdir", "notify", "hostfile"),
}
WITHOUT = {"H", "x", "r", "rn", "B", "N", "Ne", "K", "I", "ul", "hl", "ti"}
DONE = {
    "kill": "Job <{}> is being terminated",
    "send": "Job <{}> is being signaled",
    "stop": "Job <{}> is being stopped",
    "resume": "Job <{}> is being resumed",
    "mod": "Parameters of job <{}> are being changed",
}


def bsub_options(text: str) -> dict[str, list[str]]:
    """Read options as bsub does."""
    found: dict[str, list[str]] = {}
    words = shlex.split(text)
    while words:
        word = words.pop(0)
        name = word.removeprefix("-")
        if not word.startswith("-") or name not in WITH_VALUE | WITHOUT:
            raise Said(f"bsub: illegal option -- {name}. Job not submitted.")
        if name in WITHOUT:
            found.setdefault(name, []).append("")
            continue
        if not words:
            raise Said(f"bsub: option requires an argument -- {name}. Job not submitted.")
        found.setdefault(name, []).append(words.pop(0))
    for requirement in found.get("R", []):
        if requirement.count("[") != requirement.count("]"):
            raise Said("Bad resource requirement syntax. Job not submitted.")
    return found


def run_limit(text: str) -> float:
    matched = re.fullmatch(r"(?:(\d+):)?(\d+)", text)
    if matched is None:
        raise Said(f"{text}: Bad RUNLIMIT specification. Job not submitted.")
    return 60.0 * (int(matched[1] or 0) * 60 + int(matched[2]))


def indices_of(text: str) -> list[int]:
    found: list[int] = []
    for part in text.split(","):
        matched = re.fullmatch(r"(\d+)(?:-(\d+)(?::(\d+))?)?", part)
        if matched is None or int(matched[1]) < 1:
            raise Said("Bad job name. Job not submitted.")
        found += range(int(matched[1]), int(matched[2] or matched[1]) + 1, int(matched[3] or 1))
    return found


def run(cluster: FakeCluster, user: str, line: str) -> str:
    """Do what *line* says for *user*; return what it prints, or raise `Said`."""
    command, *words = shlex.split(line)
    if command not in {"bkill", "bstop", "bresume", "bmod"}:
        raise Said(f"{command}: Command is not allowed")
    number, limit = None, None
    if command == "bkill" and words[:1] == ["-s"]:
        number = signal.Signals[f"SIG{words[1]}"]
        words = words[2:]
    if command == "bmod":
        if words[:1] != ["-W"]:
            raise Said("bmod: illegal option")
        limit = run_limit(words[1])
        words = words[2:]
    if len(words) != 1:
        raise Said(f"{command}: Job ID is missing")
    matched = re.fullmatch(r"(\d+)(?:\[(\d+)\])?", words[0])
    if matched is None:
        raise Said(f"{words[0]}: Illegal job ID.")
    jobs = cluster.jobs_of(int(matched[1]), int(matched[2]) if matched[2] else None)
    if not [job for job in jobs if job.user == user]:
        raise Said(f"Job <{words[0]}>: User permission denied" if jobs else f"Job <{words[0]}>: No matching job found")
    return _on_all(cluster, words[0], jobs, command, number, limit)


def _on_all(
    cluster: FakeCluster, name: str, jobs: list[FakeJob], command: str, number: int | None, limit: float | None
) -> str:
    what = "send" if number is not None else command.removeprefix("b")
    refusals = []
    for job in jobs:
        try:
            if number is not None:
                cluster.send(job, number)
            elif limit is not None:
                cluster.set_limit(job, limit)
            else:
                getattr(cluster, what)(job)
        except Said as said:
            refusals.append(said)
    if len(refusals) == len(jobs):
        raise refusals[0]
    return DONE[what].format(name)
