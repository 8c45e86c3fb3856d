"""
Custom resources to nouns, and back.

A job's spec stands as people write it. Its status has what is shown, and under ``record``
what the next pass must know, whichever process makes it: the intent, the handle, the epoch
of the driver that wrote it, and how far its story has been told.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from bascule.clients.kube import Meta
from bascule.errors import Mistake
from bascule.model import (
    Job,
    JobSpec,
    JobStatus,
    Noun,
    Target,
    TargetRef,
    TargetSpec,
    TargetStatus,
    from_plain,
    to_plain,
)
from bascule.platforms.kubernetes.names import API_VERSION, FINALIZER, LAST_APPLIED
from bascule.platforms.kubernetes.sealing import SEAL, is_whole, seal_of, what_is_left
from bascule.platforms.kubernetes.strangers import strangers_in
from bascule.spec import to_document
from bascule.spec.showing import SHOWN

_RECORDED = tuple(name for name in JobStatus.__struct_encode_fields__ if name not in SHOWN)


class Story(Noun, frozen=True):
    """How far a job's story was told: *count* Events, the last of which is *last* and came *times*."""

    count: int = 0
    last: str = ""
    times: int = 0


class StoredJob(Job, frozen=True):
    """
    A job as the API server keeps it.

    *epoch* is that of whoever wrote its status last. *agent* is 0 until it was handed over to a
    controller pod, and then the number of the agent that moves it, 1 for none yet. *problem* is why its spec cannot be
    read; such a job is shown as it is, and never accepted.
    """

    finalizers: tuple[str, ...] = ()
    epoch: int = 0
    agent: int = 0
    story: Story = Story()
    problem: str = ""

    @property
    def is_guarded(self) -> bool:
        """Tell whether the object stays until we let it go."""
        return FINALIZER in self.finalizers


class StoredTarget(Target, frozen=True):
    """A target as the API server keeps it; *problem* is why its spec cannot be read."""

    problem: str = ""


class _Object(msgspec.Struct):
    metadata: Meta
    spec: Any = None
    status: Any = None


class _ListMeta(msgspec.Struct, rename={"more": "continue"}):
    more: str = ""


class Page(msgspec.Struct):
    """One page of a list, not yet read any further."""

    metadata: _ListMeta
    items: list[msgspec.Raw] | None = None

    @property
    def more(self) -> str:
        """Where the next page begins; empty where there is none."""
        return self.metadata.more


_OBJECTS = msgspec.json.Decoder(_Object)
PAGES = msgspec.json.Decoder(Page)


def job_of(data: bytes | msgspec.Raw) -> StoredJob:
    """Return the job in *data*; one whose spec cannot be read bears its `problem`."""
    found = _OBJECTS.decode(data)
    meta, problem = found.metadata, ""
    try:
        spec = _spec_of(found.spec)
        if strangers := strangers_in(found.spec):
            problem = (
                f"its spec has what this version does not know: {', '.join(f'`{each}`' for each in strangers[:5])}"
            )
    except (msgspec.MsgspecError, Mistake, TypeError, ValueError) as fault:
        spec, problem = _least_of(found.spec), f"its spec cannot be read: {fault}"
    try:
        status, epoch, agent, story = _status_of(found.status, meta.name)
    except (msgspec.MsgspecError, Mistake, TypeError, ValueError, AttributeError):
        status, epoch, agent, story = what_is_left(found.status), 0, 0, Story()
    return StoredJob(
        **_common(meta),
        spec=spec,
        status=status,
        finalizers=meta.finalizers,
        epoch=epoch,
        agent=agent,
        story=story,
        problem=problem,
    )


def target_of(data: bytes | msgspec.Raw) -> StoredTarget:
    """Return the target in *data*; one that cannot be read bears its `problem`."""
    found, problem = _OBJECTS.decode(data), ""
    try:
        spec = from_plain(found.spec, TargetSpec)
    except (msgspec.MsgspecError, Mistake) as fault:
        spec, problem = TargetSpec(manager="?"), f"its spec cannot be read: {fault}"
    try:
        status = from_plain(found.status or {}, TargetStatus)
    except (msgspec.MsgspecError, Mistake):
        status = TargetStatus()  # written anew at the next change
    return StoredTarget(**_common(found.metadata), spec=spec, status=status, problem=problem)


