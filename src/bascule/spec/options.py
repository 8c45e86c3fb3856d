"""The options of a job or target, checked by the model that its manager declares."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel

from bascule.spec.explaining import explained, faults_in
from bascule.spec.fields import Written
from bascule.spec.problems import Problem, mistake
from bascule.spec.schema import schema_of

M = TypeVar("M", bound=BaseModel)


def checked_options(model: type[M], options: dict[str, Any], *, source: str, where: str = "spec.options") -> M:
    """Return *options* as *model*; raise all that is wrong with them, told as of the object *source*."""
    faults = faults_in(model, options)
    if faults:
        schema = schema_of(model) if issubclass(model, Written) else model.model_json_schema(by_alias=True)
        problems = [explained(fault, schema) for fault in faults]
        lines = [str(Problem((*where.split("."), *problem.path), problem.text, problem.hint)) for problem in problems]
        raise mistake(source, [f"{source}: {line}" for line in lines])
    return model.model_validate(options)
