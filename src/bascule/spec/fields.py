"""
The kinds of text and number that fields take.

Each kind carries its limit and its form for the schema, and a check that says in words
what is wrong. `Written` is what all models of written objects are made from.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from typing import Annotated, Any, TypeVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from bascule.errors import Mistake
from bascule.model import Duration, Quantity
from bascule.spec import names
from bascule.spec.checks import check_free, check_text, fault
from bascule.spec.problems import shortened

LONGEST_CONTENT = 256 * 1024

T = TypeVar("T")


class Written(BaseModel):
    """What a person wrote: strict, nothing unknown, a null is the same as nothing."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, alias_generator=to_camel)

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, data: Any) -> Any:
        return {key: value for key, value in data.items() if value is not None} if isinstance(data, dict) else data


def form(pattern: str) -> Any:
    """Put *pattern* into the schema, where another check says in words what it means."""
    return Field(json_schema_extra={"pattern": f"^{pattern}$"})


def check_line(text: str) -> str:
    check_text(text)
    if any(ord(letter) < 32 or letter == "\x7f" for letter in text):
        raise fault("holds a line break or another control character")
    return text


def check_name(text: str) -> str:
    if not names.is_name(text):
        raise fault(
            f"`{shortened(text)}` is no name",
            f"names are of a-z, 0-9, `-` and `.` and at most 253 long, for instance `{names.usable_name(text)}`",
        )
    return text


def check_label(text: str) -> str:
    if len(text) > names.LONGEST_LABEL or not re.fullmatch(names.LABEL, text):
        raise fault(
            f"`{shortened(text)}` is no name",
            f"these are of a-z, 0-9 and `-` and at most 63 long, for instance `{names.usable_name(text)}`",
        )
    return text


def check_label_key(text: str) -> str:
    if not names.is_label_key(text):
        raise fault(
            f"`{shortened(text)}` is no label key",
            "it is of letters, digits, `-`, `_` and `.`, at most 63 long; a DNS name and `/` may stand before it",
        )
    return text


def check_label_value(text: str) -> str:
    if len(text) > names.LONGEST_LABEL or not re.fullmatch(names.LABEL_VALUE, text):
        raise fault(
            f"`{shortened(text)}` is no label value",
            "it is empty, or of letters, digits, `-`, `_` and `.`, begins and ends with a letter or digit, at most 63 long",
        )
    return text


def check_variable(text: str) -> str:
    if not re.fullmatch(names.VARIABLE, text):
        usable = re.sub(r"[^A-Za-z0-9_]", "_", text)[:40] or "NAME"
        usable = f"_{usable}" if usable[0].isdigit() else usable
        raise fault(
            f"`{shortened(text)}` is no name of a variable",
            f"these are of letters, digits and `_` and begin with no digit, for instance `{usable}`",
        )
    return text


def check_duration(text: str) -> str:
    span = _parsed(Duration.parse, text)
    if not span:
        raise fault("must be longer than nothing", "leave it out for no limit")
    return text


def check_duration_or_zero(text: str) -> str:
    _parsed(Duration.parse, text)
    return text


def check_memory(text: str) -> str:
    amount = _parsed(Quantity, text)
    if text.endswith("m"):
        raise fault(f"`{text}` is in thousandths of a byte", f"write `{text[:-1]}M` or `{text[:-1]}Mi`")
    if amount.value <= 0:
        raise fault("must be more than nothing", "leave it out for the manager's default")
    return text


def check_absolute(text: str) -> str:
    check_line(text)
    if not text.startswith("/"):
        raise fault(f"`{shortened(text)}` is no absolute path", "begin it with `/`; `~` and `$HOME` are not filled in")
    return text


def check_beneath(text: str) -> str:
    """Refuse a path that could lead out of the folder it is meant for."""
    check_line(text)
    if text.startswith(("/", "~")) or ".." in text.split("/"):
        raise fault(f"`{shortened(text)}` leads out of its folder", "write it relative, without `..`")
    return text


def check_url(text: str, schemes: tuple[str, ...]) -> str:
    """Refuse an address of another scheme, or one that holds a password; it is not repeated in the error."""
    check_line(text)
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError as error:
        raise fault("is no URL", f"write it as `{schemes[0]}://host/path`") from error
    if parts.scheme not in schemes or not (parts.hostname or parts.scheme == "file"):
        raise fault(
            "is no URL of a kind that is known here", f"begin it with {' or '.join(f'`{s}://`' for s in schemes)}"
        )
    if parts.username is not None or parts.password is not None:
        raise fault("must not hold a user or a password", "put them into `credentials` or a secret")
    if " " in text or parts.fragment:
        raise fault("holds a blank or a `#`, which an address cannot")
    return text


def check_network(text: str) -> str:
    try:
        ipaddress.ip_network(text)
    except ValueError as error:
        try:
            near = f"did you mean `{ipaddress.ip_network(text, strict=False)}`?"
        except ValueError:
            near = "write it as `10.20.0.0/16` or `fd00::/8`"
        raise fault(f"`{shortened(text)}` is no network", near) from error
    return text


def _parsed(parse: Callable[[str], T], text: str) -> T:
    if not text.isascii():
        raise fault(
            f"`{shortened(text)}` is written in letters that are not known here", "use plain digits and letters"
        )
    try:
        return parse(text)
    except Mistake as mistake:
        raise fault(mistake.message, mistake.hint) from mistake


DURATION = r"([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+(\.[0-9]{1,3})?s)?([0-9]+ms)?"
MEMORY = r"[0-9]+(\.[0-9]+)?(k|M|G|T|P|Ki|Mi|Gi|Ti|Pi)?"
_SPAN = Field(min_length=2, max_length=32)

Text = Annotated[str, Field(max_length=32 * 1024), AfterValidator(check_text)]
Line = Annotated[str, Field(min_length=1, max_length=1024), AfterValidator(check_line)]
Word = Annotated[str, Field(min_length=1, max_length=256), AfterValidator(check_line)]
Name = Annotated[str, Field(min_length=1, max_length=names.LONGEST_NAME), form(names.NAME), AfterValidator(check_name)]
Label = Annotated[
    str, Field(min_length=1, max_length=names.LONGEST_LABEL), form(names.LABEL), AfterValidator(check_label)
]
LabelKey = Annotated[str, Field(min_length=1, max_length=317), form(names.LABEL_KEY), AfterValidator(check_label_key)]
LabelValue = Annotated[
    str, Field(max_length=names.LONGEST_LABEL), form(names.LABEL_VALUE), AfterValidator(check_label_value)
]
Variable = Annotated[str, Field(min_length=1, max_length=256), form(names.VARIABLE), AfterValidator(check_variable)]
Span = Annotated[str, _SPAN, form(DURATION), AfterValidator(check_duration)]
SpanOrZero = Annotated[str, _SPAN, form(DURATION), AfterValidator(check_duration_or_zero)]
Memory = Annotated[
    str,
    Field(min_length=1, max_length=32),
    form(MEMORY),
    AfterValidator(check_memory),
]
Absolute = Annotated[str, Field(min_length=1, max_length=4096), form("/.*"), AfterValidator(check_absolute)]
FilePath = Annotated[str, Field(min_length=1, max_length=4096), AfterValidator(check_line)]
Beneath = Annotated[str, Field(min_length=1, max_length=1024), AfterValidator(check_beneath)]
Free = Annotated[dict[str, Any], Field(max_length=1000), AfterValidator(check_free)]
