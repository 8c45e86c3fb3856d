"""
Which addresses a client may connect to; looked at after a name was resolved, when it connects.

Whoever can make a target could otherwise reach what only we can reach: this machine,
its network, the metadata service of its cloud. A name is no protection, as it may be
resolved to anything at any time.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from aiohttp import ThreadedResolver
from aiohttp.abc import AbstractResolver, ResolveResult

from bascule.errors import Mistake

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Net = ipaddress.IPv4Network | ipaddress.IPv6Network

# What clouds hand credentials out at: AWS's (of machines, containers, pods), Alibaba's, Azure's, Oracle's and Google's.
METADATA = tuple(
    ipaddress.ip_network(text)
    for text in (
        *("169.254.169.254", "169.254.170.2", "169.254.170.23", "100.100.100.200", "168.63.129.16", "192.0.0.192"),
        *("fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254"),
    )
)
_LOOPBACK = (ipaddress.IPv4Network("127.0.0.0/8"), ipaddress.IPv6Network("::1/128"))
_LINK_LOCAL = (ipaddress.IPv4Network("169.254.0.0/16"), ipaddress.IPv6Network("fe80::/10"))
_NEVER = tuple(ipaddress.ip_network(text) for text in ("0.0.0.0/8", "255.255.255.255/32", "::/128"))
# The registries of special addresses (RFC 6890 and later), as blocks. Python knows them too, but each release
# knows them otherwise: what may be reached must not change with it.
_INNER_V4 = tuple(
    ipaddress.IPv4Network(text)
    for text in (
        *(
            "10.0.0.0/8",
            "100.64.0.0/10",
            "127.0.0.0/8",
            "169.254.0.0/16",
            "172.16.0.0/12",
            "192.0.0.0/24",
            "192.0.2.0/24",
        ),
        *("192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4"),
    )
)
_GLOBAL_V6 = ipaddress.IPv6Network("2000::/3")
_INNER_V6 = tuple(ipaddress.IPv6Network(text) for text in ("2001::/23", "2001:db8::/32", "3fff::/20"))
_NAT64 = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("64:ff9b:1::/48"))
_COMPATIBLE = ipaddress.IPv6Network("::/96")
_ISATAP = (0x00005EFE, 0x02005EFE)


class AddressRefused(OSError):
    """The address may not be connected to; the text says why."""


@dataclass(frozen=True, slots=True)
class Guarded:
    """A network that is opened only by an entry that lies within it, and what it is."""

    net: Net
    what: str


@dataclass(frozen=True, slots=True)
class AddressPolicy:
    """
    Where a client may go: everywhere in the open internet, and where its owner says so.

    *inner* lets it go to loopback and private networks too: right where the owner is
    the user, who can go there anyway. Some networks are not opened by an entry in
    *allow* that merely happens to hold them: metadata services, link-local networks,
    loopback, and those in *guarded*. The entry must lie within.
    """

    allow: tuple[Net, ...] = ()
    inner: bool = False
    guarded: tuple[Guarded, ...] = ()

    @classmethod
    def of(cls, allow: tuple[str, ...], *, inner: bool = False, guarded: tuple[Guarded, ...] = ()) -> Self:
        """Return the policy that lets the networks *allow* be reached."""
        try:
            return cls(tuple(ipaddress.ip_network(text) for text in allow), inner, guarded)
        except ValueError as error:
            raise Mistake(
                f"`network.allow` holds what is no network: {error}", hint="write it as `10.20.0.0/16`"
            ) from error

    def check(self, text: str) -> None:
        """Raise `AddressRefused` where the address *text* may not be connected to."""
        address = ipaddress.ip_address(text.partition("%")[0])
        for each in (address, *_hidden_in(address)):
            if why := self._refusal(each):
                raise AddressRefused(
                    f"`{address}` is {why}" if each == address else f"`{address}` stands for `{each}`, {why}"
                )

    def _refusal(self, address: Address) -> str:
        if address.is_multicast or any(address in net for net in _NEVER if net.version == address.version):
            return "an address that nobody has"
        allowed = [net for net in self.allow if net.version == address.version and address in net]
        for guarded in (*_GUARDED, *self.guarded):
            if guarded.net.version == address.version and address in guarded.net:
                return "" if any(_lies_within(net, guarded.net) for net in allowed) else guarded.what
        # Not `is_loopback`: newer Pythons say it of wrapped addresses too, which are looked at by themselves.
        if any(net.version == address.version and address in net for net in _LOOPBACK):
            within = any(_lies_within(net, loopback) for net in allowed for loopback in _LOOPBACK)
            return "" if self.inner or within else "an address of this machine"
        if allowed or self.inner or _is_wrapping(address) or _is_open(address):
            return ""
        return "an inner address"


_GUARDED = (
    *(Guarded(net, "a metadata service") for net in METADATA),
    *(Guarded(net, "a link-local address") for net in _LINK_LOCAL),
)


@dataclass(frozen=True, slots=True)
class Borders:
    """
    What a place lets every target reach, and what it guards.

    On a person's own machine its inner networks are open (*inner*). In a cluster they
    are not, unless a target's owner names them; and what the cluster itself lives on is *guarded*.
    """

    inner: bool
    guarded: tuple[Guarded, ...] = ()

    def policy(self, allow: tuple[str, ...]) -> AddressPolicy:
        """Return the policy for a target whose owner lets the networks *allow* be reached."""
        return AddressPolicy.of(allow, inner=self.inner, guarded=self.guarded)


class CheckedResolver(AbstractResolver):
    """Resolves names, and keeps only the addresses that may be connected to."""

    def __init__(self, policy: AddressPolicy, *, loopback_only: bool) -> None:
        self._policy = policy
        self._loopback_only = loopback_only
        self._resolver = ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return the addresses of *host* that may be connected to; raise `AddressRefused` where none may."""
        refused = AddressRefused(f"`{host}` has no address")
        kept = []
        for found in await self._resolver.resolve(host, port, family):
            try:
                check(self._policy, found["host"], loopback_only=self._loopback_only)
            except AddressRefused as error:
                refused = error
            else:
                kept.append(found)
        if not kept:
            raise refused
        return kept

    async def close(self) -> None:
        """Close what resolves."""
        await self._resolver.close()


