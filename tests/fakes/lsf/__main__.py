"""
Run the fake Application Center, to try Bascule's manager `lsf` against: python -m tests.fakes.lsf [PORT]

Its jobs are real processes of this machine, two at a time. It prints how to use it, and ends
with its jobs when it is interrupted.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
import time
from pathlib import Path

from tests.fakes.lsf.cluster import US, FakeCluster
from tests.fakes.lsf.server import PASSWORDS, FakeCenter


def main() -> int:
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8080
    folder = Path(tempfile.mkdtemp(prefix="fake-lsf-"))
    cluster = FakeCluster(folder, slots=2)
    with FakeCenter(cluster, port=port) as center, contextlib.suppress(KeyboardInterrupt):
        print(f"url: {center.url}\nuser: {US}\npassword: {PASSWORDS[US]}", flush=True)
        while True:
            cluster.catch_up()
            time.sleep(0.05)
    return 0


if __name__ == "__main__":
    sys.exit(main())
