"""What a circuit in OpenQASM 3 tells of itself, and whether it fits a device."""

from __future__ import annotations

import pytest

from bascule.managers.quantum.fitting import problems
from bascule.managers.quantum.qasm import Gate, circuit_in
from bascule.managers.quantum.wire import Configuration

LINE = Configuration("line", 3, ["rz", "sx", "x", "cx"], ["measure", "if_else"], [(0, 1), (1, 0), (1, 2)])


def read(body, head="OPENQASM 3.0;\n"):
    return circuit_in(head + body)


class TestReading:
    def test_registers_follow_each_other(self):
        circuit = read("qubit[2] a; qubit b; qreg c[3]; x b; cx a[1], c[0];")

        assert 6 == circuit.qubits
        assert [Gate("x", (2,)), Gate("cx", (1, 3))] == circuit.gates

    def test_a_register_as_an_operand_is_each_of_its_qubits(self):
        circuit = read("qubit[2] a; qubit[2] b; x a; cx a, b; cx a[0], b;")

        assert [(0,), (1,), (0, 2), (1, 3), (0, 2), (0, 3)] == [gate.qubits for gate in circuit.gates]

    def test_physical_qubits_count_from_nothing(self):
        circuit = read("x $4; cx $0, $1;")

        assert 5 == circuit.qubits
        assert [Gate("x", (4,)), Gate("cx", (0, 1))] == circuit.gates

    def test_parameters_are_its_inputs(self):
        circuit = read("input float[64] theta; input angle phi; qubit q; rz(theta + sin(phi * (2))) q;")

        assert ["theta", "phi"] == circuit.inputs
        assert [Gate("rz", (0,))] == circuit.gates

    def test_comments_and_definitions_are_passed_over(self):
        circuit = read(
            'include "stdgates.inc"; // x q;\n/* cx q, q; */ gate mine(a) p, r { rz(a) p; cx p, r; }\n'
            "def twice(qubit p) -> bit { x p; return measure p; }\nqubit[2] q; mine(0.5) q[0], q[1];"
        )

        assert [Gate("mine", (0, 1))] == circuit.gates
        assert not circuit.measures

    def test_blocks_are_walked_through(self):
        circuit = read("qubit[2] q; bit c; c = measure q[0]; if (c) { x q[1]; } for int i in {0, 1} { sx q[i]; }")

        assert [Gate("x", (1,)), Gate("sx", None)] == circuit.gates
        assert circuit.measures

    @pytest.mark.parametrize(
        "text", ["ctrl @ x q[0], q[1];", "inv @ sx q[0];", "float y = 0.5;", "barrier q;", "reset q;"]
    )
    def test_what_is_not_certainly_a_gate_is_none(self, text):
        assert [] == read(f"qubit[2] q; {text}").gates

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("qubit q;", "does not begin"),
            ("OPENQASM 2.0;\nqreg q[1];", "OpenQASM 2"),
            ("OPENQASM 3.0;\nqubit q; x q", "breaks off"),
            ("OPENQASM 3.0;\nqubit q; if (true) { x q;", "breaks off"),
            ("OPENQASM 3.0;\nbit c;", "no qubits"),
            ("", "does not begin"),
        ],
    )
    def test_a_text_that_is_no_circuit_says_why(self, text, words):
        assert words in circuit_in(text).problem

    def test_a_hostile_text_is_read_in_no_time(self):
        circuit = read(f"qubit[2] q; rz({'(' * 20_000}0{')' * 20_000}) q[0]; {'x q[0];' * 20_000}")

        assert 20_001 == len(circuit.gates)


class TestFitting:
    def test_what_fits_has_no_problem(self):
        assert [] == list(problems(read("qubit[3] q; sx q; cx q[0], q[1]; rz(0.1) q[2];"), LINE))

    @pytest.mark.parametrize(
        ("body", "words"),
        [
            ("qubit[4] q; x q;", "has 4 qubits"),
            ("qubit[2] q; h q[0];", "the gate `h`"),
            ("qubit[3] q; cx q[0], q[2];", "0 and 2"),
            ("qubit[3] q; cx q[2], q[1];", "only the other way round"),
        ],
    )
    def test_what_does_not_is_told(self, body, words):
        assert words in next(problems(read(body), LINE))

    def test_a_device_without_couplings_couples_all(self):
        everything = Configuration("sim", 30, ["cx"])

        assert [] == list(problems(read("qubit[9] q; cx q[0], q[8];"), everything))
