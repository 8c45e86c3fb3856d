"""
Starting a job, such that it starts once whatever is killed meanwhile.

The intent is on the disk before the wrapper exists; the wrapper begins by making a
file exclusively, which a later supervisor uses to find out, or to prevent.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from bascule.failpoints import failpoint
from bascule.managers.local import cgroups, launch, slots, wrapper
from bascule.managers.local.processes import memory_kills
from bascule.managers.local.queue import Waiting
from bascule.managers.local.records import End, State
from bascule.managers.local.spool import Spool
from bascule.managers.local.tasks import parted
from bascule.model import Phase, Reason


class Starter:
    """Starts the jobs of one home."""

    def __init__(self, spool: Spool, groups: cgroups.Cgroups, boot: str) -> None:
        self._spool = spool
        self._groups = groups
        self._boot = boot
        self._wrapper = wrapper.install(spool.place)

    def start(
        self, waiting: Waiting, all_gpus: int, taken_gpus: Sequence[int]
    ) -> tuple[State, OSError | launch.TryLater | None]:
        """Start a job; return its next state, and what keeps it from being started just now."""
        outline, state = waiting.outline, waiting.state
        groups = self._groups.make(outline.key, outline.need.memory)
        intent = replace(
            state,
            word="starting",
            why="",
            launch=state.launch + 1,
            boot=self._boot,
            started=time.time(),
            gpus=slots.pick(outline.need.gpus, all_gpus, taken_gpus),
            groups=groups,
            ooms=memory_kills(),
            output=outline.output,
            error=outline.error,
            output_from=_size(outline.output) if "output" in outline.appends else 0,
            error_from=_size(outline.error) if "error" in outline.appends else 0,
        )
        try:
            self._spool.make_folder(outline.key)
            self._spool.save_intent(outline.key, intent)
            failpoint("local.starting")
            started = self._launch(intent, outline.key, all_gpus)
        except (launch.StartFailed, ValueError) as failure:
            cgroups.remove(groups)
            return self._failed(state, str(failure)), None
        except (launch.TryLater, OSError) as trouble:
            cgroups.remove(groups)
            return replace(state, launch=intent.launch, why=f"cannot start now: {trouble}"), trouble
        return started, None

    def _launch(self, intent: State, key: str, all_gpus: int) -> State:
        order = self._spool.order(key)
        if order is None:
            raise launch.StartFailed("its order on the disk cannot be read")
        given = ",".join(map(str, intent.gpus)) if all_gpus else None
        birth = launch.start(
            order,
            launch.Launch(
                intent.launch,
                intent.boot,
                self._spool.folder(key),
                self._spool.folder(parted(key).job),
                self._wrapper,
                given,
                intent.groups,
            ),
        )
        failpoint("local.spawned")
        return replace(intent, word="running", wrapper=birth)

    def _failed(self, state: State, why: str) -> State:
        end = End(Phase.FAILED, Reason.START_FAILED, f"could not start: {why}")
        return replace(state, word="over", why="", finished=time.time(), end=end)


def _size(path: str) -> int:
    with contextlib.suppress(OSError):
        return Path(path).stat().st_size
    return 0
