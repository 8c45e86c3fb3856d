"""
What a setting is called in a submit, and in which form, for each version of the API.

One line a setting. `None` as a name means that this version has no such field: then a
job that needs it is refused before it is sent, since slurmrestd drops what it does not
know with no more than a warning.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple

from bascule.errors import Mistake
from bascule.managers.slurm.versions import Shape
from bascule.model import Duration, Quantity

Form = Callable[[Any, datetime], object]
MIB = 1 << 20
UNLIMITED = "UNLIMITED"
ALL_MAIL = ["BEGIN", "END", "FAIL", "REQUEUE", "STAGE_OUT", "INVALID_DEPENDENCY"]
_MAIL = {
    "TIME_LIMIT": "TIME=100%",
    "TIME_LIMIT_90": "TIME=90%",
    "TIME_LIMIT_80": "TIME=80%",
    "TIME_LIMIT_50": "TIME=50%",
    "INVALID_DEPEND": "INVALID_DEPENDENCY",
}


def as_is(value: Any, now: datetime) -> object:
    return value


def text(value: Any, now: datetime) -> object:
    return str(value)


def number(value: Any, now: datetime) -> object:
    return {"set": True, "infinite": False, "number": value}


def minutes(value: Any, now: datetime) -> object:
    """A number of minutes, rounded up, or `UNLIMITED`."""
    return value if value == UNLIMITED else max(1, -(-int(_seconds(value)) // 60))


def minutes_number(value: Any, now: datetime) -> object:
    if value == UNLIMITED:
        return {"set": False, "infinite": True, "number": 0}
    return number(minutes(value, now), now)


def seconds(value: Any, now: datetime) -> object:
    return int(_seconds(value))


def mib(value: Any, now: datetime) -> object:
    """A quantity in MiB, rounded up."""
    return value if isinstance(value, int) else -(-int(Quantity(value)) // MIB)


def mib_number(value: Any, now: datetime) -> object:
    return number(mib(value, now), now)


def epoch(value: Any, now: datetime) -> object:
    return int(datetime.fromisoformat(value).timestamp())


def epoch_number(value: Any, now: datetime) -> object:
    return number(epoch(value, now), now)


def from_now(value: Any, now: datetime) -> object:
    """A time as 22.05 reads it whatever its time zone: so many seconds from now."""
    return f"now+{max(0, int(datetime.fromisoformat(value).timestamp() - now.timestamp()))}"


def comma(value: Any, now: datetime) -> object:
    return ",".join(value)


def upper(value: Any, now: datetime) -> object:
    return [word.upper() for word in ([value] if isinstance(value, str) else value)]


def mail(value: Any, now: datetime) -> object:
    kinds = [word.upper() for word in value]
    if "ALL" in kinds:
        return ALL_MAIL
    return [_MAIL.get(kind, kind) for kind in kinds if kind != "NONE"]


def tres(value: Any, now: datetime) -> object:
    """Generic resources as ``gres/gpu:a100:2``."""
    parts = [part.strip().removeprefix("gres/").removeprefix("gres:") for part in value.split(",")]
    return ",".join(f"gres/{part}" for part in parts)


def tres_gpu(value: Any, now: datetime) -> object:
    """GPUs alone, ``2`` or ``a100:2``, as ``gres/gpu:a100:2``."""
    return ",".join(f"gres/gpu:{part.strip()}" for part in str(value).split(","))


def memory_a_gpu(value: Any, now: datetime) -> object:
    return f"gres/gpu:{mib(value, now)}"


def sharing(value: Any, now: datetime) -> object:
    return ["none"] if value is True else [value] if value else []


def old_sharing(value: Any, now: datetime) -> object:
    return "exclusive" if value is True else value or None


def oversubscribed(value: Any, now: datetime) -> object:
    return ["oversubscribe"] if value else None


def set_if(value: Any, now: datetime) -> object:
    return True if value else None


def flag(name: str) -> Form:
    return lambda value, now: [name] if value else None


class FieldOf(NamedTuple):
    """A setting's name and form since v0.0.40, and in v0.0.38."""

    new: str | None
    old: str | None
    to_new: Form = as_is
    to_old: Form = as_is


def same(name: str) -> FieldOf:
    return FieldOf(name, name)


