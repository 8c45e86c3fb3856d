"""What a job is asked for as, and what is refused before anything is asked."""

from __future__ import annotations

import io
import subprocess
import zipfile

import pytest

from bascule.errors import Mistake
from bascule.managers.ray.description import body_of, check_job, entrypoint_of, selects
from bascule.managers.ray.options import TargetOptions, options_of_target
from bascule.managers.ray.package import LARGEST, SCRIPT, SECRETS, package_of
from bascule.managers.ray.wire import KEY
from bascule.model import (
    Adopt,
    Array,
    Duration,
    Files,
    Gpus,
    Input,
    Job,
    JobSpec,
    Output,
    Program,
    Quantity,
    Resources,
    Run,
    SecretKey,
    TargetRef,
    TargetSpec,
    Warn,
)

NOTHING = TargetOptions()
PLAIN = Run(command=("true",))
KEY_OF_IT = "train-tests2-abcdefgh-3"


def job(**spec):
    return Job("default", "train", "u", JobSpec(TargetRef("ray"), **{"run": PLAIN, **spec}))


def body(one, defaults=NOTHING, **more):
    check_job(one, defaults)
    return body_of(one, defaults, key=KEY_OF_IT, package=package_of(one, {}), has_secrets=False, **more)


class TestEntrypoint:
    def test_arguments_reach_the_command_as_they_are(self, tmp_path):
        one = job(run=Run(command=("printf", "%s|", "a b", "it's", "$HOME", "*")), arguments=("new\nline",))

        done = subprocess.run(entrypoint_of(one, has_secrets=False), shell=True, capture_output=True, text=True)

        assert "a b|it's|$HOME|*|new\nline|" == done.stdout

    @pytest.mark.parametrize("folder", [None, "/"])
    def test_a_script_is_found_wherever_it_is_to_work(self, folder, tmp_path):
        one = job(run=Run(script='#!/bin/sh\necho "$PWD $1 $S"\n'), arguments=("a b",), working_directory=folder)
        package = package_of(one, {"S": "it's"})
        for entry in zipfile.ZipFile(io.BytesIO(package.data)).infolist():
            path = tmp_path / entry.filename
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(zipfile.ZipFile(io.BytesIO(package.data)).read(entry))
            path.chmod(entry.external_attr >> 16)

        line = entrypoint_of(one, has_secrets=True)
        done = subprocess.run(line, shell=True, capture_output=True, text=True, cwd=tmp_path)

        assert (f"{folder or tmp_path} a b it's\n", "") == (done.stdout, done.stderr)

    @pytest.mark.parametrize(("command", "code"), [("kill -9 $$", -9), ("exit 137", 137)])
    def test_a_signal_stays_a_signal(self, command, code):
        """
        The line ends in `exec`: a shell in between would make an exit code of it.
        """
        line = entrypoint_of(job(run=Run(command=("sh", "-c", command))), has_secrets=False)

        assert code == subprocess.run(line, shell=True).returncode


class TestBody:
    def test_the_key_is_the_id_and_stands_in_the_metadata(self):
        asked = body(job(options={"metadata": {"team": "a"}}))

        assert KEY_OF_IT == asked["submission_id"]
        assert {"job_name": "train", "team": "a", KEY: KEY_OF_IT} == asked["metadata"]

    def test_a_job_knows_who_it_is(self):
        variables = body(job(env={"A": "b"}))["runtime_env"]["env_vars"]

        assert {"A": "b", "BASCULE_KEY": KEY_OF_IT, "BASCULE_JOB": "train", "BASCULE_ATTEMPT": "3"} == variables

    def test_what_is_not_asked_for_is_not_in_it(self):
        assert {"submission_id", "entrypoint", "runtime_env", "metadata"} == body(job()).keys()

    def test_resources_are_those_of_the_driver(self):
        wanted = Resources(cpus_per_task=2, memory_per_node=Quantity("1Gi"), gpus_per_node=Gpus(1, "A100"))

        asked = body(job(resources=wanted, options={"resources": {"tpu": 4}}))

        assert (2, 1, 1 << 30) == tuple(asked[f"entrypoint_{name}"] for name in ("num_cpus", "num_gpus", "memory"))
        assert {"tpu": 4, "accelerator_type:A100": 0.001} == asked["entrypoint_resources"]

    def test_a_jobs_options_come_before_the_targets(self):
        defaults = options_of_target(TargetSpec("ray", options={"cpus": 0.5, "gpus": 1}), "rays")

        asked = body(job(options={"cpus": 2}), defaults)

        assert (2, 1) == (asked["entrypoint_num_cpus"], asked["entrypoint_num_gpus"])

    @pytest.mark.parametrize(
        ("version", "knows"),
        [("2.9.3", False), ("2.48.0", False), ("2.49.1", True), ("3.0.0", True), ("nightly", True)],
    )
    def test_a_release_knows_labels_or_does_not(self, version, knows):
        assert knows is selects(version)


