"""
The programs of the service, with Qiskit Aer: sampler, estimator, and an executor of circuits.

A circuit must be made of what its device has, and keep to its couplings; nothing is
transpiled here, as on the real machines. Options are accepted, and those that mitigate errors
have no effect.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import qiskit
import qiskit_aer
from qiskit import QuantumCircuit
from qiskit.primitives import BackendEstimatorV2
from qiskit.primitives.containers import BitArray
from qiskit_aer.noise import NoiseModel, ReadoutError, depolarizing_error
from qiskit_aer.primitives import SamplerV2

from bascule.gateways.quantum.devices import DEVICES, MOST_OUTCOMES, MOST_POINTS, MOST_SHOTS, Device
from bascule.gateways.quantum.encoding import array_from, circuit_from, packed, typed
from bascule.gateways.quantum.executing import execute
from bascule.gateways.quantum.refusals import BAD_REQUEST, DOES_NOT_FIT, ProgramFailed

DEFAULT_SHOTS = 4096
DEFAULT_PRECISION = 0.015625
FINEST = 0.0005
_FREE = frozenset({"measure", "barrier", "reset", "delay", "if_else", "for_loop", "while_loop", "switch_case"})
Results = dict[str, Any]


def version() -> str:
    """Say what computes."""
    return f"Qiskit {qiskit.__version__}, Aer {qiskit_aer.__version__}"


def run(program: str, backend: str, params: dict[str, Any]) -> tuple[Results, str]:
    """Run *program*; return its results and a log. Raises `ProgramFailed`."""
    device = next(device for device in DEVICES if device.name == backend)
    if program == "executor":
        return execute(params, device, sampled=sampled, checked=checked)
    pubs = params.get("pubs")
    if not isinstance(pubs, list) or not pubs or not all(isinstance(pub, list) and pub for pub in pubs):
        raise ProgramFailed("`pubs` must be a list of lists, each beginning with a circuit", BAD_REQUEST)
    options = params.get("options") or {}
    typed_results = params.get("support_qiskit", params.get("supports_qiskit", True)) is not False
    each = sample if program == "sampler" else estimate
    results = [each(pub, options, device, typed_results=typed_results) for pub in pubs]
    log = f"{program}: {len(pubs)} pubs on {device.name}\n"
    if typed_results:
        return typed("PrimitiveResult", {"pub_results": results, "metadata": {"version": 2}}), log
    return {"results": results, "metadata": {"version": 2}}, log


def sample(pub: list[Any], options: dict[str, Any], device: Device, *, typed_results: bool) -> Results:
    """Sample one circuit."""
    if len(pub) > 3:
        raise ProgramFailed("a pub of the sampler is [circuit, parameter values, shots]", BAD_REQUEST)
    circuit = checked(circuit_from(pub[0]), device)
    values = array_from(pub[1] if len(pub) > 1 else None)
    shots = pub[2] if len(pub) > 2 and pub[2] is not None else options.get("default_shots") or DEFAULT_SHOTS
    fields = sampled(circuit, values, shots, device)
    shape = next(iter(fields.values())).shape if fields else ()
    metadata: Results = {"shots": shots, "circuit_metadata": {}}
    if not typed_results:
        plain = {name: {"samples": _samples(bits), "num_bits": bits.num_bits} for name, bits in fields.items()}
        return {"data": plain, "metadata": metadata}
    arrays = {
        name: typed("BitArray", {"array": packed(bits.array), "num_bits": bits.num_bits})
        for name, bits in fields.items()
    }
    data = typed("DataBin", {"field_names": list(fields), "shape": list(shape), "fields": arrays})
    return typed("SamplerPubResult", {"data": data, "metadata": metadata})


def sampled(
    circuit: QuantumCircuit, values: np.ndarray[Any, Any], shots: object, device: Device
) -> dict[str, BitArray]:
    """Return what each register of *circuit* was measured as."""
    if not isinstance(shots, int) or isinstance(shots, bool) or not 1 <= shots <= MOST_SHOTS:
        raise ProgramFailed(f"shots must be a number from 1 to {MOST_SHOTS:,}", BAD_REQUEST)
    if not circuit.cregs:
        raise ProgramFailed("the circuit measures nothing", BAD_REQUEST)
    values = bound(circuit, values)
    points = values.size // circuit.num_parameters if circuit.num_parameters else 1
    if points * shots > MOST_OUTCOMES:
        raise ProgramFailed(
            f"{points:,} sets of values of {shots:,} shots are more than {MOST_OUTCOMES:,}", BAD_REQUEST
        )
    sampler = SamplerV2(options={"backend_options": {"noise_model": noise_of(device)}})
    [result] = sampler.run([(circuit, values, shots)]).result()
    return dict(result.data.items())


def estimate(pub: list[Any], options: dict[str, Any], device: Device, *, typed_results: bool) -> Results:
    """Estimate expectation values of one circuit."""
    if not 2 <= len(pub) <= 4:
        raise ProgramFailed(
            "a pub of the estimator is [circuit, observables, parameter values, precision]", BAD_REQUEST
        )
    circuit = checked(circuit_from(pub[0]), device)
    values = array_from(pub[2] if len(pub) > 2 else None)
    precision = pub[3] if len(pub) > 3 and pub[3] is not None else options.get("default_precision")
    precision = DEFAULT_PRECISION if precision is None else precision
    if not isinstance(precision, int | float) or not FINEST <= precision <= 1:
        raise ProgramFailed(f"precision must be a number from {FINEST} to 1", BAD_REQUEST)
    estimator = BackendEstimatorV2(backend=qiskit_aer.AerSimulator(noise_model=noise_of(device)))
    [result] = estimator.run([(circuit, observables_from(pub[1], circuit), bound(circuit, values), precision)]).result()
    evs, stds = np.asarray(result.data.evs), np.asarray(result.data.stds)
    metadata: Results = {"target_precision": precision, "circuit_metadata": {}}
    if not typed_results:
        return {"data": {"evs": evs.tolist(), "stds": stds.tolist()}, "metadata": metadata}
    fields = {"evs": packed(evs), "stds": packed(stds)}
    data = typed("DataBin", {"field_names": ["evs", "stds"], "shape": list(evs.shape), "fields": fields})
    return typed("PubResult", {"data": data, "metadata": metadata})


def observables_from(value: object, circuit: QuantumCircuit) -> Any:
    """Read observables: a Pauli word, words with their factors, or lists of these."""
    match value:
        case {"__type__": "ObservablesArray", "__value__": inner}:
            return observables_from(inner, circuit)
        case list():
            return [observables_from(each, circuit) for each in value]
        case str() | dict():
            words = [value] if isinstance(value, str) else list(value)
            for word in words:
                if not isinstance(word, str) or len(word) != circuit.num_qubits:
                    raise ProgramFailed(
                        f"the observable `{word}` is not of {circuit.num_qubits} letters, as the circuit has qubits",
                        BAD_REQUEST,
                    )
            return value
    raise ProgramFailed("the observables are neither Pauli words nor words with their factors", BAD_REQUEST)


def bound(circuit: QuantumCircuit, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return *values*, checked: their last axis is over the circuit's parameters, by name."""
    wanted = circuit.num_parameters
    got = values.shape[-1] if values.ndim else 1
    if wanted != got:
        raise ProgramFailed(f"the circuit has {wanted} parameters, and {got} values are given", BAD_REQUEST)
    if wanted and values.size // wanted > MOST_POINTS:
        raise ProgramFailed(f"more than {MOST_POINTS:,} sets of values", BAD_REQUEST)
    return values


