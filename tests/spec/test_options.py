from __future__ import annotations

import pytest
from pydantic import BaseModel, ConfigDict

from bascule.errors import Mistake
from bascule.spec import checked_options


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    partition: str | None = None
    priority: int = 0


def test_options_that_fit_become_the_managers_model():
    assert "main" == checked_options(Options, {"partition": "main"}, source="job `a`").partition


@pytest.mark.parametrize("given", ["many", "1e", "0x10", "1 2", ""])
def test_what_is_no_number_without_its_quotes_either_has_no_such_hint(given):
    with pytest.raises(Mistake) as caught:
        checked_options(Options, {"priority": given}, source="job `a`")

    assert caught.value.problems == ("job `a`: spec.options.priority: must be a whole number, is a text",)


def test_all_that_is_wrong_is_told_with_its_path():
    with pytest.raises(Mistake) as caught:
        checked_options(Options, {"partitoin": "main", "priority": "1"}, source="job `a`")

    assert caught.value.problems == (
        "job `a`: spec.options.priority: must be a whole number, is a text; take the quotes away",
        "job `a`: spec.options.partitoin: unknown field; did you mean `partition`?",
    )
