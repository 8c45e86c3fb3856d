"""``bascule quantum-gateway``: a quantum service of one's own, to try quantum jobs without an account."""

from __future__ import annotations

import argparse
import asyncio
import os
import secrets
import time
from contextlib import AsyncExitStack
from pathlib import Path

from bascule.cli import output
from bascule.cli.arguments import Parser, count_from
from bascule.cli.exits import Exit
from bascule.errors import Mistake

WHAT = """
Serve the Qiskit Runtime REST API on this machine, with a simulator behind it, until stopped.
Two devices: `aer` has 20 qubits without noise, `line5` five in a row that err.

Whoever has the API key may use it; the key is made when there is none yet. Jobs are kept in
memory only. The simulator comes with `pip install 'bascule[quantum]'`; whoever submits needs
none of that. Ctrl-C and TERM end it with code 0.
"""
EXAMPLES = """
bascule quantum-gateway
bascule quantum-gateway --port 8791 --key-file ~/gateway.key
bascule apply -f examples/quantum/target.yaml
"""

PORT = 8780
KEY_FILE = "~/quantum-gateway.key"
LAST_PORT = 65535


def add_arguments(parser: Parser) -> None:
    """Say what `quantum-gateway` takes."""
    parser.add_argument("--host", metavar="ADDRESS", default="127.0.0.1", help="where to listen; default: 127.0.0.1")
    parser.add_argument("--port", metavar="PORT", type=_port, default=PORT, help=f"default {PORT}, 0: any that is free")
    parser.add_argument(
        "--key-file",
        metavar="FILE",
        default=KEY_FILE,
        help=f"the file that holds the API key, made when it is not there; default {KEY_FILE}",
    )
    parser.add_argument(
        "--submits-per-minute",
        metavar="N",
        type=count_from,
        help="refuse more than so many jobs in a minute, as the real service does at 5; default: no limit",
    )


def _port(text: str) -> int:
    number = count_from(text)
    if number > LAST_PORT:
        raise Mistake(f"`{text}` is no port", hint=f"give one from 0 to {LAST_PORT}")
    return number


def main(args: argparse.Namespace) -> int:
    """Serve until stopped; return the exit code."""
    from bascule.cli import session

    file = Path(args.key_file).expanduser()
    key = key_in(file)

    async def work() -> None:
        try:
            await session.attended(_serve(args, key))
        except session.Left as left:
            output.say(f"stopped by {left}")

    output.say(f"the API key is in {file}")
    asyncio.run(work())
    return Exit.SUCCEEDED


async def _serve(args: argparse.Namespace, key: str) -> None:
    from bascule.gateways.quantum.accounts import INSTANCE, Accounts
    from bascule.gateways.quantum.devices import DEVICES
    from bascule.gateways.quantum.engine import ProcessEngine
    from bascule.gateways.quantum.server import application, serving
    from bascule.gateways.quantum.service import QuantumService

    async with AsyncExitStack() as stack:
        engine = await stack.enter_async_context(ProcessEngine())
        service = QuantumService(engine, DEVICES, time.time, submits_per_minute=args.submits_per_minute)
        app = application(service, Accounts(key, time.time))
        try:
            port = await stack.enter_async_context(serving(app, service, args.host, args.port))
        except OSError as fault:
            raise Mistake(
                f"port {args.port} of {args.host} cannot be used: {fault.strerror}", hint="choose another with `--port`"
            ) from fault
        host = f"[{args.host}]" if ":" in args.host else args.host
        output.say(f"quantum gateway at http://{host}:{port}/api/v1 ({engine.version})")
        output.say(f"the instance is {INSTANCE}")
        if args.host not in {"127.0.0.1", "::1", "localhost"}:
            output.hint("it speaks no TLS: let only a network of your own reach it")
        await asyncio.get_running_loop().create_future()


def key_in(file: Path) -> str:
    """Return the key in *file*, made there where there is none; only its owner may read it."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            key = file.read_text(encoding="ascii", errors="replace").strip()
        else:
            with os.fdopen(descriptor, "w") as made:
                key = secrets.token_urlsafe(24)
                made.write(f"{key}\n")
    except OSError as fault:
        raise Mistake(
            f"the key's file `{file}` cannot be used: {fault.strerror}", hint="name another with `--key-file`"
        ) from fault
    if not key or not key.isprintable():
        raise Mistake(f"the file `{file}` holds no key", hint="remove it, and one is made")
    return key
