"""How each version writes jobs, and what it takes in a submit. Facts are from the real servers' answers."""

from __future__ import annotations

from typing import Any

from tests.fakes.slurmrestd.cluster import FakeJob

OLD = "v0.0.38"
RELEASES = {"v0.0.38": "22.05.8", "v0.0.42": "24.11.5", "v0.0.45": "26.05.5"}

_BOTH = {
    "name",
    "comment",
    "current_working_directory",
    "standard_output",
    "standard_error",
    "standard_input",
    "environment",
    "hold",
    "array",
    "account",
    "partition",
    "qos",
    "reservation",
    "wckey",
    "constraints",
    "prefer",
    "licenses",
    "dependency",
    "nice",
    "priority",
    "requeue",
    "tasks",
    "cpus_per_task",
    "tasks_per_node",
    "nodes",
    "time_limit",
    "time_minimum",
    "memory_per_node",
    "memory_per_cpu",
    "begin_time",
    "deadline",
    "mail_type",
    "mail_user",
    "open_mode",
    "container",
    "minimum_cpus_per_node",
    "threads_per_core",
    "distribution",
    "burst_buffer",
    "argv",
}
FIELDS = {
    True: _BOTH
    | {
        "gres",
        "gpus",
        "gpus_per_node",
        "gpus_per_task",
        "nodelist",
        "exclusive",
        "oversubscribe",
        "no_kill",
        "no_requeue",
        "signal",
    },
    False: _BOTH
    | {
        "tres_per_node",
        "tres_per_job",
        "tres_per_task",
        "required_nodes",
        "excluded_nodes",
        "shared",
        "flags",
        "kill_on_node_fail",
        "kill_warning_signal",
        "kill_warning_delay",
        "kill_warning_flags",
        "overcommit",
        "contiguous",
        "reboot",
        "required_switches",
        "wait_all_nodes",
        "temporary_disk_per_node",
        "profile",
        "extra",
    },
}
NUMBERS = {"time_limit", "time_minimum", "memory_per_node", "memory_per_cpu", "begin_time", "priority"}


def number(value: int | None) -> dict[str, Any]:
    return {"set": value is not None, "infinite": False, "number": value or 0}


def live(job: FakeJob, *, old: bool) -> dict[str, Any]:
    shared = {
        "job_id": job.id,
        "name": job.name,
        "user_name": job.user,
        "partition": job.desc.get("partition", "main"),
        "state_reason": job.reason,
        "state_description": "",
        "nodes": job.nodes,
        "restart_cnt": job.restarts,
        "comment": job.desc.get("comment", ""),
        "standard_output": job.desc.get("standard_output", ""),
        "standard_error": job.desc.get("standard_error", ""),
        "current_working_directory": job.desc.get("current_working_directory", ""),
        "array_task_string": "",
        "failed_node": "",
    }
    if old:
        return shared | {
            "job_state": job.words[0],
            "exit_code": job.status,
            "priority": 0 if job.held else 4294901757,
            "submit_time": job.submitted,
            "start_time": job.started,
            "end_time": job.ended,
            "array_job_id": 0,
            "array_task_id": None,
        }
    return shared | {
        "job_state": job.words,
        "exit_code": exit_code(job.status),
        "hold": job.held,
        "priority": number(0 if job.held else 1),
        "submit_time": number(job.submitted),
        "start_time": number(job.started),
        "end_time": number(job.ended),
        "array_job_id": number(0),
        "array_task_id": number(None),
    }


def past(job: FakeJob, *, old: bool) -> dict[str, Any]:
    return {
        "job_id": job.id,
        "name": job.name,
        "user": job.user,
        "state": {"current": job.words[0] if old else job.words, "reason": job.reason},
        # dbv0.0.38 says 0 of every job; its steps know better.
        "exit_code": {"status": "SUCCESS", "return_code": 0} if old else exit_code(job.status),
        "time": {"submission": job.submitted, "start": job.started, "end": job.ended, "elapsed": 0},
        "nodes": job.nodes or "None assigned",
        "restart_cnt": job.restarts,
        "kill_request_user": job.killed_by,
        "array": {"job_id": 0, "task_id": None if old else number(None), "task": None if old else ""},
        "comment": {"administrator": "", "job": job.desc.get("comment", ""), "system": ""},
        "stdout": job.desc.get("standard_output", ""),
        "stderr": job.desc.get("standard_error", ""),
        "working_directory": job.desc.get("current_working_directory", ""),
        "steps": [{"exit_code": old_step(job.status)}] if old else [],
    }


def exit_code(status: int) -> dict[str, Any]:
    signal, code = status & 0x7F, status >> 8
    return {
        "status": ["SIGNALED" if signal else "ERROR" if code else "SUCCESS"],
        "return_code": number(None if signal else code),
        "signal": {"id": number(signal or None), "name": ""},
    }


def old_step(status: int) -> dict[str, Any]:
    signal, code = status & 0x7F, status >> 8
    if signal:
        return {"status": "SIGNALED", "signal": {"signal_id": signal, "name": ""}}
    return {"status": "ERROR" if code else "SUCCESS", "return_code": code}


def meta(version: str) -> dict[str, Any]:
    if version == OLD:
        return {"plugin": {"type": "openapi/v0.0.38"}, "Slurm": {"release": RELEASES[version]}}
    return {
        "plugin": {"data_parser": f"data_parser/{version}"},
        "slurm": {"release": RELEASES[version], "cluster": "lab"},
    }


def error(words: str, code: int, *, old: bool, submit: bool = False) -> dict[str, Any]:
    if old and submit:
        return {"error_code": code, "error": words}
    return {"description": words, "error_number": code, "error": words, "source": "fake"}
