"""
sbatch's options, one line each: what they set, or why they cannot be had over the REST API.

The guide `docs/guides/from-sbatch.md` shows the same table to people; a test compares them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from bascule.managers.slurm.fields import UNLIMITED

Takes = Literal["value", "nothing", "perhaps"]


class Directive(NamedTuple):
    """An option of sbatch. No *setting* and no *why*: it has no effect on the job and is left out."""

    setting: str | None
    takes: Takes = "value"
    read: Callable[[str], Any] = str
    why: str = ""


def count(text: str) -> int:
    if not re.fullmatch(r"\d{1,9}", text) or int(text) == 0:
        raise ValueError(f"`{text}` is no number of things")
    return int(text)


def minutes(text: str) -> str:
    """Slurm's times: ``90``, ``1:30``, ``1:30:00``, ``2-12``, ``2-12:30:00``; as a duration."""
    if text.upper() in {"UNLIMITED", "INFINITE", "-1", "0"}:
        return UNLIMITED
    days, dash, rest = text.rpartition("-")
    parts = rest.split(":")
    if not all(part.isdecimal() for part in parts) or (dash and not days.isdecimal()) or len(parts) > 3:
        raise ValueError(f"`{text}` is no time; sbatch's forms are `90`, `1:30:00` and `2-12:00:00`")
    numbers = [int(part) for part in parts]
    if dash:
        hours, mins, secs = (*numbers, 0, 0)[:3]
        return f"{int(days) * 24 + hours}h{mins}m{secs}s"
    if len(numbers) == 3:
        return f"{numbers[0]}h{numbers[1]}m{numbers[2]}s"
    return f"{numbers[0]}m{numbers[1] if len(numbers) == 2 else 0}s"


