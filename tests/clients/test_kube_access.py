"""Which cluster a kubeconfig means, and who we are there; and that what is wrong with one is told."""

from __future__ import annotations

import os
import traceback

import pytest
import yaml

from bascule.clients.kube import access_from_environment, finding, is_in_cluster
from bascule.errors import Mistake
from tests.clients.kubeconfigs import data, named, whole, written

URL = "https://api.example.org:6443"


@pytest.fixture(autouse=True)
def nowhere(monkeypatch, tmp_path):
    """
    Neither in a pod nor at home.
    """
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def fault_of(path, words):
    """Return the one error that *path* gives, as a person sees it."""
    with pytest.raises(Mistake, match=words) as caught:
        access_from_environment(str(path))
    assert "\n" not in caught.value.message
    assert caught.value.hint
    assert "canary" not in "".join(traceback.format_exception(caught.value))
    return caught.value


class TestWhichFile:
    def test_the_one_that_is_named(self, tmp_path, monkeypatch):
        monkeypatch.setenv("KUBECONFIG", str(whole(tmp_path / "a", {"token": "of-a"})))

        assert "of-b" == access_from_environment(str(whole(tmp_path / "b", {"token": "of-b"}))).token

    def test_else_that_of_the_environment(self, tmp_path, monkeypatch):
        whole(tmp_path / "home/.kube/config", {"token": "of-home"})
        monkeypatch.setenv("KUBECONFIG", str(whole(tmp_path / "a", {"token": "of-a"})))

        assert "of-a" == access_from_environment().token

    def test_else_that_of_the_home(self, tmp_path):
        whole(tmp_path / "home/.kube/config", {"token": "of-home"})

        assert "of-home" == access_from_environment().token

    def test_one_through_a_pipe(self, tmp_path):
        """
        `KUBECONFIG=<(decrypt config)` is read once.
        """
        content = whole(tmp_path / "a", {"token": "of-a"}).read_bytes()
        reads, writes = os.pipe()
        os.write(writes, content)
        os.close(writes)
        try:
            assert "of-a" == access_from_environment(f"/dev/fd/{reads}").token
        finally:
            os.close(reads)

    def test_without_any_it_says_where_it_looked(self, tmp_path):
        with pytest.raises(Mistake, match=r"there is no kubeconfig `.*/home/\.kube/config`") as caught:
            access_from_environment()

        assert "$KUBECONFIG" in caught.value.hint

    def test_a_user_without_a_home_is_told_too(self, monkeypatch):
        monkeypatch.delenv("HOME")

        with pytest.raises(Mistake, match="there is no kubeconfig"):
            access_from_environment()

    def test_in_a_pod_without_a_token_that_is_said(self, monkeypatch):
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")

        with pytest.raises(Mistake, match="no service account's token") as caught:
            access_from_environment()

        assert "automountServiceAccountToken" in caught.value.hint


class TestPods:
    @pytest.fixture
    def pod(self, tmp_path, monkeypatch):
        for name, content in {"ca.crt": "PEM", "namespace": "team-a\n", "token": "of-pod\n"}.items():
            (tmp_path / name).write_text(content)
        monkeypatch.setattr(finding, "IN_POD", tmp_path)
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
        return tmp_path

    def test_the_service_account_is_used(self, pod):
        access = access_from_environment()

        assert is_in_cluster()
        assert ("https://10.96.0.1:443", "team-a", "PEM") == (access.server, access.namespace, access.ca)
        assert pod / "token" == access.token_file

    def test_an_address_of_six_has_brackets(self, pod, monkeypatch):
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")

        assert "https://[fd00::1]:443" == access_from_environment().server

    def test_a_kubeconfig_that_is_named_is_meant(self, pod, tmp_path, monkeypatch):
        monkeypatch.setenv("KUBECONFIG", str(whole(tmp_path / "a", {"token": "of-a"})))

        assert "of-a" == access_from_environment().token


class TestContexts:
    @pytest.fixture
    def two(self, tmp_path):
        return written(
            tmp_path / "config",
            clusters=named(
                "cluster", east={"server": "https://east.example"}, west={"server": "https://west.example/"}
            ),
            users=named("user", ada={"token": "ada"}, bob={"token": "bob"}),
            contexts=named(
                "context",
                here={"cluster": "east", "user": "ada"},
                there={"cluster": "west", "user": "bob", "namespace": "people"},
                bare={"cluster": "east"},
            ),
            current_context="here",
        )

    @pytest.mark.parametrize(
        ("context", "means"),
        [
            (None, ("https://east.example", "ada", "default")),
            ("there", ("https://west.example", "bob", "people")),
            ("bare", ("https://east.example", "", "default")),
        ],
    )
    def test_it_says_cluster_user_and_namespace(self, two, context, means):
        access = access_from_environment(str(two), context)

        assert means == (access.server, access.token, access.namespace)

    def test_one_that_is_not_there(self, two):
        with pytest.raises(Mistake, match="no `nowhere` among its contexts"):
            access_from_environment(str(two), "nowhere")


