"""Who we are to an API server: what is read, asked of a real program, kept and renewed."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from bascule.clients.kube import access_from_environment
from bascule.clients.kube.identity import READ_AGAIN, Credential, Identity
from tests.clients.kubeconfigs import data, fault_of, whole

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
REVIEW = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}


class HandClock:
    def __init__(self):
        self.now = NOW.timestamp()

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return HandClock()


def identity(tmp_path, user, clock=HandClock(), cluster=None, **settings):  # noqa: B008 - one that stands still
    access = access_from_environment(str(whole(tmp_path / "config", user, cluster=cluster)))
    return Identity(access, now=clock, **settings)


def ends_in(**time):
    return (NOW + timedelta(**time)).isoformat().replace("+00:00", "Z")


class TestTokenFiles:
    async def test_it_is_read_again_each_minute(self, tmp_path, clock):
        (tmp_path / "token").write_text("first\n")
        who = identity(tmp_path, {"tokenFile": "token"}, clock)
        assert "first" == (await who.credential()).token
        (tmp_path / "token").write_text("second\n")

        assert "first" == (await who.credential()).token
        clock.now += READ_AGAIN

        assert "second" == (await who.credential()).token

    async def test_it_is_read_again_at_once_when_it_was_refused(self, tmp_path):
        (tmp_path / "token").write_text("first")
        who = identity(tmp_path, {"tokenFile": "token"})
        refused = await who.credential()
        (tmp_path / "token").write_text("second")

        assert "second" == (await who.credential(refused=refused)).token

    async def test_one_that_is_just_being_replaced_is_no_loss(self, tmp_path, clock):
        """
        Not everybody writes a new file and renames it.
        """
        (tmp_path / "token").write_text("first")
        who = identity(tmp_path, {"tokenFile": "token"}, clock)
        await who.credential()
        (tmp_path / "token").write_text("")
        clock.now += READ_AGAIN

        assert "first" == (await who.credential()).token

    async def test_what_stands_beside_it_holds_until_it_is_there(self, tmp_path):
        assert "beside" == (await identity(tmp_path, {"tokenFile": "token", "token": "beside"}).credential()).token

    @pytest.mark.parametrize(
        "content", [None, b"", b"\n", b"canary\ncanary", b"canary\xff", b"canary" * 100_000], ids=range(6)
    )
    async def test_what_holds_no_token_is_told(self, tmp_path, content):
        if content is not None:
            (tmp_path / "token").write_bytes(content)

        await fault_of(identity(tmp_path, {"tokenFile": "token"}).credential(), "token's file .* holds no token")


class TestCertificateFiles:
    async def test_they_are_read_again(self, tmp_path, clock):
        for name in ("c", "k"):
            (tmp_path / name).write_text(f"first {name}")
        who = identity(tmp_path, {"client-certificate": "c", "client-key": "k"}, clock)
        first = await who.credential()
        for name in ("c", "k"):
            (tmp_path / name).write_text(f"second {name}")

        assert Credential(certificate=b"first c", key=b"first k") == first == await who.credential()
        second = await who.credential(refused=first)
        assert Credential(certificate=b"second c", key=b"second k") == second

    async def test_one_that_is_missing_is_told(self, tmp_path):
        (tmp_path / "c").write_text("PEM")

        await fault_of(
            identity(tmp_path, {"client-certificate": "c", "client-key": "k"}).credential(),
            "key `.*/k` cannot be read: No such file",
        )


class TestPrograms:
    async def test_what_it_printed_is_kept(self, tmp_path, program):
        program.prints(token="first")
        who = identity(tmp_path, program.entry())

        assert ["first"] * 3 == [(await who.credential()).token for _ in range(3)]
        assert 1 == program.asked

    async def test_many_refusals_ask_it_once(self, tmp_path, program):
        program.prints(token="first")
        who = identity(tmp_path, program.entry())
        refused = await who.credential()
        program.prints(token="second")

        renewed = await asyncio.gather(*(who.credential(refused=refused) for _ in range(10)))

        assert {"second"} == {each.token for each in renewed}
        assert 2 == program.asked

    async def test_a_certificate_that_was_refused_is_renewed_too(self, tmp_path, program):
        program.prints(clientCertificateData="first", clientKeyData="k")
        who = identity(tmp_path, program.entry())
        refused = await who.credential()
        program.prints(clientCertificateData="second", clientKeyData="k")

        assert b"second" == (await who.credential(refused=refused)).certificate

    @pytest.mark.parametrize(("lives", "asked_at"), [({"hours": 1}, 3570), ({"seconds": 20}, 18)])
    async def test_it_is_asked_again_near_the_end(self, tmp_path, program, clock, lives, asked_at):
        program.prints(token="first", expirationTimestamp=ends_in(**lives))
        who = identity(tmp_path, program.entry(), clock)
        await who.credential()

        clock.now = NOW.timestamp() + asked_at - 1
        await who.credential()
        assert 1 == program.asked

        clock.now = NOW.timestamp() + asked_at
        await who.credential()
        assert 2 == program.asked

    async def test_one_that_is_over_when_it_comes_is_left_to_the_server(self, tmp_path, program, clock):
        """
        It may be our clock that is wrong; and the program is not run for each request.
        """
        program.prints(token="first", expirationTimestamp=ends_in(hours=-1))
        who = identity(tmp_path, program.entry(), clock)

        await who.credential()
        await who.credential()

        assert 1 == program.asked
        assert "gave one that ended at 2026-12-01T11:00:00Z" in who.remedy

    async def test_it_is_told_that_nobody_is_there(self, tmp_path, program):
        program.prints(token="first")

        await identity(tmp_path, program.entry()).credential()

        assert {"interactive": False} == program.told["spec"]
        assert ("client.authentication.k8s.io/v1", "ExecCredential") == (
            program.told["apiVersion"],
            program.told["kind"],
        )

    async def test_it_is_told_of_the_cluster_where_it_wants_to_know(self, tmp_path, program):
        program.prints(token="first")
        cluster = {
            "server": "https://api",
            "certificate-authority-data": data("PEM"),
            "tls-server-name": "kube",
            "extensions": [{"name": "client.authentication.k8s.io/exec", "extension": {"audience": "x"}}],
        }

        await identity(tmp_path, program.entry(provideClusterInfo=True), cluster=cluster).credential()

        del cluster["extensions"]
        assert {**cluster, "config": {"audience": "x"}} == program.told["spec"]["cluster"]

    async def test_empty_values_are_none(self, tmp_path, program):
        program.prints(token="first", clientCertificateData=None, expirationTimestamp=None)

        assert Credential("first") == await identity(tmp_path, program.entry()).credential()

    async def test_a_certificate_of_the_kubeconfig_stays_beside_its_token(self, tmp_path, program):
        program.prints(token="first")
        user = {**program.entry(), "client-certificate-data": data("c"), "client-key-data": data("k")}

        assert Credential("first", b"c", b"k") == await identity(tmp_path, user).credential()


class TestProgramsThatFail:
    async def test_one_that_is_missing(self, tmp_path, program):
        told = await fault_of(
            identity(tmp_path, program.entry(command="no-such-program", installHint="ask ops for it")).credential(),
            "`no-such-program`, which signs in to the cluster, cannot be run: No such file",
        )

        assert "ask ops for it" == told.hint

    async def test_one_that_may_not_be_run(self, tmp_path, program):
        program.path.chmod(0o644)

        await fault_of(identity(tmp_path, program.entry()).credential(), "cannot be run: Permission denied")

    async def test_one_that_hangs(self, tmp_path, program):
        program.says("sleep 60")

        await fault_of(identity(tmp_path, program.entry(), patience=0.3).credential(), r"no credential within 0\.3 s")

    async def test_one_that_leaves_a_child_with_its_pipe(self, tmp_path, program):
        program.says("sleep 60 &")

        await fault_of(identity(tmp_path, program.entry(), patience=0.3).credential(), r"no credential within 0\.3 s")

    async def test_one_that_floods(self, tmp_path, program):
        program.says("yes canary")

        await fault_of(identity(tmp_path, program.entry()).credential(), "printed more than 256 KiB")

    async def test_one_that_fails_though_it_prints(self, tmp_path, program):
        program.says("""echo '{"status": {"token": "canary"}}'; echo canary >&2; exit 3""")

        await fault_of(identity(tmp_path, program.entry()).credential(), "ended with 3")

    @pytest.mark.parametrize(
        "printed",
        [
            "",
            "canary",
            "[]",
            '{"status": {"token": "can',
            '{"status": null}',
            '{"status": {}}',
            '{"status": {"token": ""}}',
            '{"status": {"token": 5}}',
            '{"status": {"token": "canary\\ncanary"}}',
            '{"status": {"token": "canary", "expirationTimestamp": "canary"}}',
            "[" * 5000,
        ],
        ids=range(11),
    )
    async def test_one_that_prints_nonsense(self, tmp_path, program, printed):
        (tmp_path / "nonsense").write_text(printed)
        program.says(f"cat '{tmp_path}/nonsense'")

        await fault_of(identity(tmp_path, program.entry()).credential(), "is no credential for the cluster")

    @pytest.mark.parametrize("half", [{"clientCertificateData": "canary"}, {"token": "t", "clientKeyData": "canary"}])
    async def test_one_that_prints_half_of_a_certificate(self, tmp_path, program, half):
        program.prints(**half)

        await fault_of(identity(tmp_path, program.entry()).credential(), "a certificate without its key")

    async def test_after_a_failure_it_is_asked_again(self, tmp_path, program):
        program.says("exit 1")
        who = identity(tmp_path, program.entry())
        await fault_of(who.credential(), "ended with 1")
        program.prints(token="first")

        assert "first" == (await who.credential()).token
