"""
A job's work as the service is asked for it: the program, its parameters, its options.

Parameters are the service's own (``pubs``, ``options``, ...), with two conveniences: numbers
may be plain lists, and shots or a precision may be given once for all of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from bascule.errors import Mistake
from bascule.managers.quantum.arrays import Unreadable, flat, packed, shape_of
from bascule.managers.quantum.options import JobOptions, TargetOptions, options_of_job, seconds
from bascule.managers.quantum.qasm import Circuit, circuit_in
from bascule.model import Job

PROGRAMS = ("sampler", "estimator", "executor")
DEFAULT_SHOTS = 4096


class Wanted(NamedTuple):
    """What is to be submitted; *circuits* are those that could be read, each with its place."""

    program: str
    params: dict[str, Any]
    options: JobOptions
    circuits: tuple[tuple[str, Circuit], ...]

    @property
    def width(self) -> int:
        """How many qubits it needs, as far as that is known."""
        return max((circuit.qubits for _, circuit in self.circuits), default=0)


def wanted_by(job: Job, target: TargetOptions) -> Wanted:
    """Return what *job* asks for; raise `Mistake` where the service cannot take it. No I/O."""
    options = options_of_job(job, target)
    _refuse_what_is_not_there(job)
    program = job.spec.run.program if job.spec.run is not None else None
    if program is None:
        raise _mistake(
            job, "a quantum service runs its own programs only", "`run: {program: {id: sampler, params: {...}}}`"
        )
    if program.id not in PROGRAMS:
        raise _mistake(job, f"there is no program `{program.id}`", f"there are: {', '.join(PROGRAMS)}")
    if program.id == "executor":
        if options.shots is not None or options.precision is not None or options.transpile:
            raise _mistake(
                job, "the executor takes no `shots`, `precision` or `transpile`", "put shots into its program"
            )
        return Wanted(program.id, program.params, options, ())
    params, circuits = _primitive(job, program.id, program.params, options)
    return Wanted(program.id, params, options, circuits)


def body_of(wanted: Wanted, *, backend: str, tags: list[str], session: str | None) -> dict[str, Any]:
    """Return the body of the submit."""
    options = wanted.options
    body: dict[str, Any] = {
        "program_id": wanted.program,
        "backend": backend,
        "params": wanted.params,
        "tags": [*tags, *(options.tags or ())],
        "session_id": session,
        "cost": seconds(options.max_execution_time),
        "private": options.private or None,
        "log_level": options.log_level,
        "calibration_id": options.calibration_id,
        "runtime": options.runtime,
    }
    return {name: value for name, value in body.items() if value is not None}


def _refuse_what_is_not_there(job: Job) -> None:
    spec = job.spec
    resources = spec.resources
    asked = {
        "array": spec.array is not None,
        "env": bool(spec.env),
        "secretEnv": bool(spec.secret_env),
        "arguments": bool(spec.arguments),
        "workingDirectory": spec.working_directory is not None,
        "output": spec.output is not None,
        "error": spec.error is not None,
        "files": bool(spec.files.inputs or spec.files.outputs),
        "hold": spec.hold,
        "signal": spec.signal is not None,
        "resources": any(
            (
                resources.nodes,
                resources.tasks,
                resources.cpus_per_task,
                resources.memory_per_node,
                resources.gpus_per_node,
            )
        ),
    }
    for name, is_asked in asked.items():
        if is_asked:
            raise _mistake(job, f"a quantum service has nothing that `{name}` could mean", "leave it out")


def _primitive(
    job: Job, program: str, given: dict[str, Any], options: JobOptions
) -> tuple[dict[str, Any], tuple[tuple[str, Circuit], ...]]:
    pubs = given.get("pubs")
    if not isinstance(pubs, list) or not pubs:
        raise _mistake(
            job, f"`run.program.params` of the {program} has no `pubs`", "a list of [circuit, ...], one each"
        )
    if program == "sampler" and options.precision is not None:
        raise _mistake(job, "the sampler has no `precision`", "set `shots`")
    if program == "estimator" and options.shots is not None:
        raise _mistake(job, "the estimator has no `shots`", "set `precision`")
    listed = [pub if isinstance(pub, list) else [pub] for pub in pubs]
    has_qpy = any(pub and isinstance(pub[0], dict) for pub in listed)
    typed = given.get("support_qiskit", given.get("supports_qiskit", has_qpy)) is not False
    made, circuits = [], []
    for number, pub in enumerate(listed):
        place = f"`pubs[{number}]`"
        circuit = _circuit(job, pub, place)
        if circuit is not None:
            circuits.append((place, circuit))
        one = _sampled if program == "sampler" else _estimated
        made.append(one(job, pub, options, circuit, place, typed))
    rest = {name: value for name, value in given.items() if name not in {"pubs", "supports_qiskit"}}
    return {"options": {}, "version": 2, **rest, "support_qiskit": typed, "pubs": made}, tuple(circuits)


def _circuit(job: Job, pub: list[Any], place: str) -> Circuit | None:
    match pub:
        case [str() as text, *_]:
            circuit = circuit_in(text)
            if circuit.problem:
                raise _mistake(job, f"the circuit of {place} {circuit.problem}", "write it in OpenQASM 3")
            return circuit
        case [{"__type__": "QuantumCircuit", "__value__": str()}, *_]:
            return None
    raise _mistake(job, f"{place} begins with no circuit", "give OpenQASM 3 text, or QPY as the service encodes it")


def _sampled(
    job: Job, pub: list[Any], options: JobOptions, circuit: Circuit | None, place: str, typed: bool
) -> list[Any]:
    if len(pub) > 3:
        raise _mistake(job, f"{place} has more than circuit, values and shots", "leave the rest out")
    if circuit is not None and not circuit.measures:
        raise _mistake(job, f"the circuit of {place} measures nothing", "add `c = measure q;`")
    shots = pub[2] if len(pub) > 2 and pub[2] is not None else options.shots or DEFAULT_SHOTS
    if not isinstance(shots, int) or isinstance(shots, bool) or shots < 1:
        raise _mistake(job, f"the shots of {place} are no number from 1 on", "write it as `1024`")
    return [pub[0], _numbers(job, pub[1] if len(pub) > 1 else None, circuit, place, typed), shots]


def _estimated(
    job: Job, pub: list[Any], options: JobOptions, circuit: Circuit | None, place: str, typed: bool
) -> list[Any]:
    if not 2 <= len(pub) <= 4:
        raise _mistake(
            job, f"{place} is not [circuit, observables, values, precision]", "values and precision may be left out"
        )
    if circuit is not None:
        _check_observables(job, pub[1], circuit, place)
    precision = pub[3] if len(pub) > 3 and pub[3] is not None else options.precision
    if precision is not None and (not isinstance(precision, int | float) or not 0 < precision <= 1):
        raise _mistake(job, f"the precision of {place} is no number up to 1", "write it as `0.02`")
    return [pub[0], pub[1], _numbers(job, pub[2] if len(pub) > 2 else None, circuit, place, typed), precision]


def _check_observables(job: Job, value: object, circuit: Circuit, place: str) -> None:
    match value:
        case list():
            for each in value:
                _check_observables(job, each, circuit, place)
            return
        case str():
            words = [value]
        case dict() if "__type__" in value:
            return
        case dict():
            words = list(value)
            if not all(isinstance(factor, int | float) for factor in value.values()):
                raise _mistake(job, f"an observable of {place} has factors that are no numbers", "`{ZZ: 0.5, XX: 0.5}`")
        case _:
            raise _mistake(job, f"the observables of {place} are none", "write them as `{ZZ: 1.0, XX: 0.5}`")
    for word in words:
        if set(word) - set("IXYZ"):
            raise _mistake(job, f"the observable `{word[:60]}` of {place} has letters beside I, X, Y, Z", "mend it")
        if len(word) != circuit.qubits:
            raise _mistake(
                job,
                f"the observable `{word[:60]}` of {place} is of {len(word)} qubits, and the circuit has {circuit.qubits}",
                "give it one letter for each qubit, the last one first",
            )


def _numbers(job: Job, value: object, circuit: Circuit | None, place: str, typed: bool) -> Any:
    """Return a pub's parameter values, as the service wants them; they are over the parameters by name."""
    if isinstance(value, dict) and value.get("__type__") == "ndarray":
        return value
    value = [] if value is None else value
    try:
        shape = shape_of(value)
    except Unreadable as error:
        raise _mistake(
            job, f"the values of {place} are no array of numbers: {error}", "`[[0.1, 0.2], [0.3, 0.4]]`"
        ) from None
    if circuit is not None:
        wanted, got = len(circuit.inputs), shape[-1] if shape else 1
        if wanted != got:
            names = ", ".join(sorted(circuit.inputs)) or "none"
            raise _mistake(
                job,
                f"the circuit of {place} has {wanted} parameters ({names}), and {got} values are given for them",
                "the last level of the lists has one value for each parameter, in the order of their names",
            )
    return packed(flat(value), shape) if typed else value


def _mistake(job: Job, text: str, hint: str) -> Mistake:
    return Mistake(f"job `{job.name}`: {text}", hint=hint)
