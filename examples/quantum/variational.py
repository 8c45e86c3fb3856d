#!/usr/bin/env python3
# The ground state of hydrogen by a loop: quantum jobs of one session measure, classical jobs choose the next angles.
"""
usage: variational.py [CLASSICAL [QUANTUM]]

Each argument is a target: CLASSICAL runs the classical steps (`local` unless given; a Slurm or Ray
target does as well), QUANTUM the quantum jobs (`gateway` unless given).
"""

import asyncio
import json
import math
import secrets
import sys

import bascule

# The molecule at 0.735 angstrom on two qubits; its least eigenvalue is -1.857275.
HYDROGEN = {"II": -1.052373, "IZ": 0.397937, "ZI": -0.397937, "ZZ": -0.011280, "XX": 0.180931}

CIRCUIT = """OPENQASM 3.0;
include "stdgates.inc";
input float[64] a;
input float[64] b;
qubit[2] q;
ry(a) q[0];
ry(b) q[1];
cx q[0], q[1];
"""

# As a function of one angle the energy is a sine: three values of it tell where it is least.
STEP = """#!/usr/bin/env python3
import json, math, sys
angles, which, (here, more, less) = map(json.loads, sys.argv[1:4])
angles[which] -= math.pi / 2 + math.atan2(2 * here - more - less, more - less)
print(json.dumps([math.remainder(angle, 2 * math.pi) for angle in angles]))
"""


async def main(classical: str = "local", quantum: str = "gateway") -> None:
    run = f"hydrogen-{secrets.token_hex(3)}"
    angles = [0.3, 2.0]
    async with bascule.connect() as bridge:
        for number in range(4):
            which = number % 2
            points = [shifted(angles, which, by) for by in (0.0, math.pi / 2, -math.pi / 2)]
            energies = await ended(bridge, measurement(f"{run}-q{number}", quantum, run, points, precision=0.02))
            arguments = [json.dumps(each) for each in (angles, which, energies["evs"])]
            step = bascule.Job(f"{run}-c{number}", target=classical, script=STEP, arguments=arguments)
            angles = await ended(bridge, step)
            print(f"round {number}: energy {energies['evs'][0]:+.3f}, next angles {angles[0]:+.3f} {angles[1]:+.3f}")
        last = measurement(f"{run}-last", quantum, run, [angles], precision=0.005, last=True)
        print(f"energy: {(await ended(bridge, last))['evs'][0]:.4f}")


def shifted(angles: list[float], which: int, by: float) -> list[float]:
    return [angle + by if n == which else angle for n, angle in enumerate(angles)]


def measurement(
    name: str, target: str, session: str, points: list[list[float]], *, precision: float, last: bool = False
) -> bascule.Job:
    """Return a job that estimates the energy at each of *points*; the last one closes the session."""
    program = {"id": "estimator", "params": {"pubs": [[CIRCUIT, HYDROGEN, points]]}}
    options = {"precision": precision, "session": {"name": session, "last": last}}
    return bascule.Job(name, target=target, program=program, options=options)


async def ended(bridge: bascule.Bridge, job: bascule.Job) -> object:
    """Run *job* and return the JSON that it printed."""
    submitted = await bridge.submit(job)
    result = await submitted.wait()
    if result.phase != "Succeeded":
        sys.exit(f"{result.name} {result.phase}: {result.message}")
    return json.loads(b"".join([piece async for piece in submitted.logs()]))


asyncio.run(main(*sys.argv[1:]))
