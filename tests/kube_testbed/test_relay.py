"""The relay carries connections as a wire does. No namespace is needed for that."""

import contextlib
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.testbed import relay as program
from tests.testbed.ports import Ports
from tests.testbed.slurm_daemons import wait_until

RELAY = Path(program.__file__)


@pytest.fixture
def behind() -> Iterator[socket.socket]:
    """
    The server that the relay leads to.
    """
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(20)
        yield server


@pytest.fixture
def door(behind) -> Iterator[tuple[str, int]]:
    """
    The address of the relay.
    """
    ports = Ports(1)
    here, there = f"127.0.0.1:{ports.numbers[0]}", f"127.0.0.1:{behind.getsockname()[1]}"
    with subprocess.Popen([sys.executable, "-I", "-S", str(RELAY), "-", here, "-", there]) as process:
        wait_until(lambda: is_open(ports.numbers[0]), "the relay to listen", within=60)
        behind.accept()[0].close()  # that was the question whether it listens
        yield "127.0.0.1", ports.numbers[0]
        process.kill()
    ports.release()


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def connect(door: tuple[str, int], behind: socket.socket) -> tuple[socket.socket, socket.socket]:
    near = socket.create_connection(door, timeout=20)
    far, _ = behind.accept()
    far.settimeout(20)
    return near, far


def test_what_goes_in_comes_out_both_ways(door, behind):
    near, far = connect(door, behind)
    much = bytes(range(256)) * 20_000
    with near, far:
        sender = threading.Thread(target=near.sendall, args=(much,))
        sender.start()
        received = read(far, len(much))
        sender.join()
        far.sendall(b"thanks")

        assert much == received
        assert b"thanks" == read(near, 6)


def test_the_end_of_one_direction_is_not_that_of_the_other(door, behind):
    near, far = connect(door, behind)
    with near, far:
        near.sendall(b"all I have")
        near.shutdown(socket.SHUT_WR)

        assert b"all I have" == read(far, 100)
        far.sendall(b"an answer")
        far.close()
        assert b"an answer" == read(near, 100)


def test_where_nobody_listens_behind_it_the_caller_is_cut_off(door, behind):
    behind.close()

    with socket.create_connection(door, timeout=20) as near, contextlib.suppress(ConnectionResetError):
        assert b"" == near.recv(1)


def read(connection: socket.socket, count: int) -> bytes:
    received = bytearray()
    while len(received) < count and (piece := connection.recv(65536)):
        received += piece
    return bytes(received)
