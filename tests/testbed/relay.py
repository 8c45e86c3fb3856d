"""
Carry connections from one network namespace into another. Run as a program by ``kube``:

    relay.py LISTEN-NAMESPACE LISTEN-ADDRESS:PORT CONNECT-NAMESPACE CONNECT-ADDRESS:PORT

A namespace is a file, as ``/run/netns/node-1``, or ``-`` for the one it is started in. A
socket stays in the namespace that it was made in: so nothing of the machine's own network
is changed, and the servers on its loopback can still be reached from a cluster's pods.

Stands alone, by the standard library only.
"""

import asyncio
import contextlib
import ctypes
import os
import socket
import sys

NEWNET = 0x40000000
AT_ONCE = 1024
READY = "listening"
"""Printed when connections are taken."""


def enter(namespace: str) -> None:
    if namespace == "-":
        return
    with open(namespace, "rb") as file:  # noqa: PTH123
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.setns(file.fileno(), NEWNET) != 0:
            number = ctypes.get_errno()
            raise OSError(number, f"{namespace}: {os.strerror(number)}")


def place(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host, int(port)


async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while piece := await reader.read(65536):
            writer.write(piece)
            await writer.drain()
        writer.write_eof()
    except OSError:
        writer.transport.abort()  # cut on one side: cut on the other, as a wire would


async def serve(listening: socket.socket, to: tuple[str, int]) -> None:
    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there_reader, there_writer = await asyncio.open_connection(*to)
        except OSError:
            writer.transport.abort()
            return
        with contextlib.closing(writer), contextlib.closing(there_writer):
            await asyncio.gather(carry(reader, there_writer), carry(there_reader, writer))

    server = await asyncio.start_server(meet, sock=listening, backlog=AT_ONCE)
    await server.serve_forever()


def main(listen_in: str, listen_at: str, connect_in: str, connect_to: str) -> None:
    here = os.open("/proc/self/ns/net", os.O_RDONLY)
    enter(listen_in)
    listening = socket.create_server(place(listen_at), backlog=AT_ONCE)
    enter(f"/proc/self/fd/{here}")
    enter(connect_in)
    print(READY, flush=True)
    asyncio.run(serve(listening, place(connect_to)))


if __name__ == "__main__":
    main(*sys.argv[1:])