class TestPackage:
    def test_equal_files_are_one_package(self):
        files = Files(inputs=(Input("b/x.txt", content="1"), Input("a.txt", content="2")))
        other = Files(inputs=tuple(reversed(files.inputs)))

        assert package_of(job(files=files), {}) == package_of(job(files=other), {})

    def test_other_files_are_another(self):
        one, two = (package_of(job(files=Files(inputs=(Input("a", content=text),))), {}) for text in "12")

        assert one.name != two.name

    def test_a_name_tells_nothing_of_a_secret(self):
        """
        Whoever sees the name could else try all passwords until one gives it.
        """
        one, two = (package_of(job(), {"S": "secret"}) for _ in range(2))

        assert one.data == two.data
        assert one.name != two.name

    def test_who_may_read_what_is_in_it(self):
        package = package_of(
            job(run=Run(script="#!/bin/sh\n"), files=Files(inputs=(Input("a", content=""),))), {"S": "x"}
        )

        modes = {
            each.filename: each.external_attr >> 16 & 0o777
            for each in zipfile.ZipFile(io.BytesIO(package.data)).infolist()
        }

        assert {"a": 0o644, SCRIPT: 0o755, SECRETS: 0o600} == modes

    def test_nothing_to_bring_is_no_package(self):
        assert package_of(job(), {}) is None

    def test_too_much_is_a_mistake(self, monkeypatch):
        monkeypatch.setattr("bascule.managers.ray.package.LARGEST", 1000)
        noise = bytes(range(33, 120)).decode() * 40

        with pytest.raises(Mistake, match=r"brings [0-9,]+ bytes along, and Ray takes 1,000"):
            package_of(
                job(files=Files(inputs=tuple(Input(f"f{n}-{noise[n : n + 60]}", content="") for n in range(20)))), {}
            )

        assert 100 << 20 == LARGEST


class TestRefused:
    @pytest.mark.parametrize(
        ("spec", "field"),
        [
            ({"run": Run(program=Program("p"))}, "run"),
            ({"array": Array("0-3")}, "array"),
            ({"hold": True}, "hold"),
            ({"signal": Warn("USR1", Duration(seconds=5))}, "signal"),
            ({"output": "/x"}, "output"),
            ({"error": "/x"}, "error"),
            ({"resources": Resources(nodes=2)}, "resources.nodes"),
            ({"resources": Resources(tasks=2)}, "resources.tasks"),
            ({"files": Files(outputs=(Output("*.txt"),))}, "files.outputs"),
            ({"files": Files(inputs=(Input("a", url="https://example.org/a"),))}, "files.inputs[0]"),
            ({"files": Files(inputs=(Input(".bascule/script", content=""),))}, "files.inputs[0].path"),
            ({"options": {"cpus": 1}, "resources": Resources(cpus_per_task=1)}, "options.cpus"),
            (
                {"options": {"runtimeEnv": {"working_dir": "s3://a/b.zip"}}, "run": Run(script="x")},
                "options.runtimeEnv.working_dir",
            ),
            (
                {"options": {"runtimeEnv": {"working_dir": "s3://a/b.zip"}}, "secret_env": {"A": SecretKey("s", "k")}},
                "options.runtimeEnv.working_dir",
            ),
        ],
    )
    def test_what_ray_cannot_do_is_named(self, spec, field):
        with pytest.raises(Mistake) as caught:
            check_job(job(**spec), NOTHING)

        assert [field] == [problem.split("`")[1] for problem in caught.value.problems]

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"runtimeEnv": {"pips": []}}, "`pips`, which Ray does not know"),
            ({"runtimeEnv": {"env_vars": {}}}, "write them as the job's `env`"),
            ({"cpus": 0}, "cpus"),
            ({"frobnicate": 1}, "frobnicate"),
        ],
    )
    def test_an_option_that_would_be_dropped_in_silence_is_refused(self, options, words):
        with pytest.raises(Mistake) as caught:
            check_job(job(options=options), NOTHING)

        assert words in f"{caught.value} {caught.value.problems}"

    def test_a_command_that_no_kernel_takes_is_refused(self):
        with pytest.raises(Mistake, match="too long"):
            check_job(job(run=Run(command=("echo", "x" * 140_000))), NOTHING)

    @pytest.mark.parametrize("id_", ["a/b", "a b", "..", "", "x" * 300])
    def test_an_id_that_would_poison_a_head_is_not_adopted(self, id_):
        with pytest.raises(Mistake):
            check_job(job(run=None, adopt=Adopt(id_)), NOTHING)

    def test_a_job_of_anybodys_may_be_adopted(self):
        check_job(job(run=None, adopt=Adopt("raysubmit_icvj837JfE9A6CpC")), NOTHING)
