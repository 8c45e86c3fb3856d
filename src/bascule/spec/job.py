"""
BridgeJob, as people write it.

Declarations only: what concerns several fields at once is in `bascule.spec.rules`, so
that it is told together with what is wrong in a single field. The descriptions go into
the reference and the schema.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from bascule.model import RETRYABLE
from bascule.spec.fields import (
    LONGEST_CONTENT,
    Absolute,
    Beneath,
    FilePath,
    Free,
    Label,
    LabelKey,
    LabelValue,
    Line,
    Memory,
    Name,
    Span,
    SpanOrZero,
    Text,
    Variable,
    Word,
    Written,
    check_text,
    check_url,
    fault,
    form,
)
from bascule.spec.indices import indices_problem
from bascule.spec.names import SIGNALS, did_you_mean
from bascule.spec.scripts import LONGEST_SCRIPT, script_problem

API_VERSION = "bascule.dev/v1alpha1"
MOST_ANNOTATED = 256 * 1024
_GIVEN_BY_THE_STORE = frozenset(
    {
        *("uid", "generation", "resourceVersion", "creationTimestamp", "deletionTimestamp", "selfLink"),
        *("deletionGracePeriodSeconds", "managedFields", "ownerReferences", "finalizers"),
    }
)


def check_script(script: str) -> str:
    if found := script_problem(script):
        raise fault(*found)
    return script


def check_indices(text: str) -> str:
    if found := indices_problem(text):
        raise fault(*found)
    return text


def check_retryable(text: str) -> str:
    if text not in RETRYABLE:
        known = sorted(str(reason) for reason in RETRYABLE)
        if text in {"Refused", "NotAccepted", "DependencyNotMet", "TargetNotFound"}:
            raise fault(f"`{text}` is never retried: the same would come of it again", f"one of {_listed(known)}")
        raise fault(f"`{text}` is no reason for a retry", did_you_mean(text, known))
    return text


def check_signal(text: str) -> str:
    """Return the signal's name without ``SIG``."""
    name = text.upper().removeprefix("SIG")
    if name not in SIGNALS:
        raise fault(
            f"`{text}` is no signal", did_you_mean(name, SIGNALS) if not name.isdigit() else "give its name: `USR1`"
        )
    if name in {"KILL", "STOP"}:
        raise fault(f"`{text}` cannot be caught, so it warns nobody", "use `USR1` or `TERM`")
    return name


def check_annotations(value: dict[str, str]) -> dict[str, str]:
    if sum(len(key) + len(text.encode()) for key, text in value.items()) > MOST_ANNOTATED:
        raise fault(f"hold more than {MOST_ANNOTATED // 1024} KiB")
    return value


def check_content(text: str) -> str:
    if len(text.encode()) > LONGEST_CONTENT:
        raise fault(f"has more than {LONGEST_CONTENT // 1024} KiB", "put it into a store, or a file at the target")
    return text


def check_https(text: str) -> str:
    return check_url(text, ("https",))


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


Script = Annotated[str, Field(min_length=1, max_length=LONGEST_SCRIPT), AfterValidator(check_script)]
Indices = Annotated[
    str, Field(min_length=1, max_length=4096), form(r"[0-9]+(-[0-9]+(:[0-9]+)?)?(,[0-9]+(-[0-9]+(:[0-9]+)?)?)*"),
    AfterValidator(check_indices),
]  # fmt: skip
Retryable = Annotated[
    str, Field(max_length=64, json_schema_extra={"enum": sorted(RETRYABLE)}), AfterValidator(check_retryable)
]
SignalName = Annotated[
    str,
    Field(min_length=1, max_length=16),
    form("(SIG)?[A-Z0-9]+"),
    AfterValidator(check_signal),
]
Content = Annotated[str, Field(max_length=LONGEST_CONTENT), AfterValidator(check_text), AfterValidator(check_content)]
Https = Annotated[str, Field(max_length=2048), form("https://.*"), AfterValidator(check_https)]
Sha256 = Annotated[str, Field(min_length=64, max_length=64, pattern="^[0-9a-f]{64}$")]
GpuType = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9]([-A-Za-z0-9._]*[A-Za-z0-9])?$")]