class TestSeveralFiles:
    def test_whichever_says_a_thing_first_is_right(self, tmp_path, monkeypatch):
        a = written(tmp_path / "a", users=named("user", ada={"token": "first"}), current_context="work")
        b = whole(tmp_path / "b", {"token": "second"})
        missing = tmp_path / "missing"
        monkeypatch.setenv("KUBECONFIG", f"{missing}{os.pathsep}{os.pathsep}{a}{os.pathsep}{b}")

        access = access_from_environment()

        assert ("first", URL) == (access.token, access.server)

    def test_a_path_is_seen_from_the_file_that_names_it(self, tmp_path, monkeypatch):
        a = written(tmp_path / "a/config", users=named("user", ada={"tokenFile": "token", "client-key": "k.pem"}))
        b = whole(tmp_path / "b/config", {}, cluster={"server": URL, "certificate-authority": "ca.pem"})
        (tmp_path / "b/ca.pem").write_text("PEM of b")
        monkeypatch.setenv("KUBECONFIG", f"{a}{os.pathsep}{b}")

        access = access_from_environment()

        assert "PEM of b" == access.ca
        assert (tmp_path / "a/token", tmp_path / "a/k.pem") == (access.token_file, access.key.file)


class TestWhatItHolds:
    def test_a_certificate_as_data(self, tmp_path):
        user = {"client-certificate-data": data("PEM 1"), "client-key-data": data("PEM 2")}

        access = access_from_environment(str(whole(tmp_path / "a", user)))

        assert (b"PEM 1", b"PEM 2") == (access.certificate.data, access.key.data)

    def test_data_may_be_cut_into_lines(self, tmp_path):
        long = data("PEM" * 60)
        user = {"client-key-data": "\n".join(long[at : at + 64] for at in range(0, len(long), 64)) + "\n"}

        assert b"PEM" * 60 == access_from_environment(str(whole(tmp_path / "a", user))).key.data

    def test_data_counts_more_than_a_file(self, tmp_path):
        cluster = {"server": URL, "certificate-authority": "missing", "certificate-authority-data": data("PEM")}

        assert "PEM" == access_from_environment(str(whole(tmp_path / "a", {}, cluster=cluster))).ca

    def test_a_program_with_all_that_belongs_to_it(self, tmp_path):
        program = {
            "apiVersion": "client.authentication.k8s.io/v1beta1",
            "command": "bin/sign-in",
            "args": ["--as", "ada"],
            "env": [{"name": "REALM", "value": "hpc"}],
            "installHint": "Get it\nfrom your admin",
        }

        login = access_from_environment(str(whole(tmp_path / "a", {"exec": program}))).login

        assert (str(tmp_path / "bin/sign-in"), "--as", "ada") == login.command
        assert {"REALM": "hpc"} == login.env
        assert "Get it from your admin" == login.install

    def test_a_program_without_a_folder_is_looked_for_on_the_path(self, tmp_path):
        program = {"apiVersion": "client.authentication.k8s.io/v1", "command": "aws"}

        assert ("aws",) == access_from_environment(str(whole(tmp_path / "a", {"exec": program}))).login.command

    def test_nothing_secret_is_seen_when_it_is_printed(self, tmp_path):
        user = {
            "token": "canary",
            "client-key-data": data("canary"),
            "exec": {
                "apiVersion": "client.authentication.k8s.io/v1",
                "command": "x",
                "args": ["--password=canary"],
                "env": [{"name": "PASSWORD", "value": "canary"}],
            },
        }

        assert "canary" not in repr(access_from_environment(str(whole(tmp_path / "a", user))))


