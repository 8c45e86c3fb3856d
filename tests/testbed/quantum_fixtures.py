"""
A gateway with Qiskit Aer behind it, and the official client beside it: an environment of its own.

A plug-in, as ``tests.testbed.fixtures``: the environment is made before the first test runs,
outside every test's time limit, and kept outside the tree from then on.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tools.environment import environment

from tests.needs import missing
from tests.testbed.tether import Tether

ROOT = Path(__file__).resolve().parent.parent.parent
STARTS_WITHIN = 100.0
_found: dict[str, Path | str] = {}


@dataclass(frozen=True)
class Gateway:
    """One that runs: where, with which key, for which instance; *programs* are those of its environment."""

    url: str
    key_file: Path
    instance: str
    programs: Path

    @property
    def key(self) -> str:
        return self.key_file.read_text().strip()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> None:
    """Make the environment, where a test that was collected needs it."""
    wanted = any("quantum_programs" in getattr(item, "fixturenames", ()) for item in session.items)
    if session.config.option.collectonly or not wanted:
        return
    try:
        _found["quantum"] = environment("quantum")
    except SystemExit as stopped:
        _found["quantum"] = str(stopped)


@pytest.fixture(scope="session")
def quantum_programs() -> Path:
    """Return the folder of programs of the environment with Qiskit."""
    found = _found.get("quantum", "it was not made before the tests")
    if isinstance(found, str):
        missing("Qiskit Aer and the official quantum client", hint=found)
    return found


@pytest.fixture(scope="session")
def quantum_gateway(
    quantum_programs: Path, tether: Tether, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Gateway]:
    """Run one for all tests of this process."""
    folder = tmp_path_factory.mktemp("gateway")
    key_file = folder / "key"
    command = [quantum_programs / "python", "-m", "bascule", "quantum-gateway", "--port", "0", "--key-file", key_file]
    with subprocess.Popen(
        command,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        tether.hold(process.pid)
        try:
            url = instance = ""
            said = []
            for line in process.stderr:
                said.append(line)
                url = url or "".join(re.findall(r"at (http://[\d.:]+)/api/v1", line))
                if found := re.search(r"instance is (crn:\S+)", line):
                    instance = found[1]
                    break
            assert url, "".join(said)
            yield Gateway(url, key_file, instance, quantum_programs)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(20)
            tether.let_go(process.pid)
