"""
Fields that this version does not know: of a newer definition than this operator.

To run a job and leave out what it asks for would be worse than not to run it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from msgspec import inspect

from bascule.model import JobSpec, Noun

Known = dict[str, Any] | None
"""The names of an object's fields, with those of the objects in them; None where any may be there."""
_BESIDE = {"run": {"arguments": None}}
"""What people write at another place than the noun has it."""


def strangers_in(spec: Any) -> list[str]:
    """Return the paths of the fields of a job's *spec* that no noun has."""
    return list(_found(spec, _known(JobSpec), ""))


@lru_cache
def _known(noun: type[Noun]) -> Known:
    known = _fields_of(inspect.type_info(noun))
    assert known is not None  # noqa: S101 - a noun has fields
    for name, more in _BESIDE.items():
        known[name] = {**(known[name] or {}), **more}
    return known


def _fields_of(kind: inspect.Type) -> Known:
    match kind:
        case inspect.StructType(fields=fields):
            return {field.encode_name: _fields_of(field.type) for field in fields}
        case inspect.UnionType(types=types):
            return next((known for each in types if (known := _fields_of(each)) is not None), None)
        case inspect.VarTupleType(item_type=item) | inspect.ListType(item_type=item):
            return _fields_of(item)
    return None


def _found(value: Any, known: Known, path: str) -> Any:
    if known is None:
        return
    if isinstance(value, list):
        for index, each in enumerate(value):
            yield from _found(each, known, f"{path}[{index}]")
    elif isinstance(value, dict):
        for name, each in value.items():
            here = f"{path}.{name}" if path else name
            if name in known:
                yield from _found(each, known[name], here)
            else:
                yield here


__all__ = ["strangers_in"]
