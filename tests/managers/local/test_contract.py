"""What every manager owes, owed by the real `local`."""

import asyncio
from pathlib import Path

import pytest

from bascule.managers.local.manager import LocalManager
from bascule.model import Phase, Run
from bascule.wiring import SystemClock
from tests.contracts.manager import ManagerContract
from tests.contracts.manager_world import ManagerWorld
from tests.managers.local.homes import Home, wait_for

pytestmark = pytest.mark.slow

SCRIPT = """#!/bin/sh
cd "$HANDS"
echo started >>"$BASCULE_KEY.starts"
trap 'echo USR1 >>"$BASCULE_KEY.signals"' USR1
while :; do
    if [ -f "$BASCULE_KEY.write" ]; then cat "$BASCULE_KEY.write"; rm "$BASCULE_KEY.write"; fi
    if [ -f "$BASCULE_KEY.signal" ]; then kill -"$(cat "$BASCULE_KEY.signal")" $$; fi
    if [ -f "$BASCULE_KEY.exit" ]; then exit "$(cat "$BASCULE_KEY.exit")"; fi
    sleep 0.02
done
"""


class LocalWorld(ManagerWorld):
    """Jobs that do what files tell them."""

    abilities = LocalManager.abilities
    run = Run(script=SCRIPT)
    settling = 0.3

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.home = Home(folder, cpus=50)
        self.manager = self.home.manager
        self.clock = SystemClock()
        self.hands = folder / "hands"
        self.hands.mkdir()

    async def __aexit__(self, *_):
        await self.home.close()

    def order(self, name="job", **spec):
        held, attempt = spec.pop("held", False), spec.pop("attempt", 1)
        return super().order(name, held=held, attempt=attempt, env={"HANDS": str(self.hands)}, **spec)

    async def finish(self, handle, *, exit_code=0, signal=None):
        self.tell(handle, "exit" if signal is None else "signal", str(exit_code if signal is None else signal))

    def starts(self, key):
        return len(self.told(key, "starts"))

    def signals(self, key):
        return self.told(key, "signals")

    async def write(self, handle, data):
        self.tell(handle, "write", data)
        await wait_for(lambda: not (self.hands / f"{handle.id}.write").exists())

    async def becomes(self, handle, *phases):
        """Wait for the phase, and where that is Running for the script's first line too."""
        report = await super().becomes(handle, *phases)
        if report.phase is Phase.RUNNING:
            await wait_for(lambda: self.starts(handle.id))
        return report

    def tell(self, handle, what, data):
        ready = self.hands / f"{handle.id}.new"
        ready.write_bytes(data if isinstance(data, bytes) else data.encode())
        ready.rename(self.hands / f"{handle.id}.{what}")

    def told(self, key, what):
        path = self.hands / f"{key}.{what}"
        return path.read_text().split() if path.exists() else []


class TestLocal(ManagerContract):
    world_type = LocalWorld
    loop_factory = asyncio.new_event_loop
