"""
Noticing that a status is not as it was written: by a digest of what counts in it.

It is no signature: whoever may write statuses can make it anew, and an admission policy
keeps everybody else from writing any. It finds what was edited, merged, cut or replaced
while nobody led. Such a status is not believed: the job is looked for outside first.
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from bascule.model import JobStatus

SEAL = "seal"
_COUNTS = ("phase", "reason", "id", "key", "attempt", "exitCode", "signal")
_MOST_ATTEMPTS = 999_999


def seal_of(status: dict[str, Any], name: str) -> str:
    """Return the digest of *status*, a document as the API server keeps it, of the job *name*: a restored one keeps its name."""
    record = status.get("record")
    record = {name: value for name, value in record.items() if name != SEAL} if isinstance(record, dict) else record
    counts = {name: status[name] for name in _COUNTS if name in status}
    text = msgspec.json.encode([name, counts, record], order="deterministic")
    return hashlib.sha256(text).hexdigest()[:32]


def is_whole(status: dict[str, Any], name: str) -> bool:
    """Tell whether *status* is as it was written."""
    record = status.get("record")
    return isinstance(record, dict) and record.get(SEAL) == seal_of(status, name)


def what_is_left(status: Any) -> JobStatus:
    """
    Return what can be believed of a status that somebody else has written.

    That something may be outside: the API server lets no attempt's number go back.
    """
    attempt = status.get("attempt") if isinstance(status, dict) else None
    if not isinstance(attempt, int) or isinstance(attempt, bool) or attempt <= 0:
        return JobStatus()
    return JobStatus(attempt=min(attempt, _MOST_ATTEMPTS), is_doubtful=True)
