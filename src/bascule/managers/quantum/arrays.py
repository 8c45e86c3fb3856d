"""
Arrays as the service packs them (what NumPy saves, deflated, in base64), without NumPy.

The open form is NumPy's own file: its bytes are kept as they come, and read here only as
far as counts and values are to be shown.
"""

from __future__ import annotations

import array
import ast
import base64
import binascii
import math
import struct
import sys
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

LARGEST = 512 << 20
"""Bytes that one array may unpack to."""
_MAGIC = b"\x93NUMPY"
_CODES = {"f8": "d", "f4": "f", "i8": "q", "i4": "i", "i2": "h", "i1": "b", "u1": "B", "u2": "H", "u4": "I", "u8": "Q"}
_CODES["b1"] = "B"


class Unreadable(ValueError):
    """What came is no array that is known here."""


@dataclass(frozen=True, slots=True)
class Array:
    """An array: *file* is its form as a ``.npy`` file, *values* are flat, in C order."""

    shape: tuple[int, ...]
    values: Sequence[float]
    file: bytes

    def nested(self) -> Any:
        """Return the values in lists, as deep as the shape."""
        return _nested(self.values, self.shape)


def unpacked(text: str) -> Array:
    """Read a packed array."""
    return array_in(inflated(text))


def inflated(text: str) -> bytes:
    """Return what *text*, base64 of deflated bytes, holds, and no more than fits."""
    unpacker = zlib.decompressobj()
    try:
        data = unpacker.decompress(base64.b64decode(text, validate=True), LARGEST)
    except (binascii.Error, ValueError, zlib.error) as error:
        raise Unreadable(f"it is not packed as arrays are: {error}") from None
    if unpacker.unconsumed_tail:
        raise Unreadable(f"it unpacks to more than {LARGEST >> 20} MiB")
    return data


def array_in(data: bytes) -> Array:
    """Read what NumPy saved."""
    if not data.startswith(_MAGIC) or len(data) < 12:
        raise Unreadable("it is no NumPy array")
    wide = data[6] > 1
    length = struct.unpack("<I" if wide else "<H", data[8 : 12 if wide else 10])[0]
    start = (12 if wide else 10) + length
    try:
        head = ast.literal_eval(data[start - length : start].decode("latin-1").strip())
        kind, shape, fortran = str(head["descr"]), tuple(int(n) for n in head["shape"]), bool(head["fortran_order"])
    except (ValueError, SyntaxError, TypeError, KeyError, MemoryError, RecursionError):
        raise Unreadable("its head cannot be read") from None
    return Array(shape, _values(kind, shape, data[start:], fortran=fortran), data)


def saved(values: Sequence[float], shape: tuple[int, ...]) -> bytes:
    """Return *values* as NumPy would save them."""
    head = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape!r}, }}"
    head += " " * (-(10 + len(head) + 1) % 64) + "\n"
    return (
        _MAGIC + b"\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack(f"<{len(values)}d", *values)
    )


def packed(values: Sequence[float], shape: tuple[int, ...]) -> dict[str, str]:
    """Return *values* as the service wants arrays."""
    return {"__type__": "ndarray", "__value__": base64.b64encode(zlib.compress(saved(values, shape))).decode()}


def shape_of(nested: object) -> tuple[int, ...]:
    """Return the shape of nested lists of numbers; raise `Unreadable` where they have none."""
    if not isinstance(nested, list):
        if isinstance(nested, bool) or not isinstance(nested, int | float):
            raise Unreadable(f"`{nested!r:.40}` is no number")
        return ()
    inner = [shape_of(each) for each in nested]
    if len(set(inner)) > 1:
        raise Unreadable("the lists are not of one length")
    return (len(nested), *(inner[0] if inner else ()))


def flat(nested: object) -> list[float]:
    """Return the numbers of nested lists, in order."""
    if isinstance(nested, list):
        return [number for each in nested for number in flat(each)]
    return [float(nested)]  # type: ignore[arg-type]


def _values(kind: str, shape: tuple[int, ...], data: bytes, *, fortran: bool) -> Sequence[float]:
    code = _CODES.get(kind[1:])
    if code is None or kind[0] not in "<>|=" or (fortran and len(shape) > 1):
        raise Unreadable(f"arrays of `{kind}` are not read here")
    values: array.array[Any] = array.array(code)
    if len(data) != math.prod(shape) * values.itemsize:
        raise Unreadable("its length is not that of its shape")
    values.frombytes(data)
    if (kind[0] == ">") != (sys.byteorder == "big") and kind[0] != "|":
        values.byteswap()
    return values


def _nested(values: Sequence[Any], shape: tuple[int, ...]) -> Any:
    if not shape:
        return values[0]
    if len(shape) == 1:
        return list(values)
    step = math.prod(shape[1:])
    return [_nested(values[n * step : (n + 1) * step], shape[1:]) for n in range(shape[0])]
