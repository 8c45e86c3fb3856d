"""Where a client may go."""

from __future__ import annotations

import pytest

from bascule.clients.addresses import AddressPolicy, AddressRefused, CheckedResolver, numeric
from bascule.errors import Mistake

OPEN = ["8.8.8.8", "1.1.1.1", "192.0.9.1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1"]
LOOPBACK = ["127.0.0.1", "127.255.255.254", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1"]
PRIVATE = [
    *("10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1", "198.18.0.1", "192.0.2.1", "240.0.0.1"),
    *("fc00::1", "fd12:3456::1", "fec0::1", "2001:db8::1", "100::1", "4000::1", "::ffff:10.0.0.1", "192.88.99.1"),
    *("64:ff9b::a00:1", "64:ff9b:1::a00:1", "2002:a00:1::1", "::10.0.0.1", "2001:0:808:808:0:0:f5ff:fffe"),
    *("2606:4700::5efe:10.0.0.1", "2606:4700::200:5efe:a00:1", "2001:1::5", "3fff::1", "192.0.0.8", "203.0.113.9"),
]
LINK_LOCAL = ["169.254.1.1", "fe80::1", "fe80::1%eth0", "::ffff:169.254.1.1"]
METADATA = [
    "169.254.169.254",
    "169.254.170.2",
    "fd00:ec2::254",
    "100.100.100.200",
    "168.63.129.16",
    "::ffff:169.254.169.254",
]
NOBODYS = ["0.0.0.0", "0.1.2.3", "::", "224.0.0.1", "239.255.255.255", "255.255.255.255", "ff02::1", "::ffff:0.0.0.0"]
EVERYTHING = ("0.0.0.0/0", "::/0")


def is_allowed(policy, text):
    try:
        policy.check(text)
    except AddressRefused:
        return False
    return True


@pytest.mark.parametrize("text", OPEN)
def test_the_open_internet_is_open(text):
    assert is_allowed(AddressPolicy(), text)


@pytest.mark.parametrize("text", [*LOOPBACK, *PRIVATE, *LINK_LOCAL, *METADATA, *NOBODYS])
def test_nothing_else_is_without_leave(text):
    assert not is_allowed(AddressPolicy(), text)


@pytest.mark.parametrize("text", [*LOOPBACK, *PRIVATE])
def test_inner_addresses_are_reached_where_the_owner_is_the_user(text):
    assert is_allowed(AddressPolicy(inner=True), text)


@pytest.mark.parametrize("text", [*LINK_LOCAL, *METADATA, *NOBODYS])
def test_others_are_not_even_then(text):
    assert not is_allowed(AddressPolicy(inner=True), text)


@pytest.mark.parametrize(
    ("net", "text"),
    [
        ("10.20.0.0/16", "10.20.1.1"),
        ("10.20.0.0/16", "::ffff:10.20.1.1"),
        ("127.0.0.0/8", "127.0.0.1"),
        ("::1/128", "::1"),
        ("fd12::/16", "fd12::1"),
        ("169.254.0.0/16", "169.254.1.1"),
        ("fe80::/10", "fe80::1%eth0"),
    ],
)
def test_a_network_that_is_allowed_is_reached(net, text):
    assert is_allowed(AddressPolicy.of((net,)), text)


@pytest.mark.parametrize(
    ("net", "text"),
    [
        ("10.20.0.0/16", "10.21.0.1"),
        ("10.20.0.0/16", "127.0.0.1"),
        ("2002::/16", "2002:a00:1::1"),
        ("::/0", "10.0.0.1"),
    ],
)
def test_and_no_other(net, text):
    assert not is_allowed(AddressPolicy.of((net,)), text)


@pytest.mark.parametrize("text", METADATA)
def test_a_metadata_service_must_be_allowed_by_itself(text):
    address = text.removeprefix("::ffff:")

    assert not is_allowed(AddressPolicy.of(EVERYTHING), text)
    assert is_allowed(AddressPolicy.of((address,)), text)


@pytest.mark.parametrize("text", NOBODYS)
def test_what_nobody_has_is_never_reached(text):
    assert not is_allowed(AddressPolicy.of(EVERYTHING), text)


def test_what_is_no_network_is_a_mistake():
    with pytest.raises(Mistake):
        AddressPolicy.of(("10.0.0.1/8",))


@pytest.mark.parametrize(
    ("written", "address"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("127.1", "127.0.0.1"),
        ("2130706433", "127.0.0.1"),
        ("0x7f.1", "127.0.0.1"),
        ("0177.0.0.1", "127.0.0.1"),
        ("::ffff:7f00:1", "::ffff:127.0.0.1"),
        ("[::1]", "::1"),
        ("localhost", None),
        ("example.org", None),
        ("", None),
    ],
)
def test_addresses_in_odd_notations_are_seen_through(written, address):
    assert address == numeric(written)


class FixedNames:
    """Resolves every name to what a test says, as a hostile DNS would."""

    def __init__(self, *hosts):
        self.hosts = hosts

    async def resolve(self, host, port, family):
        return [
            {"hostname": host, "host": each, "port": port, "family": family, "proto": 0, "flags": 0}
            for each in self.hosts
        ]


def resolver(*hosts, policy=AddressPolicy(), loopback_only=False):  # noqa: B008 - frozen
    checked = CheckedResolver(policy, loopback_only=loopback_only)
    checked._resolver = FixedNames(*hosts)
    return checked


class TestResolving:
    async def test_only_addresses_that_may_be_reached_are_kept(self):
        found = await resolver("10.0.0.1", "8.8.8.8", "169.254.169.254").resolve("x.org", 443)

        assert ["8.8.8.8"] == [each["host"] for each in found]

    async def test_a_name_of_inner_addresses_is_refused(self):
        with pytest.raises(AddressRefused, match=r"`169\.254\.169\.254` is a metadata service"):
            await resolver("10.0.0.1", "169.254.169.254").resolve("x.org", 443)

    async def test_without_encryption_only_this_machine_is_kept(self):
        here = ["127.0.0.1", "::1", "::ffff:127.0.0.1"]
        checked = resolver("8.8.8.8", *here, policy=AddressPolicy(inner=True), loopback_only=True)

        assert here == [each["host"] for each in await checked.resolve("x.org", 80)]
