"""
The service's own JSON: values with their type beside them, arrays and circuits packed.

``{"__type__": "ndarray", "__value__": ...}`` is what NumPy saves, deflated, in base64; a
``QuantumCircuit`` is QPY, likewise. Numbers in plain lists are taken as well.
"""

from __future__ import annotations

import base64
import binascii
import io
import zlib
from typing import Any

import numpy as np
from qiskit import QuantumCircuit, qasm3, qpy
from qiskit.exceptions import QiskitError

from bascule.gateways.quantum.refusals import ProgramFailed

LARGEST = 256 << 20
"""Bytes that one packed value may unpack to."""
NEWEST_QPY = 17


def circuit_from(value: object) -> QuantumCircuit:
    """Read a circuit: OpenQASM 3 text, or QPY."""
    if isinstance(value, str):
        try:
            return qasm3.loads(value)
        except (QiskitError, ValueError, TypeError) as error:
            raise ProgramFailed(f"the circuit cannot be read as OpenQASM 3: {error}"[:1000]) from None
    data = unpacked(value, "QuantumCircuit")
    [circuit] = circuits_from(data)
    return circuit


def circuits_from(data: bytes) -> list[QuantumCircuit]:
    """Read circuits from QPY."""
    try:
        circuits = qpy.load(io.BytesIO(data))
    except (QiskitError, ValueError, TypeError, EOFError, LookupError) as error:
        raise ProgramFailed(f"the circuit cannot be read as QPY: {error}"[:1000]) from None
    if not all(isinstance(circuit, QuantumCircuit) for circuit in circuits):
        raise ProgramFailed("the QPY holds what is no circuit")
    return list(circuits)


def array_from(value: object) -> np.ndarray[Any, Any]:
    """Read numbers: packed, or in plain lists."""
    if value is None:
        return np.empty(0)
    if isinstance(value, dict):
        inner = value.get("__value__")
        if value.get("__type__") == "ndarray" and isinstance(inner, str):
            data = unpacked(value, "ndarray")
            loaded: np.ndarray[Any, Any] = np.load(io.BytesIO(data), allow_pickle=False)
            return loaded
        value = inner
    try:
        return np.asarray(value, dtype=float)
    except (TypeError, ValueError) as error:
        raise ProgramFailed(f"the parameter values are no array of numbers: {error}"[:500]) from None


def packed(array: np.ndarray[Any, Any]) -> dict[str, str]:
    """Write an array."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return {"__type__": "ndarray", "__value__": base64.b64encode(zlib.compress(buffer.getvalue())).decode()}


def unpacked(value: object, kind: str) -> bytes:
    """Return the bytes of a packed value of that *kind*."""
    if not isinstance(value, dict) or value.get("__type__") != kind or not isinstance(value.get("__value__"), str):
        raise ProgramFailed(f"a value is no {kind}")
    return inflated(value["__value__"])


def inflated(text: str) -> bytes:
    """Unpack base64 of deflated bytes, and no more than fits."""
    try:
        unpacker = zlib.decompressobj()
        data = unpacker.decompress(base64.b64decode(text, validate=True), LARGEST)
    except (binascii.Error, ValueError, zlib.error) as error:
        raise ProgramFailed(f"a packed value cannot be unpacked: {error}") from None
    if unpacker.unconsumed_tail:
        raise ProgramFailed(f"a packed value unpacks to more than {LARGEST >> 20} MiB")
    return data


def typed(kind: str, value: object) -> dict[str, object]:
    """Write *value* with its type."""
    return {"__type__": kind, "__value__": value}
