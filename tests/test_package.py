"""The package that users install is whole; the other tests run from the tree and would not notice."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder], cwd=ROOT, check=True)
    (file,) = folder.glob("*.whl")
    return file


def test_all_of_src_is_in_it(wheel):
    sources = [file for file in (ROOT / "src" / "bascule").rglob("*") if file.is_file() and file.suffix != ".pyc"]
    expected = {str(file.relative_to(ROOT / "src")) for file in sources}
    names = set(zipfile.ZipFile(wheel).namelist())

    assert expected <= names
    assert "bascule/py.typed" in names


def test_the_licence_and_the_command_are_in_it(wheel):
    package = zipfile.ZipFile(wheel)
    names = {name.partition(".dist-info/")[2]: name for name in package.namelist() if ".dist-info/" in name}

    assert "licenses/LICENSE" in names
    assert "bascule = bascule.cli.main:main" in package.read(names["entry_points.txt"]).decode()


def test_it_runs_without_the_tree(wheel, tmp_path):
    target = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(target)
    settings = {**os.environ, "PYTHONPATH": str(target)}
    program = "import bascule, sys; from bascule.cli.main import main; sys.exit(main(['--help']))"

    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=settings, capture_output=True, text=True)

    assert "usage: bascule" in done.stdout
    assert not done.stderr
