"""`target check` on a Slurm that is well, and on targets that are wrong in each way: the step that fails, and a hint."""

from __future__ import annotations

import http.server
import ssl
import threading
import time

import pytest

from tests.certificates import certificates_in
from tests.fakes.slurmrestd.cluster import US, FakeCluster
from tests.fakes.slurmrestd.server import TOKEN, FakeSlurmrestd


@pytest.fixture
def server(terminal, monkeypatch):
    monkeypatch.setenv("CANARY_TOKEN", TOKEN)
    with FakeSlurmrestd(FakeCluster(time.time), "v0.0.45") as server:
        yield server


@pytest.fixture
def checked(terminal, command):
    """Return a function that makes a target and checks it."""

    def check(url, **spec):
        fields = {"manager": "slurm", "url": f"'{url}'", "credentials": f"{{user: {US}, env: CANARY_TOKEN}}", **spec}
        body = ", ".join(f"{name}: {value}" for name, value in fields.items())
        head = "apiVersion: bascule.dev/v1alpha1\nkind: BridgeTarget\nmetadata: {name: hpc}\n"
        (terminal.folder / "hpc.yaml").write_text(f"{head}spec: {{{body}}}\n")
        assert 0 == command("apply", "-f", "hpc.yaml").code
        return command("target", "check", "hpc")

    return check


def test_a_target_that_is_right(server, checked):
    done = checked(server.url)

    assert 0 == done.code
    assert "26.05.5 (REST v0.0.45)" in done.out
    assert all(step in done.out for step in ("address", "version", "slurmctld", "sign-in", "accounting"))


def test_a_port_where_nobody_listens(checked, monkeypatch):
    monkeypatch.setenv("CANARY_TOKEN", TOKEN)

    done = checked("http://127.0.0.1:1")

    assert 69 == done.code
    assert "address" in done.out
    assert "nobody listens" in done.out


def test_a_name_that_is_none(checked, monkeypatch):
    monkeypatch.setenv("CANARY_TOKEN", TOKEN)

    done = checked("https://no-such-host.invalid:6820")

    assert 69 == done.code
    assert "no-such-host.invalid" in done.out + done.err


def test_a_token_that_is_not_accepted(server, checked, monkeypatch):
    monkeypatch.setenv("CANARY_TOKEN", "a.wrong.token")

    done = checked(server.url)

    assert done.code in {65, 69}
    assert "did not accept the" in done.out
    assert "a.wrong.token" not in done.out + done.err


def test_a_url_with_a_path(server, checked):
    done = checked(f"{server.url}/slurm/v0.0.45")

    assert 0 != done.code
    assert "without a path" in done.out + done.err


def test_a_slurmctld_that_is_silent(server, checked):
    server.cluster.is_down = True

    done = checked(server.url)

    assert 69 == done.code
    assert "is slurmctld running?" in done.out + done.err


@pytest.mark.parametrize("known", [False, True], ids=["unknown authority", "another name"])
def test_a_certificate_that_does_not_verify(checked, tmp_path, monkeypatch, known):
    """
    The token is never sent to whoever shows it.
    """
    monkeypatch.setenv("CANARY_TOKEN", TOKEN)
    made = certificates_in(tmp_path)
    heard = []

    class Listener(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            heard.append(self.headers)

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Listener) as listener:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(made.chain, made.key)
        listener.socket = context.wrap_socket(listener.socket, server_side=True)
        threading.Thread(target=listener.serve_forever, daemon=True).start()
        lines = "\\n".join(made.authority.splitlines())
        tls = {"tls": f'{{ca: "{lines}\\n", serverName: other.example.org}}'} if known else {}

        done = checked(f"https://localhost:{listener.server_port}", **tls)

        listener.shutdown()

    assert 69 == done.code
    assert "certificate" in done.out + done.err
    assert [] == heard
