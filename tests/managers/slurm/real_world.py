"""A real cluster as a world of the contract: jobs that do what a file tells them."""

from __future__ import annotations

import asyncio
import os
import secrets
import shlex
from itertools import count
from pathlib import Path
from typing import ClassVar

from bascule.managers.slurm import connect
from bascule.model import Run
from bascule.ports import Abilities
from bascule.wiring import SystemClock
from tests.contracts.manager_world import ManagerWorld
from tests.managers.slurm.worlds import ABILITIES, TOKEN_NAME, Place, append, target_at
from tests.testbed.slurm import SlurmCluster

SCRIPT = """\
#!/bin/bash
key=$SLURM_JOB_NAME
echo start >>"$PWD/$key.starts"
trap 'echo USR1 >>"$PWD/$key.signals"' USR1
while :; do
    if [ -e "$PWD/$key.do" ]; then
        mv "$PWD/$key.do" "$PWD/$key.doing"
        . "$PWD/$key.doing"
        mv "$PWD/$key.doing" "$PWD/$key.done"
    fi
    sleep 0.1
done
"""


class RealWorld(ManagerWorld):
    cluster: ClassVar[SlurmCluster]
    abilities: ClassVar[Abilities] = ABILITIES
    submission: ClassVar[str] = "Held"
    shares: ClassVar[bool] = True
    patience = 30.0
    settling = 2.0
    run = Run(script=SCRIPT)

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._numbers = count(secrets.randbelow(10**12))
        self.place = self.cluster.jobs_dir / secrets.token_hex(6)
        self.place.mkdir()
        self.place.chmod(0o777)
        os.environ[TOKEN_NAME] = self.cluster.token()
        self.clock = SystemClock()
        self.manager = self.connect()

    def connect(self, **options: object) -> object:
        root = self.cluster.jobs_dir if self.shares else None
        target = target_at(
            self.cluster.url,
            user=self.cluster.user,
            root=root,
            submission=self.submission,
            settleSeconds=2.0,
            **options,
        )
        return connect(target, "default", Place(self.clock))

    async def __aenter__(self):
        await self.manager.probe()
        return self

    async def __aexit__(self, kind, e, t):
        # What still runs would keep the next test waiting for a processor.
        ids = await asyncio.to_thread(self.cluster.run, "squeue", "-h", "-o", "%A", "-u", self.cluster.user)
        for number in set(ids.split()):
            await asyncio.to_thread(self.cluster.run, "scancel", number, check=False)
        await super().__aexit__(kind, e, t)

    def order(self, name="job", **spec):
        spec.setdefault("working_directory", str(self.place))
        return super().order(name, **spec)

    async def start(self, handle):
        """Jobs start by themselves, and Slurm says so before the script's first line."""
        await self.wait_for(self.place / f"{handle.key}.starts")

    async def finish(self, handle, *, exit_code=0, signal=None):
        await self.tell(handle.key, f"kill -{signal} $$" if signal else f"exit {exit_code}")

    async def tell(self, key, command):
        await self.wait_for(self.place / f"{key}.starts")
        half = self.place / f"{key}.half"
        await asyncio.to_thread(half.write_text, f"{command}\n")
        await asyncio.to_thread(half.rename, self.place / f"{key}.do")

    async def wait_for(self, path):
        for _ in range(200):
            if await asyncio.to_thread(path.exists):
                return
            await asyncio.sleep(0.05)
        raise AssertionError(f"{path.name} did not come")

    def starts(self, key):
        path = self.place / f"{key}.starts"
        return len(path.read_text().splitlines()) if path.exists() else 0

    def signals(self, key):
        path = self.place / f"{key}.signals"
        return path.read_text().splitlines() if path.exists() else []

    async def write(self, handle, data):
        source = self.place / f"{handle.key}.data"
        await asyncio.to_thread(source.unlink, missing_ok=True)
        await asyncio.to_thread(append, source, data)
        await asyncio.to_thread((self.place / f"{handle.key}.done").unlink, missing_ok=True)
        await self.tell(handle.key, f"cat {shlex.quote(str(source))}")
        await self.wait_for(self.place / f"{handle.key}.done")

    def lock(self):
        os.environ[TOKEN_NAME] = "not.a.token"
