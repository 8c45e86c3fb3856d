"""
The roll: all jobs of a home that are not over, and where each stands.

A job waits in the queue or runs. An array has its place in the queue as long as tasks of
it wait; a task that runs is a run like any other. Every step is written down before it
is taken, so that whoever comes after a kill goes on from what the files say.
"""

from __future__ import annotations

import time

from msgspec.structs import replace

from bascule.failpoints import failpoint
from bascule.managers.local import traces
from bascule.managers.local.arrays import Array
from bascule.managers.local.course import Run
from bascule.managers.local.journal import Journal
from bascule.managers.local.ledger import Ledger
from bascule.managers.local.processes import boot
from bascule.managers.local.queue import Queue, Waiting
from bascule.managers.local.records import CANCEL, End, Outline, State
from bascule.managers.local.spool import Spool
from bascule.managers.local.tasks import outline_of_task, parted, task_key
from bascule.model import Phase, Reason


class Roll:
    """Who waits and who runs, in one home."""

    def __init__(self, spool: Spool, journal: Journal) -> None:
        self.runs: dict[str, Run] = {}
        self.arrays: dict[str, Array] = {}
        self.queue = Queue()
        self.ledger = Ledger(spool, journal)
        self.boot = boot()
        self._spool = spool
        self._log = journal
        self._moved: set[str] = set()

    @property
    def is_empty(self) -> bool:
        """Tell whether there is nothing to look after."""
        return not (self.runs or len(self.queue)) and self.ledger.is_clear

    def load(self, now: float) -> None:
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
            self.end(key, state or State("queued", time.time()), lost)
        for outline, state in sorted(found, key=lambda pair: (pair[0].at, pair[0].key)):
            self._take_up(outline, state, now)

    def knows(self, key: str, now: float) -> bool:
        """Tell whether the job *key* is not over; take it up where it is new."""
        if key in self.arrays or key in self.runs or key in self.queue:
            return True
        state, outline = self._spool.progress(key), self._spool.outline(key)
        if outline is None or (state is not None and state.is_over) or key in self.ledger:
            return False
        self._take_up(outline, state, now)
        return True

    def run(self, outline: Outline, state: State, *, ours: bool) -> None:
        """Look after what was started, by us or by whoever was here before."""
        self.queue.remove(outline.key)
        self.runs[outline.key] = Run(outline, state, self._spool, ours=ours)
        job, index = parted(outline.key)
        if index is not None and job in self.arrays:
            self.arrays[job].started(index, state.started)
            self.go_on(self.arrays[job])

    def wait(self, waiting: Waiting, *, first: bool = False) -> None:
        """Let a job, or a task, wait for its turn."""
        job, index = parted(waiting.outline.key)
        if index is None:
            self.queue.add(waiting, first=first)
        elif job in self.arrays:
            self.arrays[job].tried(index, waiting.state)
            self.go_on(self.arrays[job])

    def go_on(self, array: Array) -> None:
        """Give an array the place in the queue that it should have now, or end it."""
        self._moved.add(array.key)
        turn = array.turn
        if turn is not None:
            self.queue.add(turn, first=array.has_begun)
            return
        self.queue.remove(array.key)
        if array.is_over:
            self._moved.discard(array.key)
            del self.arrays[array.key]
            self.close(array.key, array.last(time.time()))

    def stop_tasks(self, array: Array, now: float) -> None:
        """Begin to end all tasks of an array that run."""
        for index in array.running:
            run = self.runs.get(task_key(array.key, index))
            if run is not None and run.stop(CANCEL, now):
                self._log("job.stopping", key=run.key, cause=CANCEL)
                self.ledger.save(run.key, run.state)

    def explain(self, waiting: Waiting, why: str) -> None:
        """Say what a job waits for."""
        if waiting.state.why == why:
            return
        state = replace(waiting.state, why=why)
        self.queue.explained(waiting._replace(state=state))
        array = self.arrays.get(waiting.outline.key)
        if array is not None:
            array.state = state
            self._moved.add(array.key)
        else:
            self.ledger.save_if_possible(waiting.outline.key, state)

    def make_folder(self, key: str) -> None:
        """Make the folder of a task."""
        self._spool.make_folder(key)

    def finish(self, run: Run) -> bool:
        """Write down how a run ended of which nothing is left; as `close`."""
        self.runs.pop(run.key, None)
        return self.close(run.key, run.conclude(self.boot))

    def end(self, key: str, state: State, end: End) -> bool:
        """Write down how a job ended that did not come to its end by itself; as `close`."""
        return self.close(key, replace(state, word="over", why="", finished=time.time(), end=end))

    def close(self, key: str, state: State) -> bool:
        """Write down the last state of a job for good; False where that has to be tried again later."""
        done = self.ledger.close(key, state)
        job, index = parted(key)
        if index is not None and job in self.arrays:
            self.arrays[job].ended(index, state)
            self.go_on(self.arrays[job])
        return done

    def tell(self) -> None:
        """Let observers know what has changed."""
        for key in self._moved:
            self.ledger.save_if_possible(key, self.arrays[key].counted())
        self._moved.clear()
        self.ledger.tell()

    def _take_up(self, outline: Outline, state: State | None, now: float) -> None:
        if state is None:
            # Of a damaged state of an array: whatever has begun was no longer held.
            held = not (outline.indices and self._spool.begun_tasks(outline.key))
            ours, users = outline.ours and held, outline.users and held
            state = State("queued", outline.at, ours=ours, users=users, walltime=outline.walltime)
            self.ledger.save_if_possible(outline.key, state)
            failpoint("local.taken")
        if outline.indices:
            self._take_up_array(Array(outline, state), now)
        else:
            self._take_up_one(outline, state)

    def _take_up_array(self, array: Array, now: float) -> None:
        self.arrays[array.key] = array
        self.ledger.mend(array.key, array.state)
        for index in self._spool.begun_tasks(array.key):
            key = task_key(array.key, index)
            state = self._spool.progress(key)
            if state is None:
                continue
            if state.is_over:
                array.ended(index, state)
                continue
            self._take_up_one(outline_of_task(array.outline, index), state)
        if array.state.stop is not None:
            array.cancel(now)
            self.stop_tasks(array, now)
        if array.key in self.arrays:
            self.go_on(array)

    def _take_up_one(self, outline: Outline, state: State) -> None:
        if state.word == "starting" and self._never_begins(outline.key, state):
            state = replace(state, word="queued", wrapper=None)
        self.ledger.mend(outline.key, state)
        if state.word == "queued":
            self.wait(Waiting(outline, state))
            return
        self.run(outline, state, ours=False)
        self._log("job.found", key=outline.key, word=state.word)
        if state.boot != self.boot:
            self.finish(self.runs[outline.key])

    def _never_begins(self, key: str, state: State) -> bool:
        """Tell whether a launch that was intended can be ruled out: its wrapper has not begun, and no longer can."""
        return state.boot == self.boot and traces.fence(self._spool.folder(key), state.launch)
