"""
Whether circuits fit a backend: what would fail there, after waiting for hours, is refused here.

Circuits are not changed: where one does not fit, the reason says so, and `transpile` may help.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bascule.errors import Refused
from bascule.managers.quantum.qasm import Circuit
from bascule.managers.quantum.wire import Configuration

HINT = "transpile it for this backend, or set `options.transpile: true`"
_ALIASES = {"U": "u", "CX": "cx"}


def check_fit(circuits: Iterable[tuple[str, Circuit]], backend: Configuration, *, job: str) -> None:
    """Raise `Refused` where one of *circuits*, each with its place, does not fit *backend*."""
    for place, circuit in circuits:
        if problem := next(problems(circuit, backend), ""):
            raise Refused(
                f"job `{job}`: the circuit of {place} does not fit `{backend.backend_name}`: {problem}", hint=HINT
            )


def problems(circuit: Circuit, backend: Configuration) -> Iterator[str]:
    """Find what keeps *circuit* from running on *backend*."""
    if backend.n_qubits is not None and circuit.qubits > backend.n_qubits:
        yield f"it has {circuit.qubits} qubits, and the backend {backend.n_qubits}"
    gates = {*backend.basis_gates, *(backend.supported_instructions or ())}
    pairs = {tuple(pair) for pair in backend.coupling_map} if backend.coupling_map is not None else None
    for gate in circuit.gates:
        name = _ALIASES.get(gate.name, gate.name)
        if gates and name not in gates:
            yield f"it uses the gate `{gate.name}`, and the backend has {', '.join(sorted(backend.basis_gates))}"
        if pairs is not None and gate.qubits is not None and len(gate.qubits) == 2 and gate.qubits not in pairs:
            one, other = gate.qubits
            turned = "; only the other way round" if (other, one) in pairs else ""
            yield f"it uses `{gate.name}` on qubits {one} and {other}, which the backend does not couple{turned}"
