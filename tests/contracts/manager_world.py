"""
What the contract of managers must be able to move: the outside a manager speaks to.

A new manager's tests derive a world of theirs from `ManagerWorld`: how to start a job, end
it and count its starts. Every further hook that they offer brings further behaviours.
"""

from __future__ import annotations

from datetime import datetime
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Literal, Self

from bascule.model import Answer, Handle, Job, JobSpec, Phase, Report, Run, TargetRef, key_for
from bascule.ports import Abilities, Clock, Manager, Order
from tests.contracts.owed import not_offered

INSTALLATION = "tests2"


class ManagerWorld:
    """A manager, the clock it goes by, and hands that reach behind it."""

    abilities: ClassVar[Abilities]
    waits: ClassVar[bool] = False
    """Whether a job waits outside until `start` is called."""
    patience: ClassVar[float] = 60.0
    """Seconds within which the manager must say what has become true."""
    settling: ClassVar[float] = 120.0
    """Seconds after which what has not happened will not."""
    run = Run(command=("true",))
    tells_starts: ClassVar[bool] = True
    """Whether the manager says when a job began; where it cannot, the core goes by its own first sight."""
    odd: ClassVar[bytes] = b"one\r\n\xff\x00 two"
    """What a job may print that is no text; as much of it as the manager's own way of reading output can carry."""
    longest: ClassVar[float] = 180.0
    """Seconds within which every call ends, whatever the other side does."""
    fails_with: ClassVar[int | None] = 3
    """The exit code of a job that was ended with it; None where jobs have no exit codes, nor signals."""

    manager: Manager
    clock: Clock

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._numbers = count(1)

    async def start(self, handle: Handle) -> None:
        """Let a submitted job start, which it does by itself where nothing else is known."""
        await self.becomes(handle, Phase.RUNNING)

    async def finish(self, handle: Handle, *, exit_code: int = 0, signal: int | None = None) -> None:
        """Let a running job end."""
        raise NotImplementedError

    def starts(self, key: str) -> int:
        """Count how many jobs that bear *key* have started, from what the jobs themselves left behind."""
        raise NotImplementedError

    # Hooks that need not be offered.

    @not_offered
    async def purge(self, handle: Handle) -> None:
        """Let the manager's live view drop a job that is over, and let the time pass that this takes."""

    @not_offered
    async def reuse(self, handle: Handle) -> str:
        """Give the id of a job to a stranger's, which runs; return a word by which `still_runs` knows it."""
        raise NotImplementedError

    @not_offered
    def still_runs(self, stranger: str) -> bool:
        """Tell whether the stranger's job still runs."""
        raise NotImplementedError

    @not_offered
    async def say(self, handle: Handle, word: str) -> None:
        """Let the manager give a job a state that nobody has heard of."""

    @not_offered
    async def write(self, handle: Handle, data: bytes) -> None:
        """Let a running job print *data*."""

    @not_offered
    def signals(self, key: str) -> list[str]:
        """Return the names of the signals that the job noticed."""
        raise NotImplementedError

    @not_offered
    def cut(self, call: str, when: Literal["before", "after"]) -> None:
        """Cut the line during the next *call*, before or after its effect."""

    @not_offered
    def refuse(self, call: str) -> None:
        """Let nobody listen at the next *call*."""

    @not_offered
    def delay(self, call: str) -> None:
        """Let the next *call* go unanswered, and take effect only at `arrive`."""

    @not_offered
    async def arrive(self) -> None:
        """Let what was delayed reach the manager now."""

    @not_offered
    def double(self, call: str) -> None:
        """Let the next *call* reach the manager twice, as some box on the way may do."""

    @not_offered
    def reject(self, call: str) -> None:
        """Let the manager itself say no to the next *call*."""

    @not_offered
    def stall(self, call: str) -> None:
        """Let the next *call* be answered by nothing, for ever."""

    @not_offered
    def swell(self, call: str) -> None:
        """Let the answer to the next *call* have no end."""

    @not_offered
    def garble(self, call: str) -> None:
        """Let the answer to the next *call* be a success that nobody can read."""

    @not_offered
    def lock(self) -> None:
        """Let the credentials be accepted no more."""

    @not_offered
    def rotate(self) -> None:
        """Let a new credential take the old one's place, here and there."""

    @not_offered
    def requests(self) -> int:
        """Count the requests that the manager has made so far."""
        raise NotImplementedError

    # What the behaviours are written with.

    async def __aenter__(self) -> Self:
        """Come into being."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, e: BaseException | None, t: TracebackType | None
    ) -> None:
        """Leave nothing behind."""
        await self.manager.aclose()

    def order(self, name: str = "job", *, attempt: int = 1, held: bool = False, **spec: Any) -> Order:
        """Return an order for a job of its own; *spec* has fields of `JobSpec`."""
        uid = f"{name}-{next(self._numbers)}"
        job = Job("default", name, uid, JobSpec(TargetRef("there"), **{"run": self.run, **spec}))
        return Order(job, key_for(name, installation=INSTALLATION, uid=uid, attempt=attempt), held)

    def now(self) -> datetime:
        """Return the time of day."""
        return self.clock.now()

    async def see(self, handle: Handle) -> Answer:
        """Return the manager's answer about one job."""
        return (await self.manager.observe([handle])).answers[handle.id]

    async def becomes(self, handle: Handle, *phases: Phase) -> Report:
        """Wait until the manager reports one of *phases*; a final one only once it is settled."""
        ends = self.clock.monotonic() + self.patience
        answer: Answer | None = None
        while self.clock.monotonic() < ends:
            answer = await self.see(handle)
            if isinstance(answer, Report) and answer.phase in phases and (answer.is_over or not answer.phase.is_final):
                return answer
            await self.clock.sleep(0.1)
        raise AssertionError(f"did not become {phases} within {self.patience} s, but: {answer}")

    async def running(self, **spec: Any) -> tuple[Order, Handle]:
        """Return a job that runs, and its order."""
        order = self.order(**spec)
        handle = await self.manager.submit(order)
        await self.start(handle)
        await self.becomes(handle, Phase.RUNNING)
        return order, handle

    async def over(self, *, exit_code: int = 0, signal: int | None = None) -> tuple[Order, Handle, Report]:
        """Return a job that has ended, its order, and what the manager says of it."""
        order, handle = await self.running()
        await self.finish(handle, exit_code=exit_code, signal=signal)
        report = await self.becomes(handle, Phase.SUCCEEDED, Phase.FAILED, Phase.CANCELLED)
        return order, handle, report
