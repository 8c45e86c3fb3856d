"""The schemas of what the operator writes: the statuses, made from the nouns, with a word on each field."""

from __future__ import annotations

from typing import Any

import msgspec

from bascule.model import JobStatus, Noun, TargetStatus
from bascule.platforms.kubernetes.structural import Schema, structural
from bascule.spec.schema import inlined
from bascule.spec.showing import SHOWN

_MEANING = {
    "phase": "Where the job stands: Pending, Submitting, Queued, Held, Running, Succeeded, Failed, Cancelled or Unknown.",
    "reason": "Why it stands there, in a word.",
    "message": "The same in a sentence, with the manager's own words.",
    "id": "The outside id.",
    "key": "What the attempt is called outside, and found by.",
    "attempt": "The number of the current attempt.",
    "exitCode": "What the job ended with.",
    "signal": "The signal that ended the job.",
    "manager": "The manager's own words.",
    "observedAt": "When this was first seen.",
    "observedBy": "How it was seen: live, history, marker or inferred.",
    "submittedAt": "When the manager took the job.",
    "startedAt": "When it began to run.",
    "finishedAt": "When it ended.",
    "tasks": "How the tasks of an array stand.",
    "outputs": "The first few files that were brought home.",
    "attempts": "The last few earlier attempts, each with its own result.",
    "observedGeneration": "The generation of the spec that this status is about.",
    "conditions": "The standard conditions: Accepted, Submitted, Complete, Failed. Complete is true only for success.",
    "version": "The manager's version.",
    "changedAt": "When this was last written.",
}


def _schema(noun: type[Noun], shown: tuple[str, ...]) -> Schema:
    whole: dict[str, Any] = msgspec.json.schema(noun, schema_hook=lambda _: {"type": "string"})
    schema: Schema = inlined(whole, whole["$defs"])
    fields = {name: _plain(schema["properties"][name]) for name in shown}
    for name, field in fields.items():
        field["description"] = _MEANING[name]
    fields["conditions"] |= {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}
    return {"type": "object", "properties": fields}


def _plain(schema: Schema) -> Schema:
    """Return *schema* without defaults and without titles, for people read it in `kubectl explain`."""
    made = structural({key: value for key, value in schema.items() if key not in {"default", "description"}})
    if "items" in schema:
        made["items"] = _plain(schema["items"])
    if "properties" in schema:
        made["properties"] = {name: _plain(field) for name, field in schema["properties"].items()}
    return made


JOB_STATUS = _schema(JobStatus, SHOWN)
JOB_STATUS["description"] = "How far the job has come; written by Bascule alone."
JOB_STATUS["properties"]["record"] = {
    "type": "object",
    "description": "What the next pass must know, whichever process makes it.",
    "x-kubernetes-preserve-unknown-fields": True,
}
TARGET_STATUS = _schema(TargetStatus, ("version", "conditions", "observedGeneration", "changedAt"))
TARGET_STATUS["description"] = "How the target is; written by Bascule when it changes."
