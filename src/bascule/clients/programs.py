"""
What a program prints: credentials come from programs of the owner's choice, which may hang, flood or leave children.

The pipe is ours and not the event loop's: that one tells the end of a program only once its pipe
is at an end too, which one that is full, or held by a child, never is.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping, Sequence


async def printed_by(
    command: Sequence[str], *, most: int, patience: float, env: Mapping[str, str] | None = None
) -> tuple[bytes, int]:
    """
    Run *command* and return what it printed and its exit code.

    Of more than *most* bytes, the first *most* + 1 are returned, and the program is ended. What it
    says to standard error is thrown away: it may hold secrets. Raise `OSError` if it cannot be run,
    `TimeoutError` if it is not at its end within *patience* seconds; it is ended then, with all that
    it started, as it is when this is cancelled.
    """
    ours, its = os.pipe()
    with os.fdopen(ours, "rb", buffering=0) as pipe:
        try:
            program = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=its,
                stderr=asyncio.subprocess.DEVNULL,
                env=env,
                start_new_session=True,
            )
        finally:
            os.close(its)
        stream = asyncio.StreamReader()
        transport = None
        try:
            async with asyncio.timeout(patience):
                transport, _ = await asyncio.get_running_loop().connect_read_pipe(
                    lambda: asyncio.StreamReaderProtocol(stream), pipe
                )
                data = await _read(stream, most + 1)
                return data, await program.wait() if len(data) <= most else 0
        finally:
            if transport is not None:
                transport.close()
            await _end(program)


async def _read(stream: asyncio.StreamReader, most: int) -> bytes:
    data = bytearray()
    while len(data) < most and (piece := await stream.read(most - len(data))):
        data += piece
    return bytes(data)


async def _end(program: asyncio.subprocess.Process) -> None:
    """Leave nothing behind of a *program* that has not ended, nor of what it started."""
    if program.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        os.killpg(program.pid, signal.SIGKILL)
    await asyncio.shield(program.wait())
