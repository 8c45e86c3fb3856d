"""Roots are built once, whole or not at all. A stand-in for Debian's builder keeps this quick."""

import threading
import time

import pytest

from tests.needs import needs_debian, needs_root
from tests.testbed import roots
from tests.testbed.machine import TestbedUnavailable
from tests.testbed.roots import RootSpec, ensure

pytestmark = [pytest.mark.root, needs_root, needs_debian]

BUILDER = """#!/bin/sh
for last; do before=$target; target=$last; done   # the mirror comes last, the root before it
echo "built $before" >>"$BUILDS"
mkdir -p "$before/etc" && touch "$before/etc/passwd" "$before/etc/group" "$before/etc/shadow"
eval "$THEN"
"""

SPEC = RootSpec("lab", "trixie", ("hello",), users=("ada",))


@pytest.fixture
def builds(tmp_path, monkeypatch):
    """
    What the stand-in was asked to build, line by line.
    """
    builder = tmp_path / "bin" / "mmdebstrap"
    builder.parent.mkdir()
    builder.write_text(BUILDER)
    builder.chmod(0o755)
    log = tmp_path / "builds"
    log.touch()
    monkeypatch.setattr(roots, "CACHE", tmp_path / "cache")
    monkeypatch.setenv("PATH", f"{builder.parent}:/usr/sbin:/usr/bin:/sbin:/bin")
    monkeypatch.setenv("BUILDS", str(log))
    monkeypatch.setenv("THEN", "true")
    return lambda: len(log.read_text().splitlines())


def test_a_root_is_built_once_and_announced(builds):
    said: list[str] = []

    first, second = ensure(SPEC, said.append), ensure(SPEC, said.append)

    assert first == second == SPEC.path
    assert 1 == builds()
    assert ["building", "built"] == [line.split()[1] for line in said]


def test_users_of_the_root_are_not_of_the_machine(builds):
    passwd = (ensure(SPEC) / "etc/passwd").read_text()

    assert "ada:x:20000:20000:ada:/home/ada:/bin/bash\n" == passwd


def test_another_recipe_is_another_root(builds):
    other = RootSpec("lab", "trixie", ("hello", "hello-traditional"), users=("ada",))

    assert ensure(SPEC) != ensure(other)


def test_a_failed_build_leaves_no_root_and_says_why(builds, monkeypatch):
    monkeypatch.setenv("THEN", "echo the mirror is away; exit 1")

    with pytest.raises(TestbedUnavailable, match="the mirror is away"):
        ensure(SPEC)

    assert [] == [path for path in SPEC.path.parent.iterdir() if path.is_dir()]


def test_what_a_killed_build_left_is_not_taken_for_a_root(builds):
    half = SPEC.path.with_name(f".{SPEC.path.name}.half")
    (half / "etc").mkdir(parents=True)
    (half / "etc/leftover").touch()

    root = ensure(SPEC)

    assert 1 == builds()
    assert not half.exists()
    assert not (root / "etc/leftover").exists()


def test_two_test_runs_build_it_once(builds, monkeypatch):
    monkeypatch.setenv("THEN", "sleep 1")
    said: list[str] = []
    runs = [threading.Thread(target=ensure, args=(SPEC, said.append)) for _ in range(2)]

    for run in runs:
        run.start()
        time.sleep(0.2)
    for run in runs:
        run.join()

    assert 1 == builds()
    assert [line for line in said if "waiting" in line]
