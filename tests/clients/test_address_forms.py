"""A corpus of addresses in all notations: those that must not be reached, and those that must."""

from __future__ import annotations

import asyncio
import ipaddress
import socket

import pytest

from bascule.clients.addresses import AddressPolicy, Borders, Guarded
from bascule.clients.http import HttpClient, Request, Site
from bascule.errors import Mistake, Unavailable
from tests.clients.address_forms import API_SERVER, INNER, METADATA, OPEN, PRIVATE, SERVICES, inner_urls, open_urls

GET = Request("GET", "/jobs")
IN_A_CLUSTER = Borders(
    inner=False,
    guarded=(
        *(Guarded(ipaddress.ip_network(text), "the cluster's API server") for text in API_SERVER),
        Guarded(ipaddress.ip_network("10.96.0.0/16"), "an address of the cluster's services"),
    ),
)


class Reached(list):
    """The addresses that were connected to; nobody answers there."""


@pytest.fixture
async def reached(monkeypatch):
    addresses = Reached()

    async def connect(sock, address):
        addresses.append(address[0])
        raise ConnectionRefusedError

    monkeypatch.setattr(asyncio.get_running_loop(), "sock_connect", connect)
    return addresses


class SeesThrough:
    """Resolves whatever looks like a number, as the most willing resolver would, and names as the test says."""

    def __init__(self, *answers):
        self.answers = list(answers)

    async def resolve(self, host, port, family):
        hosts = self.answers.pop(0) if self.answers else [self.number(host)]
        return [
            {"hostname": host, "host": each, "port": port, "family": socket.AF_UNSPEC, "proto": 0, "flags": 0}
            for each in hosts
        ]

    def number(self, host):
        try:
            found = socket.getaddrinfo(host.rstrip("."), None, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
        except (OSError, UnicodeError) as error:
            raise OSError(f"`{host}` has no address") from error
        return found[0][4][0]


async def ask(url, policy, resolver=None):
    """Ask at *url*; return why it was not asked."""
    try:
        async with HttpClient(Site(url, policy, plaintext=True)) as client:
            client._connected().connector._resolver._resolver = resolver or SeesThrough()
            await client.ask(GET)
    except (Mistake, Unavailable) as error:
        return error.message
    raise AssertionError("nobody can have answered")


class TestInnerAddresses:
    def test_there_are_enough_forms(self):
        assert len(inner_urls()) >= 500
        assert len(open_urls()) >= 300

    async def test_no_form_of_them_is_connected_to(self, reached):
        through = []
        for url in inner_urls():
            await ask(url, IN_A_CLUSTER.policy(()))
            if reached:
                through.append((url, *reached))
            reached.clear()

        assert not through

    async def test_nor_where_the_owner_opens_everything_but_by_name(self, reached):
        """
        An entry that merely holds a guarded network is no leave to go there.
        """
        policy = IN_A_CLUSTER.policy(("0.0.0.0/0", "::/0"))
        through = []
        for url in inner_urls():
            await ask(url, policy)
            if {*METADATA, *API_SERVER, *SERVICES, "127.0.0.1", "169.254.0.1", "::1"} & set(reached):
                through.append((url, *reached))
            reached.clear()

        assert not through

    @pytest.mark.parametrize(
        ("allow", "address"),
        [
            *((f"{text}/32", text) for text in (*METADATA, *API_SERVER, *SERVICES, *PRIVATE)),
            ("10.96.0.0/16", "10.96.0.10"),
            ("10.96.0.0/24", "10.96.0.10"),
            ("127.0.0.0/8", "127.0.0.1"),
            ("169.254.0.0/16", "169.254.0.1"),
        ],
    )
    async def test_where_the_owner_says_so_they_are(self, allow, address, reached):
        await ask(f"http://{address}:6820", IN_A_CLUSTER.policy((allow,)))

        assert [address] == reached

    @pytest.mark.parametrize("address", [*API_SERVER, *SERVICES])
    async def test_the_cluster_itself_is_not_opened_by_a_wider_network(self, address, reached):
        why = await ask(f"http://{address}:6820", IN_A_CLUSTER.policy(("10.0.0.0/8", "203.0.113.0/24")))

        assert [] == reached
        assert "cluster's" in why


class TestOpenAddresses:
    async def test_each_form_of_them_is_connected_to(self, reached):
        astray = []
        for url, address in open_urls():
            why = await ask(url, IN_A_CLUSTER.policy(()))
            if reached != [address]:
                astray.append((url, why, *reached))
            reached.clear()

        assert not astray

    @pytest.mark.parametrize("address", [*PRIVATE, "127.0.0.1"])
    async def test_on_a_persons_own_machine_so_are_inner_ones(self, address, reached):
        await ask(f"http://{address}:6820", Borders(inner=True).policy(()))

        assert [address] == reached


class TestNames:
    @pytest.mark.parametrize("address", INNER)
    async def test_a_name_of_an_inner_address_is_refused(self, address, reached):
        why = await ask("http://hpc.example.org:6820", IN_A_CLUSTER.policy(()), SeesThrough([address]))

        assert [] == reached
        assert "may not be connected to" in why

    async def test_of_several_addresses_only_the_open_ones_are_tried(self, reached):
        answers = SeesThrough(["169.254.169.254", OPEN[0], "10.96.0.1", OPEN[1]])

        await ask("http://hpc.example.org:6820", IN_A_CLUSTER.policy(()), answers)

        assert set(OPEN[:2]) == set(reached)

    async def test_a_name_that_changes_its_address_is_looked_at_each_time(self, reached):
        """
        DNS rebinding: good when it is looked at, inner when it is used.
        """
        answers = SeesThrough([OPEN[0]], ["169.254.169.254"], [OPEN[0]])
        async with HttpClient(Site("http://hpc.example.org:6820", IN_A_CLUSTER.policy(()), plaintext=True)) as client:
            client._connected().connector._resolver._resolver = answers
            for _ in range(3):
                with pytest.raises(Unavailable):
                    await client.ask(GET)

        assert [OPEN[0], OPEN[0]] == reached
        assert not answers.answers


def test_a_policy_has_the_borders_of_its_place():
    assert AddressPolicy.of(("10.0.0.0/8",), inner=True) == Borders(inner=True).policy(("10.0.0.0/8",))
