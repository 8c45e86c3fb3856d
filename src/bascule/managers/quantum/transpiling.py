"""
Transpiling circuits for their backend, on request: the one thing here that needs Qiskit.

It is imported when it is used. What goes to the service is then QPY, and observables are
moved to the qubits that the circuit was laid on.
"""

from __future__ import annotations

import base64
import importlib.util
import io
import zlib
from typing import Any

from bascule.errors import Mistake, Refused
from bascule.managers.quantum.arrays import Unreadable, flat, inflated, packed, shape_of
from bascule.managers.quantum.options import TranspileOption
from bascule.managers.quantum.wire import Configuration

NEWEST_QPY = 17
"""The newest version of QPY that the service reads."""


def require_qiskit(job: str) -> None:
    """Raise `Mistake` where Qiskit is not installed here."""
    if importlib.util.find_spec("qiskit") is None:
        raise Mistake(
            f"job `{job}`: `options.transpile` needs Qiskit, which is not installed here",
            hint="pip install 'bascule[quantum]', or give circuits that fit the backend",
        )


def transpiled(
    program: str, params: dict[str, Any], backend: Configuration, how: TranspileOption, job: str
) -> dict[str, Any]:
    """Return *params* with circuits that fit *backend*; raise `Refused` where that cannot be."""
    require_qiskit(job)
    from qiskit.exceptions import QiskitError

    try:
        pubs = [_pub(program, pub, backend, how) for pub in params["pubs"]]
    except (QiskitError, ValueError, TypeError, LookupError) as error:
        raise Refused(
            f"job `{job}`: its circuits cannot be transpiled for `{backend.backend_name}`: {error}"[:600],
            hint="see what the message says of the circuit",
        ) from error
    return {**params, "pubs": pubs, "support_qiskit": True}


def _pub(program: str, pub: list[Any], backend: Configuration, how: TranspileOption) -> list[Any]:
    from qiskit.transpiler import generate_preset_pass_manager

    circuit = _circuit(pub[0])
    passes = generate_preset_pass_manager(
        optimization_level=how.level,
        coupling_map=[list(pair) for pair in backend.coupling_map] if backend.coupling_map else None,
        basis_gates=list(backend.basis_gates),
        seed_transpiler=how.seed,
    )
    laid = passes.run(circuit)
    rest = list(pub[1:])
    if program == "estimator":
        rest[0] = _observables(rest[0], laid)
    where = 0 if program == "sampler" else 1
    rest[where] = _typed(rest[where])
    return [_written(laid), *rest]


def _circuit(value: Any) -> Any:
    from qiskit import qasm3, qpy

    if isinstance(value, str):
        return qasm3.loads(value)
    return qpy.load(io.BytesIO(inflated(value["__value__"])))[0]


def _written(circuit: Any) -> dict[str, str]:
    from qiskit import qpy

    buffer = io.BytesIO()
    qpy.dump(circuit, buffer, version=min(NEWEST_QPY, qpy.QPY_VERSION))
    return {"__type__": "QuantumCircuit", "__value__": base64.b64encode(zlib.compress(buffer.getvalue())).decode()}


def _observables(value: Any, circuit: Any) -> Any:
    """Move observables to the qubits of *circuit*."""
    from qiskit.quantum_info import SparsePauliOp

    match value:
        case {"__type__": "ObservablesArray", "__value__": inner}:
            return _observables(inner, circuit)
        case list():
            return [_observables(each, circuit) for each in value]
        case str():
            return _observables({value: 1.0}, circuit)
    moved = SparsePauliOp.from_list(list(value.items())).apply_layout(circuit.layout, num_qubits=circuit.num_qubits)
    return {word: float(factor.real) for word, factor in moved.to_list()}


def _typed(values: Any) -> Any:
    if isinstance(values, dict):
        return values
    try:
        return packed(flat(values), shape_of(values))
    except Unreadable as error:
        raise ValueError(str(error)) from error
