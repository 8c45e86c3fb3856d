"""
All jobs of a home that are not over: who is held, who waits, who runs.

Every step is written down before it is taken, so that whoever comes after a kill goes
on from what the files say. A pass of the supervisor takes wishes, looks after the jobs
that are due, starts what fits, and tells observers.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from msgspec.structs import replace

from bascule.failpoints import failpoint
from bascule.managers.local import cgroups, traces
from bascule.managers.local.course import Run
from bascule.managers.local.journal import Journal
from bascule.managers.local.ledger import Ledger
from bascule.managers.local.processes import boot, relatives, send, signal_number
from bascule.managers.local.queue import Queue, Waiting
from bascule.managers.local.records import CANCEL, End, Outline, State
from bascule.managers.local.spool import Spool, Wish
from bascule.managers.local.starter import Starter
from bascule.model import Phase, Reason

_PAUSE = 5.0
"""Seconds before a disk that was full, or a machine without free processes, is tried again."""
_STARTS_PER_PASS = 20
_FOR_EVER = 3600.0


class Workload:
    """The jobs of one home, as the supervisor holds them in mind."""

    def __init__(self, spool: Spool, groups: cgroups.Cgroups, journal: Journal, now: Callable[[], float]) -> None:
        self.runs: dict[str, Run] = {}
        self._queue = Queue()
        self._spool = spool
        self._groups = groups
        self._log = journal
        self._now = now
        self._boot = boot()
        self._starter = Starter(spool, groups, self._boot)
        self._paused_until = 0.0
        self._more_to_start = False
        self._ledger = Ledger(spool, journal)

    @property
    def is_empty(self) -> bool:
        """Tell whether there is nothing to look after."""
        return not (self.runs or len(self._queue)) and self._ledger.is_clear

    def next_look(self, now: float) -> float:
        """Return when something is due, in seconds since boot."""
        if self._more_to_start:
            return now
        due = [run.look_at for run in self.runs.values()]
        if self._paused_until > now:
            due.append(self._paused_until)
        return min(due, default=now + _FOR_EVER)

    def load(self) -> None:
        """Take up all that is not over, oldest first."""
        found: list[tuple[Outline, State | None]] = []
        for key in self._spool.kept():
            state = self._spool.progress(key)
            if state is not None and state.is_over:
                continue
            outline = self._spool.outline(key)
            if outline is not None:
                found.append((outline, state))
                continue
            self._log("order.unreadable", key=key)
            lost = End(Phase.FAILED, Reason.LOST, "its order on the disk cannot be read")
            self._end(key, state or State("queued", time.time()), lost)
        for outline, state in sorted(found, key=lambda pair: (pair[0].at, pair[0].key)):
            self._take_up(outline, state)
        self._groups.sweep(keep={group for run in self.runs.values() for group in run.state.groups})

    def take_wishes(self) -> None:
        """See to what managers want."""
        for wish in self._spool.read_wishes():
            try:
                self._see_to(wish)
            except OSError as trouble:
                self._log("wish.delayed", key=wish.key, trouble=trouble)
                self._pause()
                continue
            except (KeyError, ValueError) as nonsense:
                self._log("wish.unknown", key=wish.key, what=wish.what, trouble=nonsense)
            failpoint("local.wish.seen")
            self._spool.grant(wish)

    def look_after(self) -> None:
        """Look at the started jobs that are due."""
        now = self._now()
        if now >= self._paused_until and not self._ledger.try_again():
            self._pause()
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
                self._finish(run)
                continue
            if run.wants_warning:
                run.warn(family)
                self._log("job.warned", key=run.key)
            if run.state != before[run.key]:
                self._ledger.save_if_possible(run.key, run.state)

    def start_what_fits(self) -> None:
        """Start jobs in the order of their submission, as far as there is room."""
        self._more_to_start = False
        if self._now() < self._paused_until:
            return
        capacity = self._spool.capacity()
        if capacity is not None:
            self._queue.capacity = capacity
        for _ in range(_STARTS_PER_PASS):
            head, why = self._queue.next([run.outline.need for run in self.runs.values()])
            if head is None:
                return
            if why:
                self._explain(head, why)
                return
            self._start(head)
            if self._now() < self._paused_until:
                return
        self._more_to_start = True

    def tell(self) -> None:
        """Let observers know what has changed."""
        self._ledger.tell()

    def ended(self, pid: int, status: int) -> None:
        """Take note of a child that was reaped."""
        wrapped = [run for run in self.runs.values() if run.state.wrapper and run.state.wrapper.pid == pid]
        for run in wrapped or self.runs.values():
            run.reaped(pid, status)

    def _take_up(self, outline: Outline, state: State | None) -> None:
        if state is None:
            state = State("queued", outline.at, ours=outline.ours, users=outline.users, walltime=outline.walltime)
            self._ledger.save_if_possible(outline.key, state)
            failpoint("local.taken")
        elif state.word == "starting" and self._never_begins(outline.key, state):
            state = replace(state, word="queued", wrapper=None)
        self._ledger.mend(outline.key, state)
        if state.word == "queued":
            self._queue.add(Waiting(outline, state))
            return
        run = Run(outline, state, self._spool, ours=False)
        self._log("job.found", key=outline.key, word=state.word)
        if state.boot == self._boot:
            self.runs[outline.key] = run
        else:
            self._finish(run)

    def _never_begins(self, key: str, state: State) -> bool:
        """Tell whether a launch that was intended can be ruled out: its wrapper has not begun, and no longer can."""
        return state.boot == self._boot and traces.fence(self._spool.folder(key), state.launch)

    def _see_to(self, wish: Wish) -> None:
        what, _, value = wish.what.partition("-")
        if wish.key in self.runs:
            self._see_to_running(self.runs[wish.key], what, value)
            return
        if wish.key not in self._queue:
            state, outline = self._spool.progress(wish.key), self._spool.outline(wish.key)
            if outline is None or (state is not None and state.is_over) or wish.key in self._ledger:
                return
            self._take_up(outline, state)
        waiting = self._queue.get(wish.key)
        if waiting is not None:
            self._see_to_waiting(waiting, what, value)

    def _see_to_waiting(self, waiting: Waiting, what: str, value: str) -> None:
        key = waiting.outline.key
        if what == "cancel":
            self._queue.remove(key)
            self._log("job.cancelled", key=key)
            self._end(key, waiting.state, End(Phase.CANCELLED, "", "cancelled before it started"))
            return
        changed = waiting.as_wished(what, value)
        self._ledger.mend(key, changed.state)
        if changed != waiting:
            self._ledger.save(key, changed.state)
            self._queue.add(changed)

    def _see_to_running(self, run: Run, what: str, value: str) -> None:
        before = run.state
        match what:
            case "cancel" if run.stop(CANCEL, self._now()):
                self._log("job.stopping", key=run.key, cause=CANCEL)
            case "walltime":
                run.state = replace(run.state, walltime=float(value))
                run.stir()
            case "signal":
                send((one.birth for one in relatives({run.key: run.marks})[run.key]), signal_number(value))
        if run.state != before:
            self._ledger.save(run.key, run.state)

    def _start(self, waiting: Waiting) -> None:
        key = waiting.outline.key
        self._queue.remove(key)
        taken = [number for run in self.runs.values() for number in run.state.gpus]
        state, trouble = self._starter.start(waiting, self._queue.capacity.gpus, taken)
        if trouble is not None:
            self._queue.add(Waiting(waiting.outline, state), first=True)
            self._log("start.delayed", key=key, trouble=trouble)
            self._ledger.save_if_possible(key, state)
            self._pause()
        elif state.end is not None:
            self._close(key, state)
        else:
            self.runs[key] = Run(waiting.outline, state, self._spool, ours=True)
            self._ledger.save_if_possible(key, state)
            failpoint("local.started")
            self._log("job.started", key=key, pid=state.wrapper and state.wrapper.pid)

    def _explain(self, waiting: Waiting, why: str) -> None:
        if waiting.state.why != why:
            state = replace(waiting.state, why=why)
            self._queue.explained(waiting._replace(state=state))
            self._ledger.save_if_possible(waiting.outline.key, state)

    def _finish(self, run: Run) -> None:
        self.runs.pop(run.key, None)
        self._close(run.key, run.conclude(self._boot))

    def _close(self, key: str, state: State) -> None:
        if not self._ledger.close(key, state):
            self._pause()

    def _end(self, key: str, state: State, end: End) -> None:
        if not self._ledger.end(key, state, end):
            self._pause()

    def _pause(self) -> None:
        self._paused_until = self._now() + _PAUSE
