"""What holds for whatever people write."""

from __future__ import annotations

import json

from hypothesis import example, given
from hypothesis import strategies as st

from bascule.errors import Mistake
from bascule.spec import job_from_document, load_text, target_from_document, to_document, to_yaml
from bascule.spec.fields import DURATION
from bascule.spec.job import JobModel
from bascule.spec.schema import schema_of
from bascule.spec.target import TargetModel
from tests.spec.written import job

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
WORDS = st.one_of(
    TEXT, st.sampled_from(["1h", "2d", "8Gi", "0-9", "a", "yes", "#!/bin/sh\n", "Failed", "USR1", "/x", "~"])
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**65), 2**65) | st.floats() | st.text() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text() | WORDS, inner, max_size=3),
    max_leaves=8,
)


def shaped(schema):
    """Make documents that are nearly of *schema*: most fields right in kind, some not at all."""
    match schema:
        case {"properties": fields}:
            required = {name: shaped(fields[name]) for name in schema.get("required", ())}
            optional = {name: shaped(field) for name, field in fields.items() if name not in required}
            return st.fixed_dictionaries(required, optional=optional) | st.dictionaries(
                st.sampled_from([*fields]), JSON
            )
        case {"type": "array", "items": items}:
            return st.lists(shaped(items), max_size=2)
        case {"type": "object", "additionalProperties": dict() as inner}:
            return st.dictionaries(WORDS, shaped(inner), max_size=2)
        case {"enum": words}:
            return st.sampled_from(words)
        case {"const": word}:
            return st.just(word)
        case {"type": "integer"}:
            return st.integers(-1, 100)
        case {"type": "boolean"}:
            return st.booleans()
        case {"type": "string"}:
            return WORDS
    return JSON


SPANS = st.sampled_from(["90s", "15m", "1h30m", "2d", "0.5s"])
SCRIPTS = TEXT.map(lambda text: f"#!/bin/sh\n{text}")
# What a schema cannot say of these, by their names.
FITTING = {
    "run": st.one_of(
        st.fixed_dictionaries({"script": SCRIPTS}, optional={"arguments": st.lists(TEXT, max_size=2)}),
        st.fixed_dictionaries({"command": st.lists(TEXT, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"payload": st.dictionaries(TEXT, st.none() | TEXT | st.integers(0, 9), max_size=2)}),
    ),
    "env": st.dictionaries(st.sampled_from(["A", "B_1"]), TEXT),
    "secretEnv": st.dictionaries(st.just("C"), st.just({"name": "keys", "key": "api"})),
    "labels": st.dictionaries(st.sampled_from(["a", "x.org/b"]), st.sampled_from(["", "1", "A_b"])),
    "annotations": st.dictionaries(st.sampled_from(["a", "x.org/b"]), TEXT),
    "indices": st.sampled_from(["0", "0-9", "1,3,5-9:2"]),
    "after": st.sampled_from([[], [{"job": "x"}], [{"job": "x", "when": "Failed"}, {"job": "y"}]]),
    "signal": st.sampled_from([{"name": "SIGUSR1", "before": "0.25s"}, {"name": "TERM", "before": "0.1s"}]),
    "memoryPerNode": st.sampled_from(["1", "800M", "1.5Gi", "8Gi"]),
    "inputs": st.sampled_from([[], [{"path": "a", "content": "x"}, {"path": "b/c", "store": "s", "key": "k"}]]),
    "outputs": st.sampled_from([[], [{"path": "*.npz"}, {"path": "a", "store": "s", "prefix": "p/"}]]),
    "options": st.dictionaries(
        TEXT, st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
    ),
    "credentials": st.sampled_from(
        [{}, {"user": "u", "command": ["a", "b"]}, {"secret": {"name": "s", "from": "JobNamespace"}}]
    ),
    "tls": st.just({"serverName": "x.org"}),
    "url": st.sampled_from(["https://x.org", "http://localhost:1/a"]),
    "network": st.sampled_from([{"allow": ["10.0.0.0/8", "fd00::/8"]}, {"plaintext": True}]),
    "stores": st.sampled_from([[], [{"name": "s", "url": "s3://b/p", "endpoint": "https://s3.x.org"}]]),
    "allowedNamespaces": st.sampled_from([{}, {"from": "All"}, {"from": "Names", "names": ["a"]}]),
}


def fitting(schema, name=""):
    """Make documents that fit *schema*."""
    if name in FITTING:
        return FITTING[name]
    match schema:
        case {"properties": fields}:
            made = {field: fitting(inner, field) for field, inner in fields.items() if field not in {"adopt", "status"}}
            required = {field: made.pop(field) for field in (*schema.get("required", ()), "run") if field in made}
            # A claim is where the root is.
            return st.fixed_dictionaries(required, optional=made).filter(lambda it: "root" in it or "claim" not in it)
        case {"type": "array", "items": items}:
            return st.lists(fitting(items), max_size=2, unique_by=str)
        case {"enum": words}:
            return st.sampled_from(words)
        case {"const": word}:
            return st.just(word)
        case {"type": "integer", "minimum": least, "maximum": most}:
            return st.integers(least, most)
        case {"type": "number"}:
            return st.floats(0.1, 100)
        case {"type": "boolean"}:
            return st.booleans()
        case {"pattern": pattern} if pattern == f"^{DURATION}$":
            return SPANS
        case {"pattern": "^/.*$"}:
            return st.sampled_from(["/scratch", "/home/al ice"])
    return st.sampled_from(["a", "x-1"])


class TestScripts:
    @given(TEXT)
    @example(" \n")
    @example("\n\n  x\n")
    @example("\tx\n...\n---\n")
    @example("\x85\u2028\ufeff")
    def test_every_byte_survives_yaml_and_json(self, body):
        script = f"#!/bin/sh\n{body}"
        document = to_document(job_from_document(job(run={"script": script, "arguments": [body]})))

        for text in (
            to_yaml(document),
            json.dumps(document),
            json.dumps(document, ensure_ascii=False),
        ):
            [found] = load_text(text)

            assert script == found.spec.run.script
            assert (body,) == found.spec.arguments


def read_or_told(read, value):
    """Return what *read* makes of *value*; None where it tells in words what is wrong."""
    try:
        return read(value)
    except Mistake as mistake:
        told = mistake
    assert told.problems or told.hint
    assert all(line.isprintable() for line in told.problems)
    return None


class TestAnything:
    @given(st.text())
    def test_text_is_read_or_is_a_mistake(self, text):
        read_or_told(load_text, text)

    @given(JSON)
    def test_values_are_read_or_are_a_mistake(self, value):
        read_or_told(job_from_document, value)
        read_or_told(target_from_document, value)

    @given(shaped(schema_of(JobModel)))
    def test_a_job_is_read_or_is_a_mistake(self, document):
        read_or_told(job_from_document, document)

    @given(shaped(schema_of(TargetModel)))
    def test_a_target_is_read_or_is_a_mistake(self, document):
        read_or_told(target_from_document, document)


class TestWhatFits:
    @given(fitting(schema_of(JobModel)))
    def test_a_job_is_what_is_shown_of_it(self, document):
        found = job_from_document(document)
        shown = to_document(found)

        assert found == job_from_document(shown)
        assert [found] == load_text(to_yaml(shown))
        assert [found] == load_text(json.dumps(shown))

    @given(fitting(schema_of(TargetModel)))
    def test_a_target_is_what_is_shown_of_it(self, document):
        found = target_from_document(document)
        shown = to_document(found)

        assert found == target_from_document(shown)
        assert [found] == load_text(to_yaml(shown))
        assert [found] == load_text(json.dumps(shown))
