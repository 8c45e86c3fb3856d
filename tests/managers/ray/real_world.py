"""A real head as a world of the contract: jobs that do what files tell them."""

from __future__ import annotations

import asyncio
import secrets
import shlex
from itertools import count
from pathlib import Path
from typing import ClassVar

from bascule.managers.ray import abilities, connect
from bascule.model import Phase, Run
from bascule.wiring import SystemClock
from tests.contracts.manager_world import ManagerWorld
from tests.managers.ray.worlds import Place, target_at
from tests.testbed.ray_head import RayHead

SCRIPT = """\
key=$BASCULE_KEY
cd "$HANDS"
echo start >>"$key.starts"
while :; do
    if [ -e "$key.do" ]; then
        mv "$key.do" "$key.doing"
        . "./$key.doing"
        mv "$key.doing" "$key.done"
    fi
    sleep 0.1
done
"""


class RealWorld(ManagerWorld):
    head: ClassVar[RayHead]
    abilities = abilities
    tells_starts = False
    odd = "one\n\u00ff\x00 two".encode()
    patience = 90.0
    settling = 1.0
    run = Run(command=("sh", "-c", SCRIPT))

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._numbers = count(secrets.randbelow(10**12))
        self.place = folder / "hands"
        self.place.mkdir()
        self.clock = SystemClock()
        self.manager = connect(target_at(self.head.url), "default", Place(self.clock, folder))
        self.handles: list[str] = []

    async def __aexit__(self, kind, e, t):
        # What still runs would keep the next test waiting for a processor of the machine.
        for id_, details in (await self.manager._head.jobs()).jobs.items():
            if not details.end_time:
                await self.manager._head.stop(id_)
        await super().__aexit__(kind, e, t)

    def order(self, name="job", **spec):
        spec.setdefault("env", {"HANDS": str(self.place)})
        return super().order(name, **spec)

    async def start(self, handle):
        """Jobs start by themselves, and Ray says so before the first line of their script."""
        await self.becomes(handle, Phase.RUNNING)
        await self.wait_for(self.place / f"{handle.key}.starts")

    async def finish(self, handle, *, exit_code=0, signal=None):
        await self.tell(handle.key, f"kill -{signal} $$" if signal else f"exit {exit_code}")

    async def tell(self, key, command):
        half = self.place / f"{key}.half"
        await asyncio.to_thread(half.write_text, f"{command}\n")
        await asyncio.to_thread(half.rename, self.place / f"{key}.do")

    async def wait_for(self, path):
        for _ in range(400):
            if await asyncio.to_thread(path.exists):
                return
            await asyncio.sleep(0.05)
        raise AssertionError(f"{path.name} did not come")

    def starts(self, key):
        path = self.place / f"{key}.starts"
        return len(path.read_text().splitlines()) if path.exists() else 0

    async def write(self, handle, data):
        source = self.place / f"{handle.key}.data"
        await asyncio.to_thread(source.write_bytes, data)
        await asyncio.to_thread((self.place / f"{handle.key}.done").unlink, missing_ok=True)
        await self.tell(handle.key, f"cat {shlex.quote(str(source))}")
        await self.wait_for(self.place / f"{handle.key}.done")
