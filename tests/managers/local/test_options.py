"""What may be set, and how a fault is told."""

import os

import pytest

from bascule.errors import Mistake, Refused
from bascule.managers.local import connect
from bascule.managers.local.options import JobOptions, TargetOptions, read_options
from bascule.model import (
    Array,
    Duration,
    Files,
    Gpus,
    Input,
    Phase,
    Program,
    Quantity,
    Resources,
    Run,
    Target,
    TargetSpec,
    Warn,
)


def test_unset_is_all_there_is():
    capacity = read_options({}, TargetOptions).capacity

    assert len(os.sched_getaffinity(0)) == capacity.cpus
    assert capacity.memory > 1 << 26


def test_amounts_are_written_as_people_do():
    capacity = read_options({"cpus": 8, "memory": "16Gi", "gpus": 0}, TargetOptions).capacity

    assert (8, 16 << 30, 0) == (capacity.cpus, capacity.memory, capacity.gpus)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"cpu": 4}, "did you mean `cpus`?"),
        ({"partition": "main"}, "there are: grace, cpus, memory, gpus, cgroups"),
        ({"cpus": 0}, "options.cpus"),
        ({"cpus": "four"}, "options.cpus"),
        ({"memory": "lots"}, "no quantity"),
        ({"grace": "soon"}, "no duration"),
        ({"grace": 10}, "write it as `10s`"),
        ({"grace": "2h"}, "more than one hour"),
        ({"gpus": -1}, "options.gpus"),
    ],
)
def test_a_fault_is_named_with_its_path_and_what_to_do(options, words):
    with pytest.raises(Mistake) as caught:
        read_options(options, TargetOptions)

    assert words in caught.value.problems[0]


def test_all_faults_are_told_at_once():
    with pytest.raises(Mistake) as caught:
        read_options({"cpu": 4, "grace": "soon"}, TargetOptions)

    assert 2 == len(caught.value.problems)


def test_a_job_cannot_make_the_machine_bigger():
    with pytest.raises(Mistake, match="for the target to say"):
        read_options({"cpus": 99}, JobOptions)


def test_a_target_with_wrong_options_is_a_mistake_at_once(home):
    target = Target("default", "local", "u", TargetSpec("local", options={"cpuz": 2}))

    with pytest.raises(Mistake, match="cpus"):
        connect(target, "default", type("Place", (), {"home": home.folder}))


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"array": Array("0-10000")}, "at most 10,000 tasks"),
        ({"run": Run(program=Program("sampler"))}, "takes `script`, `scriptPath` or `command`"),
        ({"run": Run(command=())}, "names no program"),
        ({"run": Run(script_path="job.sh")}, "must be absolute"),
        ({"working_directory": "work"}, "must be absolute"),
        ({"output": "%N.out"}, "`%N` means nothing here"),
        ({"files": Files(inputs=(Input("a", content="b"),))}, "stages no files"),
        ({"resources": Resources(nodes=2)}, "one machine"),
        ({"resources": Resources(gpus_per_node=Gpus(1, "a100"))}, "cannot choose a type"),
        ({"signal": Warn("NOPE", Duration(seconds=1))}, "no signal `NOPE`"),
    ],
)
async def test_what_local_cannot_do_is_a_mistake_before_anything_happens(home, spec, words):
    with pytest.raises(Mistake, match=words):
        await home.submit("true", **spec)

    assert [] == list(home.spool.kept())


@pytest.mark.parametrize(
    ("asks", "words"),
    [
        (Resources(tasks=3, cpus_per_task=2), r"6 cpus \(there are 4\)"),
        (Resources(memory_per_node=Quantity("5Gi")), r"5Gi of memory \(there are 4Gi\)"),
        (Resources(gpus_per_node=Gpus(3)), r"3 gpus \(there are 2\)"),
    ],
)
async def test_more_than_there_is_is_refused_with_numbers(home, asks, words):
    with pytest.raises(Refused, match=words):
        await home.submit("true", resources=asks)

    assert [] == list(home.spool.kept())


async def test_the_target_says_the_default_and_the_job_its_own(home):
    home.again(grace="1h")
    handle = await home.submit("trap '' TERM; echo x >ready; while :; do sleep 0.02; done", options={"grace": "100ms"})
    await home.wrote("ready")

    await home.manager.cancel(handle)

    assert Phase.CANCELLED is (await home.end_of(handle)).phase
