"""Completion scripts can be read by their shells and know the commands."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from bascule.cli.main import COMMANDS
from tests.needs import needs_command


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_it_knows_all_commands_and_their_options(command, shell):
    script = command("completion", shell).out

    assert all(name in script for name in COMMANDS)
    assert "cancel-on-exit" in script


@needs_command("bash")
def test_bash_can_read_it(command):
    script = command("completion", "bash").out

    done = subprocess.run([shutil.which("bash"), "-n"], input=script, capture_output=True, text=True, timeout=30)

    assert (0, "") == (done.returncode, done.stderr)


@needs_command("bash")
def test_bash_completes_a_command(command):
    script = command("completion", "bash").out
    ask = "\nCOMP_WORDS=(bascule des); COMP_CWORD=1; _shtab_bascule; echo ${COMPREPLY[@]}\n"

    done = subprocess.run([shutil.which("bash")], input=script + ask, capture_output=True, text=True, timeout=30)

    assert "describe\n" == done.stdout
