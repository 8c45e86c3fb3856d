"""
The production core, store and monitors in made-up worlds, each from one seed: what is promised holds in all.

More of them: ``make simulate SEEDS=100000``; see docs/reliability.md.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.simulation.story import WORLD, story_of

ROOT = Path(__file__).resolve().parent.parent.parent
QUICK = range(150)
SLOW_FROM = 1_000
SLOW_SECONDS = 170.0


def replay(seed: int, wrong: list[str]) -> str:
    return f"seed {seed}: {'; '.join(wrong)}\n  replay: make simulate SEED={seed}"


@pytest.mark.long
@pytest.mark.timeout(120)
def test_what_is_promised_holds_in_every_world(run):
    failed = [replay(seed, wrong) for seed in QUICK if (wrong := run(seed)[1])]

    assert not failed, "\n".join(failed)


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.timeout(600)
def test_what_is_promised_holds_in_three_minutes_of_worlds():
    done = simulate("--seeds", "1000000", "--from", str(SLOW_FROM), "--minutes", str(SLOW_SECONDS / 60))

    assert 0 == done.returncode, done.stdout
    assert " passed, 0 failed" in done.stdout


@pytest.mark.slow
def test_the_same_seed_gives_the_same_trace_in_every_process(run):
    """
    Nothing depends on where objects lie in memory, or on the hashes of texts.
    """
    seeds = range(3, 40, 4)
    here = [run(seed)[0].trace for seed in seeds]

    for salt in ("1", "4711"):
        assert here == traces_in_a_new_process(seeds, salt)


def test_different_seeds_give_different_traces(run):
    assert 10 == len({run(seed)[0].trace for seed in range(10)})


def test_a_simulation_is_a_thousand_times_faster_than_the_world(run):
    began = time.process_time()

    simulated = sum(run(seed)[0].seconds for seed in range(10))

    assert simulated > 1000 * (time.process_time() - began)


def test_everything_that_can_happen_happens():
    """
    Each kind of manager meets each fault, and people ask for everything.
    """
    stories = [story_of(seed) for seed in range(3000)]
    people = {"cancel", "delete", "suspend", "hold", "walltime", "deadline"}
    rare = {"backup", "restore"}
    seen = {(story.kind, deed.what) for story in stories for deed in story.deeds}
    jobs = [job for story in stories for _, job in story.jobs]

    for kind in ("slurm", "ray", "lsf"):
        cannot = {"slurm": set(), "ray": {"hold", "walltime"}, "lsf": {"walltime"}}[kind]
        assert {*WORLD, *people, *rare} - cannot == {what for of, what in seen if of == kind}
    assert any(job.spec.after for job in jobs)
    assert any(job.spec.on_delete == "Detach" for job in jobs)
    assert any(story.active_jobs for story in stories)


@pytest.mark.slow
def test_a_run_that_was_stopped_goes_on_where_it_was(tmp_path):
    state = tmp_path / "state.json"

    first = simulate("--seeds", "25", "--jobs", "1", "--state", str(state))
    second = simulate("--seeds", "30", "--jobs", "1", "--state", str(state))

    assert "25 passed, 0 failed" == first.stdout.strip()
    assert "30 passed, 0 failed" == second.stdout.strip()
    assert second.stderr.startswith("5 seeds")


def simulate(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.simulation", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True)


def traces_in_a_new_process(seeds: range, salt: str) -> list[str]:
    program = f"""
from tests.simulation.runs import ready
with ready() as run:
    for seed in {seeds!r}:
        print(run(seed)[0].trace)
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(
        command, cwd=ROOT, env=environment(PYTHONHASHSEED=salt), capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def environment(**extra: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", **extra}
