"""
What targets may not reach from within a cluster, unless their owners name it.

Inner networks are closed there: the operator can reach what the maker of a target cannot.
The API server is guarded besides, under every address that it is known by here.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import socket
from collections.abc import Iterable

import msgspec
from yarl import URL

from bascule.clients.addresses import Borders, Guarded
from bascule.clients.kube.client import KubeClient
from bascule.errors import Error, Mistake
from bascule.journal import Logger

MOST_ADDRESSES = 64
log = Logger(__name__)


class _Server(msgspec.Struct, rename={"address": "serverAddress"}):
    address: str = ""


class _Versions(msgspec.Struct, rename={"servers": "serverAddressByClientCIDRs"}):
    servers: tuple[_Server, ...] = ()


async def borders_of(client: KubeClient, guarded: Iterable[str] = ()) -> Borders:
    """Return the borders of the cluster of *client*; *guarded* are further networks of it."""
    found = {*await _addresses_of(URL(client.access.server).host or ""), *await _advertised(client)}
    if host := os.environ.get("KUBERNETES_SERVICE_HOST"):
        found |= await _addresses_of(host)
    servers = sorted(found)[:MOST_ADDRESSES]
    return Borders(
        inner=False,
        guarded=(
            *(Guarded(ipaddress.ip_network(text), "the cluster's API server") for text in servers),
            *(Guarded(_network(text), "an address of the cluster itself") for text in guarded),
        ),
    )


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    try:
        return ipaddress.ip_network(text)
    except ValueError as fault:
        raise Mistake(f"`{text}` is no network to guard: {fault}", hint="write it as `10.96.0.0/16`") from fault


async def _advertised(client: KubeClient) -> set[str]:
    """Return the addresses that the API server itself says it has."""
    try:
        versions = msgspec.json.decode(await client.get("/api"), type=_Versions)
    except (Error, msgspec.MsgspecError) as trouble:
        log.warning("borders.not_advertised", error=str(trouble))
        return set()
    found: set[str] = set()
    for server in versions.servers:
        host = URL(f"https://{server.address}").host if server.address else None
        found |= await _addresses_of(host or "")
    return found


async def _addresses_of(host: str) -> set[str]:
    if not host:
        return set()
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return set()
    return {str(each[4][0]).partition("%")[0] for each in found}
