"""How the service says no: a status, and an error with a number and a sentence."""

from __future__ import annotations

BAD_REQUEST = 1200
NO_SUCH_PROGRAM = 1204
NO_SUCH_BACKEND = 1226
NO_SUCH_JOB = 1291
OVER_ALREADY = 1292
NO_SUCH_SESSION = 1216
SESSION_CLOSED = 1217
NOT_OVER = 1235
RAN_TOO_LONG = 1305
TOO_OFTEN = 1429
USAGE_SPENT = 1430
NOT_SIGNED_IN = 1401
NOT_YOURS = 1403
DOES_NOT_FIT = 1517
PROGRAM_FAILED = 9999


class Refusal(Exception):
    """Raised to answer a request with an error."""

    def __init__(self, status: int, code: int, message: str, *, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.retry_after = retry_after

    @property
    def body(self) -> dict[str, object]:
        """As the service writes it."""
        return {"errors": [{"code": self.code, "message": self.message, "more_info": ""}]}


class ProgramFailed(Exception):
    """Raised where a job's program fails: the job's fault, told with its *code*."""

    def __init__(self, message: str, code: int = PROGRAM_FAILED) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