class MetadataModel(Written):
    """What the object is called."""

    name: Name = Field(description="Names the object; unique in its namespace.")
    namespace: Label | None = Field(None, description="Where the object lives; `default` where the platform has none.")
    labels: dict[LabelKey, LabelValue] = Field({}, max_length=64, description="Marks to select objects by.")
    annotations: Annotated[dict[LabelKey, Text], AfterValidator(check_annotations)] = Field(
        {}, max_length=64, description="Notes for programs; 256 KiB in all."
    )

    @model_validator(mode="before")
    @classmethod
    def _without_what_the_store_gives(cls, data: Any) -> Any:
        return {k: v for k, v in data.items() if k not in _GIVEN_BY_THE_STORE} if isinstance(data, dict) else data


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
        None, description="A batch script that runs as it is, byte for byte; it begins with `#!`."
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


class AfterModel(Written):
    """Another job that must have ended first."""

    job: Name = Field(description="The other job's name, in the same namespace.")
    when: Literal["Succeeded", "Failed", "Finished"] = Field(
        "Succeeded", description="How it must have ended; `Finished` is in any way."
    )


class RetryModel(Written):
    """How often, and after which ends, a new attempt is made; never for a user's mistake."""

    limit: int = Field(0, ge=0, le=100, description="How many new attempts, at most.")
    reasons: list[Retryable] = Field(
        ["NodeFailed", "Preempted"], max_length=len(RETRYABLE), description="After which ends."
    )


class DeadlinesModel(Written):
    """Our own limits, apart from the manager's walltime."""

    queued: Span | None = Field(None, description="How long an attempt may wait before it starts.")
    running: Span | None = Field(None, description="How long an attempt may run.")
    unknown: Span | None = Field(None, description="How long the truth is looked for before the job counts as lost.")


class SignalModel(Written):
    """A warning to the job before its walltime ends."""

    name: SignalName = Field(description="Which signal: `USR1` or `SIGUSR1`.")
    before: Span = Field(description="How long before the walltime's end; shorter than the walltime.")


class AdoptModel(Written):
    """A job that runs already, to be watched and not submitted."""

    id: Word = Field(description="The manager's id of it.")


class JobSpecModel(Written):
    """What to run, and how to treat it."""

    target: TargetRefModel = Field(description="Where the job runs.")
    run: RunModel | None = Field(None, description="What runs; must be given unless `adopt` is.")
    env: dict[Variable, Text] = Field({}, max_length=1000, description="Environment variables; every value is a text.")
    secret_env: dict[Variable, SecretKeyModel] = Field(
        {}, max_length=100, description="Environment variables whose values are secrets."
    )
    working_directory: Absolute | None = Field(None, description="Where the job runs, on the outside system.")
    output: FilePath | None = Field(None, description="Where standard output goes; `NAME.out` unless given.")
    error: FilePath | None = Field(None, description="Where standard error goes; `NAME.err` unless given.")
    resources: ResourcesModel | None = Field(None, description="What the job needs.")
    array: ArrayModel | None = Field(None, description="Many tasks of one script.")
    files: FilesModel | None = Field(None, description="What is staged in and out.")
    after: list[AfterModel] = Field([], max_length=100, description="Jobs that must have ended first.")
    retry: RetryModel | None = Field(None, description="When a new attempt is made.")
    deadlines: DeadlinesModel | None = Field(None, description="Our own limits on time.")
    signal: SignalModel | None = Field(None, description="A warning before the walltime ends.")
    options: Free = Field({}, description="The manager's own fields, checked by the manager; see its page.")
    cancel: bool = Field(False, description="True asks for cancellation.")
    hold: bool = Field(False, description="True keeps the job waiting at the manager.")
    suspend: bool = Field(
        False,
        description="True before the submit: wait. True later: stop the job, and start a new attempt when false again.",
    )
    adopt: AdoptModel | None = Field(None, description="A job that runs already, to be watched and not submitted.")
    on_delete: Literal["Cancel", "Detach"] = Field(
        "Cancel", description="What becomes of the outside job when this object is deleted."
    )
    ttl_after_finished: SpanOrZero | None = Field(
        None, description="How long the object is kept after its end; for ever unless given."
    )


class JobModel(Written):
    """A job: what to run, and how far it has come."""

    api_version: Literal["bascule.dev/v1alpha1"] = Field(description="The version of this form.")
    kind: Literal["BridgeJob"] = Field(description="What the object is.")
    metadata: MetadataModel = Field(description="What the job is called.")
    spec: JobSpecModel = Field(description="What to run, and how to treat it.")
    status: Any = Field(None, description="How far the job has come; written by Bascule, ignored in what people apply.")
