"""
The border: what becomes of an error on its way out of the command.

A foreseeable one is told in a line, with its hint. Anything else is a bug of ours: its
traceback goes into a file, and the person gets one line that says where it is.
"""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Self

from bascule.cli import output
from bascule.cli.exits import BY_SIGNAL, CLOSED_PIPE, Exit, code_of_error
from bascule.errors import Error

if TYPE_CHECKING:
    from types import TracebackType


class Border:
    """Lets no exception out: ``code`` is what it came to."""

    def __init__(self) -> None:
        self.code: int = Exit.SUCCEEDED
        self.home: str | None = None

    def __enter__(self) -> Self:
        """Begin."""
        output.fill_standard_descriptors()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> bool:
        """Tell *fault* to the person, and turn it into a code."""
        if fault is None or isinstance(fault, SystemExit):
            return False
        self.code = self._told(fault)
        return True

    def _told(self, fault: BaseException) -> int:
        match innermost(fault):
            case Error() as error:
                output.tell(error)
                return code_of_error(error)
            case KeyboardInterrupt():
                return BY_SIGNAL + signal.SIGINT
            case BrokenPipeError():
                output.let_go_of_stdout()
                return CLOSED_PIPE
            case bug:
                self._report(fault, bug)
                return Exit.BUG

    def _report(self, fault: BaseException, bug: BaseException) -> None:
        from bascule.cli.bugs import written

        words = f"{type(bug).__name__}: {bug}" if str(bug) else type(bug).__name__
        output.say(f"bascule: this is a bug in Bascule: {output.clean(words)}")
        place = written(fault, self.home)
        if place:
            output.hint(f"please report it, with the file `{place}`")
        else:
            output.hint("please report it; run it again with TMPDIR set to a folder with room, to get a file to send")


def innermost(fault: BaseException) -> BaseException:
    """Return what made a group of tasks fail: a bug before all else, as it may explain the others."""
    if not isinstance(fault, BaseExceptionGroup):
        return fault
    leaves = [innermost(part) for part in fault.exceptions]
    return next((leaf for leaf in leaves if not isinstance(leaf, Error)), leaves[0])
