"""
What a job brought, out of the service's own encoding: counts, values and arrays.

Three forms are known: typed values (``PrimitiveResult``), the plain lists that are sent where
Qiskit is not to be supported, and the executor's tensors. What is of another form is kept as it
came, and said to be.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator, Sequence
from math import prod
from typing import Any, NamedTuple

import msgspec

from bascule.managers.quantum.arrays import Array, Unreadable, array_in, inflated, unpacked

MOST_VALUES = 1000
"""Values, or outcomes, of one field in a line; the rest is in the files."""
_MAGIC = b"\x93NUMPY\x01\x00"
_KINDS = {"f64": "<f8", "f32": "<f4", "u8": "|u1", "i64": "<i8", "i32": "<i4", "c128": "<c16", "c64": "<c8"}


class Decoded(NamedTuple):
    """*lines* for people and programs, one for each pub; *counts* whole; *arrays* as ``.npy`` files, by name."""

    lines: list[dict[str, Any]]
    counts: list[dict[str, Any]]
    arrays: dict[str, bytes]


def decoded(text: bytes) -> Decoded:
    """Decode a job's results; raise `Unreadable` where their form is not known."""
    try:
        result = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Unreadable(f"they are no JSON: {error}") from None
    made = Decoded([], [], {})
    try:
        for number, fields in enumerate(_pubs(result)):
            _add(made, number, fields)
    except (KeyError, TypeError, AttributeError, IndexError, ValueError, struct.error) as error:
        raise Unreadable(f"their form is not known: {type(error).__name__}: {error}"[:300]) from None
    return made


def _pubs(result: Any) -> Iterator[dict[str, Any]]:
    match result:
        case {"__type__": "PrimitiveResult", "__value__": {"pub_results": list() as pubs}}:
            for pub in pubs:
                yield _inner(_inner(pub)["data"])["fields"]
        case {"results": list() as pubs}:
            for pub in pubs:
                yield pub["data"]
        case {"schema_version": str(), "data": list() as items}:
            for item in items:
                yield item["results"]
        case _:
            raise Unreadable("their form is not known")


def _inner(value: Any) -> Any:
    return value["__value__"] if isinstance(value, dict) and "__value__" in value else value


def _add(made: Decoded, number: int, fields: dict[str, Any]) -> None:
    line: dict[str, Any] = {"pub": number}
    whole: dict[str, Any] = {"pub": number}
    for name, value in fields.items():
        file = f"pub{number}-{_plain(name)}.npy"
        match value:
            case {"__type__": "BitArray", "__value__": {"array": packed, "num_bits": int() as bits}}:
                array = unpacked(packed["__value__"])
                made.arrays[file] = array.file
                whole[name] = _counted(array, bits)
                line[name] = _few(whole[name], file, array.shape[:-2])
            case {"samples": list() as samples, "num_bits": int() as bits}:
                whole[name] = _tallied(samples, bits)
                line[name] = _few(whole[name], "counts.json", ())
            case {"__type__": "ndarray", "__value__": str() as text}:
                array = unpacked(text)
                made.arrays[file] = array.file
                line[name] = array.nested() if prod(array.shape) <= MOST_VALUES else _elsewhere(file, array.shape)
            case {"data": str() as text, "shape": list() as shape, "dtype": str() as kind}:
                made.arrays[file] = _tensor(text, tuple(shape), kind)
                if kind == "bool":
                    array = array_in(made.arrays[file])
                    whole[name] = _counted_bits(array)
                    line[name] = _few(whole[name], file, array.shape[:-2])
                else:
                    line[name] = _elsewhere(file, tuple(shape))
            case {"__type__": "ndarray", "__value__": list() as values} | (list() as values):
                line[name] = values if len(values) <= MOST_VALUES else _elsewhere("service.json", (len(values),))
            case int() | float() | str() | None:
                line[name] = value
            case _:
                line[name] = _elsewhere("service.json", ())
    made.lines.append(line)
    if len(whole) > 1:
        made.counts.append(whole)


def _counted(array: Array, bits: int) -> Any:
    """Count the outcomes of packed bits: the last axis is an outcome's bytes, the one before the shots."""
    *shape, shots, width = array.shape
    data = bytes(bytearray(array.values))  # type: ignore[arg-type]

    def count(start: int) -> dict[str, int]:
        outcomes = Counter(data[at : at + width] for at in range(start, start + shots * width, width))
        return _sorted({format(int.from_bytes(word, "big"), f"0{bits}b"): n for word, n in outcomes.items()})

    return _each(tuple(shape), shots * width, count)


def _counted_bits(array: Array) -> Any:
    """Count the outcomes of single bits, of which the first stands last in a word."""
    *shape, shots, width = array.shape
    data = bytes(bytearray(array.values))  # type: ignore[arg-type]

    def count(start: int) -> dict[str, int]:
        outcomes = Counter(data[at : at + width] for at in range(start, start + shots * width, width))
        return _sorted({"".join("01"[bit] for bit in reversed(word)): n for word, n in outcomes.items()})

    return _each(tuple(shape), shots * width, count)


def _tallied(samples: Sequence[Any], bits: int) -> Any:
    if samples and isinstance(samples[0], list):
        return [_tallied(inner, bits) for inner in samples]
    return _sorted({format(int(word, 16), f"0{bits}b"): n for word, n in Counter(samples).items()})


def _each(shape: tuple[int, ...], step: int, count: Any, start: int = 0) -> Any:
    if not shape:
        return count(start)
    below = prod(shape[1:]) * step
    return [_each(shape[1:], step, count, start + n * below) for n in range(shape[0])]


def _sorted(counts: dict[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items()))


def _few(counts: Any, file: str, shape: tuple[int, ...]) -> Any:
    """Return *counts* where they fit into a line; else the most frequent, or where they are."""
    if isinstance(counts, dict):
        if len(counts) <= MOST_VALUES:
            return counts
        return dict(Counter(counts).most_common(MOST_VALUES))
    if sum(len(each) if isinstance(each, dict) else MOST_VALUES for each in counts) <= MOST_VALUES:
        return counts
    return _elsewhere(file, shape)


def _elsewhere(file: str, shape: tuple[int, ...]) -> dict[str, Any]:
    return {"file": file, "shape": list(shape)}


def _tensor(text: str, shape: tuple[int, ...], kind: str) -> bytes:
    data = inflated(text)
    if kind == "bool":
        size = prod(shape)
        if len(data) != -(-size // 8):
            raise Unreadable("a tensor's length is not that of its shape")
        data = bytes(data[n >> 3] >> (n & 7) & 1 for n in range(size))
        return _saved("|b1", shape, data)
    if kind not in _KINDS:
        raise Unreadable(f"tensors of `{kind}` are not read here")
    return _saved(_KINDS[kind], shape, data)


def _saved(kind: str, shape: tuple[int, ...], data: bytes) -> bytes:
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {tuple(shape)!r}, }}"
    head += " " * (-(10 + len(head) + 1) % 64) + "\n"
    return _MAGIC + struct.pack("<H", len(head)) + head.encode() + data


def _plain(name: str) -> str:
    """Return a register's name as a part of a file's."""
    return "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in name)[:80] or "data"
