"""
A reader's desk: the examples, and ``bascule`` on the path with a home of its own.
"""

from __future__ import annotations

import functools
import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.docs import snippets

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture
def desk(tmp_path):
    """Return the folder in which the reader sits."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    command = tmp_path / ".bin" / "bascule"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m bascule "$@"\n')
    command.chmod(0o755)
    return tmp_path


@pytest.fixture
def settings(desk):
    """Return the reader's environment."""
    return {
        **os.environ,
        "PATH": f"{desk / '.bin'}{os.pathsep}{os.environ['PATH']}",
        "BASCULE_HOME": str(desk / ".home"),
        "HOME": str(desk),
    }


@pytest.fixture
def as_reader(desk, settings):
    """Return a function that runs a command as the reader would."""
    return functools.partial(snippets.execute, folder=desk, settings=settings)
