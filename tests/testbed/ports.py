"""
Free ports on loopback for servers that must be told theirs.

Below the range from which the kernel takes ports for outgoing connections: a server that
is stopped for a while must find its port free again, and a client that knocks at a closed
port there could else be connected to itself.
"""

import random
import socket
from pathlib import Path

from tests.testbed.machine import TestbedUnavailable


class Ports:
    """
    A number of ports that nobody listens on, ours until `release`.

    A name in the kernel's abstract socket space stands for each, so that two test runs at
    once do not choose the same one; the kernel frees it when the process ends, however it ends.
    """

    def __init__(self, count: int) -> None:
        self._claims: list[socket.socket] = []
        self.numbers: tuple[int, ...] = ()
        candidates = list(_range())
        random.shuffle(candidates)
        found: list[int] = []
        for port in candidates:
            if len(found) == count:
                break
            claim = _claim(port)
            if claim is None:
                continue
            if _is_free(port):
                self._claims.append(claim)
                found.append(port)
            else:
                claim.close()
        self.numbers = tuple(found)
        if len(found) < count:
            self.release()
            raise TestbedUnavailable(f"there are not {count} free ports on this machine")

    def release(self) -> None:
        for claim in self._claims:
            claim.close()
        self._claims.clear()


def _range() -> range:
    low = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    return range(20_000, low) if low > 21_000 else range(10_000, 32_000)


def _claim(port: int) -> socket.socket | None:
    claim = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        claim.bind(f"\0bascule-testbed-port-{port}")
    except OSError:
        claim.close()
        return None
    return claim


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            probe.bind(("", port))  # any address: some daemons cannot be bound to loopback alone
        except OSError:
            return False
    return True
