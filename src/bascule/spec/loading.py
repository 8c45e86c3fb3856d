"""
From what people write to the nouns: files, texts and documents, checked whole.

All that is wrong in a file is told at once, as one `Mistake`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from bascule.errors import Mistake
from bascule.model import Job, JobSpec, Target, TargetSpec, from_plain
from bascule.spec.documents import LONGEST_FILE, Node, read_documents
from bascule.spec.explaining import explained, faults_in
from bascule.spec.fields import Written
from bascule.spec.job import JobModel
from bascule.spec.metadata import API_VERSION
from bascule.spec.names import did_you_mean
from bascule.spec.problems import Path, Problem, mistake, shortened
from bascule.spec.reading import read_bytes, source_name
from bascule.spec.rules import job_problems, target_problems
from bascule.spec.schema import schema_of
from bascule.spec.showing import to_document
from bascule.spec.target import TargetModel

_MODELS: dict[str, type[JobModel | TargetModel]] = {"BridgeJob": JobModel, "BridgeTarget": TargetModel}
_RULES = {"BridgeJob": job_problems, "BridgeTarget": target_problems}
_LATER = {"BridgeQueue": "queues are not there yet", "BridgeCluster": "clusters are not there yet"}


def load_file(path: str | os.PathLike[str], *, namespace: str = "default") -> list[Job | Target]:
    """Return the objects in the file at *path* (``-`` is stdin), in its order; *namespace* is for those that name none."""
    source = source_name(path)
    data = read_bytes(path, longest=LONGEST_FILE, hint="use several files")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problem = f"not UTF-8: the byte {data[error.start]:#04x} at offset {error.start:,}; save it as UTF-8"
        raise mistake(source, [f"{source}:{line}: {problem}"]) from error
    return load_text(text, source=source, namespace=namespace)


def load_text(text: str, *, source: str = "text", namespace: str = "default") -> list[Job | Target]:
    """Return the objects in *text*, YAML or JSON."""
    found: list[tuple[int, str]] = []
    nodes = [item for node in read_documents(text, lambda *problem: found.append(problem)) for item in _items(node)]
    for node in nodes:
        found += [(_line(node, p.path), str(p)) for p in _problems(node.plain(), node)]
    if not nodes and not found:
        raise Mistake(f"`{source}` holds no object", hint=f"begin it with `apiVersion: {API_VERSION}`")
    objects = [] if found else [_noun(node.plain(), namespace) for node in nodes]
    seen: dict[tuple[type, str, str], int] = {}
    for node, thing in zip(nodes, objects, strict=False):
        key = (type(thing), thing.namespace, thing.name)
        if key in seen:
            found.append((node.line, f"metadata.name: `{thing.name}` is given twice, first in line {seen[key]}"))
        seen.setdefault(key, node.line)
    if found:
        raise mistake(source, [f"{source}:{line}: {words}" for line, words in sorted(found, key=lambda each: each[0])])
    return objects


def job_from_document(document: object, *, source: str = "job.yaml", namespace: str = "default") -> Job:
    """Return the job that *document* describes."""
    noun = _from_document(document, "BridgeJob", source, namespace)
    assert isinstance(noun, Job)  # noqa: S101 - for the type checker
    return noun


def target_from_document(document: object, *, source: str = "target.yaml", namespace: str = "default") -> Target:
    """Return the target that *document* describes."""
    noun = _from_document(document, "BridgeTarget", source, namespace)
    assert isinstance(noun, Target)  # noqa: S101 - for the type checker
    return noun


def validated(job: Job, *, source: str) -> Job:
    """Return *job* if it is what a file could have said; raise all that is wrong with it."""
    return job_from_document(to_document(job), source=source, namespace=job.namespace)


def _from_document(document: object, kind: str, source: str, namespace: str) -> Job | Target:
    problems = list(_problems(document, None, kind))
    if problems:
        raise mistake(source, [f"{source}: {problem}" for problem in problems])
    return _noun(document, namespace)


def _problems(document: object, node: Node | None, kind: str | None = None) -> Iterator[Problem]:
    if not isinstance(document, dict):
        yield Problem((), "an object must be a mapping", f"begin it with `apiVersion: {API_VERSION}`")
        return
    wanted = kind or document.get("kind")
    if wanted in _LATER:
        yield Problem(("kind",), f"`{wanted}` is reserved: {_LATER[wanted]}")
        return
    if wanted not in _MODELS:
        yield from _no_kind(document)
        return
    model = _MODELS[wanted]
    for fault in faults_in(model, document):
        yield explained(fault, schema_of(model), lambda path: node.at(path).written if node else "")
    yield from _RULES[wanted](document)


def _no_kind(document: dict[Any, Any]) -> Iterator[Problem]:
    version, kind = document.get("apiVersion"), document.get("kind")
    if version != API_VERSION:
        given = f"`{shortened(str(version))}` is not known here" if version is not None else "must be given"
        yield Problem(("apiVersion",), given, f"write `{API_VERSION}`")
    if kind is None:
        yield Problem(("kind",), "must be given", "`BridgeJob` or `BridgeTarget`")
    else:
        word = shortened(str(kind))
        yield Problem(("kind",), f"`{word}` is not known here", did_you_mean(word, _MODELS))


def _noun(document: Any, namespace: str) -> Job | Target:
    kind = document["kind"]
    plain = _given(_MODELS[kind].model_validate(document))
    metadata, spec = plain["metadata"], plain["spec"]
    name, labels, annotations = metadata["name"], metadata.get("labels", {}), metadata.get("annotations", {})
    where = metadata.get("namespace", namespace)
    if kind == "BridgeTarget":
        wish = from_plain(spec, TargetSpec)
        return Target(namespace=where, name=name, uid="", spec=wish, labels=labels, annotations=annotations)
    # People write arguments beside what they are for; inside they are a matter of the job.
    if "run" in spec and "arguments" in spec["run"]:
        spec["arguments"] = spec["run"].pop("arguments")
    job_spec = from_plain(spec, JobSpec)
    return Job(namespace=where, name=name, uid="", spec=job_spec, labels=labels, annotations=annotations)


def _given(value: Any) -> Any:
    """Return what was given in *value*, under the names that people write."""
    if isinstance(value, Written):
        fields = type(value).model_fields
        return {
            fields[name].alias or name: _given(getattr(value, name))
            for name in fields
            if name in value.model_fields_set and name != "status"
        }
    if isinstance(value, list):
        return [_given(item) for item in value]
    if isinstance(value, dict) and any(isinstance(item, Written) for item in value.values()):
        return {key: _given(item) for key, item in value.items()}
    return value


def _items(node: Node) -> list[Node]:
    """Return the objects in a list as `kubectl get -o yaml` prints it, or the node itself."""
    entries = node.value
    if isinstance(entries, dict) and "items" in entries and "kind" in entries:
        kind, items = entries["kind"].value, entries["items"].value
        if kind in {"List", "BridgeJobList", "BridgeTargetList"} and isinstance(items, list):
            return items
    return [node]


def _line(node: Node, path: Path) -> int:
    return node.at(path).line
