"""
Objects as people see them: documents, and the YAML of a document.

What the next pass must remember (intent, handle, ...) is no business of people and
programs outside, and is not shown. What is shown can be applied again.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec
import yaml

from bascule.model import Duration, Job, Noun, Quantity, Target
from bascule.spec.documents import reads_as_text
from bascule.spec.metadata import API_VERSION

SHOWN = (
    *(
        "phase",
        "reason",
        "message",
        "id",
        "key",
        "attempt",
        "exitCode",
        "signal",
        "manager",
        "observedAt",
        "observedBy",
    ),
    *("submittedAt", "startedAt", "finishedAt", "tasks", "outputs", "attempts", "observedGeneration", "conditions"),
)
"""The fields of a job's status that are shown, in their order."""


def to_document(thing: Job | Target) -> dict[str, Any]:
    """Return *thing* as its file would say it, with its status."""
    spec = _plain(thing.spec)
    if isinstance(thing, Target):
        return {
            "apiVersion": API_VERSION,
            "kind": "BridgeTarget",
            "metadata": _metadata(thing),
            "spec": spec,
            "status": _plain(thing.status),
        }
    if "arguments" in spec:
        spec["run"] = {**spec.get("run", {}), "arguments": spec.pop("arguments")}
    spec = {name: spec[name] for name in sorted(spec, key=lambda name: name not in {"target", "run"})}
    return {
        "apiVersion": API_VERSION,
        "kind": "BridgeJob",
        "metadata": _metadata(thing),
        "spec": spec,
        "status": _job_status(thing),
    }


def to_yaml(document: Any) -> str:
    """Write *document* as YAML, with scripts as blocks where that keeps every byte."""
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)


def _metadata(thing: Job | Target) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "name": thing.name,
        "namespace": thing.namespace,
        "uid": thing.uid,
        "generation": thing.generation if thing.uid else None,
        "creationTimestamp": thing.created_at,
        "deletionTimestamp": thing.deleted_at,
        "labels": thing.labels,
        "annotations": thing.annotations,
    }
    plain = msgspec.to_builtins(metadata)
    return {key: value for key, value in plain.items() if value not in (None, "", {})}


def _job_status(job: Job) -> dict[str, Any]:
    whole = {"phase": str(job.status.phase), **_plain(job.status)}
    shown = {name: whole[name] for name in SHOWN if name in whole}
    if job.status.attempts:
        shown["attempts"] = [
            {
                "attempt": attempt.attempt,
                "phase": str(attempt.phase),
                **{name: value for name, value in _plain(attempt).items() if name != "place"},
            }
            for attempt in job.status.attempts
        ]
    return shown


def _plain(noun: Noun) -> dict[str, Any]:
    # Through JSON, which keeps the order of the fields and knows lists only.
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(noun, enc_hook=_text))
    return plain


def _text(value: object) -> str:
    if isinstance(value, Duration | Quantity):
        return str(value)
    raise NotImplementedError(f"no document for {type(value).__name__}")


# What some readers take for a line's end, and so must be escaped.
_ODD_ENDS = re.compile("[\r\x85\u2028\u2029]")


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks."""


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    # The emitter falls back to quotes where a block, or a plain word, would not keep the text.
    style = "|" if "\n" in text else None if reads_as_text(text) else "'"
    if _ODD_ENDS.search(text):
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)
