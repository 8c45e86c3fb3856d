"""Cgroups that are made, and that go away again."""

import os
import subprocess
import time

import pytest

from bascule.managers.local import cgroups
from tests.needs import needs_cgroup

pytestmark = needs_cgroup


@pytest.fixture
def groups(tmp_path):
    """Return the groups of a home of its own."""
    groups = cgroups.Cgroups(cgroups.find(), tmp_path)
    yield groups
    assert cgroups.remove(tuple(groups.strays()))


def age(group, seconds):
    then = time.time() - seconds
    os.utime(group, (then, then))


def test_a_group_is_made_and_removed(groups):
    made = groups.make("job-1", memory=1 << 26)

    assert groups.strays() == set(made)
    assert cgroups.remove(made)
    assert set() == groups.strays()


def test_whoever_enters_is_seen_and_killed(groups):
    made = groups.make("job-1", memory=1 << 26)
    enter = 'for procs; do echo 0 >"$procs"; done; sleep 60 & wait'
    child = subprocess.Popen(["sh", "-c", enter, "sh", *(f"{group}/cgroup.procs" for group in made)])
    while not cgroups.is_populated(made):
        time.sleep(0.01)

    cgroups.kill(made)

    assert -9 == child.wait(10)
    while cgroups.is_populated(made):
        time.sleep(0.01)


def test_empty_groups_of_homes_that_are_gone_are_swept(groups, tmp_path):
    """
    Not the young, which may be about to be entered.
    """
    old, young = groups.make("old", memory=0), groups.make("young", memory=0)
    for group in old:
        age(group, 3600)

    cgroups.Cgroups(cgroups.find(), tmp_path / "elsewhere").sweep()

    assert groups.strays() == set(young)


def test_what_this_home_no_longer_needs_is_removed(groups):
    needed, left = groups.make("needed", memory=0), groups.make("left", memory=0)

    groups.sweep(keep=needed)

    assert groups.strays() == set(needed) != set(left)


def test_a_group_with_somebody_in_it_is_not_swept(groups):
    made = groups.make("job-1", memory=0)
    enter = "".join(f'echo 0 >"{group}/cgroup.procs"; ' for group in made)
    child = subprocess.Popen(["sh", "-c", f"{enter}exec sleep 60"])
    while not all(cgroups.is_populated((group,)) for group in made):
        time.sleep(0.01)
    for group in made:
        age(group, 10**6)

    groups.sweep()
    left = groups.strays()
    child.kill()
    child.wait()

    assert left == set(made)


def test_without_parents_there_are_none(tmp_path):
    groups = cgroups.Cgroups(cgroups.Parents(None, None), tmp_path)

    groups.sweep()

    assert () == groups.make("job-1", memory=1 << 26)
    assert set() == groups.strays()
