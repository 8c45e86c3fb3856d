"""
Schemas as the API server takes them: structural, which is less than JSON Schema has.

A default is told in words and not filled in, so that an object stays what its author wrote.
"""

from __future__ import annotations

import json
from typing import Any

Schema = dict[str, Any]

_KEPT = {
    *("type", "format", "enum", "pattern", "minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems"),
    *("maxProperties", "minProperties", "required", "nullable"),
}


def structural(schema: Schema) -> Schema:
    """Return *schema*, which refers to nothing outside itself, in the API server's form."""
    made: Schema = {key: value for key, value in schema.items() if key in _KEPT and value != []}
    if "enum" in made:
        made.setdefault("type", "string")
    if "description" in schema or "default" in schema:
        made["description"] = _described(schema)
    if "exclusiveMinimum" in schema:
        made |= {"minimum": schema["exclusiveMinimum"], "exclusiveMinimum": True}
    if "items" in schema:
        made["items"] = structural(schema["items"])
    if "properties" in schema:
        made["properties"] = {name: structural(field) for name, field in schema["properties"].items()}
    match schema.get("additionalProperties"):
        case dict() as inner:
            made["additionalProperties"] = structural(inner)
        case True:
            made["x-kubernetes-preserve-unknown-fields"] = True
    return made


def _described(schema: Schema) -> str:
    text = " ".join(str(schema.get("description", "")).split())
    default = schema.get("default")
    if default in (None, [], {}, ""):
        return text
    return f"{text} Unless given: {default if isinstance(default, str) else json.dumps(default)}.".strip()
