"""A connection's way to a server, that can be cut, or fall silent without a word."""

from __future__ import annotations

import asyncio
import threading
from typing import Self


class Wire:
    """A connection's way to the API server, that can be cut, or fall silent without a word."""

    def __init__(self, host: str, port: int) -> None:
        self._to = (host, port)
        self._open: set[asyncio.Task[None]] = set()
        self._flows = asyncio.Event()
        self._flows.set()
        self.refuses = False

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            if self.refuses:
                return
            far_reader, far_writer = await asyncio.open_connection(*self._to)
            try:
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(self._pass(reader, far_writer))
                    tasks.create_task(self._pass(far_reader, writer))
            finally:
                far_writer.transport.abort()
        except (OSError, asyncio.CancelledError, ExceptionGroup):
            pass
        finally:
            self._open.discard(task)
            writer.transport.abort()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        mine = self._flows
        while data := await reader.read(65536):
            await mine.wait()
            writer.write(data)
            await writer.drain()
        raise ConnectionResetError

    def cut(self) -> None:
        """Break all connections."""
        for task in list(self._open):
            task.cancel()

    def fall_silent(self) -> None:
        """Let the connections of now pass nothing any more; new ones do."""
        self._flows.clear()
        self._flows = asyncio.Event()
        self._flows.set()


class WireApart:
    """The same in a thread of its own, for programs; *port* is where they connect to."""

    def __init__(self, host: str, port: int) -> None:
        self._wire_of = (host, port)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._do(self._open())
        return self

    def __exit__(self, *_: object) -> None:
        self._do(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def cut(self, *, refuses: bool = False) -> None:
        async def cut() -> None:
            self._wire.refuses = refuses
            self._wire.cut()

        self._do(cut())

    def mend(self) -> None:
        self._wire.refuses = False

    def fall_silent(self) -> None:
        async def fall() -> None:
            self._wire.fall_silent()

        self._do(fall())

    async def _open(self) -> None:
        self._wire = Wire(*self._wire_of)
        self._server = await asyncio.start_server(self._wire.serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        self._server.close()
        self._wire.cut()
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(others)

    def _do(self, work) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(30)
