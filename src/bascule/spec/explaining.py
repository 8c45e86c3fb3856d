"""
What is wrong, in words: the faults that the models find, as problems with hints.

pydantic's own sentences are for programmers; these are for whoever wrote the file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from bascule.spec.fields import DURATION
from bascule.spec.names import nearest
from bascule.spec.problems import Path, Problem, path_text, shortened
from bascule.spec.schema import Schema, below, fields_at, paths_of

Wording = Callable[[Path], str]
"""Returns how a value was written in the file, where it was a plain word."""

RESERVED = {
    ("spec", "image"): "is reserved for the container to run in, and not there yet",
    ("spec", "volumes"): "is reserved, and not there yet",
}
_TYPES = {
    "string_type": "a text",
    "string_unicode": "a text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}
_KINDS = {dict: "a mapping", list: "a list", str: "a text", bool: "true or false", int: "a number", float: "a number"}


def faults_in(model: type[BaseModel], value: object) -> list[dict[str, Any]]:
    """Return what *model* finds wrong in *value*, in pydantic's form."""
    try:
        model.model_validate(value)
    except ValidationError as error:
        return [dict(fault) for fault in error.errors(include_url=False)]
    return []


def explained(fault: Mapping[str, Any], schema: Schema, written: Wording = lambda path: "") -> Problem:
    """Turn pydantic's *fault* into a problem; *schema* knows the names, *written* the words of the file."""
    path: Path = tuple(step for step in fault["loc"] if step != "[key]")
    kind, given, context = fault["type"], fault.get("input"), fault.get("ctx", {})
    if kind == "bascule":
        return Problem(path, context["text"], context["hint"])
    if kind == "extra_forbidden":
        return _unknown(path, schema)
    if kind == "missing":
        return Problem(path, "must be given")
    if wanted := _TYPES.get(kind):
        if wanted == "a text" and isinstance(given, int | float) and _is_span(schema, path):
            return Problem(path, "must be a duration, and a number says no unit", "write it as `90s`, `15m` or `1h30m`")
        return _mistyped(path, wanted, given, written(path))
    if kind in {"literal_error", "enum"}:
        return _no_choice(path, given, context["expected"])
    return Problem(path, _limit(kind, context) or shortened(fault["msg"], 200))


def _is_span(schema: Schema, path: Path) -> bool:
    return below(schema, path).get("pattern") == f"^{DURATION}$"


def _unknown(path: Path, schema: Schema) -> Problem:
    if path in RESERVED:
        return Problem(path, RESERVED[path], "leave it out")
    name, above = str(path[-1]), path[:-1]
    known = fields_at(schema, above)
    elsewhere = list(paths_of(schema, name))
    if len(elsewhere) == 1:
        return Problem(path, "unknown field", f"did you mean `{elsewhere[0]}`?")
    if near := nearest(name, known):
        return Problem(path, "unknown field", f"did you mean `{near}`?")
    return Problem(
        path,
        "unknown field",
        f"known in `{path_text(above)}`: {_listed(known)}" if above else f"known: {_listed(known)}",
    )


def _mistyped(path: Path, wanted: str, given: object, written: str) -> Problem:
    if wanted == "a text" and isinstance(given, str):
        return Problem(path, "is no valid Unicode", "save it as UTF-8")
    if given is None:
        return Problem(
            path, f"must be {wanted}, and nothing is there", 'an empty text is `""`' if wanted == "a text" else ""
        )
    if wanted == "a text" and isinstance(given, bool):
        word = written or str(given).lower()
        return Problem(path, f"must be a text, and YAML reads `{word}` as {str(given).lower()}", f'quote it: "{word}"')
    if wanted == "a text" and isinstance(given, int | float):
        return Problem(path, "must be a text, and YAML reads a number", "quote it")
    kind = next((word for of, word in _KINDS.items() if isinstance(given, of)), f"a {type(given).__name__}")
    hint = "take the quotes away" if isinstance(given, str) and _would_be(wanted, given) else ""
    if wanted == "a list" and isinstance(given, str):
        hint = "write it as `[...]`, one item for each word"
    if wanted == "a whole number" and isinstance(given, float):
        return Problem(path, f"must be a whole number, is {given:g}")
    return Problem(path, f"must be {wanted}, is {kind}", hint)


def _would_be(wanted: str, text: str) -> bool:
    """Tell whether *text* were *wanted*, had it no quotes."""
    match wanted:
        case "a whole number":
            return re.fullmatch(r"[-+]?[0-9]+", text) is not None
        case "a number":
            return re.fullmatch(r"[-+]?[0-9]+(\.[0-9]*)?", text) is not None
        case "true or false":
            return text in {"true", "false"}
    return False


def _no_choice(path: Path, given: object, expected: str) -> Problem:
    known = [word.strip("'") for word in expected.replace(" or ", ", ").split(", ")]
    if isinstance(given, str):
        near = nearest(given, known)
        hint = f"did you mean `{near}`?" if near else f"one of {_listed(known)}"
        return Problem(
            path, f"`{shortened(given)}` is not known here", hint if len(known) > 1 or near else f"write `{known[0]}`"
        )
    return Problem(path, "must be a text", f"one of {_listed(known)}")


def _limit(kind: str, context: Mapping[str, Any]) -> str:
    match kind:
        case "string_too_long":
            return f"longer than {context['max_length']:,} characters"
        case "string_too_short":
            return (
                "must not be empty"
                if context["min_length"] == 1
                else f"shorter than {context['min_length']} characters"
            )
        case "too_long":
            return f"more than {context['max_length']:,} entries"
        case "too_short":
            return "must not be empty"
        case "greater_than_equal":
            return f"must be at least {context['ge']:,}"
        case "less_than_equal":
            return f"must be at most {context['le']:,}"
        case "greater_than":
            return f"must be more than {context['gt']:,}"
        case "less_than":
            return f"must be less than {context['lt']:,}"
        case "string_pattern_mismatch":
            return f"is not of the form `{context['pattern']}`"
    return ""


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
