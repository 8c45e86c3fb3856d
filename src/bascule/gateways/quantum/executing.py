"""The executor: bare circuits with their arguments, and each register's bits as they were measured."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import numpy as np
from qiskit import QuantumCircuit

from bascule.gateways.quantum.devices import Device
from bascule.gateways.quantum.encoding import circuit_from, circuits_from, inflated
from bascule.gateways.quantum.refusals import BAD_REQUEST, ProgramFailed

SCHEMA = "v2.0"
Sampled = Callable[[QuantumCircuit, np.ndarray[Any, Any], object, Device], dict[str, Any]]
Checked = Callable[[QuantumCircuit, Device], QuantumCircuit]


def execute(
    params: dict[str, Any], device: Device, *, sampled: Sampled, checked: Checked
) -> tuple[dict[str, Any], str]:
    """Run a quantum program of circuits; return its results and a log."""
    program = params.get("quantum_program")
    if params.get("schema_version") != SCHEMA or not isinstance(program, dict):
        raise ProgramFailed(f"the executor takes programs of the schema {SCHEMA}", BAD_REQUEST)
    if program.get("meas_level", "classified") != "classified":
        raise ProgramFailed("only classified measurements can be had of a simulator", BAD_REQUEST)
    circuits, items = _circuits(program.get("circuits")), program.get("items")
    if not isinstance(items, list) or len(items) != len(circuits):
        raise ProgramFailed("there must be one circuit for every item", BAD_REQUEST)
    data, spans = [], []
    for number, (circuit, item) in enumerate(zip(circuits, items, strict=True)):
        if item.get("item_type") != "circuit":
            raise ProgramFailed("randomized items (samplex) are not computed here: switch twirling off", BAD_REQUEST)
        start = datetime.now(UTC)
        arguments = _tensor(item.get("circuit_arguments"))
        fields = sampled(checked(circuit, device), arguments, program.get("shots"), device)
        results = {name: _packed(bits.to_bool_array(order="little")) for name, bits in fields.items()}
        data.append({"results": results, "metadata": {}})
        shape = next(iter(fields.values())).shape
        spans.append(_span(number, shape, start))
    result = {
        "schema_version": SCHEMA,
        "data": data,
        "metadata": {"chunk_timing": spans},
        "passthrough_data": program.get("passthrough_data"),
        "semantic_role": program.get("semantic_role"),
    }
    return result, f"executor: {len(circuits)} circuits on {device.name}\n"


def _circuits(value: object) -> list[QuantumCircuit]:
    match value:
        case {"b64_data": str() as text}:
            return circuits_from(inflated(text))
        case {"data": list() as texts}:
            return [circuit_from(text) for text in texts]
    raise ProgramFailed("`circuits` is neither QPY nor OpenQASM 3", BAD_REQUEST)


def _tensor(value: object) -> np.ndarray[Any, Any]:
    match value:
        case {"data": str() as text, "shape": list() as shape, "dtype": "f64"}:
            return np.frombuffer(inflated(text), dtype="<f8").reshape(shape)
    raise ProgramFailed("`circuit_arguments` is no tensor of f64", BAD_REQUEST)


def _packed(bits: np.ndarray[Any, Any]) -> dict[str, Any]:
    data = np.packbits(bits.astype(np.uint8), bitorder="little").tobytes()
    return {"data": base64.b64encode(zlib.compress(data)).decode(), "shape": list(bits.shape), "dtype": "bool"}


def _span(number: int, shape: tuple[int, ...], start: datetime) -> dict[str, Any]:
    size = int(np.prod(shape, dtype=int))
    part = {"idx_item": number, "size": size, "permutation": list(range(len(shape))), "element_range": [0, size, 1]}
    return {"start": start.isoformat(), "stop": datetime.now(UTC).isoformat(), "parts": [part]}
