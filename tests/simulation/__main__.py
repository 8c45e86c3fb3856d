"""
Run simulations: ``python -m tests.simulation --seeds 1000 [--from 0] [--seed N]``.

Prints a failing seed with the command that replays it, and a summary with the speed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.simulation.judge import verdicts
from tests.simulation.story import story_of
from tests.simulation.world import homes, tell


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation")
    parser.add_argument("--seeds", type=int, default=1000, help="how many")
    parser.add_argument("--from", type=int, default=0, dest="first", help="the first one")
    parser.add_argument("--seed", type=int, help="replay one, and tell what happened")
    asked = parser.parse_args()
    seeds = range(asked.first, asked.first + asked.seeds) if asked.seed is None else [asked.seed]
    memory = Path("/dev/shm")
    sys.unraisablehook = lambda _: None  # the dead may not clean up, and Python would complain
    root = Path(tempfile.mkdtemp(prefix="bascule-sim-", dir=memory if memory.is_dir() else None))
    failed, simulated, began = 0, 0.0, time.monotonic()
    with homes(root) as fresh:
        for seed in seeds:
            record = tell(story_of(seed), fresh())
            simulated += record.seconds
            wrong = verdicts(record)
            if asked.seed is not None:
                for entry in record.ledger:
                    print(f"{entry.at:9.3f} {entry.what:10} {entry.id:>28} {entry.key} {entry.note}")
                print(record.story, record.crashes, record.trace, sep="\n")
            if wrong:
                failed += 1
                print(f"seed {seed} ({record.story.kind}): {'; '.join(wrong)}")
                print(f"  replay: python -m tests.simulation --seed {seed}", flush=True)
    took = time.monotonic() - began
    count = len(seeds)
    print(f"{count - failed} passed, {failed} failed")
    print(f"{took / count * 1000:.1f} ms a seed, {simulated / took:,.0f} times real time", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
