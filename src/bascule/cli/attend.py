"""What a controller pod's agent does, in the process that does it: attend to the job, and tell its end."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from pathlib import Path

from bascule.attending import Agent
from bascule.cli.exits import Exit, code_of_job
from bascule.cli.guardian import End, Frame, Place, Progress, frame_of
from bascule.cli.sink import Sink
from bascule.clients.kube import KubeClient, access_from_environment
from bascule.clients.kube.borders import borders_of
from bascule.errors import Error, Fenced
from bascule.forwarding import Output
from bascule.model import Job, Ref
from bascule.platforms.kubernetes import Settings, open_store
from bascule.platforms.kubernetes.opening import read_job
from bascule.ports import Stream
from bascule.wiring import SystemClock

STREAMS: tuple[Stream, ...] = ("output", "error")
LEFT = 128 + signal.SIGTERM


def attend(args: argparse.Namespace, progress: Progress, sink: int) -> int:
    """Attend to the job that *args* name, and write frames to *sink*; return the process' own exit code."""
    handing = Handing(sink)
    try:
        return asyncio.run(_attend(args, progress, handing))
    except* Fenced as fenced:
        # The job is another's. Nobody may follow in this pod, or the two would take it from each other for ever.
        handing.end_now(End(Exit.TEMPORARY, f"Fenced: {_first(fenced)}"))
    except* Error as trouble:
        print(f"bascule: {_first(trouble)}", file=sys.stderr)
    return Exit.TEMPORARY


async def _attend(args: argparse.Namespace, progress: Progress, handing: Handing) -> int:
    clock, ref = SystemClock(), Ref(args.namespace, args.job)
    access = access_from_environment()
    job = await read_job(access, ref)
    if job is None or job.uid != args.uid:
        await handing.end(end_of(None))
        return Exit.SUCCEEDED
    settings = Settings(namespace=ref.namespace, watched=ref.namespace, only=ref, only_target=job.target_ref)
    installation = os.environ.get("BASCULE_INSTALLATION", "")
    async with KubeClient(access) as client:
        borders = await borders_of(client, args.guard)
    async with open_store(access, clock, settings, installation=installation) as store:
        agent = Agent(store, ref, args.uid, clock=clock, folder=_folder(args), borders=borders)
        reading = Output(handing.hand, {stream: progress.of(stream) for stream in STREAMS}, clock)
        left = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, left.set)
        async with asyncio.TaskGroup() as tasks:
            work = tasks.create_task(agent.run(reading), name="attend")
            asked = tasks.create_task(left.wait(), name="asked to leave")
            await asyncio.wait((work, asked), return_when=asyncio.FIRST_COMPLETED)
            asked.cancel()
            if not work.done() and not await agent.wants_to_stay():
                work.cancel()
                return LEFT
        if reading.trouble:
            print(f"bascule: the output cannot be read: {reading.trouble}", file=sys.stderr)
        await handing.end(end_of(agent.job))
    return Exit.SUCCEEDED


def end_of(job: Job | None) -> End:
    """Return how *job* ended: the code as `bascule run` has it, and the reason, which comes first."""
    if job is None:
        return End(Exit.CANCELLED, "Deleted: the BridgeJob is gone")
    status = job.status
    word = status.reason or str(status.phase)
    return End(int(code_of_job(status)), f"{word}: {status.message}" if status.message else word)


class Handing:
    """Frames, on their way to the process that passes them on."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._sink = Sink(descriptor)
        self._turn = asyncio.Lock()

    async def hand(self, stream: Stream, attempt: int, offsets: dict[str, int], data: bytes) -> None:
        """Hand over *data*, which leads to *offsets*."""
        async with self._turn:
            await self._sink.write(frame_of(Frame(size=len(data), place=Place(stream, attempt, offsets)), data))

    async def end(self, end: End) -> None:
        """Tell how it ended."""
        async with self._turn:
            await self._sink.write(frame_of(Frame(end=end)))

    def end_now(self, end: End) -> None:
        """Tell how it ended, when nothing else is under way."""
        os.write(self._descriptor, frame_of(Frame(end=end)))


def _folder(args: argparse.Namespace) -> Path:
    return Path(args.home or os.environ.get("BASCULE_HOME") or ".")


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    first: BaseException = group
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]
    return first
