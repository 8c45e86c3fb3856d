"""Jobs from Python, with the words of the file in Python's spelling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from pydantic.alias_generators import to_camel

from bascule.model import Duration, Noun, Quantity, to_plain
from bascule.model import Job as StoredJob
from bascule.spec.job import JobModel
from bascule.spec.loading import job_from_document
from bascule.spec.metadata import API_VERSION
from bascule.spec.schema import Schema, schema_of


def Job(  # noqa: N802 - it makes a Job, and reads as one
    name: str,
    *,
    script: str | None = None,
    command: Sequence[str] | None = None,
    target: str | Mapping[str, Any] = "local",
    **spec: Any,
) -> StoredJob:
    """
    Return a checked job; *spec* are the fields of its `spec`, as ``working_directory="/scratch"``.

    ``script_path``, ``program``, ``payload`` and ``arguments`` may be given without ``run``. Values
    may be plain, nouns of `bascule.model`, or `timedelta`.
    """
    run = dict(_plain(spec.pop("run", None)) or {})
    loose: dict[str, Any] = {"script": script, "command": command}
    loose |= {key: spec.pop(key) for key in ("script_path", "program", "payload", "arguments") if key in spec}
    run |= {to_camel(key): _plain(value) for key, value in loose.items() if value is not None}
    metadata: dict[str, Any] = {
        "name": name,
        **{key: spec.pop(key) for key in ("namespace", "labels", "annotations") if key in spec},
    }
    schema = schema_of(JobModel)["properties"]["spec"]
    document = {
        "apiVersion": API_VERSION,
        "kind": "BridgeJob",
        "metadata": _plain(metadata),
        "spec": {
            "target": {"name": target}
            if isinstance(target, str)
            else _spelt(_plain(target), schema["properties"]["target"]),
            **({"run": _spelt(run, schema["properties"]["run"])} if run else {}),
            **_spelt(_plain(spec), schema),
        },
    }
    return job_from_document(document, source="Job")


def _plain(value: Any) -> Any:
    if isinstance(value, Noun):
        return to_plain(value)
    if isinstance(value, timedelta):
        return str(Duration.of(value))
    if isinstance(value, Quantity):
        return str(value)
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_plain(item) for item in value]
    return value


def _spelt(value: Any, schema: Schema) -> Any:
    """Put the names of fields into the spelling of files; names that users chose stay."""
    if isinstance(value, list):
        return [_spelt(item, schema.get("items", {})) for item in value]
    if not isinstance(value, dict):
        return value
    fields = schema.get("properties", {})
    spelt = {key: to_camel(key) if isinstance(key, str) and to_camel(key) in fields else key for key in value}
    below = schema.get("additionalProperties")
    return {
        spelt[key]: _spelt(item, fields.get(spelt[key]) or (below if isinstance(below, dict) else {}))
        for key, item in value.items()
    }
