"""A status that is not as it was written is noticed, and what is left of it believed."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from bascule.model import Handle, Intent, JobStatus, Phase
from bascule.platforms.kubernetes.strangers import strangers_in
from bascule.platforms.kubernetes.wire import Story, job_of, status_document
from tests.decide.stories import NOW

WHOLE = JobStatus(
    phase=Phase.RUNNING, id="7", key="k", attempt=2, intent=Intent(NOW, NOW, held=True), handle=Handle("7", "k")
)
LOST = JobStatus(attempt=2, is_doubtful=True)


def read(status, name="train"):
    metadata = {"name": name, "namespace": "lab", "uid": "u", "resourceVersion": "1", "generation": 1}
    spec = {"target": {"name": "hpc"}, "run": {"script": "#!/bin/sh\n"}}
    return job_of(json.dumps({"metadata": metadata, "spec": spec, "status": status}).encode())


def written(status=WHOLE):
    return json.loads(json.dumps(status_document(status, job="train", epoch=5, story=Story(3, "x", 1), agent=2)))


def test_what_was_written_is_read():
    found = read(written())

    assert (WHOLE, 5, 2) == (found.status, found.epoch, found.agent)


def test_what_is_only_shown_may_differ():
    """
    An API server with an older definition drops fields that it does not know.
    """
    shown = written(replace(WHOLE, message="running on n1"))
    del shown["message"]

    assert WHOLE == read(shown).status


@pytest.mark.parametrize(
    "change",
    [
        {"phase": "Succeeded"},
        {"exitCode": 0},
        {"id": "8"},
        {"record": None},
        {"record": {}},
        {"record": 5},
        {"record": {"handle": 5}},
    ],
)
def test_what_somebody_has_changed_is_not_believed(change):
    found = read({**written(), **change})

    assert LOST == found.status
    assert not found.problem


def test_what_is_not_this_jobs_is_not_believed():
    assert LOST == read(written(), name="other").status


@pytest.mark.parametrize("attempt", [0, -1, None, "2", True, 1.5])
def test_without_the_number_of_an_attempt_nothing_was_outside(attempt):
    assert JobStatus() == read({"phase": "Succeeded", "attempt": attempt}).status


def test_fields_that_no_noun_has_are_named():
    spec = {
        "target": {"name": "x", "room": 1},
        "run": {"script": "x", "arguments": ["a"]},
        "options": {"any": {"x": 1}},
    }

    assert ["target.room", "flavour"] == strangers_in({**spec, "flavour": "sweet"})