def version_in(data: bytes) -> str:
    """Return the version of the object in *data*."""
    return _OBJECTS.decode(data).metadata.resource_version


def meta_in(data: bytes) -> Meta:
    """Return the metadata of the object in *data*."""
    return _OBJECTS.decode(data).metadata


def status_document(status: JobStatus, *, job: str, epoch: int, story: Story, agent: int = 0) -> dict[str, Any]:
    """Return *status* of the job *job* as the API server keeps it."""
    plain = to_plain(status)
    shown = {"phase": str(status.phase), **{name: plain[name] for name in SHOWN if name in plain}}
    record = {name: plain[name] for name in _RECORDED if name in plain}
    whose = {"epoch": epoch, **({"agent": agent} if agent else {})}
    whole = {**shown, "record": {**record, **whose, "story": to_plain(story)}}
    whole["record"][SEAL] = seal_of(whole, job)
    return whole


def object_of(thing: Job | Target, *, version: str = "") -> dict[str, Any]:
    """Return *thing* as a custom resource, without its status."""
    document = {name: value for name, value in to_document(thing).items() if name != "status"}
    metadata: dict[str, Any] = {"name": thing.name, "namespace": thing.namespace}
    if thing.labels:
        metadata["labels"] = thing.labels
    if thing.annotations:
        metadata["annotations"] = thing.annotations
    if isinstance(thing, Job):
        metadata["finalizers"] = [FINALIZER]
    if version:
        metadata["resourceVersion"] = version
    return {**document, "metadata": metadata}


def bare(kind: str, thing: Job | Target, version: str) -> dict[str, Any]:
    """Return what names *thing* at *version*, for a write that is to fail if it has moved on."""
    metadata = {"name": thing.name, "namespace": thing.namespace, "uid": thing.uid, "resourceVersion": version}
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata}


def visible(annotations: Mapping[str, str] | None) -> dict[str, str]:
    """Return *annotations* without the copy of all that kubectl keeps there."""
    return {key: text for key, text in (annotations or {}).items() if key != LAST_APPLIED}


def _common(meta: Meta) -> dict[str, Any]:
    return {
        "namespace": meta.namespace,
        "name": meta.name,
        "uid": meta.uid,
        "version": meta.resource_version,
        "generation": meta.generation,
        "created_at": meta.creation_timestamp,
        "deleted_at": meta.deletion_timestamp,
        "labels": meta.labels or {},
        "annotations": visible(meta.annotations),
    }


def _spec_of(plain: Any) -> JobSpec:
    # People write arguments beside what they are for; inside they are a matter of the job.
    run = plain.get("run") if isinstance(plain, dict) else None
    spec = from_plain(plain, JobSpec)
    arguments = run.get("arguments") if isinstance(run, dict) else None
    return msgspec.structs.replace(spec, arguments=from_plain(arguments, tuple[str, ...])) if arguments else spec


def _least_of(plain: Any) -> JobSpec:
    """Return as much of a spec that cannot be read as is needed to show it and to let it go."""
    target = plain.get("target") if isinstance(plain, dict) else None
    name = target.get("name") if isinstance(target, dict) else None
    return JobSpec(target=TargetRef(name if isinstance(name, str) else "?"))


def _status_of(plain: Any, job: str) -> tuple[JobStatus, int, int, Story]:
    if not plain:
        return JobStatus(), 0, 0, Story()
    record = dict(plain.get("record") or {})
    record.pop(SEAL, None)
    epoch, agent, story = record.pop("epoch", 0), record.pop("agent", 0), record.pop("story", {})
    if is_whole(plain, job):
        status = from_plain({**record, **{name: plain[name] for name in SHOWN if name in plain}}, JobStatus)
    else:
        status = what_is_left(plain)
    return status, from_plain(epoch, int), from_plain(agent, int), from_plain(story, Story)
