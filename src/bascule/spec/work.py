"""
What defines a job's work, as people write it: what runs, where, with what.

Declarations only; see `bascule.spec.job` for the whole.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from bascule.spec.checks import check_text, fault
from bascule.spec.fields import (
    LONGEST_CONTENT,
    Absolute,
    Beneath,
    Free,
    Label,
    Line,
    Memory,
    Name,
    Span,
    Text,
    Word,
    Written,
    check_url,
    form,
)
from bascule.spec.indices import indices_problem
from bascule.spec.scripts import LONGEST_SCRIPT, script_problem


def check_script(script: str) -> str:
    if found := script_problem(script):
        raise fault(*found)
    return script


def check_indices(text: str) -> str:
    if found := indices_problem(text):
        raise fault(*found)
    return text


def check_content(text: str) -> str:
    if len(text.encode()) > LONGEST_CONTENT:
        raise fault(f"has more than {LONGEST_CONTENT // 1024} KiB", "put it into a store, or a file at the target")
    return text


def check_https(text: str) -> str:
    return check_url(text, ("https",))


Script = Annotated[str, Field(min_length=1, max_length=LONGEST_SCRIPT), AfterValidator(check_script)]
Indices = Annotated[
    str, Field(min_length=1, max_length=4096), form(r"[0-9]+(-[0-9]+(:[0-9]+)?)?(,[0-9]+(-[0-9]+(:[0-9]+)?)?)*"),
    AfterValidator(check_indices),
]  # fmt: skip
Content = Annotated[str, Field(max_length=LONGEST_CONTENT), AfterValidator(check_text), AfterValidator(check_content)]
Https = Annotated[str, Field(max_length=2048), form("https://.*"), AfterValidator(check_https)]
Sha256 = Annotated[str, Field(min_length=64, max_length=64, pattern="^[0-9a-f]{64}$")]
GpuType = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9]([-A-Za-z0-9._]*[A-Za-z0-9])?$")]


class TargetRefModel(Written):
    """Which target the job runs at."""

    name: Name = Field(description="The target's name.")
    namespace: Label | None = Field(None, description="Where a shared target lives; the job's own unless given.")


class ProgramModel(Written):
    """A program that the service itself has (quantum)."""

    id: Word = Field(description="The program's name at the service.")
    params: Free = Field({}, description="What the program is given; any JSON, at most 256 KiB.")


class RunModel(Written):
    """What runs: exactly one of script, scriptPath, command, program and payload."""

    script: Script | None = Field(
        None,
        description="A batch script that runs as it is, byte for byte; it begins with `#!` (128 KiB on Kubernetes).",
    )
    script_path: Absolute | None = Field(None, description="A script that already lies on the outside system.")
    command: list[Text] | None = Field(
        None, min_length=1, max_length=1000, description="A program and its arguments; no shell reads them."
    )
    program: ProgramModel | None = Field(None, description="A program that the service itself has (quantum).")
    payload: Free | None = Field(None, description="The body for a declared HTTP manager; any JSON, at most 256 KiB.")
    arguments: list[Text] = Field([], max_length=1000, description="What the script or command is given.")


class SecretKeyModel(Written):
    """One value of a secret or of a configuration."""

    name: Name = Field(description="The object that holds the value.")
    key: Word = Field(description="Which of its values.")


class GpusModel(Written):
    """How many GPUs, and of which type."""

    count: int = Field(ge=1, le=1024, description="How many on each node.")
    type: GpuType | None = Field(None, description="Of which type, in the manager's words; any unless given.")


class ResourcesModel(Written):
    """What the job needs; what is not given is the manager's own default."""

    nodes: int | None = Field(None, ge=1, le=1_000_000, description="How many nodes.")
    tasks: int | None = Field(None, ge=1, le=100_000_000, description="How many processes (ranks) over all nodes.")
    cpus_per_task: int | None = Field(None, ge=1, le=65_536, description="How many cpus each task has.")
    memory_per_node: Memory | None = Field(None, description="Memory on each node, in bytes.")
    gpus_per_node: GpusModel | None = Field(None, description="GPUs on each node.")
    walltime: Span | None = Field(None, description="How long the job may run; then the manager ends it.")


class ArrayModel(Written):
    """Many tasks of one script, each with its own index."""

    indices: Indices = Field(description="Which indices: `0-99`, `1,3,5-9:2`; at most 100,000.")
    parallelism: int | None = Field(None, ge=1, le=100_000, description="How many tasks run at once, at most.")


class InputModel(Written):
    """A file that lies in the working directory before the job starts; one source each."""

    path: Beneath = Field(description="Where the file goes, relative to the working directory.")
    content: Content | None = Field(None, description="The text of the file itself.")
    store: Label | None = Field(None, description="The target's object store that holds the file; needs `key`.")
    key: Line | None = Field(None, description="The file's key in the store.")
    url: Https | None = Field(None, description="Where the file is fetched from; the target must allow the host.")
    sha256: Sha256 | None = Field(None, description="What the file's SHA-256 must be.")
    config_map: SecretKeyModel | None = Field(None, description="The ConfigMap that holds the file (Kubernetes).")


class OutputModel(Written):
    """Files that are brought home when the job has ended."""

    path: Beneath = Field(
        description="Which files, relative to the working directory; `*` and `?` stand for any letters."
    )
    store: Label | None = Field(None, description="The target's object store that takes them; home unless given.")
    prefix: Line | None = Field(None, description="What is put before their names in the store.")


class FilesModel(Written):
    """What is staged in and out."""

    inputs: list[InputModel] = Field([], max_length=100, description="What is brought to the job.")
    outputs: list[OutputModel] = Field([], max_length=100, description="What is brought home.")
