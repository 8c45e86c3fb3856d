"""What every object carries: its version, name, labels and annotations."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Field, model_validator

from bascule.spec.checks import fault
from bascule.spec.fields import Label, LabelKey, LabelValue, Name, Text, Written

API_VERSION = "bascule.dev/v1alpha1"
MOST_ANNOTATED = 256 * 1024
_GIVEN_BY_THE_STORE = frozenset(
    {
        *("uid", "generation", "resourceVersion", "creationTimestamp", "deletionTimestamp", "selfLink"),
        *("deletionGracePeriodSeconds", "managedFields", "ownerReferences", "finalizers"),
    }
)


def check_annotations(value: dict[str, str]) -> dict[str, str]:
    if sum(len(key) + len(text.encode()) for key, text in value.items()) > MOST_ANNOTATED:
        raise fault(f"hold more than {MOST_ANNOTATED // 1024} KiB")
    return value


class MetadataModel(Written):
    """What the object is called."""

    name: Name = Field(description="Names the object; unique in its namespace.")
    namespace: Label | None = Field(None, description="Where the object lives; `default` where the platform has none.")
    labels: dict[LabelKey, LabelValue] = Field({}, max_length=64, description="Marks to select objects by.")
    annotations: Annotated[dict[LabelKey, Text], AfterValidator(check_annotations)] = Field(
        {}, max_length=64, description="Notes for programs; 256 KiB in all."
    )

    @model_validator(mode="before")
    @classmethod
    def _without_what_the_store_gives(cls, data: Any) -> Any:
        return {k: v for k, v in data.items() if k not in _GIVEN_BY_THE_STORE} if isinstance(data, dict) else data
