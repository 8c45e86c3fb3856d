"""
What can be computed with: two simulated devices, described as the service describes its own.

Plain data; how they are simulated is the ``worker``'s business.
"""

from __future__ import annotations

from dataclasses import dataclass

VERSION = "1.0.0"
MOST_SHOTS = 100_000
MOST_POINTS = 10_000
MOST_OUTCOMES = 20_000_000
_PARAMETERS = {"p": ["lam"], "rx": ["theta"], "ry": ["theta"], "rz": ["phi"], "u": ["theta", "phi", "lam"]}
_PAIRS = ("cx", "cz", "swap")


@dataclass(frozen=True, slots=True)
class Device:
    """
    One device: *line* couples each qubit to the next only, *noise* lets gates and readout err.

    A gate's error is *noise*, one of two qubits ten times that, and a readout's twenty times.
    """

    name: str
    qubits: int
    gates: tuple[str, ...]
    line: bool = False
    noise: float = 0.0

    @property
    def pairs(self) -> list[list[int]]:
        """Which qubits a gate of two can act on."""
        every = range(self.qubits)
        return [[a, b] for a in every for b in every if a != b and (not self.line or abs(a - b) == 1)]

    def listing(self, waiting: int) -> dict[str, object]:
        """As the list of backends has it."""
        return {
            "name": self.name,
            "status": {"name": "online", "reason": "available"},
            "is_simulator": not self.line,
            "qubits": self.qubits,
            "queue_length": waiting,
            "processor_type": {"family": "Simulator", "revision": "1"},
            "performance_metrics": {},
        }

    def configuration(self) -> dict[str, object]:
        """What circuits must keep to."""
        pairs = self.pairs
        singles = [[qubit] for qubit in range(self.qubits)]
        return {
            "backend_name": self.name,
            "backend_version": VERSION,
            "n_qubits": self.qubits,
            "basis_gates": list(self.gates),
            "gates": [
                {
                    "name": gate,
                    "parameters": _PARAMETERS.get(gate, []),
                    "qasm_def": "",
                    "coupling_map": pairs if gate in _PAIRS else singles,
                }
                for gate in self.gates
            ],
            "supported_instructions": [*self.gates, "measure", "reset", "delay", "barrier"],
            "coupling_map": pairs,
            "simulator": not self.line,
            "local": False,
            "conditional": False,
            "open_pulse": False,
            "memory": True,
            "max_shots": MOST_SHOTS,
            "max_experiments": 300,
            "online_date": "2026-01-01T00:00:00Z",
            "description": f"{self.qubits} simulated qubits",
            "processor_type": {"family": "Simulator", "revision": "1"},
        }

    def status(self, waiting: int) -> dict[str, object]:
        """How it is."""
        return {
            "state": True,
            "status": "active",
            "message": "available",
            "length_queue": waiting,
            "backend_version": VERSION,
        }


DEVICES = (
    Device(
        "aer",
        20,
        ("cx", "cz", "h", "id", "p", "rx", "ry", "rz", "s", "sdg", "swap", "sx", "t", "tdg", "u", "x", "y", "z"),
    ),
    Device("line5", 5, ("cx", "id", "rz", "sx", "x"), line=True, noise=0.001),
)
