"""
A home of its own for each test, and the command: called in this process, or started as one.

``command`` is quick and serves wherever a process of its own makes no difference;
``Terminal`` starts real ones, for signals, pipes and terminals.
"""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bascule.cli.main import main
from bascule.managers.local import cgroups
from bascule.managers.local.spool import Spool

BASCULE = [sys.executable, "-m", "bascule"]
PATIENCE = 30.0


@dataclass(frozen=True)
class Done:
    """What a command came to."""

    code: int
    out: str
    err: str


@dataclass
class Terminal:
    """Where commands are started, in a folder of the test's own."""

    folder: Path
    home: Path
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, *arguments: str, **options) -> subprocess.Popen[bytes]:
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        process = subprocess.Popen([*BASCULE, *arguments], cwd=self.folder, **options)
        self.started.append(process)
        return process

    def run(self, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [*BASCULE, *arguments], cwd=self.folder, input=stdin, capture_output=True, timeout=PATIENCE
        )

    def script(self, name: str, *lines: str) -> str:
        path = self.folder / name
        path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
        return str(path)

    def yaml(self, name: str, *specs: str) -> str:
        """Write a file with one job for each of *specs*, which are `NAME: SPEC` in YAML's flow form."""
        documents = []
        for spec in specs:
            job, _, body = spec.partition(": ")
            documents.append(
                f"apiVersion: bascule.dev/v1alpha1\nkind: BridgeJob\nmetadata: {{name: {job}}}\n"
                f"spec: {{target: {{name: local}}, {body}}}\n"
            )
        path = self.folder / name
        path.write_text("---\n".join(documents))
        return str(path)


@pytest.fixture
def terminal(tmp_path, monkeypatch):
    """Return a terminal whose home is its own; nothing that was started in it is left behind."""
    folder, home = tmp_path / "desk", tmp_path / "home"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("BASCULE_HOME", str(home))
    made = Terminal(folder, home)
    yield made
    for process in made.started:
        with suppress(ProcessLookupError):
            process.kill()
        process.communicate()
    kill_all_of(home)


@pytest.fixture
def command(terminal, capfd):
    """Return a function that runs a command in this process."""

    def run(*arguments: str) -> Done:
        capfd.readouterr()
        code = main(arguments)
        return Done(code, *capfd.readouterr())

    return run


def kill_all_of(home: Path) -> None:
    """End what works for *home*: its supervisor, and the jobs in their sessions and cgroups."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with suppress(OSError):
            if str(home).encode() in (entry / "cmdline").read_bytes():
                session = os.getsid(int(entry.name))
                os.kill(int(entry.name), signal.SIGKILL)
                if session == int(entry.name):
                    os.killpg(session, signal.SIGKILL)
    groups = tuple(cgroups.Cgroups(where_groups_are_made(), Spool(home).place).strays())
    cgroups.kill(groups)
    until(lambda: cgroups.remove(groups), "the end of its cgroups")


@functools.cache
def where_groups_are_made() -> cgroups.Parents:
    return cgroups.find()


def until(happens: Callable[[], object], what: str = "it") -> None:
    """Wait until *happens* is true."""
    give_up = time.monotonic() + PATIENCE
    while not happens():
        assert time.monotonic() < give_up, f"{what} did not happen within {PATIENCE:g} s"
        time.sleep(0.02)


def read_until(process: subprocess.Popen[bytes], text: bytes) -> bytes:
    """Read what *process* prints until *text* is in it."""
    assert process.stdout is not None
    read = b""
    while text not in read:
        piece = os.read(process.stdout.fileno(), 65536)
        assert piece, f"it ended after {read!r}"
        read += piece
    return read
