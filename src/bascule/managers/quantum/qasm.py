"""
Reading OpenQASM 3, as far as it says what a circuit needs: qubits, gates, parameters.

No parser of the language: what cannot be read with certainty (gates with modifiers,
subroutines, computed indices) is left for the service to judge.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

MOST_GATES = 1_000_000
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_VERSION = re.compile(r"\s*OPENQASM\s+(\d+)(?:\.\d+)?\s*;")
_QUBITS = re.compile(r"(?:qubit\s*(?:\[\s*(\d+)\s*\])?\s*(\w+)|qreg\s+(\w+)\s*(?:\[\s*(\d+)\s*\])?)$")
_INPUT = re.compile(r"input\s+\w+\s*(?:\[[^\]]*\])?\s*(\w+)$")
_CALL = re.compile(r"([A-Za-z_]\w*)\s*")
_OPERAND = re.compile(r"(?:\$(\d+)|([A-Za-z_]\w*)\s*(?:\[\s*(\d+)\s*\])?)$")
_HARDWARE = re.compile(r"\$(\d+)")
_WORDS = frozenset(
    {
        *("OPENQASM", "include", "qubit", "qreg", "bit", "creg", "int", "uint", "float", "angle", "bool", "complex"),
        *("const", "input", "output", "let", "return", "if", "else", "for", "while", "switch", "case", "default"),
        *("break", "continue", "end", "barrier", "reset", "delay", "measure", "box", "gate", "def", "cal", "defcal"),
        *("defcalgrammar", "extern", "pragma", "array", "duration", "stretch", "gphase", "nop"),
    }
)
_OPAQUE = ("gate ", "def ", "cal ", "cal{", "defcal ")


@dataclass(frozen=True, slots=True)
class Gate:
    """One use of a gate; *qubits* None where it cannot be told which."""

    name: str
    qubits: tuple[int, ...] | None


@dataclass(slots=True)
class Circuit:
    """What a circuit needs. *problem* says why its text is none."""

    qubits: int = 0
    gates: list[Gate] = field(default_factory=list)
    inputs: list[str] = field(default_factory=list)
    measures: bool = False
    problem: str = ""
    registers: dict[str, range] = field(default_factory=dict)


def circuit_in(text: str) -> Circuit:
    """Read *text*."""
    plain = _COMMENT.sub(" ", text)
    version = _VERSION.match(plain)
    if version is None:
        return Circuit(problem="does not begin with `OPENQASM 3.0;`")
    if version[1] != "3":
        return Circuit(problem=f"is OpenQASM {version[1]}, and the service takes OpenQASM 3")
    circuit = Circuit()
    for statement in _statements(plain):
        _take(statement, circuit)
        if circuit.problem or len(circuit.gates) > MOST_GATES:
            break
    hardware = [int(number) for number in _HARDWARE.findall(plain)]
    circuit.qubits = max(circuit.qubits, *(number + 1 for number in hardware)) if hardware else circuit.qubits
    if not circuit.problem and not circuit.qubits:
        circuit.problem = "declares no qubits"
    return circuit


def _statements(text: str) -> Iterator[str]:
    """Give statement after statement; blocks are walked through, bodies of definitions are not."""
    at, begin, depth = 0, 0, 0
    opaque: int | None = None
    for at, letter in enumerate(text):
        if letter == "{":
            head = text[begin:at].strip()
            depth += 1
            if opaque is None and f"{head} ".startswith(_OPAQUE):
                opaque = depth
            elif opaque is None and head:
                yield head
            begin = at + 1
        elif letter == "}":
            if opaque == depth:
                opaque = None
            depth -= 1
            begin = at + 1
        elif letter == ";":
            if opaque is None and (statement := text[begin:at].strip()):
                yield statement
            begin = at + 1
    if depth or text[begin:].strip():
        yield "\0"


def _take(statement: str, circuit: Circuit) -> None:
    if statement == "\0":
        circuit.problem = "breaks off: a `;` or a `}` is missing at its end"
    elif found := _QUBITS.match(statement):
        size = int(found[1] or found[4] or 1)
        circuit.registers[found[2] or found[3]] = range(circuit.qubits, circuit.qubits + size)
        circuit.qubits += size
    elif found := _INPUT.match(statement):
        circuit.inputs.append(found[1])
    elif re.search(r"\bmeasure\b", statement):
        circuit.measures = True
    else:
        circuit.gates.extend(_gates(statement, circuit))


def _gates(statement: str, circuit: Circuit) -> list[Gate]:
    call = _CALL.match(statement)
    if call is None or call[1] in _WORDS or "@" in statement or "=" in statement:
        return []
    rest = _behind_parameters(statement[call.end() :])
    if rest is None or not rest:
        return []
    each = [_indices(operand.strip(), circuit) for operand in rest.split(",")]
    if any(indices is None for indices in each):
        return [Gate(call[1], None)]
    known = [indices for indices in each if indices is not None]
    # A register as an operand is each of its qubits in turn.
    most = max(len(indices) for indices in known)
    if any(len(indices) not in (1, most) for indices in known):
        return [Gate(call[1], None)]
    return [
        Gate(call[1], tuple(indices[0 if len(indices) == 1 else n] for indices in known))
        for n in range(min(most, 10_000))
    ]


def _behind_parameters(text: str) -> str | None:
    """Return what follows a gate's parameters; None where the text is no use of a gate."""
    if not text.startswith("("):
        return text
    depth = 0
    for at, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if not depth:
            return text[at + 1 :].strip()
    return None


def _indices(operand: str, circuit: Circuit) -> range | None:
    found = _OPERAND.match(operand)
    if found is None:
        return None
    if found[1] is not None:
        return range(int(found[1]), int(found[1]) + 1)
    register = circuit.registers.get(found[2])
    if register is None or found[3] is None:
        return register
    index = int(found[3])
    return register[index : index + 1] if index < len(register) else None
