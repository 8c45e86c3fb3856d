"""The schema of written objects: self-contained and structural, for the reference, hints and custom resources."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from bascule.spec.fields import Written
from bascule.spec.problems import Path

Schema = dict[str, Any]

_LEFT_OUT = {"$defs", "title", "patternProperties", "propertyNames"}


@cache
def schema_of(model: type[Written]) -> Schema:
    """Return *model*'s schema, without references and without ``null``."""
    whole = model.model_json_schema(by_alias=True)
    schema: Schema = inlined(whole, whole.get("$defs", {}))
    return schema


def below(schema: Schema, path: Path) -> Schema:
    """Return the schema of what stands at *path*; an empty one where that is not known."""
    for step in path:
        inner = schema.get("properties", {}).get(step) if isinstance(step, str) else schema.get("items")
        inner = inner or schema.get("additionalProperties")
        if not isinstance(inner, dict):
            return {}
        schema = inner
    return schema


def fields_at(schema: Schema, path: Path) -> list[str]:
    """Return the names of the fields that the mapping at *path* takes; none where any key may stand."""
    return list(below(schema, path).get("properties", {}))


def paths_of(schema: Schema, name: str, above: str = "") -> Iterator[str]:
    """Find where fields called *name* stand, beneath *schema*."""
    if "items" in schema:
        yield from paths_of(schema["items"], name, f"{above}[]")
    for field, inner in schema.get("properties", {}).items():
        path = f"{above}.{field}" if above else field
        if field == name:
            yield path
        yield from paths_of(inner, name, path)


def inlined(schema: Any, known: dict[str, Any]) -> Any:
    """Return *schema* with what it refers to among *known* in its place, and without ``null``."""
    if isinstance(schema, list):
        return [inlined(item, known) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        found = inlined(known[schema["$ref"].rpartition("/")[2]], known)
        return {**found, **{key: inlined(value, known) for key, value in schema.items() if key != "$ref"}}
    if "anyOf" in schema:
        kinds = [inlined(kind, known) for kind in schema["anyOf"] if kind.get("type") != "null"]
        rest = {
            key: value for key, value in schema.items() if key != "anyOf" and not (key == "default" and value is None)
        }
        return {**kinds[0], **inlined(rest, known)} if len(kinds) == 1 else {"anyOf": kinds, **inlined(rest, known)}
    if keyed := schema.get("patternProperties"):
        # A structural schema cannot say what keys look like; the models check them.
        schema = {**schema, "additionalProperties": next(iter(keyed.values()))}
    return {
        key: {name: inlined(field, known) for name, field in value.items()}
        if key == "properties"
        else inlined(value, known)
        for key, value in schema.items()
        if key not in _LEFT_OUT and not (key == "default" and value is None)
    }
