"""
The process that computes: reads jobs from its standard input, writes what came of them.

The only place that imports Qiskit. It ends when its input does, so that it is never left behind.
"""

from __future__ import annotations

import os
import sys
import traceback
from typing import Any, BinaryIO

from bascule.gateways.quantum.frames import framed, read_from
from bascule.gateways.quantum.refusals import PROGRAM_FAILED, ProgramFailed


def main() -> None:
    """Compute until the input ends."""
    incoming, outgoing = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not stand between the messages
    try:
        from bascule.gateways.quantum import programs
    except ImportError as missing:
        _send(outgoing, {"missing": missing.name or str(missing)})
        return
    _send(outgoing, {"version": programs.version()})
    while (message := read_from(incoming)) is not None:
        _send(outgoing, _answer(programs.run, message))


def _answer(run: Any, message: dict[str, Any]) -> dict[str, Any]:
    try:
        results, logs = run(message["program"], message["backend"], message["params"])
    except ProgramFailed as failed:
        return {"failed": failed.message, "code": failed.code}
    except (ArithmeticError, AttributeError, LookupError, MemoryError, RuntimeError, TypeError, ValueError) as error:
        traceback.print_exc()
        return {"failed": f"{type(error).__name__}: {error}"[:1000], "code": PROGRAM_FAILED}
    return {"results": results, "logs": logs}


def _send(stream: BinaryIO, message: dict[str, Any]) -> None:
    stream.write(framed(message))
    stream.flush()


if __name__ == "__main__":
    main()
