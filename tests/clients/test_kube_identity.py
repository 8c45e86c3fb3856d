"""Signing in to an API server: with programs that are real, and where it matters at one that is real."""

from __future__ import annotations

import asyncio
import base64
import json
import secrets
import subprocess
import traceback
from contextlib import aclosing, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from bascule.clients.kube import KubeClient, Rejected, access_from_environment
from bascule.clients.kube.identity import READ_AGAIN, Credential, Identity
from bascule.errors import Error, Unauthorized, Unavailable
from tests.clients.kubeconfigs import Program, data, whole

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
REVIEW = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}


@pytest.fixture
def program(tmp_path):
    return Program(tmp_path)


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


async def fault_of(asked, words):
    """Return the one error of *asked*, as a person sees it."""
    with pytest.raises(Error, match=words) as caught:
        await asked
    assert "\n" not in caught.value.message
    assert caught.value.hint
    assert "canary" not in "".join(traceback.format_exception(caught.value)) + caught.value.hint
    return caught.value


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


class Lab:
    """A real API server, and the files of those who sign in to it."""

    def __init__(self, testbed, folder: Path) -> None:
        self.testbed = testbed
        self.folder = folder
        given = yaml.safe_load(Path(testbed.kubeconfig).read_text())
        self.cluster = given["clusters"][0]["cluster"]
        self.token = given["users"][0]["user"]["token"]

    def certificate_of(self, user: str, *groups: str) -> tuple[str, str]:
        """Return a certificate for *user* and its key, as a cluster gives them."""
        given = yaml.safe_load(self.testbed.kubeconfig_of(user, *groups).read_text())["users"][0]["user"]
        return tuple(_text(given[f"client-{name}-data"]) for name in ("certificate", "key"))

    def openssl(self, *words: str) -> None:
        subprocess.run(["openssl", *words], cwd=self.folder, check=True, capture_output=True)

    @asynccontextmanager
    async def client(self, user, **settings):
        path = whole(self.folder / "config", user, cluster={**self.cluster, **settings.pop("cluster", {})})
        async with KubeClient(access_from_environment(str(path)), **settings) as client:
            yield client

    async def name_of(self, client: KubeClient) -> str:
        """Return who *client* is to the API server."""
        return json.loads(await client.post(REVIEWS, REVIEW))["status"]["userInfo"]["username"]

    async def name(self, user) -> str:
        async with self.client(user) as client:
            return await self.name_of(client)


def _text(encoded: str) -> str:
    return base64.b64decode(encoded).decode()


@pytest.fixture
def lab(control_plane, tmp_path):
    return Lab(control_plane, tmp_path)


