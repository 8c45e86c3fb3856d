"""By what right an agent writes: it is the one whose number its job bears."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from bascule.errors import Fenced
from bascule.model import Ref
from bascule.platforms.kubernetes.wire import StoredJob


class AgentEpochs:
    """The right of the agent that has just taken a job; `saving` looks at the number with each write."""

    def __init__(self, taken: StoredJob, read: Callable[[Ref], Awaitable[StoredJob | None]]) -> None:
        self._taken = taken
        self._read = read

    @property
    def epoch(self) -> int:
        """Return the epoch of the leader that has handed the job over."""
        return self._taken.epoch

    async def confirm(self) -> None:
        """Raise `Fenced` where another agent has taken the job."""
        job = await self._read(self._taken.ref)
        if job is None or job.uid != self._taken.uid or job.agent > self._taken.agent:
            raise Fenced(
                f"another agent moves job `{self._taken.ref}`", hint="nothing is lost: it goes on with the job"
            )
