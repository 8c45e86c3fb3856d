"""
The errors that Bascule raises on purpose.

Each class answers the only question a caller has: what now? Adapters translate what
the outside world says into these, once, at the border; nothing else is caught inside.

Error
├── Mistake          the user must change something; never retried
├── Refused          the manager said no; final for this attempt
├── Unavailable      no answer, nothing happened; safe to retry
│   ├── Unauthorized   the credentials were not accepted; renew them
│   ├── Conflict       the stored object has moved on; read it again
│   └── StoreFailed    the store cannot write (disk full, read-only, damaged)
├── Uncertain        no answer, and it MAY have happened; look before retrying
└── Fenced           another driver has taken over; stop at once
"""

from __future__ import annotations

MOST_PROBLEMS = 5


class Error(Exception):
    """Raised on purpose; *message* says who, what, on what, and *hint* what to do."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class Mistake(Error):
    """The user must change something. *problems* holds all faults found, each with its path."""

    def __init__(self, message: str, *, hint: str = "", problems: tuple[str, ...] = ()) -> None:
        super().__init__(message, hint=hint)
        self.problems = problems

    @property
    def words(self) -> str:
        """All that is wrong, or the first few things, where there is no other place to read it."""
        left = len(self.problems) - MOST_PROBLEMS
        return "; ".join(self.problems[:MOST_PROBLEMS] + ((f"and {left} more",) if left > 0 else ())) or self.message


class Refused(Error):
    """The manager said no, in *message*; final for this attempt."""


class Unavailable(Error):
    """No answer, and nothing happened. *retry_after* is in seconds, where the other side named a time."""

    def __init__(self, message: str, *, hint: str = "", retry_after: float | None = None) -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after


class Unauthorized(Unavailable):
    """The credentials were not accepted: jobs wait until they are renewed."""


class Conflict(Unavailable):
    """The object was changed by somebody else since it was read."""


class StoreFailed(Unavailable):
    """The store cannot write; what it accepted before is safe."""


class Uncertain(Error):
    """No answer, and it may have happened: look before retrying."""


class Fenced(Error):
    """Another driver has taken over: whoever gets this must stop at once."""
