"""Signing in to an API server that is real, in every way that a kubeconfig knows."""

from __future__ import annotations

import asyncio
import base64
import json
import secrets
import subprocess
from contextlib import aclosing, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from bascule.clients.kube import KubeClient, Rejected, access_from_environment
from bascule.errors import Unauthorized, Unavailable
from tests.clients.kubeconfigs import data, fault_of, whole

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
REVIEW = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}


def ends_in(**time):
    return (NOW + timedelta(**time)).isoformat().replace("+00:00", "Z")


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
