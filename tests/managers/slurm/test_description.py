"""What a job asks for, from its fields, options and `#SBATCH` lines, in each version's form."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bascule.errors import Mistake, Unavailable
from bascule.managers.slurm.description import submission, wanted_by
from bascule.managers.slurm.directive_table import LONG, SHORT
from bascule.managers.slurm.directives import directives_in
from bascule.managers.slurm.fields import FIELDS
from bascule.managers.slurm.folder import make, read_chunk, remove
from bascule.managers.slurm.marker import marker_of, never_began, report_from
from bascule.managers.slurm.note import comment_of, note_of
from bascule.managers.slurm.options import JobOptions, TargetOptions
from bascule.managers.slurm.records import Record
from bascule.managers.slurm.submitting import Submitter
from bascule.managers.slurm.versions import NEWEST_FIRST
from bascule.managers.slurm.wrapper import wrapped
from bascule.model import Adopt, Array, Duration, Job, JobSpec, Phase, Quantity, Resources, Run, TargetRef, Warn

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
NEW, OLD = NEWEST_FIRST[0], NEWEST_FIRST[-1]
GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "from-sbatch.md"
PAGE = Path(__file__).parents[3] / "docs" / "managers" / "slurm.md"


def asked(shape=NEW, *, script="#!/bin/sh\ntrue\n", defaults=None, held=True, marks="", **spec):
    spec = {"run": Run(script=script), "working_directory": "/scratch/a", **spec}
    job = Job("default", "train", "uid", JobSpec(TargetRef("hpc"), **spec))
    wanted = wanted_by(job, TargetOptions.model_validate(defaults or {}), key="key-1", root=None)
    return submission(wanted, shape, key="key-1", held=held, secrets={"S": "1"}, marks=marks, now=NOW)


def job_of(*lines, shape=NEW, **spec):
    return asked(shape, script="\n".join(["#!/bin/bash", *lines, "true", ""]), **spec)["job"]


class TestDirectives:
    @pytest.mark.parametrize(
        ("line", "settings"),
        [
            ("-N 2 -n8", {"nodes": "2", "tasks": 8}),
            ("--nodes=1-4", {"nodes": "1-4"}),
            ("--ntasks-per-node 4", {"tasks_per_node": 4}),
            ("-p gpu,main", {"partition": "gpu,main"}),
            ("-t 90", {"walltime": "90m0s"}),
            ("--time=1-12:30", {"walltime": "36h30m0s"}),
            ("--time=02:30:15", {"walltime": "2h30m15s"}),
            ("--time UNLIMITED", {"walltime": "UNLIMITED"}),
            ("--mem=4G", {"memory_per_node": 4096}),
            ("--mem-per-cpu 500", {"memory_per_cpu": 500}),
            ("--gres=gpu:a100:2", {"gres": "gpu:a100:2"}),
            ("--gpus-per-node=a100:2", {"gres": "gpu:a100:2"}),
            ("-G 4", {"gpus": "4"}),
            ("--exclusive", {"exclusive": True}),
            ("--exclusive=user", {"exclusive": "user"}),
            ("--mail-type=END,FAIL --mail-user a@b", {"mail_type": ["END", "FAIL"], "mail_user": "a@b"}),
            ("--signal=B:USR1@120", {"warning": ("USR1", 120, "BATCH_JOB")}),
            ("-w n[1-2,5],m1", {"node_list": ["n[1-2,5]", "m1"]}),
            ("--comment='two words' # and this is one", {"comment": "two words"}),
            ("--no-requeue", {"requeue": False}),
            ("--array=0-9%2", {"array": "0-9%2"}),
            ("-o out.%j -e err.%j -D /scratch", {"output": "out.%j", "error": "err.%j", "folder": "/scratch"}),
            ("--switches=1@2:00", {"switches": 1, "switches_wait": "2m0s"}),
            ("--nice", {"nice": 100}),
            ("--accoun=x", {"account": "x"}),
            ("--export=NONE", {}),
            ("-J name --parsable -v -W", {}),
        ],
    )
    def test_a_line_is_read_as_sbatch_would(self, line, settings):
        found = directives_in(f"#!/bin/bash\n#SBATCH {line}\ntrue\n")

        assert settings == found.settings
        assert () == found.problems

    @pytest.mark.parametrize(
        "line",
        [
            "--no-such-option=1", "-Z", "--nodes=many", "--time=soon", "--mem=lots", "stray", "--nodes", "--contiguous=yes",
            "--gres-flags=enforce-binding", "--export=A=1", "--begin=16:00", "--hold", "--wrap=ls", "--comment='open",
            "--signal=R:USR1", "--ntasks=0",
        ],
    )  # fmt: skip
    def test_a_line_that_cannot_be_had_is_named(self, line):
        found = directives_in(f"#!/bin/bash\n\n#SBATCH {line}\ntrue\n")

        assert 1 == len(found.problems)
        assert found.problems[0].startswith(f"line 3: `#SBATCH {line}")

    def test_a_line_without_a_space_behind_sbatch_counts_as_it_does_for_sbatch(self):
        found = directives_in("#!/bin/bash\n#SBATCH--nodes=2\n#SBATCH-n8\n#SBATCHED\ntrue\n")

        assert {"nodes": "2", "tasks": 8} == found.settings
        assert ("line 4: `#SBATCHED`: `ED` is no option",) == tuple(problem[:38] for problem in found.problems)

    def test_lines_after_the_first_command_are_comments(self):
        assert {} == directives_in("#!/bin/bash\ntrue\n#SBATCH -N 2\n").settings

    def test_all_faults_of_one_line_are_told(self):
        found = directives_in("#!/bin/sh\n#SBATCH --frob 7 -Z --time=soon --hint=compute -N 2 stray word --mem\n")

        assert {"nodes": "2"} == found.settings
        said = [
            "`--frob` is no",
            "`-Z` is no",
            "`soon` is no time",
            "`--hint`: the REST API has no field",
            "`stray` is no",
            "`--mem` needs",
        ]
        assert [True] * 6 == [words in problem for words, problem in zip(said, found.problems, strict=True)]

    def test_of_an_option_given_twice_the_later_counts_as_for_sbatch_and_that_is_said(self):
        found = directives_in("#!/bin/sh\n#SBATCH --gres=gpu:1\n#SBATCH --gres=gpu:2\n#SBATCH -t 5\n#SBATCH --time=5\n")

        assert ({"gres": "gpu:2", "walltime": "5m0s"}, ()) == (found.settings, found.problems)
        assert ("line 2: `#SBATCH --gres=gpu:1`: line 3 has `--gres` again, and counts",) == found.overridden

    @pytest.mark.parametrize(
        ("lines", "problem"),
        [
            (["--mem=1G", "--mem-per-cpu=1G"], "line 3: `#SBATCH --mem-per-cpu=1G`: `--mem-per-cpu` and `--mem` (line 2)"),
            (["--oversubscribe", "--exclusive"], "line 3: `#SBATCH --exclusive`: `--exclusive` and `--oversubscribe` (line 2)"),
            (["--gpus-per-node=2", "--gres=gpu:1"], "line 3: `#SBATCH --gres=gpu:1`: `--gres` and `--gpus-per-node` (line 2)"),
            (["--gres=shard:1,gpu:1", "--gpus-per-node=2"], "line 3: `#SBATCH --gpus-per-node=2`: `--gpus-per-node`"),
        ],
    )  # fmt: skip
    def test_lines_that_exclude_each_other_are_told(self, lines, problem):
        (told,) = directives_in("\n".join(["#!/bin/sh", *(f"#SBATCH {line}" for line in lines)])).problems

        assert told.startswith(problem)

    def test_gpus_per_node_come_beside_other_generic_resources(self):
        for lines in (["--gres=shard:1", "--gpus-per-node=a100:2"], ["--gpus-per-node=a100:2", "--gres=shard:1"]):
            found = directives_in("\n".join(["#!/bin/sh", *(f"#SBATCH {line}" for line in lines)]))

            assert ({"gres": "shard:1,gpu:a100:2"}, ()) == (found.settings, found.problems)

    def test_all_wrong_lines_of_a_job_are_told_at_once(self):
        with pytest.raises(Mistake) as caught:
            job_of("#SBATCH --hint=nomultithread", "#SBATCH --frob")

        assert 2 == len(caught.value.problems)

    def test_every_option_that_sets_something_sets_what_there_is(self):
        beside = {"folder", "output", "error", "warning", "environment", "login_shell", "walltime"}

        assert {directive.setting for directive in LONG.values() if directive.setting} <= FIELDS.keys() | beside
        assert set(SHORT.values()) <= LONG.keys()

    def test_every_option_of_sbatch_is_in_the_guide(self):
        text = GUIDE.read_text()

        assert not [name for name in LONG if f"`--{name}`" not in text]


class TestPrecedence:
    def test_the_jobs_own_fields_win_over_options_over_lines_over_the_targets_options(self):
        job = job_of(
            "#SBATCH --partition=from-line --account=from-line --qos=from-line --nodes=4",
            defaults={"partition": "default", "account": "default", "wckey": "default"},
            options={"account": "from-options", "partition": "from-options"},
            resources=Resources(nodes=2),
        )

        assert ("from-options", "from-options", "from-line", "default", "2") == (
            job["partition"], job["account"], job["qos"], job["wckey"], job["nodes"],
        )  # fmt: skip

    def test_of_settings_that_exclude_each_other_the_stronger_stays(self):
        job = job_of("#SBATCH --mem-per-cpu=1G", resources=Resources(memory_per_node=Quantity("2Gi")))

        assert "memory_per_cpu" not in job
        assert 2048 == job["memory_per_node"]["number"]


class TestForms:
    RESOURCES = Resources(
        nodes=2, tasks=8, cpus_per_task=4, memory_per_node=Quantity("1G"), walltime=Duration(seconds=90)
    )

    def test_new_numbers_are_structures_and_the_environment_a_list(self):
        job = job_of(resources=self.RESOURCES, env={"A": "x=y"})

        assert {"set": True, "infinite": False, "number": 2} == job["time_limit"]
        assert {"set": True, "infinite": False, "number": 954} == job["memory_per_node"]
        assert {"A=x=y", "S=1"} < set(job["environment"])
        assert any(entry.startswith("PATH=") for entry in job["environment"])

    def test_old_numbers_are_plain_and_the_environment_an_object(self):
        job = job_of(
            shape=OLD, resources=self.RESOURCES, env={"A": "x=y"}, options={"requeue": False, "exclusive": True}
        )

        assert (2, 954, "2") == (job["time_limit"], job["memory_per_node"], job["nodes"])
        assert "x=y" == job["environment"]["A"]
        assert (True, "exclusive") == (job["no_requeue"], job["exclusive"])
        assert "requeue" not in job

    def test_a_held_submit_says_hold_and_never_priority(self):
        assert job_of()["hold"] is True
        assert "hold" not in job_of(held=False)
        assert "priority" not in job_of()

    def test_arguments_go_as_argv_but_to_22_05_in_a_wrapper(self):
        new, old = (asked(shape, arguments=("a b",)) for shape in (NEW, OLD))

        assert ["key-1", "a b"] == new["job"]["argv"]
        assert "#!/bin/sh\ntrue\n" == new["script"]
        assert "argv" not in old["job"]
        assert "'a b'" in old["script"]

    def test_an_array_is_in_the_comment_so_that_it_is_found_again(self):
        job = job_of(array=Array("0-9", 2), options={"comment": "mine"})
        record = Record(1, "key-1", "alice", ("RUNNING",), comment=job["comment"])

        assert "0-9%2" == job["array"]
        assert "0-9" == note_of(record).array
        assert "key-1 [0-9]: mine" == comment_of("key-1", "0-9%2", "mine")

    @pytest.mark.parametrize(
        ("attempt", "more", "names"),
        [
            (1, {}, ("train.out", "train.err")),
            (2, {}, ("train.2.out", "train.2.err")),
            (2, {"array": Array("0-3")}, ("train_%a.2.out", "train_%a.2.err")),
            (2, {"output": "all.txt"}, ("all.txt", "train.2.err")),
        ],
    )
    def test_each_attempt_has_files_of_its_own_unless_they_are_named(self, attempt, more, names):
        job = Job("default", "train", "u", JobSpec(TargetRef("hpc"), run=Run(script="#!/bin/sh\n"), **more))

        wanted = wanted_by(job, TargetOptions(), key=f"train-abc234-eeeeeeee-{attempt}", root="/scratch")

        assert names == (Path(wanted.output).name, Path(wanted.error).name)

    def test_a_warning_goes_to_the_whole_job_where_slurm_can(self):
        job = job_of(signal=Warn("USR1", Duration(minutes=2)))

        assert ("USR1", 120, ["FULL_JOB"]) == (
            job["kill_warning_signal"], job["kill_warning_delay"]["number"], job["kill_warning_flags"],
        )  # fmt: skip
        assert "signal" not in job_of(shape=OLD, signal=Warn("USR1", Duration(minutes=2)))

    def test_what_22_05_has_no_field_for_is_a_mistake(self):
        with pytest.raises(Mistake, match="exclude_nodes"):
            job_of("#SBATCH --exclude=n1", shape=OLD)

    @pytest.mark.parametrize(
        ("spec", "words"),
        [
            ({"run": Run(script="echo hi\n")}, "#!"),
            ({"run": None}, "nothing"),
            ({"working_directory": None}, "workingDirectory"),
            ({"array": Array("x")}, "array"),
            ({"options": {"acount": "x"}}, "acount"),
            ({"options": {"beginTime": "2026-12-24T18:00:00"}}, "time zone"),
        ],
    )
    def test_what_cannot_be_run_is_told(self, spec, words):
        with pytest.raises(Mistake) as caught:
            asked(**spec)

        assert words in f"{caught.value} {caught.value.hint} {caught.value.problems}"

    @pytest.mark.parametrize("shape", NEWEST_FIRST, ids=lambda shape: shape.name)
    def test_every_option_becomes_a_field_or_a_mistake(self, shape):
        samples = {
            "beginTime": "2027-01-01T00:00:00Z", "deadline": "2027-01-01T00:00:00Z", "mailType": ["all"], "profile": ["task"],
            "nodeList": ["n1"], "excludeNodes": ["n1"], "timeMinimum": "5m", "switchesWait": "5m", "memoryPerCpu": "1Gi",
            "memoryPerGpu": "1Gi", "temporaryDisk": "1Gi", "openMode": "append", "input": "/x", "container": "/x",
        }  # fmt: skip
        for name, field in JobOptions.model_fields.items():
            alias = field.alias or name
            kind = str(field.annotation)
            value = samples.get(alias, True if "bool" in kind else 2 if "int" in kind else "x")
            known = FIELDS.get(name)
            if known is not None and (known.old if shape.old else known.new) is None:
                with pytest.raises(Mistake, match=name):
                    job_of(shape=shape, options={alias: value})
            else:
                assert isinstance(job_of(shape=shape, options={alias: value}), dict)

    def test_every_option_is_on_the_page(self):
        text = PAGE.read_text()

        assert not [f.alias for f in TargetOptions.model_fields.values() if f"`{f.alias}`" not in text]


class TestAdopting:
    def test_a_job_that_is_adopted_needs_nothing_to_run(self):
        spec = JobSpec(TargetRef("hpc"), adopt=Adopt("4711"))
        options = TargetOptions.model_validate({})

        Submitter(None, None, None, None, options, None).check(Job("default", "train", "uid", spec))


class TestWrapper:
    @pytest.mark.parametrize(
        "script",
        [
            "#!/bin/sh\nprintf '%s|' \"$@\"",
            "#!/bin/bash -e\nEND_OF_SCRIPT\n",
            "#!/bin/sh\r\ntrue\n",
            "#!/usr/bin/env -S sh -u\né\n",
        ],
    )
    def test_the_script_is_carried_byte_for_byte(self, tmp_path, script):
        text = wrapped(script, (), marks=str(tmp_path / "marks"))
        copy = text.replace("( exec ", 'cp "$script" "$marks/copy"; exit 0; ( exec ', 1)

        subprocess.run(["sh", "-c", copy], check=True, env={"SLURM_JOB_ID": "7", "PATH": "/usr/bin:/bin"})

        assert script.encode() == (tmp_path / "marks" / "copy").read_bytes()

    @pytest.mark.parametrize(
        ("body", "code", "signal"),
        [("exit 0", 0, None), ("exit 7", 7, None), ("exit 143", 143, None), ("kill -9 $$", None, 9)],
    )
    def test_the_marker_tells_an_exit_code_from_a_signal(self, tmp_path, body, code, signal):
        root = str(tmp_path)
        assert never_began(root, "key")
        text = wrapped(f"#!/bin/sh\n{body}\n", (), marks=f"{root}/.bascule/key", walltime=60)

        done = subprocess.run(["sh", "-c", text], check=False, env={"SLURM_JOB_ID": "7", "PATH": "/usr/bin:/bin"})
        report = report_from(marker_of(root, "key"))

        assert (code, signal) == (report.exit_code, report.signal)
        assert (Phase.SUCCEEDED if code == 0 else Phase.FAILED) is report.phase
        assert (code if code is not None else -9) == done.returncode
        assert not never_began(root, "key")
        remove(root, f"{root}/.bascule/key")
        assert never_began(root, "key")

    def test_a_second_user_of_the_same_shared_folder_can_mark_too(self, tmp_path):
        text = wrapped("#!/bin/sh\ntrue\n", (), marks=f"{tmp_path}/.bascule/key")

        subprocess.run(["sh", "-c", text], check=True, env={"SLURM_JOB_ID": "7", "PATH": "/usr/bin:/bin"})

        assert 0o1777 == (tmp_path / ".bascule").stat().st_mode & 0o7777
        assert 0o755 == (tmp_path / ".bascule" / "key").stat().st_mode & 0o7777


class TestFolder:
    def test_no_link_leads_out_of_the_root(self, tmp_path):
        root, outside = tmp_path / "root", tmp_path / "outside"
        root.mkdir()
        outside.mkdir()
        (outside / "secret").write_text("secret")
        (root / "file").symlink_to(outside / "secret")
        (root / "folder").symlink_to(outside)

        assert b"" == read_chunk(str(root), f"{root}/../outside/secret", 0, 100).data
        assert b"" == read_chunk(str(root), f"{root}/folder/secret", 0, 100).data
        with pytest.raises(Unavailable, match="cannot be read"):
            read_chunk(str(root), f"{root}/file", 0, 100)

    def test_a_job_s_folder_is_made_once(self, tmp_path):
        for _ in range(2):
            make(str(tmp_path), f"{tmp_path}/key-1", "no-such-user")

        assert 0o1777 == (tmp_path / "key-1").stat().st_mode & 0o7777
