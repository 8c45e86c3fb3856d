"""
BridgeJob, as people write it.

Declarations only: what concerns several fields at once is in `bascule.spec.rules`, so
that it is told together with what is wrong in a single field. The descriptions go into
the reference and the schema.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from bascule.model import RETRYABLE
from bascule.spec.checks import fault
from bascule.spec.fields import Absolute, FilePath, Free, Name, Span, SpanOrZero, Text, Variable, Word, Written, form
from bascule.spec.metadata import MetadataModel
from bascule.spec.names import SIGNALS, did_you_mean
from bascule.spec.work import ArrayModel, FilesModel, ResourcesModel, RunModel, SecretKeyModel, TargetRefModel


def check_retryable(text: str) -> str:
    if text not in RETRYABLE:
        known = sorted(str(reason) for reason in RETRYABLE)
        if text in {"Refused", "NotAccepted", "DependencyNotMet", "TargetNotFound"}:
            raise fault(f"`{text}` is never retried: the same would come of it again", f"one of {_listed(known)}")
        raise fault(f"`{text}` is no reason for a retry", did_you_mean(text, known))
    return text


def check_signal(text: str) -> str:
    """Return the signal's name without ``SIG``."""
    name = text.removeprefix("SIG")
    if name not in SIGNALS:
        raise fault(
            f"`{text}` is no signal", did_you_mean(name, SIGNALS) if not name.isdigit() else "give its name: `USR1`"
        )
    if name in {"KILL", "STOP"}:
        raise fault(f"`{text}` cannot be caught, so it warns nobody", "use `USR1` or `TERM`")
    return name


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


Retryable = Annotated[
    str, Field(max_length=64, json_schema_extra={"enum": sorted(RETRYABLE)}), AfterValidator(check_retryable)
]
SignalName = Annotated[
    str,
    Field(min_length=1, max_length=16),
    form("(SIG)?[A-Z0-9]+"),
    AfterValidator(check_signal),
]


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
