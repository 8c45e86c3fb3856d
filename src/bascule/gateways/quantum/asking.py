"""
What a client may ask for: submits and sessions, checked as strictly as the service can.

An unknown field is an error here: what is dropped in silence would be found out on a machine
that costs money.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from bascule.gateways.quantum.refusals import BAD_REQUEST, NO_SUCH_PROGRAM, Refusal

PROGRAMS = ("sampler", "estimator", "executor")
MOST_TAGS = 24
LONGEST_TAG = 128
LONGEST_COST = 10_800
LONGEST_SESSION = 28_800
MOST_LISTED = 200
_SUBMIT = frozenset(
    {
        *("program_id", "backend", "params", "tags", "log_level", "session_id", "cost", "private"),
        *("calibration_id", "runtime"),
    }
)
_SESSION = frozenset({"mode", "backend", "instance", "max_ttl"})


@dataclass(frozen=True, slots=True)
class Submit:
    """A job that is asked for."""

    program: str
    backend: str
    params: dict[str, Any]
    tags: list[str]
    session: str | None
    cost: int | None
    private: bool


@dataclass(frozen=True, slots=True)
class Opening:
    """A session that is asked for."""

    backend: str
    mode: str
    max_ttl: int


@dataclass(frozen=True, slots=True)
class Listing:
    """Which jobs are asked for: all given must hold."""

    limit: int = MOST_LISTED
    offset: int = 0
    pending: bool | None = None
    backend: str | None = None
    program: str | None = None
    session: str | None = None
    tags: list[str] = field(default_factory=list)
    after: float | None = None
    before: float | None = None
    ascending: bool = False
    with_params: bool = False


def submit_from(body: object) -> Submit:
    """Read the body of a submit."""
    fields = _object(body, _SUBMIT)
    program = _text(fields, "program_id")
    if program not in PROGRAMS:
        raise Refusal(404, NO_SUCH_PROGRAM, f"there is no program `{program}`; there are {', '.join(PROGRAMS)}")
    params = fields.get("params")
    if not isinstance(params, dict):
        raise _wrong("`params` must be an object")
    return Submit(
        program,
        _text(fields, "backend"),
        params,
        tags_from(fields.get("tags", [])),
        _text(fields, "session_id") if fields.get("session_id") is not None else None,
        _number(fields, "cost", 1, LONGEST_COST),
        fields.get("private") is True,
    )


def opening_from(body: object) -> Opening:
    """Read the body of a request for a session."""
    fields = _object(body, _SESSION)
    mode = fields.get("mode", "dedicated")
    if mode not in ("dedicated", "batch"):
        raise _wrong("`mode` must be dedicated or batch")
    return Opening(_text(fields, "backend"), mode, _number(fields, "max_ttl", 1, LONGEST_SESSION) or LONGEST_SESSION)


def closing_from(body: object) -> None:
    """Read the body of a request to accept no more jobs."""
    fields = _object(body, frozenset({"accepting_jobs"}))
    if fields.get("accepting_jobs") is not False:
        raise _wrong("`accepting_jobs` can only be set to false")


def tags_from(tags: object) -> list[str]:
    """Read a list of tags."""
    if not isinstance(tags, list) or not all(isinstance(tag, str) and 0 < len(tag) <= LONGEST_TAG for tag in tags):
        raise _wrong(f"`tags` must be a list of texts of at most {LONGEST_TAG} letters")
    if len(tags) > MOST_TAGS:
        raise _wrong(f"there are more than {MOST_TAGS} tags")
    return tags


def listing_from(query: list[tuple[str, str]]) -> Listing:
    """Read a query for jobs."""
    values = dict(query)
    known = {"limit", "offset", "pending", "backend", "program", "tags", "session_id", "sort", "exclude_params"}
    if unknown := values.keys() - known - {"created_after", "created_before", "include_mocks"}:
        raise _wrong(f"the query holds what is not known: {', '.join(sorted(unknown))}")
    return Listing(
        limit=_counted(values, "limit", 1, MOST_LISTED, MOST_LISTED),
        offset=_counted(values, "offset", 0, 1_000_000_000, 0),
        pending=_flag(values, "pending"),
        backend=values.get("backend"),
        program=values.get("program"),
        session=values.get("session_id"),
        tags=[value for name, value in query if name == "tags"],
        after=_moment(values, "created_after"),
        before=_moment(values, "created_before"),
        ascending=values.get("sort", "DESC").upper() == "ASC",
        with_params=_flag(values, "exclude_params") is False,
    )


def _object(body: object, known: frozenset[str]) -> dict[str, Any]:
    if not isinstance(body, dict):
        raise _wrong("the body must be an object")
    if unknown := body.keys() - known:
        raise _wrong(f"the body holds fields that are not known: {', '.join(sorted(unknown))}")
    return body


def _text(fields: dict[str, Any], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str) or not 0 < len(value) <= 256:
        raise _wrong(f"`{name}` must be a text")
    return value


def _number(fields: dict[str, Any], name: str, least: int, most: int) -> int | None:
    value = fields.get(name)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise _wrong(f"`{name}` must be a number from {least} to {most}")
    return value


def _counted(values: dict[str, str], name: str, least: int, most: int, otherwise: int) -> int:
    text = values.get(name)
    if text is None:
        return otherwise
    if not text.isascii() or not text.isdecimal() or not least <= int(text) <= most:
        raise _wrong(f"`{name}` must be a number from {least} to {most}")
    return int(text)


def _flag(values: dict[str, str], name: str) -> bool | None:
    text = values.get(name)
    if text is None:
        return None
    if text.lower() not in ("true", "false"):
        raise _wrong(f"`{name}` must be true or false")
    return text.lower() == "true"


def _moment(values: dict[str, str], name: str) -> float | None:
    text = values.get(name)
    if text is None:
        return None
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise _wrong(f"`{name}` is no time") from None
    if when.tzinfo is None:
        raise _wrong(f"`{name}` has no time zone")
    return when.timestamp()


def _wrong(message: str) -> Refusal:
    return Refusal(400, BAD_REQUEST, message)