def checked(circuit: QuantumCircuit, device: Device) -> QuantumCircuit:
    """Return *circuit*; raise where it is not made for *device*."""
    if circuit.num_qubits > device.qubits:
        raise ProgramFailed(
            f"the circuit has {circuit.num_qubits} qubits, `{device.name}` has {device.qubits}", DOES_NOT_FIT
        )
    pairs = {tuple(pair) for pair in device.pairs}
    for instruction in circuit.data:
        name = instruction.operation.name
        if name in _FREE:
            continue
        if name not in device.gates:
            raise ProgramFailed(
                f"the gate `{name}` is not one of `{device.name}`: transpile the circuit for it", DOES_NOT_FIT
            )
        qubits = tuple(circuit.find_bit(qubit).index for qubit in instruction.qubits)
        if len(qubits) == 2 and qubits not in pairs:
            raise ProgramFailed(f"`{name}` on qubits {qubits}: `{device.name}` does not couple them", DOES_NOT_FIT)
    return circuit


def noise_of(device: Device) -> NoiseModel | None:
    """Return how *device* errs."""
    if not device.noise:
        return None
    model = NoiseModel(basis_gates=list(device.gates))
    model.add_all_qubit_quantum_error(depolarizing_error(device.noise, 1), ["sx", "x"])
    model.add_all_qubit_quantum_error(depolarizing_error(device.noise * 10, 2), ["cx"])
    wrong = device.noise * 20
    model.add_all_qubit_readout_error(ReadoutError([[1 - wrong, wrong], [wrong, 1 - wrong]]))
    return model


def _samples(bits: BitArray) -> Any:
    def hexed(block: np.ndarray[Any, Any]) -> Any:
        if block.ndim == 2:
            return [hex(int.from_bytes(bytes(row), "big")) for row in block]
        return [hexed(inner) for inner in block]

    return hexed(bits.array)
