"""Files as people write them, for tests."""

from __future__ import annotations

from typing import Any

import pytest

from bascule.errors import Mistake
from bascule.spec import job_from_document, load_text, target_from_document

SCRIPT = "#!/bin/sh\necho hello\n"


def job(**spec: Any) -> dict[str, Any]:
    """Return a job's document; *spec* goes over a spec that is right."""
    return {
        "apiVersion": "bascule.dev/v1alpha1",
        "kind": "BridgeJob",
        "metadata": {"name": "train"},
        "spec": {"target": {"name": "hpc"}, "run": {"script": SCRIPT}, **spec},
    }


def target(**spec: Any) -> dict[str, Any]:
    """Return a target's document; *spec* goes over a spec that is right."""
    return {
        "apiVersion": "bascule.dev/v1alpha1",
        "kind": "BridgeTarget",
        "metadata": {"name": "hpc"},
        "spec": {"manager": "slurm", "url": "https://slurm.example.org:6820", **spec},
    }


def problems_of(document: dict[str, Any]) -> tuple[str, ...]:
    """Return what is wrong with *document*, without the file's name; nothing where it is right."""
    read = target_from_document if document.get("kind") == "BridgeTarget" else job_from_document
    try:
        read(document, source="x")
    except Mistake as mistake:
        return tuple(line.removeprefix("x: ") for line in mistake.problems)
    return ()


def problems_in(text: str, source: str = "job.yaml") -> tuple[str, ...]:
    """Return what is wrong in the file *text*; there must be something."""
    with pytest.raises(Mistake) as caught:
        load_text(text, source=source)
    return caught.value.problems
