"""
What the supervisor writes down, and what it still owes the disk.

An end that cannot be written, since the disk is full, is kept in mind and tried again:
the job is over, and its slots are free.
"""

from __future__ import annotations

import time

from msgspec.structs import replace

from bascule.failpoints import failpoint
from bascule.managers.local.journal import Journal
from bascule.managers.local.records import End, State
from bascule.managers.local.spool import Spool


class Ledger:
    """The states of one home's jobs, on their way to the spool."""

    def __init__(self, spool: Spool, journal: Journal) -> None:
        self._spool = spool
        self._log = journal
        self._owed: dict[str, State] = {}
        self._news = True

    @property
    def is_clear(self) -> bool:
        """Tell whether everything is written down."""
        return not self._owed

    def __contains__(self, key: str) -> bool:
        """Tell whether a job is over, and this is not written down yet."""
        return key in self._owed

    def save(self, key: str, state: State) -> None:
        """Write down how far a job has come."""
        self._spool.save(key, state, durable=False)
        self._news = True

    def save_if_possible(self, key: str, state: State) -> None:
        """Write it down, where nothing depends on it: whoever comes next finds out by itself."""
        try:
            self.save(key, state)
        except OSError as trouble:
            self._log("state.unsaved", key=key, trouble=trouble)

    def mend(self, key: str, state: State) -> None:
        """Write a state again that was torn, or never written."""
        if self._spool.state(key) is None:
            self.save_if_possible(key, state)

    def end(self, key: str, state: State, end: End) -> bool:
        """Write down how a job ended that did not come to its end by itself; as `close`."""
        return self.close(key, replace(state, word="over", why="", finished=time.time(), end=end))

    def close(self, key: str, state: State) -> bool:
        """Write down the last state of a job for good; False where it has to be tried again later."""
        self._owed[key] = state
        reason = state.end.reason if state.end else ""
        try:
            self._spool.scrub(key)
            self._spool.save(key, state, durable=True)
            failpoint("local.over")
        except FileNotFoundError:
            self._log("job.vanished", key=key)  # its folder was removed by somebody
        except OSError as trouble:
            self._log("end.delayed", key=key, trouble=trouble)
            return False
        self._log("job.over", key=key, phase=state.end and state.end.phase, reason=reason)
        self._news = True
        del self._owed[key]
        return True

    def try_again(self) -> bool:
        """Write down what is owed; False where something still is."""
        return all(self.close(key, state) for key, state in list(self._owed.items()))

    def tell(self) -> None:
        """Let observers know that something has changed."""
        if self._news:
            self._spool.tell()
            self._news = False
