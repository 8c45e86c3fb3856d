"""The models that files must fit, the nouns they become, and the schema and pages made of them."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import types
import typing
from pathlib import Path

import msgspec
import pytest

from bascule.model import JobSpec, TargetSpec
from bascule.spec.fields import Written
from bascule.spec.job import JobModel, JobSpecModel
from bascule.spec.schema import schema_of
from bascule.spec.target import TargetModel, TargetSpecModel

ROOT = Path(__file__).resolve().parents[2]
# The one field that stands elsewhere inside; bascule.spec.loading and showing move it.
MOVED = {"RunModel": {"arguments"}}


def written_in(kind):
    """Return the model in the type of a field, or None."""
    if isinstance(kind, type) and issubclass(kind, Written):
        return kind
    return next((found for inner in typing.get_args(kind) if (found := written_in(inner))), None)


def noun_in(kind):
    """Return the noun in msgspec's view of a field's type, or None."""
    match kind:
        case msgspec.inspect.StructType(cls):
            return cls
        case msgspec.inspect.UnionType(types):
            return next((found for inner in types if (found := noun_in(inner))), None)
        case msgspec.inspect.VarTupleType(item):
            return noun_in(item)
        case msgspec.inspect.DictType(_, value):
            return noun_in(value)
    return None


def pairs(model, noun):
    """Find the models beneath *model*, each with the noun it becomes."""
    yield model, noun
    inner = {field.encode_name: noun_in(field.type) for field in msgspec.inspect.type_info(noun).fields}
    for field in model.model_fields.values():
        below = written_in(field.annotation)
        if below is not None and inner.get(field.alias):
            yield from pairs(below, inner[field.alias])


PAIRS = list(dict.fromkeys([*pairs(JobSpecModel, JobSpec), *pairs(TargetSpecModel, TargetSpec)]))


@pytest.mark.parametrize(("model", "noun"), PAIRS, ids=lambda kind: kind.__name__)
def test_a_model_and_its_noun_have_the_same_fields(model, noun):
    written = {field.alias for field in model.model_fields.values()} - MOVED.get(model.__name__, set())
    moved_here = {"arguments"} if noun is JobSpec else set()

    assert {field.encode_name for field in msgspec.structs.fields(noun)} - moved_here == written


def test_every_model_has_its_noun():
    def models(model):
        found = {model}
        for field in model.model_fields.values():
            if below := written_in(field.annotation):
                found |= models(below)
        return found

    assert models(JobSpecModel) | models(TargetSpecModel) == {model for model, _ in PAIRS}


@pytest.mark.parametrize(("model", "noun"), PAIRS, ids=lambda kind: kind.__name__)
def test_a_model_and_its_noun_have_the_same_defaults(model, noun):
    defaults = {field.encode_name: field.default for field in msgspec.structs.fields(noun)}

    for field in model.model_fields.values():
        if isinstance(field.default, bool | int | str) and field.alias in defaults:
            assert defaults[field.alias] == field.default


class TestSchema:
    @pytest.mark.parametrize("model", [JobModel, TargetModel])
    def test_every_field_is_described_and_limited(self, model):
        def check(schema, path):
            assert not {"$ref", "anyOf", "oneOf", "patternProperties", "propertyNames"} & schema.keys(), path
            match schema.get("type"):
                case "string":
                    assert {"maxLength", "enum", "const"} & schema.keys(), path
                case "integer":
                    assert {"minimum", "maximum"} <= schema.keys(), path
                case "array":
                    assert "maxItems" in schema, path
                    check(schema["items"], f"{path}[]")
                case "object" if "properties" in schema:
                    assert schema["additionalProperties"] is False, path
                case "object":
                    assert "maxProperties" in schema, path
            for name, field in schema.get("properties", {}).items():
                assert field.get("description", "").endswith("."), f"{path}.{name}"
                check(field, f"{path}.{name}")
            if isinstance(schema.get("additionalProperties"), dict):
                check(schema["additionalProperties"], f"{path}.NAME")

        check(schema_of(model), model.__name__)


class TestReference:
    @pytest.mark.parametrize("name", ["job", "target"])
    def test_the_page_is_what_is_generated(self, name):
        tool = loaded(ROOT / "tools" / "fields.py")

        assert tool.generated(name) == tool.page(name).read_text(), "run `python tools/fields.py`"

    def test_the_tool_tells_whether_pages_are_up_to_date(self):
        done = subprocess.run([sys.executable, ROOT / "tools" / "fields.py", "--check"], capture_output=True)

        assert 0 == done.returncode


def loaded(path: Path) -> types.ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
