"""Results as JSON, for programs."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import fields

from bascule.bridge import Result
from bascule.cli import output
from bascule.cli.exits import code_of_job
from bascule.errors import Mistake
from bascule.model import Job, to_plain


def write_results(path: Path, jobs: Sequence[Job]) -> None:
    """Write the result of one job, or a list of several, to *path*: to a file all of it or nothing."""
    plain = [plain_result(job) for job in jobs]
    text = json.dumps(plain[0] if len(plain) == 1 else plain, indent=2, ensure_ascii=False) + "\n"
    if str(path) == "-":
        output.data(text.rstrip("\n"))
        return
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        if path.is_symlink() or (path.exists() and not path.is_file()):
            path.write_text(text, encoding="utf-8")  # a device or a pipe is written to, not put aside for a file
            return
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    except OSError as fault:
        raise Mistake(
            f"the result cannot be written to `{path}`: {fault.strerror}",
            hint="the job is over all the same: `bascule get jobs NAME -o json` has its result",
        ) from fault


def plain_result(job: Job) -> dict[str, Any]:
    """Return how *job* ended, every field of it, and the exit code of the command that followed it."""
    result = Result.of(job)
    given = to_plain(result)
    whole = {field.encode_name: given.get(field.encode_name) for field in fields(Result)}
    return {**whole, "code": int(code_of_job(result))}