def memory(text: str) -> int:
    """Slurm's sizes in MiB: ``4000``, ``4G``."""
    matched = re.fullmatch(r"(\d{1,12})([KMGT]?)B?", text.upper())
    if matched is None:
        raise ValueError(f"`{text}` is no size; sbatch's forms are `4000` (MiB) and `4G`")
    amount, unit = int(matched[1]), matched[2] or "M"
    return -(-amount // 1024) if unit == "K" else amount * 1024 ** "MGT".index(unit)


def node_count(text: str) -> str:
    if not re.fullmatch(r"\d{1,9}(-\d{1,9})?", text):
        raise ValueError(f"`{text}` is no number of nodes")
    return text


def names(text: str) -> list[str]:
    """Names with commas between them, those in brackets left together."""
    return [name for name in re.split(r",(?![^\[]*\])", text) if name]


def warning(text: str) -> dict[str, Any]:
    matched = re.fullmatch(r"(?:([RB]+):)?(?:SIG)?([A-Za-z0-9+-]+?)(?:@(\d+))?", text)
    if matched is None or "R" in (matched[1] or ""):
        raise ValueError(f"`{text}` is no signal; the forms are `USR1@60` and `B:USR1@60`")
    to = "BATCH_JOB" if matched[1] else ""
    return {"warning": (matched[2].upper(), int(matched[3] or 60), to)}


def sharing(text: str) -> bool | str:
    if text not in {"", "user", "mcs", "topo"}:
        raise ValueError(f"`{text}` is no kind of exclusive use")
    return text or True


def nice(text: str) -> int:
    if text and not re.fullmatch(r"-?\d{1,10}", text):
        raise ValueError(f"`{text}` is no number")
    return int(text or 100)


def switches(text: str) -> dict[str, Any]:
    wanted, _, wait = text.partition("@")
    return {"switches": count(wanted), **({"switches_wait": minutes(wait)} if wait else {})}


def yes(text: str) -> bool:
    return True


def no(text: str) -> bool:
    return False


def keep_on_node_failure(text: str) -> bool:
    return text == "off"


def environment(text: str) -> dict[str, Any]:
    if text.upper() in {"ALL", "NONE", "NIL"}:
        return {}
    raise ValueError("write `env:` in the job: the REST API hands on no variables of your shell")


def number(text: str) -> int:
    return count(text)


def absolute_time(text: str) -> dict[str, Any]:
    raise ValueError("write it as `options.beginTime` or `options.deadline`, with a time zone")


def lower(text: str) -> str:
    return text.lower()


def no_field(what: str) -> Directive:
    return Directive(None, "perhaps", why=what)


_NO_FIELD = "the REST API has no field for it"
_NOTHING = Directive(None, "nothing")
_NOTHING_AT_ALL = Directive(None, "perhaps")

LONG: dict[str, Directive] = {
    "account": Directive("account"),
    "acctg-freq": no_field(_NO_FIELD),
    "array": Directive("array"),
    "batch": Directive("batch_features"),
    "bb": Directive("burst_buffer"),
    "bbf": no_field("the file lies where you submit from; write its text as `options.burstBuffer`"),
    "begin": Directive("begin_time", read=absolute_time),
    "chdir": Directive("folder"),
    "cluster-constraint": Directive("cluster_constraint"),
    "clusters": Directive(None, why="a target is one cluster: make a target of the other"),
    "comment": Directive("comment"),
    "constraint": Directive("constraints"),
    "container": Directive("container"),
    "container-id": Directive(None, why=_NO_FIELD),
    "contiguous": Directive("contiguous", "nothing", yes),
    "core-spec": Directive("core_specification", read=count),
    "cores-per-socket": Directive("cores_per_socket", read=count),
    "cpu-freq": Directive("cpu_frequency"),
    "cpus-per-gpu": Directive("cpus_per_gpu", read=count),
    "cpus-per-task": Directive("cpus_per_task", read=count),
    "deadline": Directive("deadline", read=absolute_time),
    "delay-boot": Directive(None, why=_NO_FIELD),
    "dependency": Directive("dependency"),
    "distribution": Directive("distribution"),
    "error": Directive("error"),
    "exclude": Directive("exclude_nodes", read=names),
    "exclusive": Directive("exclusive", "perhaps", sharing),
    "export": Directive("environment", read=environment),
    "export-file": Directive(None, why="write `env:` in the job"),
    "extra": Directive("extra"),
    "extra-node-info": Directive(None, why="write `options.socketsPerNode`, `coresPerSocket`, `threadsPerCore`"),
    "get-user-env": Directive("login_shell", "perhaps", yes),
    "gid": Directive(None, why="a job runs as the target's user"),
    "gpu-bind": Directive(None, why=_NO_FIELD),
    "gpu-freq": Directive(None, why=_NO_FIELD),
    "gpus": Directive("gpus"),
    "gpus-per-node": Directive("gres", read=lambda text: ",".join(f"gpu:{part}" for part in text.split(","))),
    "gpus-per-socket": Directive("gpus_per_socket"),
    "gpus-per-task": Directive("gpus_per_task"),
    "gres": Directive("gres"),
    "gres-flags": Directive(None, why=_NO_FIELD),
    "hint": Directive(None, why=_NO_FIELD),
    "hold": Directive(None, "nothing", why="write `hold: true` in the job"),
    "ignore-pbs": _NOTHING,
    "input": Directive("input"),
    "job-name": Directive(None),
    "kill-on-invalid-dep": Directive("kill_on_invalid_dependency", read=lambda text: text.lower() == "yes"),
    "licenses": Directive("licenses"),
    "mail-type": Directive("mail_type", read=names),
    "mail-user": Directive("mail_user"),
    "mcs-label": Directive("mcs_label"),
    "mem": Directive("memory_per_node", read=memory),
    "mem-bind": Directive(None, why=_NO_FIELD),
    "mem-per-cpu": Directive("memory_per_cpu", read=memory),
    "mem-per-gpu": Directive("memory_per_gpu", read=memory),
    "mincpus": Directive("minimum_cpus_per_node", read=count),
    "network": Directive("network"),
    "nice": Directive("nice", "perhaps", nice),
    "no-kill": Directive("kill_on_node_fail", "perhaps", keep_on_node_failure),
    "no-requeue": Directive("requeue", "nothing", no),
    "nodefile": Directive(None, why="write the names as `options.nodeList`"),
    "nodelist": Directive("node_list", read=names),
    "nodes": Directive("nodes", read=node_count),
    "ntasks": Directive("tasks", read=count),
    "ntasks-per-core": Directive("tasks_per_core", read=count),
    "ntasks-per-gpu": Directive(None, why=_NO_FIELD),
    "ntasks-per-node": Directive("tasks_per_node", read=count),
    "ntasks-per-socket": Directive("tasks_per_socket", read=count),
    "oom-kill-step": no_field(_NO_FIELD),
    "open-mode": Directive("open_mode", read=lower),
    "output": Directive("output"),
    "overcommit": Directive("overcommit", "nothing", yes),
    "oversubscribe": Directive("oversubscribe", "nothing", yes),
    "parsable": _NOTHING,
    "partition": Directive("partition"),
    "power": no_field(_NO_FIELD),
    "prefer": Directive("prefer"),
    "priority": Directive("priority", read=count),
    "profile": Directive("profile", read=names),
    "propagate": no_field("limits of your shell are not handed on; set them in the script (`ulimit`)"),
    "qos": Directive("qos"),
    "quiet": _NOTHING,
    "reboot": Directive("reboot", "nothing", yes),
    "requeue": Directive("requeue", "nothing", yes),
    "reservation": Directive("reservation"),
    "resv-ports": no_field(_NO_FIELD),
    "segment": Directive(None, why=_NO_FIELD),
    "signal": Directive("warning", read=warning),
    "sockets-per-node": Directive("sockets_per_node", read=count),
    "spread-job": Directive("spread", "nothing", yes),
    "stepmgr": Directive(None, "nothing", why=_NO_FIELD),
    "switches": Directive("switches", read=switches),
    "test-only": Directive(None, "nothing", why="use `bascule target check` instead"),
    "thread-spec": Directive("thread_specification", read=count),
    "threads-per-core": Directive("threads_per_core", read=count),
    "time": Directive("walltime", read=minutes),
    "time-min": Directive("time_minimum", read=minutes),
    "tmp": Directive("temporary_disk", read=memory),
    "tres-bind": Directive(None, why=_NO_FIELD),
    "tres-per-task": Directive(None, why="write `options.gpusPerTask`"),
    "uid": Directive(None, why="a job runs as the target's user"),
    "use-min-nodes": Directive(None, "nothing", why=_NO_FIELD),
    "verbose": _NOTHING,
    "wait": _NOTHING,
    "wait-all-nodes": Directive("wait_all_nodes", read=lambda text: text == "1"),
    "wckey": Directive("wckey"),
    "wrap": Directive(None, why="write the command as `run.script` or `run.command`"),
    "x11": no_field(_NO_FIELD),
}

SHORT = {
    "A": "account",
    "a": "array",
    "b": "begin",
    "B": "extra-node-info",
    "C": "constraint",
    "c": "cpus-per-task",
    "D": "chdir",
    "d": "dependency",
    "e": "error",
    "F": "nodefile",
    "G": "gpus",
    "H": "hold",
    "i": "input",
    "J": "job-name",
    "k": "no-kill",
    "L": "licenses",
    "M": "clusters",
    "m": "distribution",
    "N": "nodes",
    "n": "ntasks",
    "O": "overcommit",
    "o": "output",
    "p": "partition",
    "Q": "quiet",
    "q": "qos",
    "S": "core-spec",
    "s": "oversubscribe",
    "t": "time",
    "v": "verbose",
    "W": "wait",
    "w": "nodelist",
    "x": "exclude",
}
