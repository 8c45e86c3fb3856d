"""What a job becomes on its way to LSF: its fields, options and `#BSUB` lines as one submit."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bascule.errors import Mistake
from bascule.managers.lsf.description import wanted_by
from bascule.managers.lsf.directive_table import DIRECTIVES
from bascule.managers.lsf.directives import directives_in
from bascule.managers.lsf.note import Note, note_in
from bascule.managers.lsf.options import BSUB, JobOptions, TargetOptions
from bascule.model import (
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
    TargetRef,
)
from tests.fakes.lsf.commands import bsub_options

PAGE = Path(__file__).resolve().parents[3] / "docs" / "managers" / "lsf.md"
KEY = "job-tests2-abcdefgh-1"


def job(script="#!/bin/sh\nexit 0\n", **spec) -> Job:
    return Job("default", "job", "uid", JobSpec(TargetRef("lsf"), **{"run": Run(script=script), **spec}))


def wanted(*args, defaults=None, key=KEY, **spec):
    return wanted_by(job(*args, **spec), TargetOptions.model_validate(defaults or {}), key=key)


def bsub(*args, held=False, **spec) -> dict[str, list[str]]:
    """Return the options that bsub is given, as bsub itself would read them."""
    return bsub_options(wanted(*args, **spec).form_parameters(KEY, held=held)["EXTRA_PARAMS"])


def fields(*args, **spec) -> dict[str, str]:
    return wanted(*args, **spec).form_parameters(KEY, held=False)


class TestForm:
    def test_the_key_is_the_name(self):
        assert KEY == fields()["JOB_NAME"]

    def test_our_hold_is_bsubs(self):
        assert "H" in bsub(held=True)
        assert "H" not in bsub()

    def test_a_walltime_is_rounded_up_to_a_minute(self):
        found = fields(resources=Resources(walltime=Duration(minutes=90, seconds=1)))

        assert ("1", "31") == (found["RUNLIMITHOUR"], found["RUNLIMITMINUTE"])

    def test_without_a_walltime_the_queue_has_its_own(self):
        assert "RUNLIMITHOUR" not in fields()

    def test_what_runs_needs_no_quoting(self):
        assert re.fullmatch(r"[\w./ ]+", fields()["COMMANDTORUN"])

    def test_a_form_of_the_sites_own_is_filled_in(self):
        found = wanted(options={"form": "FLUENT:WEB", "formParameters": {"VERSION": "19"}})

        assert "FLUENT:WEB" == found.form
        assert "19" == found.parameters["VERSION"]

    def test_an_array_is_in_the_name(self):
        found = fields(array=Array("1-10,12", 4))

        assert f"{KEY}[1-10,12]%4" == found["JOB_NAME"]


class TestResources:
    @pytest.mark.parametrize(
        ("resources", "slots", "layout"),
        [
            (Resources(tasks=8), "8", []),
            (Resources(nodes=1), "1", ["span[hosts=1]"]),
            (Resources(nodes=2, tasks=8), "8", ["span[ptile=4]"]),
            (Resources(nodes=3, tasks=8), "8", ["span[ptile=3]"]),
            (Resources(nodes=2, tasks=4, cpus_per_task=4), "16", ["span[ptile=8]"]),
            (Resources(cpus_per_task=4), "4", ["span[hosts=1]"]),
            (Resources(tasks=3, cpus_per_task=4), "12", ["span[block=4]"]),
        ],
    )
    def test_tasks_are_slots_and_lie_where_they_can(self, resources, slots, layout):
        found = bsub(resources=resources)

        assert ([slots], layout) == (found["n"], found.get("R", []))

    def test_nothing_asked_for_is_nothing_sent(self):
        assert {"Jd"} == set(bsub())

    def test_memory_goes_with_its_unit(self):
        """
        A number alone means what the site has set: kilobytes here, megabytes there.
        """
        found = bsub(resources=Resources(memory_per_node=Quantity("1.5Gi")))

        assert (["1536MB"], ["rusage[mem=1536MB]"]) == (found["M"], found["R"])

    def test_gpus_are_of_a_model(self):
        assert ["num=2:gmodel=A100"] == bsub(resources=Resources(gpus_per_node=Gpus(2, "A100")))["gpu"]

    def test_the_jobs_tasks_win_over_a_line(self):
        assert ["4"] == bsub("#!/bin/sh\n#BSUB -n 16\n", resources=Resources(tasks=4))["n"]


class TestLayers:
    def test_job_over_line_over_target(self):
        script = "#!/bin/sh\n#BSUB -q short\n#BSUB -P line\n"

        found = wanted(
            script, defaults={"queue": "normal", "project": "target", "userGroup": "g"}, options={"project": "job"}
        )

        parameters = found.form_parameters(KEY, held=False)
        options = bsub_options(parameters["EXTRA_PARAMS"])
        assert ("short", ["job"], ["g"]) == (parameters["QUEUE"], options["P"], options["G"])

    def test_the_commands_own_words_are_understood(self):
        """
        `bascule run -p short -A proj1` says the same to every manager.
        """
        found = wanted(options={"queue": "normal", "partition": "short", "account": "proj1"})

        assert "short" == found.parameters["QUEUE"]
        assert ["proj1"] == bsub_options(found.form_parameters(KEY, held=False)["EXTRA_PARAMS"])["P"]

    def test_a_false_takes_a_lines_option_back(self):
        assert "x" not in bsub("#!/bin/sh\n#BSUB -x\n", options={"exclusive": False})

    def test_not_rerunnable_takes_the_place_of_rerunnable(self):
        found = bsub("#!/bin/sh\n#BSUB -r\n", options={"rerunnable": False})

        assert ("rn" in found, "r" in found) == (True, False)

    def test_what_extra_holds_goes_to_bsub(self):
        assert ["protocol=mpi"] == bsub(options={"extra": '-network "protocol=mpi"'})["network"]

    def test_what_extra_must_not_hold_is_an_error(self):
        with pytest.raises(Mistake, match=r"extra.*hold: true"):
            wanted(options={"extra": "-H"})

    @pytest.mark.parametrize("value", ["it's", "$(reboot)", "`reboot`", "a\\b"])
    def test_what_the_forms_shell_line_would_not_carry_is_refused(self, value):
        with pytest.raises(Mistake, match="would not carry"):
            wanted(options={"project": value})


class TestDirectives:
    @pytest.mark.parametrize(
        ("line", "settings"),
        [
            ("#BSUB -q short -n 4", {"q": "short", "n": "4"}),
            ('#BSUB -R "select[mem>100] rusage[mem=10]"', {"R": ["select[mem>100] rusage[mem=10]"]}),
            ("#BSUB -W 90", {"walltime": "0h90m"}),
            ("#BSUB -W 1:30", {"walltime": "1h30m"}),
            ("#BSUB -J train", {}),
            ('#BSUB -J "train[1-10]%4"', {"array": "1-10", "parallelism": 4}),
            ("#BSUB -oo out.%J -e err.%J", {"output": "out.%J", "error": "err.%J"}),
            ("#BSUB -cwd /scratch/a", {"folder": "/scratch/a"}),
            ("#BSUB -x # alone", {"x": True}),
            ("#BSUB -env all", {}),
        ],
    )
    def test_a_line_is_read_as_bsub_does(self, line, settings):
        found = directives_in(f"#!/bin/sh\n{line}\nhostname\n")

        assert ((), settings) == (found.problems, found.settings)

    @pytest.mark.parametrize(
        ("line", "word"),
        [
            ("#BSUB -H", "hold: true"),
            ("#BSUB -Is", "nobody"),
            ("#BSUB -K", "bascule run"),
            ("#BSUB -W", "needs a value"),
            ("#BSUB -W 1:xx", "no run limit"),
            ("#BSUB -q", "needs a value"),
            ("#BSUB --queue short", "no option of bsub"),
            ("#BSUB short", "no option"),
            ("#BSUB -env PATH=/bin", "env:"),
            ("#BSUB -cwd here", "no absolute path"),
            ("#BSUB -J x[0-", "no array"),
            ('#BSUB -P "open', "taken apart"),
        ],
    )
    def test_a_line_that_cannot_be_had_is_named(self, line, word):
        with pytest.raises(Mistake) as caught:
            wanted(f"#!/bin/sh\n{line}\nhostname\n")

        assert "line 2" in caught.value.message
        assert word in caught.value.message

    def test_requirements_add_up(self):
        assert ["a", "b"] == directives_in("#!/bin/sh\n#BSUB -R a\n#BSUB -R b\n").settings["R"]

    def test_a_line_behind_the_first_command_is_told(self):
        """
        Whether it counts is LSF's to say; dropped in silence it would be ours.
        """
        assert "first command" in directives_in("#!/bin/sh\nhostname\n#BSUB -q short\n").problems[0]

    def test_a_repeated_line_counts_as_the_last(self):
        assert {"q": "b"} == directives_in("#!/bin/sh\n#BSUB -q a\n#BSUB -q b\n").settings


class TestRefusals:
    @pytest.mark.parametrize(
        ("spec", "word"),
        [
            ({"run": Run(program=Program("x"))}, "nothing that LSF can run"),
            ({"run": Run(script="echo hi\n")}, "does not begin with `#!`"),
            ({"array": Array("0-9")}, "counts from 1"),
            ({"files": Files(outputs=(Output("*.dat"),))}, "files.outputs"),
            ({"files": Files(inputs=(Input("a", url="https://x.example/a"),))}, "no `content`"),
            ({"files": Files(inputs=(Input("a/b", content="x"),))}, "plain name"),
            ({"files": Files(inputs=(Input("bascule.sh", content="x"),))}, "plain name"),
            ({"output": "a,b"}, "more than a name"),
            ({"output": "a|gzip"}, "more than a name"),
            ({"working_directory": "/a*"}, "more than a name"),
            ({"options": {"no_such": 1}}, "no_such"),
            ({"options": {"form": "a b"}}, "form"),
        ],
    )
    def test_it_is_told_before_anything_is_sent(self, spec, word):
        with pytest.raises(Mistake) as caught:
            wanted(**spec)

        assert word in f"{caught.value.message} {caught.value.problems}"

    def test_all_faults_are_told_at_once(self):
        with pytest.raises(Mistake) as caught:
            wanted("#!/bin/sh\n#BSUB -K\n#BSUB -H\n", array=Array("0-9"))

        assert 3 == len(caught.value.problems)


class TestNote:
    @pytest.mark.parametrize(
        "note",
        [
            Note("job.out", "job.err"),
            Note("/a b/ü%J.out", "/a=b,c/x.err", "1-10:3,12", 3600),
            Note(),
        ],
    )
    def test_it_is_found_again_in_the_description(self, note):
        assert note == note_in(note.described("and my own words"))

    @pytest.mark.parametrize(
        "text", ["", "somebody's own", "bascule", "bascule,l=x", "bascule,a=9-,o=x", "basculesque,o=a"]
    )
    def test_what_is_not_ours_is_nothing(self, text):
        assert Note() == note_in(text)

    def test_a_later_attempt_writes_beside_the_earlier(self):
        assert "job.2.out" == wanted(key=KEY[:-1] + "2").note.output

    def test_a_working_directory_is_where_the_output_lies(self):
        assert "/scratch/a/job.out" == wanted(working_directory="/scratch/a").note.output


class TestPage:
    def test_every_option_is_on_the_page(self):
        told = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", PAGE.read_text(), flags=re.MULTILINE))

        for name, field in TargetOptions.model_fields.items():
            option = BSUB.get(name, "")
            assert f"`-{option}`" in told[field.alias] if option else field.alias in told, name

    def test_every_line_that_is_not_bsubs_alone_is_on_the_page(self):
        page = PAGE.read_text().partition("## `#BSUB` lines")[2].partition("\n## ")[0]
        own = [name for name, directive in DIRECTIVES.items() if directive.why or directive.read or directive.ignored]

        assert own
        assert [] == [name for name in own if f"`-{name}`" not in page]

    def test_a_job_may_set_all_but_two(self):
        assert {"settle_seconds", "clean_period"} == TargetOptions.model_fields.keys() - JobOptions.model_fields.keys()
