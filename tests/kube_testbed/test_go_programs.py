"""Programs are compiled once, whole or not at all. A stand-in for Go keeps this quick."""

import shutil
from pathlib import Path

import pytest

from tests.testbed import go_programs
from tests.testbed.go_programs import GoPrograms, ensure, required
from tests.testbed.machine import TestbedUnavailable

GO = """#!/bin/sh
[ "$1" = version ] && { echo "go version go$GO_VERSION linux/amd64"; exit; }
echo "$PWD $*" >>"$BUILDS"
for last; do [ "$before" = -o ] && target=$last; before=$last; done
printf '#!/bin/sh\\n' >"$target/lab"
eval "$THEN"
"""

# As pip is asked for the toolchain: it brings the same stand-in, which is new enough.
PIP = """
import os, pathlib, shutil, sys
target = next(a.partition("=")[2] for a in sys.argv if a.startswith("--target="))
pathlib.Path(target, "go", "bin").mkdir(parents=True)
place = pathlib.Path(target, "go", "bin", "go")
place.write_text(pathlib.Path(os.environ["STAND_IN"]).read_text().replace("$GO_VERSION", "1.26.6"))
place.chmod(0o755)
"""

LAB = GoPrograms("lab", stamps=(("lab.version", "v1"),))


@pytest.fixture
def sources(tmp_path, monkeypatch) -> Path:
    source = tmp_path / "programs" / "lab"
    source.mkdir(parents=True)
    (source / "go.mod").write_text("module lab\n\ngo 1.26.0\n\nrequire (\n\tlab.test/thing v1.2.3\n)\n")
    (source / "main.go").write_text("package main\n")
    monkeypatch.setattr(go_programs, "SOURCES", source.parent)
    return source


@pytest.fixture
def builds(tmp_path, sources, monkeypatch):
    """
    What the stand-in was asked to compile.
    """
    go = tmp_path / "bin" / "go"
    go.parent.mkdir()
    go.write_text(GO)
    go.chmod(0o755)
    log = tmp_path / "builds"
    log.touch()
    monkeypatch.setattr(go_programs, "CACHE", tmp_path / "cache")
    monkeypatch.setenv("PATH", f"{go.parent}:/usr/sbin:/usr/bin:/sbin:/bin")
    monkeypatch.setenv("BUILDS", str(log))
    monkeypatch.setenv("STAND_IN", str(go))
    monkeypatch.setenv("GO_VERSION", "1.27.1")
    monkeypatch.setenv("THEN", "true")
    return lambda: log.read_text().splitlines()


def test_they_are_compiled_once_from_what_is_pinned(builds, sources):
    said: list[str] = []

    first, second = ensure(LAB, said.append), ensure(LAB, said.append)

    assert first == second
    assert (first / "lab").exists()
    (asked,) = builds()
    assert asked.startswith(f"{sources} build ")
    assert "-mod=readonly" in asked
    assert "-X lab.version=v1" in asked
    assert ["compiling", "built"] == [line.split()[1] for line in said]


def test_another_pin_is_another_build(builds, sources):
    before = ensure(LAB)
    (sources / "go.sum").write_text("lab.test/thing v1.2.3 h1:other=\n")

    assert ensure(LAB) != before
    assert 2 == len(builds())


def test_a_failed_build_leaves_nothing_and_says_why(builds, monkeypatch):
    monkeypatch.setenv("THEN", "echo the proxy is away; exit 1")

    with pytest.raises(TestbedUnavailable, match="the proxy is away"):
        ensure(LAB)

    assert [] == [path for path in LAB.path.parent.iterdir() if path.is_dir()]


@pytest.mark.parametrize("machine_has", ["1.19.8", "none"])
def test_where_go_is_too_old_or_missing_it_is_installed_once(builds, tmp_path, monkeypatch, machine_has):
    (tmp_path / "pip").mkdir()
    (tmp_path / "pip" / "pip.py").write_text(PIP)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "pip"))
    monkeypatch.setenv("GO_VERSION", machine_has)
    if machine_has == "none":
        (tmp_path / "bin" / "go").rename(tmp_path / "go")
        monkeypatch.setenv("STAND_IN", str(tmp_path / "go"))
        for program in ("nice", "setpriv", "rm", "sh"):
            (tmp_path / "bin" / program).symlink_to(str(shutil.which(program)))
        monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    said: list[str] = []

    ensure(LAB, said.append)
    LAB.path.rename(tmp_path / "away")
    ensure(LAB, said.append)

    assert 2 == len(builds())
    assert 1 == len([line for line in said if "installing Go" in line])


def test_a_pinned_version_is_read_from_where_it_is_pinned(sources):
    assert "v1.2.3" == required("lab.test/thing", of="lab")
    with pytest.raises(LookupError, match=r"does not require lab\.test/other"):
        required("lab.test/other", of="lab")