def check(policy: AddressPolicy, text: str, *, loopback_only: bool) -> None:
    """Raise `AddressRefused` where *text* may not be connected to, or is not on this machine but must be."""
    policy.check(text)
    address = ipaddress.ip_address(text.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    if loopback_only and not address.is_loopback:
        raise AddressRefused(f"`{text}` is not on this machine, and the connection would not be encrypted")


def numeric(host: str) -> str | None:
    """Return the address that *host* writes in numbers, in whatever notation (``127.1``, ``0x7f000001``); None for names."""
    try:
        found = socket.getaddrinfo(host.strip("[]"), None, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return None
    return str(found[0][4][0])


def _hidden_in(address: Address) -> Iterator[Address]:
    """Find the IPv4 addresses that *address* carries, and that somebody on the way may deliver to."""
    if isinstance(address, ipaddress.IPv4Address):
        return
    number = int(address)
    last = ipaddress.IPv4Address(number & 0xFFFFFFFF)
    if address.ipv4_mapped is not None:
        yield address.ipv4_mapped
    elif address.sixtofour is not None:
        yield address.sixtofour
    elif address.teredo is not None:
        yield from address.teredo
    elif (
        any(address in net for net in _NAT64)
        or (address in _COMPATIBLE and number > 1)
        or number >> 32 & 0xFFFFFFFF in _ISATAP
    ):
        yield last


def _lies_within(net: Net, other: Net) -> bool:
    """Tell whether *net* is *other*, or a part of it."""
    return net.version == other.version and net.network_address in other and net.prefixlen >= other.prefixlen


def _is_wrapping(address: Address) -> bool:
    """Tell whether only the IPv4 address within counts."""
    return isinstance(address, ipaddress.IPv6Address) and (address.ipv4_mapped is not None or address in _NAT64[0])


def _is_open(address: Address) -> bool:
    """Tell whether *address* is one of the open internet."""
    if isinstance(address, ipaddress.IPv6Address):
        return address in _GLOBAL_V6 and not any(address in net for net in _INNER_V6)
    return not any(address in net for net in _INNER_V4)