@pytest.mark.real
@pytest.mark.root
class TestAtAnApiServer:
    async def test_a_token(self, lab):
        assert "admin" == await lab.name({"token": lab.token})

    async def test_a_token_that_is_replaced_while_it_is_used(self, lab, tmp_path):
        (tmp_path / "token").write_text("over")
        async with lab.client({"tokenFile": "token"}) as client:
            told = await fault_of(lab.name_of(client), r"did not accept the credentials .* \(401\)")
            assert f"`{tmp_path}/token`" in told.hint

            (tmp_path / "token").write_text(lab.token)

            assert "admin" == await lab.name_of(client)

    @pytest.mark.parametrize("where", ["data", "files"])
    async def test_a_certificate(self, lab, tmp_path, where):
        certificate, key = lab.certificate_of("ada")
        (tmp_path / "c.pem").write_text(certificate)
        (tmp_path / "k.pem").write_text(key)
        user = {"client-certificate": "c.pem", "client-key": "k.pem"}
        if where == "data":
            user = {"client-certificate-data": data(certificate), "client-key-data": data(key)}

        assert "ada" == await lab.name(user)

    async def test_a_certificate_in_files_that_are_replaced(self, lab, tmp_path):
        def write(certificate, key):
            (tmp_path / "c.pem").write_text(certificate)
            (tmp_path / "k.pem").write_text(key)

        write(*_strangers(lab))
        async with lab.client({"client-certificate": "c.pem", "client-key": "k.pem"}) as client:
            await fault_of(lab.name_of(client), "did not accept the credentials")

            write(*lab.certificate_of("ada"))

            assert "ada" == await lab.name_of(client)

    async def test_a_program_that_prints_a_token(self, lab, program):
        program.prints(token=lab.token)

        assert "admin" == await lab.name(program.entry())

    async def test_a_program_that_prints_a_certificate(self, lab, program):
        certificate, key = lab.certificate_of("ada")
        program.prints(clientCertificateData=certificate, clientKeyData=key)

        assert "ada" == await lab.name(program.entry())

    async def test_a_program_is_asked_again_when_its_token_is_refused(self, lab, program, tmp_path):
        first = json.dumps({"status": {"token": "over"}})
        then = json.dumps({"status": {"token": lab.token}})
        program.says(f"if [ -e '{tmp_path}/was' ]; then echo '{then}'; else touch '{tmp_path}/was'; echo '{first}'; fi")

        assert "admin" == await lab.name(program.entry())
        assert 2 == program.asked

    async def test_a_program_is_asked_again_when_its_certificate_is_refused(self, lab, program):
        """
        Connections show a certificate once: the next one takes others.
        """
        certificate, key = _strangers(lab)
        program.prints(clientCertificateData=certificate, clientKeyData=key)
        async with lab.client(program.entry()) as client:
            await fault_of(lab.name_of(client), "did not accept the credentials")
            certificate, key = lab.certificate_of("ada")
            program.prints(clientCertificateData=certificate, clientKeyData=key)

            assert "ada" == await lab.name_of(client)

    async def test_what_is_followed_goes_on_while_the_certificate_changes(self, lab, program, tmp_path):
        def write(certificate, key):
            (tmp_path / "c.pem").write_text(certificate)
            (tmp_path / "k.pem").write_text(key)

        write(*lab.certificate_of("ada", "system:masters"))
        user = {"client-certificate": "c.pem", "client-key": "k.pem"}
        name = f"probe-{secrets.token_hex(4)}"
        maps = "/api/v1/namespaces/default/configmaps"
        async with lab.client(user) as client, asyncio.timeout(30):
            version = json.loads(await client.get(maps))["metadata"]["resourceVersion"]
            query = {"resourceVersion": version, "fieldSelector": f"metadata.name={name}"}
            seen = _names(client.watch(maps, query, accept="application/json", idle=30))
            await client.post(maps, {"metadata": {"name": name}})
            assert name == await anext(seen)
            write(*lab.certificate_of("bob", "system:masters"))
            client._identity._renew_at = 0.0  # as if a minute had gone by

            await client.delete(f"{maps}/{name}")

            assert "bob" == await lab.name_of(client)
            assert name == await anext(seen)
            await seen.aclose()

    async def test_a_program_that_hangs_is_not_taken_for_the_servers_silence(self, lab, program):
        program.says("sleep 60")
        async with lab.client(program.entry(), answer_within=0.2) as client:
            client._identity._patience = 0.4

            await fault_of(
                lab.name_of(client), "`.*/sign-in`, which signs in to the cluster, gave no credential within"
            )

    async def test_a_token_that_is_over(self, lab, program):
        program.prints(token="canary", expirationTimestamp="2026-01-01T00:00:00Z")
        async with lab.client(program.entry()) as client:
            told = await fault_of(lab.name_of(client), "did not accept the credentials")

        assert isinstance(told, Unauthorized)
        assert "ended at 2026-01-01T00:00:00Z: sign in anew" in told.hint

    async def test_a_certificate_that_is_over(self, lab):
        etc = lab.testbed.folder / "etc"
        lab.openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-out", "k.pem")
        lab.openssl("req", "-new", "-key", "k.pem", "-out", "r.pem", "-subj", "/CN=ada")
        (lab.folder / "index").write_text("")
        (lab.folder / "ca.conf").write_text(
            "[ca]\ndefault_ca=lab\n[lab]\ndatabase=index\nnew_certs_dir=.\nrand_serial=yes\ndefault_md=sha256\n"
            "policy=any\n[any]\ncommonName=supplied\n"
        )
        lab.openssl(
            *("ca", "-batch", "-config", "ca.conf", "-in", "r.pem", "-out", "c.pem", "-notext"),
            *("-cert", str(etc / "ca.crt"), "-keyfile", str(etc / "ca.key")),
            *("-startdate", "20250101000000Z", "-enddate", "20250201000000Z"),
        )

        async with lab.client({"client-certificate": "c.pem", "client-key": "k.pem"}) as client:
            told = await fault_of(lab.name_of(client), "did not accept the credentials")

        assert "may have ended" in told.hint

    async def test_a_certificate_that_is_not_the_keys(self, lab):
        certificate, _ = lab.certificate_of("ada")
        _, key = lab.certificate_of("bob")
        user = {"client-certificate-data": data(certificate), "client-key-data": data(key)}

        async with lab.client(user) as client:
            await fault_of(lab.name_of(client), "certificate and key for the cluster do not belong together")

    @pytest.mark.parametrize("what", ["certificate", "key"])
    async def test_a_certificate_that_is_none(self, lab, what):
        parts = dict(zip(("certificate", "key"), lab.certificate_of("ada"), strict=True))
        parts[what] = "canary"
        user = {f"client-{name}-data": data(part) for name, part in parts.items()}

        async with lab.client(user) as client:
            await fault_of(
                lab.name_of(client), "client's certificate and key for the cluster (are no PEM|cannot be read)"
            )

    async def test_a_key_with_a_password_is_not_asked_for_on_the_terminal(self, lab):
        certificate, key = lab.certificate_of("ada")
        (lab.folder / "plain.pem").write_text(key)
        lab.openssl("pkcs8", "-topk8", "-in", "plain.pem", "-out", "k.pem", "-passout", "pass:canary")
        (lab.folder / "c.pem").write_text(certificate)

        async with lab.client({"client-certificate": "c.pem", "client-key": "k.pem"}) as client:
            await fault_of(lab.name_of(client), "the key is encrypted")

    async def test_no_key_is_written_to_a_disk_nor_kept_open(self, lab, monkeypatch):
        monkeypatch.setattr("tempfile.tempdir", "/nowhere")
        monkeypatch.setenv("TMPDIR", "/nowhere")
        certificate, key = lab.certificate_of("ada")

        for _ in range(3):
            await lab.name({"client-certificate-data": data(certificate), "client-key-data": data(key)})

        assert not [file for file in _open_files() if "bascule" in file.name]

    async def test_a_server_that_somebody_else_has_signed(self, lab, certificates):
        """
        No word of ours goes to it, and the hint is not that it may be down.
        """
        cluster = {"certificate-authority-data": data(certificates.authority)}
        async with lab.client({"token": "canary"}, cluster=cluster) as client:
            told = await fault_of(lab.name_of(client), "certificate of the API server at .* is not accepted")

        assert isinstance(told, Unavailable)
        assert "certificate-authority" in told.hint

    async def test_a_server_of_another_name(self, lab):
        async with lab.client({"token": "canary"}, cluster={"tls-server-name": "elsewhere.example"}) as client:
            await fault_of(lab.name_of(client), "is not accepted: .*elsewhere")

    async def test_an_authority_that_is_none(self, lab):
        async with lab.client({"token": "canary"}, cluster={"certificate-authority-data": data("nonsense")}) as client:
            await fault_of(lab.name_of(client), "the cluster's authority is no certificate")

    async def test_who_may_not_is_known_all_the_same(self, lab):
        certificate, key = lab.certificate_of("ada")
        user = {"client-certificate-data": data(certificate), "client-key-data": data(key)}

        async with lab.client(user) as client:
            with pytest.raises(Rejected, match='User "ada" cannot list') as caught:
                await client.get("/api/v1/namespaces/default/secrets")

        assert 403 == caught.value.code


def _open_files():
    return [each.readlink() for each in Path("/proc/self/fd").iterdir() if each.exists()]


def _strangers(lab):
    """Return a certificate that the cluster has not signed, and its key."""
    new_key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    lab.openssl("req", "-x509", *new_key, "-keyout", "s.key", "-out", "s.pem", "-subj", "/CN=ada", "-days", "2")
    return (lab.folder / "s.pem").read_text(), (lab.folder / "s.key").read_text()


async def _names(lines):
    async with aclosing(lines):
        async for line in lines:
            yield json.loads(line)["object"]["metadata"]["name"]