FIELDS: dict[str, FieldOf] = {
    **{
        name: same(name)
        for name in (
            "account",
            "partition",
            "qos",
            "reservation",
            "wckey",
            "comment",
            "constraints",
            "prefer",
            "licenses",
            "dependency",
            "nice",
            "requeue",
            "tasks",
            "cpus_per_task",
            "tasks_per_node",
            "tasks_per_socket",
            "tasks_per_core",
            "minimum_cpus_per_node",
            "sockets_per_node",
            "cores_per_socket",
            "threads_per_core",
            "core_specification",
            "thread_specification",
            "distribution",
            "cpu_frequency",
            "burst_buffer",
            "container",
            "mail_user",
            "cluster_constraint",
            "batch_features",
            "mcs_label",
            "array",
        )
    },
    "nodes": FieldOf("nodes", "nodes", text, text),  # 22.05 documents a list, and ignores one
    "walltime": FieldOf("time_limit", "time_limit", minutes_number, minutes),
    "time_minimum": FieldOf("time_minimum", "time_minimum", minutes_number, minutes),
    "memory_per_node": FieldOf("memory_per_node", "memory_per_node", mib_number, mib),
    "memory_per_cpu": FieldOf("memory_per_cpu", "memory_per_cpu", mib_number, mib),
    "memory_per_gpu": FieldOf("memory_per_tres", "memory_per_gpu", memory_a_gpu, mib),
    "cpus_per_gpu": FieldOf("cpus_per_tres", "cpus_per_gpu", tres_gpu, text),
    "gres": FieldOf("tres_per_node", "gres", tres),
    "gpus": FieldOf("tres_per_job", "gpus", tres_gpu),
    "gpus_per_task": FieldOf("tres_per_task", "gpus_per_task", tres_gpu),
    "gpus_per_socket": FieldOf("tres_per_socket", "gpus_per_socket", tres_gpu),
    "priority": FieldOf("priority", "priority", number, text),
    "kill_on_node_fail": FieldOf("kill_on_node_fail", "no_kill", to_old=lambda value, now: "off" if value else "set"),
    "kill_on_invalid_dependency": FieldOf(
        "flags", "kill_on_invalid_dependency", flag("KILL_INVALID_DEPENDENCY"), as_is
    ),
    "begin_time": FieldOf("begin_time", "begin_time", epoch_number, from_now),
    "deadline": FieldOf("deadline", "deadline", epoch, from_now),
    "mail_type": FieldOf("mail_type", "mail_type", mail, comma),
    "open_mode": FieldOf("open_mode", "open_mode", upper),
    "input": same("standard_input"),
    "node_list": FieldOf("required_nodes", "nodelist", to_old=comma),
    "exclude_nodes": FieldOf("excluded_nodes", None),
    "exclusive": FieldOf("shared", "exclusive", sharing, old_sharing),
    "oversubscribe": FieldOf("shared", "oversubscribe", oversubscribed, set_if),
    "overcommit": FieldOf("overcommit", None),
    "contiguous": FieldOf("contiguous", None),
    "spread": FieldOf("flags", "spread_job", flag("SPREAD_JOB"), set_if),
    "wait_all_nodes": FieldOf("wait_all_nodes", "wait_all_nodes", to_old=lambda value, now: int(value)),
    "reboot": FieldOf("reboot", None),
    "switches": FieldOf("required_switches", None, number),
    "switches_wait": FieldOf("wait_for_switch", None, seconds),
    "network": FieldOf("network", None),
    "temporary_disk": FieldOf("temporary_disk_per_node", None, mib),
    "profile": FieldOf("profile", "profile", upper, comma),
    "extra": FieldOf("extra", None),
}


def encoded(settings: dict[str, Any], shape: Shape, now: datetime) -> dict[str, object]:
    """Return *settings* as fields of a submit; raise `Mistake` naming each that this version has no field for."""
    request: dict[str, object] = {}
    missing = []
    for name, value in settings.items():
        known = FIELDS[name]
        field, form = (known.old, known.to_old) if shape.old else (known.new, known.to_new)
        if field is None:
            missing.append(name)
            continue
        sent = form(value, now)
        if sent is None:
            continue
        before = request.get(field)
        request[field] = [*before, *sent] if isinstance(before, list) and isinstance(sent, list) else sent
    if shape.old and request.get("requeue") is False:
        del request["requeue"]  # 22.05 takes it, and requeues all the same
        request["no_requeue"] = True
    if missing:
        raise Mistake(
            f"Slurm's REST {shape.name} ({shape.since}) has no field for {', '.join(f'`{name}`' for name in missing)}",
            hint="leave it out, or ask the cluster's administrator for a newer slurmrestd",
        )
    return request


def _seconds(value: object) -> float:
    if isinstance(value, str):
        return Duration.parse(value).total_seconds()
    return value.total_seconds() if hasattr(value, "total_seconds") else float(str(value))