class TestFaults:
    @pytest.mark.parametrize(
        "content",
        [b"", b"canary", b"[canary]", b"a: b: canary", b"\xff\xfe", b"{" * 2000, b"x: " + b"y" * 5_000_000, b"\0"],
        ids=["empty", "a word", "a list", "no YAML", "no text", "deep", "large", "a null"],
    )
    def test_what_is_no_kubeconfig(self, tmp_path, content):
        (tmp_path / "config").write_bytes(content)

        fault_of(tmp_path / "config", "is no kubeconfig")

    def test_a_folder(self, tmp_path):
        fault_of(tmp_path, "cannot be read: Is a directory")

    @pytest.mark.parametrize(
        ("parts", "words"),
        [
            ({}, "has no current context"),
            ({"current_context": "work"}, "no `work` among its contexts"),
            ({"current_context": ["work"]}, "among its contexts"),
            ({"current_context": "work", "contexts": 5}, "no `work` among its contexts"),
            ({"current_context": "work", "contexts": {"work": {}}}, "no `work` among its contexts"),
            ({"current_context": "work", "contexts": ["work", None]}, "no `work` among its contexts"),
            ({"current_context": "work", "contexts": named("context", work={"cluster": "lab"})}, "no `lab` among"),
            (
                {"current_context": "work", "contexts": named("context", work={"cluster": 5})},
                "`cluster` of .* one line",
            ),
        ],
    )
    def test_what_is_not_whole(self, tmp_path, parts, words):
        fault_of(written(tmp_path / "config", **parts), words)

    @pytest.mark.parametrize(
        ("cluster", "words"),
        [
            ({"server": "http://canary@api"}, "does not begin with `https://`"),
            ({"servers": "x"}, "does not begin with `https://`"),
            ({"server": URL, "insecure-skip-tls-verify": True}, "a server is always verified"),
            ({"server": URL, "proxy-url": "http://canary@proxy"}, "proxies are not used"),
            ({"server": URL, "certificate-authority-data": "%canary%"}, "is not base64"),
            ({"server": URL, "certificate-authority-data": 5}, "is not base64"),
            ({"server": URL, "certificate-authority-data": data(b"\x30\x82")}, "is no PEM"),
            ({"server": URL, "certificate-authority": "missing"}, "cannot be read: No such file"),
        ],
    )
    def test_of_the_cluster(self, tmp_path, cluster, words):
        fault_of(whole(tmp_path / "config", {}, cluster=cluster), words)

    @pytest.mark.parametrize(
        ("user", "words"),
        [
            ({"token": 5}, "`token` of the user `ada` is not one line"),
            ({"token": "canary\ncanary"}, "is not one line"),
            ({"token": "canary\u00e9"}, "is not one line"),
            ({"tokenFile": ["canary"]}, "is not one line"),
            ({"client-key-data": "canary!"}, "is not base64"),
            ({"username": "ada", "password": "canary"}, "`username` .* is not known here"),
            ({"auth-provider": {"name": "gcp"}}, "`auth-provider` .* is not known here"),
        ],
    )
    def test_of_the_user(self, tmp_path, user, words):
        fault_of(whole(tmp_path / "config", user), words)

    def test_who_would_be_another_is_not_taken_for_themselves(self, tmp_path):
        """
        What kubectl does as somebody else would be done under one's own name.
        """
        fault_of(whole(tmp_path / "config", {"token": "canary", "as": "system:admin"}), "`as` of the user `ada`")

    @pytest.mark.parametrize(
        ("entry", "words"),
        [
            ("sign-in", "is of a form that is not known"),
            ({}, "`apiVersion` .* is not known here"),
            ({"apiVersion": "client.authentication.k8s.io/v1alpha1", "command": "x"}, "`apiVersion`"),
            ({"command": None}, "`command` .* is missing"),
            ({"command": "a\0b"}, "not one line"),
            ({"args": "canary"}, "no list of texts"),
            ({"args": ["canary\0"]}, "no list of texts"),
            ({"env": "canary"}, "no list of `name` and `value`"),
            ({"env": ["name"]}, "no list of `name` and `value`"),
            ({"env": [{"name": "A=B", "value": "canary"}]}, "no list of `name` and `value`"),
            ({"env": [{"name": "A", "value": 5}]}, "no list of `name` and `value`"),
            ({"interactiveMode": "Always"}, "it needs a person"),
        ],
    )
    def test_of_the_program(self, tmp_path, entry, words):
        if isinstance(entry, dict) and entry:
            entry = {"apiVersion": "client.authentication.k8s.io/v1", "command": "x", **entry}

        fault_of(whole(tmp_path / "config", {"exec": entry}), words)

    def test_what_kubectl_writes_is_read(self, tmp_path):
        """
        Each of its own empty values too.
        """
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "preferences": {},
            "current-context": "work",
            "clusters": named("cluster", lab={"server": URL}),
            "contexts": named("context", work={"cluster": "lab", "user": "ada"}),
            "users": named(
                "user",
                ada={
                    "exec": {
                        "apiVersion": "client.authentication.k8s.io/v1",
                        "args": None,
                        "command": "x",
                        "env": None,
                        "interactiveMode": "IfAvailable",
                        "provideClusterInfo": False,
                    }
                },
            ),
        }
        (tmp_path / "config").write_text(yaml.safe_dump(document))

        assert ("x",) == access_from_environment(str(tmp_path / "config")).login.command
