"""What holds for whatever people write."""

from __future__ import annotations

import json

from hypothesis import example, given
from hypothesis import strategies as st

from bascule.errors import Mistake
from bascule.spec import job_from_document, load_text, target_from_document, to_document, to_yaml
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
    def test_a_job_is_a_mistake_or_what_is_shown_of_it(self, document):
        if found := read_or_told(job_from_document, document):
            assert found.spec == job_from_document(to_document(found)).spec

    @given(shaped(schema_of(TargetModel)))
    def test_a_target_is_a_mistake_or_what_is_shown_of_it(self, document):
        if found := read_or_told(target_from_document, document):
            assert found.spec == target_from_document(to_document(found)).spec
