"""
The passes of a supervisor over its jobs: wishes, what is due, what fits, what to tell.

Who they are and where each stands is in ``roll``.
"""

from __future__ import annotations

from collections.abc import Callable

from bascule.failpoints import failpoint
from bascule.managers.local import cgroups
from bascule.managers.local.course import Run
from bascule.managers.local.granting import Granting
from bascule.managers.local.journal import Journal
from bascule.managers.local.processes import relatives
from bascule.managers.local.queue import Waiting
from bascule.managers.local.roll import Roll
from bascule.managers.local.spool import Spool
from bascule.managers.local.starter import Starter
from bascule.managers.local.wishes import Wish

_PAUSE = 5.0
"""Seconds before a disk that was full, or a machine without free processes, is tried again."""
_STARTS_PER_PASS = 20
_FOR_EVER = 3600.0


class Workload:
    """The jobs of one home, as the supervisor looks after them."""

    def __init__(self, spool: Spool, groups: cgroups.Cgroups, journal: Journal, now: Callable[[], float]) -> None:
        self._roll = Roll(spool, journal)
        self._granting = Granting(self._roll, journal)
        self._starter = Starter(spool, groups, self._roll.boot)
        self._spool = spool
        self._groups = groups
        self._log = journal
        self._now = now
        self._paused_until = 0.0
        self._more_to_start = False

    @property
    def runs(self) -> dict[str, Run]:
        """What was started and is not over."""
        return self._roll.runs

    @property
    def is_empty(self) -> bool:
        """Tell whether there is nothing to look after."""
        return self._roll.is_empty

    def next_look(self, now: float) -> float:
        """Return when something is due, in seconds since boot."""
        if self._more_to_start:
            return now
        due = [run.look_at for run in self.runs.values()]
        if self._paused_until > now:
            due.append(self._paused_until)
        return min(due, default=now + _FOR_EVER)

    def load(self) -> None:
        """Take up all that is not over."""
        self._roll.load(self._now())
        self._groups.sweep({group for run in self.runs.values() for group in run.state.groups})

    def take_wishes(self) -> None:
        """See to what managers want."""
        for wish in self._as_submitted(self._spool.wishes.read()):
            try:
                self._pause_unless(self._granting.see_to(wish, self._now()))
            except OSError as trouble:
                self._log("wish.delayed", key=wish.key, trouble=trouble)
                self._pause()
                continue
            except (KeyError, ValueError) as nonsense:
                self._log("wish.unknown", key=wish.key, what=wish.what, trouble=nonsense)
            failpoint("local.wish.seen")
            self._spool.wishes.grant(wish)

    def _as_submitted(self, wishes: list[Wish]) -> list[Wish]:
        """Put new orders first, the oldest of them before the others: in the queue they stand as they come."""
        new = {wish.key: self._spool.outline(wish.key) for wish in wishes if wish.what == "new"}
        at = {key: outline.at for key, outline in new.items() if outline is not None}
        return sorted(wishes, key=lambda wish: (wish.what != "new", at.get(wish.key, 0.0)))

    def look_after(self) -> None:
        """Look at the started jobs that are due."""
        now = self._now()
        if now >= self._paused_until:
            self._pause_unless(self._roll.ledger.try_again())
        due = [run for run in self.runs.values() if run.look_at <= now]
        before = {run.key: run.state for run in due}
        for run in due:
            run.notice(now)
        sure = {run.key for run in due if run.is_empty_for_sure}
        asked = {run.key: run.marks for run in due if run.key not in sure and (run.is_ending or run.wants_warning)}
        families = relatives(asked) if asked else {}
        for run in due:
            family = families.get(run.key, [])
            if run.is_ending and run.end_on(now, family):
                failpoint("local.ended")
                self._pause_unless(self._roll.finish(run))
                continue
            if run.wants_warning:
                run.warn(family)
                self._log("job.warned", key=run.key)
            if run.state != before[run.key]:
                self._roll.ledger.save_if_possible(run.key, run.state)

    def start_what_fits(self) -> None:
        """Start jobs in the order of their submission, as far as there is room."""
        self._more_to_start = False
        if self._now() < self._paused_until:
            return
        queue = self._roll.queue
        capacity = self._spool.capacity()
        if capacity is not None:
            queue.capacity = capacity
        for _ in range(_STARTS_PER_PASS):
            head, why = queue.next([run.outline.need for run in self.runs.values()])
            if head is None:
                return
            if why:
                self._roll.explain(head, why)
                return
            array = self._roll.arrays.get(head.outline.key)
            self._start(array.next() if array is not None else head)
            if self._now() < self._paused_until:
                return
        self._more_to_start = True

    def tell(self) -> None:
        """Let observers know what has changed."""
        self._roll.tell()

    def ended(self, pid: int, status: int) -> None:
        """Take note of a child that was reaped."""
        wrapped = [run for run in self.runs.values() if run.state.wrapper and run.state.wrapper.pid == pid]
        for run in wrapped or self.runs.values():
            run.reaped(pid, status)

    def _start(self, waiting: Waiting) -> None:
        outline = waiting.outline
        self._roll.queue.remove(outline.key)
        taken = [number for run in self.runs.values() for number in run.state.gpus]
        state, trouble = self._starter.start(waiting, self._roll.queue.capacity.gpus, taken)
        if trouble is not None:
            self._roll.wait(waiting._replace(state=state), first=True)
            self._log("start.delayed", key=outline.key, trouble=trouble)
            self._roll.ledger.save_if_possible(outline.key, state)
            self._pause()
        elif state.end is not None:
            self._pause_unless(self._roll.close(outline.key, state))
        else:
            self._roll.run(outline, state, ours=True)
            self._roll.ledger.save_if_possible(outline.key, state)
            failpoint("local.started")
            self._log("job.started", key=outline.key, pid=state.wrapper and state.wrapper.pid)

    def _pause_unless(self, well: bool) -> None:
        if not well:
            self._pause()

    def _pause(self) -> None:
        self._paused_until = self._now() + _PAUSE
