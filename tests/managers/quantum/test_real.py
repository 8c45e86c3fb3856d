"""Real circuits, computed by Qiskit Aer behind our gateway, run with the command and the library as a user would."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent.parent

pytestmark = [pytest.mark.real, pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def desk(quantum_gateway, tmp_path_factory):
    """Return the folder of a user who has the examples, and whose target is the gateway."""
    tmp_path = tmp_path_factory.mktemp("desk")
    shutil.copytree(ROOT / "examples" / "quantum", tmp_path, dirs_exist_ok=True)
    (tmp_path / "quantum-gateway.key").write_text(quantum_gateway.key)
    target = tmp_path / "target.yaml"
    target.write_text(target.read_text().replace("http://127.0.0.1:8780", quantum_gateway.url))
    return tmp_path


@pytest.fixture(scope="module")
def as_user(desk):
    settings = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "src"),
        "BASCULE_HOME": str(desk / ".home"),
        "HOME": str(desk),
    }

    def run(*command, program=sys.executable, **more):
        done = subprocess.run(
            [program, *command], cwd=desk, env={**settings, **more}, capture_output=True, text=True, timeout=100
        )
        assert 0 == done.returncode, done.stdout + done.stderr
        return done.stdout

    run("-m", "bascule", "apply", "-f", "target.yaml")
    return run


def job(name, program, params, **options):
    spec = {"target": {"name": "gateway"}, "run": {"program": {"id": program, "params": params}}, "options": options}
    return {"apiVersion": "bascule.dev/v1alpha1", "kind": "BridgeJob", "metadata": {"name": name}, "spec": spec}


@pytest.fixture
def results_of(desk, as_user):
    """Return a function that runs jobs, all of one file, and returns the first line of each one's results."""

    def run(*jobs, **more):
        file = desk / f"{jobs[0]['metadata']['name']}.yaml"
        file.write_text("\n---\n".join(map(json.dumps, jobs)))
        as_user("-m", "bascule", "run", file, **more)
        folders = [next((desk / ".home/quantum/results").glob(f"{one['metadata']['name']}-*")) for one in jobs]
        return [json.loads((folder / "results.jsonl").read_text().splitlines()[0]) for folder in folders]

    return run


BELL = """OPENQASM 3.0;
include "stdgates.inc";
qubit[2] q;
bit[2] c;
h q[0];
cx q[0], q[1];
c = measure q;
"""
TURN = """OPENQASM 3.0;
include "stdgates.inc";
input float[64] theta;
qubit[3] q;
bit[3] c;
rx(theta) q[0];
c = measure q;
"""
GHZ = """OPENQASM 3.0;
include "stdgates.inc";
qubit[3] q;
bit[3] c;
h q[2];
cx q[2], q[0];
"""


def test_a_bell_pair_is_half_and_half(as_user):
    counts = json.loads(as_user("-m", "bascule", "run", "bell.yaml"))["meas"]

    assert {"00", "11"} == set(counts)
    assert 1000 == sum(counts.values())
    assert 400 < counts["00"] < 600


def test_the_variational_loop_ends_with_the_right_energy(as_user):
    """
    Classical steps on this machine and quantum jobs of one session take turns; the exact energy is -1.857275.
    """
    printed = as_user("variational.py")

    assert abs(-1.857275 - float(re.search(r"^energy: (\S+)$", printed, re.MULTILINE)[1])) < 0.03


def test_parameters_and_bare_programs_are_run_as_they_are(results_of):
    nothing = {"data": "eJwDAAAAAAE=", "shape": [0], "dtype": "f64"}
    items = [{"item_type": "circuit", "circuit_arguments": nothing, "shape": []}]
    program = {"shots": 100, "circuits": {"data": [BELL]}, "items": items}

    turned, bare = results_of(
        job("turn", "sampler", {"pubs": [[TURN, [[0.0], [3.141592653589793]], 50]]}),
        job("bare", "executor", {"schema_version": "v2.0", "quantum_program": program, "options": {}}),
    )

    assert [{"000": 50}, {"001": 50}] == turned["c"]
    assert {"00", "11"} == set(bare["c"])
    assert 100 == sum(bare["c"].values())


def test_what_does_not_fit_is_transpiled_where_qiskit_is_installed(results_of, quantum_gateway):
    """
    `line5` has neither `h` nor a coupling of qubits 0 and 2; observables move with their qubits.
    """
    options = {"backend": "line5", "transpile": {"level": 1, "seed": 7}}

    sampled, estimated = results_of(
        job("ghz", "sampler", {"pubs": [[f"{GHZ}c = measure q;\n", [], 400]]}, **options),
        job("zz", "estimator", {"pubs": [[GHZ, [{"ZIZ": 1.0}, "IZI"]]]}, precision=0.05, **options),
        program=quantum_gateway.programs / "python",
    )

    assert sampled["c"]["000"] + sampled["c"]["101"] > 300
    assert estimated["evs"][0] > 0.7
    assert estimated["evs"][1] > 0.8


def test_a_process_that_dies_within_its_submit_finds_the_job_again(as_user, desk, quantum_gateway):
    """
    Killed when the service has the job and nobody has its id: there is one, and its session is closed.
    """
    file = desk / "cut.yaml"
    file.write_text(json.dumps(job("cut", "sampler", {"pubs": [[BELL, [], 10]]}, session={"maxTime": "5m"})))

    with pytest.raises(AssertionError):
        as_user("-m", "bascule", "run", file, BASCULE_FAILPOINT="core.after.submit")
    as_user("-m", "bascule", "wait", "cut")
    story = as_user("-m", "bascule", "describe", "job", "cut")

    assert "found as `" in story
    assert "Submitting  attempt 1" in story
    assert "attempt 2" not in story
    assert [] == list((desk / ".home/quantum/default.gateway/sessions").glob("*.json"))


def test_a_program_that_fails_there_ends_the_job_with_its_words(results_of):
    """
    Without the include nobody has told the service what `x` is.
    """
    broken = "OPENQASM 3.0;\nqubit q;\nbit c;\nx q;\nc = measure q;\n"

    with pytest.raises(AssertionError, match=r"\(ProgramFailed\).*the circuit cannot be read"):
        results_of(job("broken", "sampler", {"pubs": [[broken, [], 10]]}))
