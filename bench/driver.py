"""
A process that drives a home, and tells in JSON lines how it fares.

    python -m bench.driver HOME LIVE LOOKS

First a line once all LIVE jobs were observed by a look that began after the last was known; then what LOOKS more cost.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import resource
import sys
import time
from pathlib import Path

from bascule.bridge import Bridge, connect
from bascule.cli import logbook
from bascule.monitor import Monitor


async def main(home: Path, live: int, looks: int) -> None:
    """Drive; tell; go on until killed."""
    logbook.set_up(0, least=logging.ERROR)
    async with connect(home) as bridge:
        monitor = await _monitor(bridge, live)
        await _next_answer(monitor)
        runner = bridge.runner
        assert runner is not None
        await runner.caught_up()
        _tell(fresh=True, polls=monitor.polls, rss=_rss(), watched=len(monitor))
        if looks:
            await _next_answer(monitor)  # the first look reads everything, the others what moved
            began, cpu = time.perf_counter(), time.process_time()
            for _ in range(looks):
                await _next_answer(monitor)
            _tell(cpu=(time.process_time() - cpu) / looks, seconds=time.perf_counter() - began)
        await asyncio.sleep(3600)


async def _monitor(bridge: Bridge, live: int) -> Monitor:
    """Return the monitor once it watches nearly all jobs: some may have ended meanwhile."""
    while True:
        for connection in bridge.runner.connections.all() if bridge.runner else ():
            if len(connection.monitor) >= live:
                return connection.monitor
        await asyncio.sleep(0.1)


async def _next_answer(monitor: Monitor) -> None:
    """Wait for the answer to a look that begins from now on."""
    polls = monitor.polls
    while monitor.polls <= polls:
        await asyncio.sleep(0.05)
    before = monitor.answered_at
    while monitor.answered_at == before:
        await asyncio.sleep(0.05)


def _rss() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def _tell(**facts: object) -> None:
    print(json.dumps({**facts, "pid": os.getpid()}), flush=True)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
