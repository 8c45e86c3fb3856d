"""
Rules that concern several fields at once.

They look at the document as it was written and pass over what is not of the form they
need, so that they can be told together with the faults of single fields.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from bascule.errors import Mistake
from bascule.model import Duration
from bascule.spec.problems import Path, Problem, shortened

RUNS = ("script", "scriptPath", "command", "program", "payload")
_SOURCES = ("content", "store", "url", "configMap")
_CREDENTIALS = ("secret", "file", "env", "command")
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


def job_problems(document: dict[str, Any]) -> Iterator[Problem]:
    """Find what is wrong between the fields of a BridgeJob."""
    spec = _mapping(document, "spec")
    if not spec:
        return
    yield from _run(spec)
    yield from _env(spec)
    yield from _after(spec, _mapping(document, "metadata").get("name"))
    yield from _signal(spec)
    yield from _inputs(_mapping(spec, "files"))
    yield from _outputs(_mapping(spec, "files"))


def target_problems(document: dict[str, Any]) -> Iterator[Problem]:
    """Find what is wrong between the fields of a BridgeTarget."""
    spec = _mapping(document, "spec")
    yield from _exclusive(_mapping(spec, "credentials"), _CREDENTIALS, ("spec", "credentials"))
    url, network = spec.get("url"), _mapping(spec, "network")
    if isinstance(url, str) and _is_plain_and_far(url) and network.get("plaintext") is not True:
        yield Problem(
            ("spec", "url"),
            "goes over the network unencrypted",
            "use `https://`, or say `network: {plaintext: true}` if you own that network",
        )
    for index, twice in _repeated(_mapping(spec, "files").get("stores"), "name"):
        yield Problem(("spec", "files", "stores", index, "name"), f"the store `{shortened(twice)}` is given twice")
    files = _mapping(spec, "files")
    if files.get("claim") is not None and files.get("root") is None:
        yield Problem(("spec", "files", "claim"), "has no effect without `root`", "name the folder where it is mounted")
    allowed = _mapping(spec, "allowedNamespaces")
    for field, needed in (("selector", "Selector"), ("names", "Names")):
        given, wanted = bool(allowed.get(field)), allowed.get("from") == needed
        if given and not wanted:
            yield Problem(("spec", "allowedNamespaces", field), f"has no effect without `from: {needed}`")
        if wanted and not given:
            yield Problem(("spec", "allowedNamespaces"), f"`from: {needed}` needs `{field}`")


def _run(spec: dict[str, Any]) -> Iterator[Problem]:
    run = spec.get("run")
    if run is None:
        if spec.get("adopt") is None:
            yield Problem(("spec", "run"), "must be given", "for instance `run: {command: [hostname]}`")
        return
    if not isinstance(run, dict):
        return
    if spec.get("adopt") is not None:
        yield Problem(
            ("spec", "adopt"), "watches a job that runs already, so there is nothing to `run`", "leave one out"
        )
    given = [name for name in RUNS if run.get(name) is not None]
    if not given:
        yield Problem(("spec", "run"), "says not what runs", f"give one of {_listed(RUNS)}")
    yield from _exclusive(run, RUNS, ("spec", "run"))
    if given == ["payload"] and run.get("arguments"):
        yield Problem(("spec", "run", "arguments"), "a payload takes no arguments", "put them into the payload")


def _env(spec: dict[str, Any]) -> Iterator[Problem]:
    for name in _mapping(spec, "env").keys() & _mapping(spec, "secretEnv").keys():
        yield Problem(("spec", "secretEnv", name), "is given in `env` too", "keep one of them")


def _after(spec: dict[str, Any], name: object) -> Iterator[Problem]:
    after = spec.get("after")
    for index, entry in enumerate(after if isinstance(after, list) else ()):
        if isinstance(entry, dict) and name is not None and entry.get("job") == name:
            yield Problem(
                ("spec", "after", index, "job"), "names the job itself, which would wait for ever", "leave it out"
            )
    for index, twice in _repeated(after, "job"):
        yield Problem(
            ("spec", "after", index, "job"), f"the job `{shortened(twice)}` is given twice", "keep one of them"
        )


def _signal(spec: dict[str, Any]) -> Iterator[Problem]:
    before = _span(_mapping(spec, "signal").get("before"))
    walltime = _span(_mapping(spec, "resources").get("walltime"))
    if before and walltime and before >= walltime:
        yield Problem(
            ("spec", "signal", "before"),
            f"`{before}` is not shorter than the walltime, `{walltime}`, so the warning would come at once",
            "shorten it",
        )


def _inputs(files: dict[str, Any]) -> Iterator[Problem]:
    inputs = files.get("inputs")
    for index, entry in enumerate(inputs if isinstance(inputs, list) else ()):
        if not isinstance(entry, dict):
            continue
        path: Path = ("spec", "files", "inputs", index)
        if not any(entry.get(name) is not None for name in (*_SOURCES, "key")):
            yield Problem(path, "says not where the file comes from", f"give one of {_listed(_SOURCES)}")
        yield from _exclusive(entry, _SOURCES, path)
        yield from _pair(entry, path, "store", "key")
    for index, twice in _repeated(inputs, "path"):
        yield Problem(("spec", "files", "inputs", index, "path"), f"`{shortened(twice)}` is given twice")


def _outputs(files: dict[str, Any]) -> Iterator[Problem]:
    outputs = files.get("outputs")
    for index, entry in enumerate(outputs if isinstance(outputs, list) else ()):
        if isinstance(entry, dict) and entry.get("prefix") is not None and entry.get("store") is None:
            yield Problem(("spec", "files", "outputs", index, "prefix"), "has no effect without `store`")


def _pair(entry: dict[str, Any], path: Path, first: str, second: str) -> Iterator[Problem]:
    for given, missing in ((first, second), (second, first)):
        if entry.get(given) is not None and entry.get(missing) is None:
            yield Problem(path, f"`{given}` needs `{missing}`")


def _exclusive(entry: dict[str, Any], names: tuple[str, ...], path: Path) -> Iterator[Problem]:
    given = [name for name in names if entry.get(name) is not None]
    if len(given) > 1:
        yield Problem(path, f"{_listed(given)} exclude each other", "keep one of them")


def _repeated(entries: object, field: str) -> Iterator[tuple[int, str]]:
    seen = set()
    for index, entry in enumerate(entries if isinstance(entries, list) else ()):
        value = entry.get(field) if isinstance(entry, dict) else None
        if isinstance(value, str):
            if value in seen:
                yield index, value
            seen.add(value)


def _mapping(value: dict[str, Any], name: str) -> dict[str, Any]:
    found = value.get(name)
    return found if isinstance(found, dict) else {}


def _span(value: object) -> Duration | None:
    try:
        return Duration.parse(value) if isinstance(value, str) and len(value) <= 32 else None
    except Mistake:
        return None


def _is_plain_and_far(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme == "http" and parts.hostname not in _LOOPBACK
    except ValueError:
        return False


def _listed(names: list[str] | tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)
