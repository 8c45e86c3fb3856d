"""
One array: which of its tasks wait, which run, and what became of the others. Pure.

The array has a state of its own, from which observers are told; each task that was
started has one too, and it is those that count: whoever comes after a kill counts again.
"""

from __future__ import annotations

from collections import deque

from msgspec.structs import replace

from bascule.managers.local.queue import Waiting
from bascule.managers.local.records import CANCEL, End, Outline, State, Stop
from bascule.managers.local.tasks import outline_of_task
from bascule.model import Phase, Tasks, indices_of, text_of_indices


class Array:
    """The tasks of one array, as the supervisor holds them in mind."""

    def __init__(self, outline: Outline, state: State) -> None:
        self.outline = outline
        self.state = state
        self._indices = indices_of(outline.indices)
        self._waiting = deque(self._indices)
        self._tried: dict[int, State] = {}
        self._running: set[int] = set()
        self._succeeded = 0
        self._cancelled = 0
        self._failed: dict[int, End] = {}

    @property
    def key(self) -> str:
        """The array's key."""
        return self.outline.key

    @property
    def running(self) -> frozenset[int]:
        """The tasks that were started and are not over."""
        return frozenset(self._running)

    @property
    def is_full(self) -> bool:
        """Tell whether as many tasks run as may run at once."""
        return 0 < self.outline.parallelism <= len(self._running)

    @property
    def is_over(self) -> bool:
        """Tell whether nothing can follow."""
        return not self._waiting and not self._running

    @property
    def has_begun(self) -> bool:
        """Tell whether some task has had its turn, so that the others need not wait behind later jobs."""
        return self.state.started is not None

    @property
    def turn(self) -> Waiting | None:
        """The array's place in the queue; None where no task of it waits."""
        return Waiting(self.outline, self.state, is_full=self.is_full) if self._waiting else None

    def next(self) -> Waiting:
        """Return the task that is to start next."""
        index = self._waiting[0]
        fresh = State("queued", self.state.at, walltime=self.state.walltime)
        state = replace(self._tried.get(index, fresh), walltime=self.state.walltime)
        return Waiting(outline_of_task(self.outline, index), state)

    def started(self, index: int, at: float | None) -> None:
        """Take note that a task runs, since *at*."""
        self._drop(index)
        self._running.add(index)
        self.state = replace(self.state, why="")
        self._begun(at)

    def tried(self, index: int, state: State) -> None:
        """Take note of a start that came to nothing: the task still waits."""
        self._tried[index] = state

    def ended(self, index: int, state: State) -> None:
        """Take note of how a task ended."""
        self._drop(index)
        self._running.discard(index)
        end = state.end or End(Phase.FAILED)
        if end.phase is Phase.SUCCEEDED:
            self._succeeded += 1
        elif end.phase is Phase.CANCELLED:
            self._cancelled += 1
        else:
            self._failed[index] = end
        self._begun(state.started)
        if state.finished is not None:
            self.state = replace(self.state, finished=max(state.finished, self.state.finished or 0.0))

    def waits(self, index: int) -> bool:
        """Tell whether a task waits for its turn."""
        return index in self._waiting

    def cancel(self, now: float) -> None:
        """Let no task start any more."""
        if self.state.stop is None:
            self.state = replace(self.state, stop=Stop(CANCEL, now), why="")
        self._cancelled += len(self._waiting)
        self._waiting.clear()

    def counted(self) -> State:
        """Return the state of the whole while it is not over."""
        word = "running" if self.has_begun else "queued"
        self.state = replace(self.state, word=word, tasks=self._tasks())
        return replace(self.state, finished=None)

    def last(self, now: float) -> State:
        """Return the state of the whole once it is over, at the time of day *now*."""
        tasks = self._tasks()
        words = tasks.summary
        if self._failed:
            index = min(self._failed)
            first = self._failed[index]
            words += f"; task {index}: {first.explanation}"
            end = End(Phase.FAILED, first.reason, words, first.exit_code, first.signal, first.inferred)
        elif self._cancelled:
            end = End(Phase.CANCELLED, "", words)
        else:
            end = End(Phase.SUCCEEDED, "", words, 0)
        finished = self.state.finished or now
        return replace(self.state, word="over", why="", stop=None, finished=finished, tasks=tasks, end=end)

    def _tasks(self) -> Tasks:
        return Tasks(
            total=len(self._indices),
            succeeded=self._succeeded,
            failed=len(self._failed),
            cancelled=self._cancelled,
            running=len(self._running),
            failed_indices=text_of_indices(self._failed),
        )

    def _begun(self, at: float | None) -> None:
        if at is not None:
            self.state = replace(self.state, started=min(at, self.state.started or at))

    def _drop(self, index: int) -> None:
        if self._waiting and self._waiting[0] == index:
            self._waiting.popleft()
        elif index in self._waiting:
            self._waiting.remove(index)
