"""
Reading kubeconfigs, as kubectl does: of several files, whichever says a thing first.

All is read that signs in without a person: tokens and client certificates, in the file or
beside it, and programs (``exec``) that print either. What would make us somebody else, or
take another way, than the file says is refused and not passed over.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from bascule.clients.kube.access import Access, Login, Pem
from bascule.errors import Mistake

LONGEST_FILE = 4 * 1024 * 1024
LONGEST_HINT = 500
VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
FOR_LOGIN = "client.authentication.k8s.io/exec"
"""The extension of a cluster that is handed to the program that signs in."""
NOT_OF_A_USER = {
    "auth-provider": "use `exec`, which came in its place",
    "username": "use a token, a client certificate or `exec`",
    "as": "sign in as whom you want to be",
    "as-uid": "sign in as whom you want to be",
    "as-groups": "sign in as whom you want to be",
    "as-user-extra": "sign in as whom you want to be",
}
_HINT = "see `kubectl config view`"


def access_of_files(files: Sequence[Path], context: str | None) -> Access:
    """Return the access of *context*, or else of the current one, in *files*; raises `Mistake`."""
    documents = [(file, document) for file in files if (document := _read(file)) is not None]
    if not documents:
        raise _nothing(files[0])
    current = context or next((name for _, each in documents if (name := each.get("current-context"))), None)
    if not current:
        raise Mistake(f"`{documents[0][0]}` has no current context", hint="choose one: `kubectl config use-context`")
    chosen = _named(documents, "contexts", "context", str(current))
    cluster = _named(documents, "clusters", "cluster", chosen.text("cluster"))
    named = chosen.text("user")
    user = _named(documents, "users", "user", named) if named else _Entry(chosen.file, "its user", {})
    return Access(
        server=_server(cluster),
        ca=_authority(cluster),
        server_name=cluster.text("tls-server-name") or None,
        namespace=chosen.text("namespace") or "default",
        token=user.text("token"),
        token_file=user.path("tokenFile"),
        certificate=user.pem("client-certificate"),
        key=user.pem("client-key"),
        login=_login(user, cluster),
    )


def _nothing(file: Path) -> Mistake:
    if "KUBERNETES_SERVICE_HOST" in os.environ:
        return Mistake(
            f"this pod has no service account's token, and there is no kubeconfig `{file}`",
            hint="see `automountServiceAccountToken`",
        )
    return Mistake(
        f"there is no kubeconfig `{file}`", hint="name one in `$KUBECONFIG`, or sign in to the cluster first"
    )


def _read(file: Path) -> dict[str, Any] | None:
    try:
        data = read(file)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Mistake(
            f"the kubeconfig `{file}` cannot be read: {error.strerror}", hint="see its owner and mode"
        ) from error
    try:
        document = yaml.safe_load(data) if len(data) <= LONGEST_FILE else None
    except (yaml.YAMLError, ValueError, RecursionError):  # its words could hold a secret
        document = None
    if not isinstance(document, dict):
        raise Mistake(f"`{file}` is no kubeconfig", hint=_HINT)
    return document


def read(file: Path) -> bytes:
    """Return what is in *file*, or of a large one a byte more than is taken."""
    with file.open("rb") as opened:
        return opened.read(LONGEST_FILE + 1)


@dataclass(frozen=True, slots=True)
class _Entry:
    """What *file* says of one cluster, user or context, which is called *what*."""

    file: Path
    what: str
    values: dict[str, Any]

    def fault(self, name: str, words: str, hint: str = _HINT) -> Mistake:
        return Mistake(f"`{self.file}`: `{name}` of {self.what} {words}", hint=hint)

    def text(self, name: str) -> str:
        """Return the one line called *name*; empty where there is none."""
        value = self.values.get(name)
        if value is None:
            return ""
        if not isinstance(value, str) or not value.isprintable() or not value.isascii():
            raise self.fault(name, "is not one line of text")
        return value

    def texts(self, name: str) -> list[str]:
        value = self.values.get(name) or []
        if not isinstance(value, list) or not all(isinstance(each, str) and "\0" not in each for each in value):
            raise self.fault(name, "is no list of texts")
        return value

    def path(self, name: str) -> Path | None:
        """Return the file that is named there, by its place seen from the kubeconfig's folder."""
        text = self.text(name)
        return self.file.parent / text if text else None

    def data(self, name: str) -> bytes:
        # Lines of base64 are cut where the file is written by hand; everybody else takes them too.
        value = self.values.get(name) or ""
        try:
            return base64.b64decode("".join(value.split()), validate=True)
        except (AttributeError, binascii.Error, ValueError):
            raise self.fault(name, "is not base64") from None

    def pem(self, name: str) -> Pem:
        data = self.data(f"{name}-data")
        return Pem(data) if data else Pem(file=self.path(name))


def _named(documents: Sequence[tuple[Path, dict[str, Any]]], kind: str, inner: str, name: str) -> _Entry:
    for file, document in documents:
        entries = document.get(kind) or ()
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, dict) and entry.get("name") == name and isinstance(entry.get(inner), dict):
                return _Entry(file, f"the {inner} `{name}`", entry[inner])
    raise Mistake(f"the kubeconfig has no `{name}` among its {kind}", hint=_HINT)


def _server(cluster: _Entry) -> str:
    server = cluster.text("server")
    if not server.startswith("https://"):
        raise cluster.fault("server", "does not begin with `https://`")
    if cluster.values.get("insecure-skip-tls-verify"):
        raise cluster.fault(
            "insecure-skip-tls-verify",
            "is set: here a server is always verified",
            hint="give its authority in `certificate-authority-data`",
        )
    if cluster.values.get("proxy-url"):
        raise cluster.fault(
            "proxy-url", "is set: proxies are not used here", hint="use a kubeconfig for the server itself"
        )
    return server.rstrip("/")


def _authority(cluster: _Entry) -> str | None:
    pem = cluster.pem("certificate-authority")
    if not pem:
        return None
    try:
        return (read(pem.file) if pem.file is not None else pem.data).decode("ascii")
    except OSError as error:
        raise cluster.fault(
            "certificate-authority", f"cannot be read: {error.strerror}", hint="see its owner and mode"
        ) from error
    except UnicodeDecodeError:
        raise cluster.fault("certificate-authority", "is no PEM") from None


def _login(user: _Entry, cluster: _Entry) -> Login | None:
    for name, hint in NOT_OF_A_USER.items():
        if user.values.get(name):
            raise user.fault(name, "is not known here", hint=hint)
    values = user.values.get("exec")
    if values is None:
        return None
    if not isinstance(values, dict):
        raise user.fault("exec", "is of a form that is not known here")
    entry = _Entry(user.file, f"`exec` of {user.what}", values)
    name = entry.text("command")
    version = entry.text("apiVersion")
    if version not in VERSIONS:
        raise entry.fault("apiVersion", "is not known here", hint="it must be v1 or v1beta1: renew the kubeconfig")
    if not name:
        raise entry.fault("command", "is missing")
    if values.get("interactiveMode") == "Always":
        raise entry.fault("interactiveMode", "is `Always`: it needs a person", hint="use one that signs in by itself")
    program = str(user.file.parent / name) if "/" in name else name
    return Login(
        name=name,
        command=(program, *entry.texts("args")),
        env=_variables(entry),
        api_version=version,
        cluster=_told_of(cluster) if values.get("provideClusterInfo") else None,
        install=" ".join(str(values.get("installHint") or "").split())[:LONGEST_HINT],
    )


def _variables(entry: _Entry) -> dict[str, str]:
    listed = entry.values.get("env") or []
    found: dict[str, str] = {}
    for each in listed if isinstance(listed, list) else [None]:
        name, value = (each.get("name"), each.get("value") or "") if isinstance(each, dict) else (None, None)
        if not (isinstance(name, str) and isinstance(value, str)) or not name or "=" in name or "\0" in name + value:
            raise entry.fault("env", "is no list of `name` and `value`")
        found[name] = value
    return found


def _told_of(cluster: _Entry) -> dict[str, Any]:
    ca = _authority(cluster)
    told: dict[str, Any] = {"server": cluster.text("server")}
    if ca:
        told["certificate-authority-data"] = base64.b64encode(ca.encode()).decode()
    if cluster.text("tls-server-name"):
        told["tls-server-name"] = cluster.text("tls-server-name")
    extensions = cluster.values.get("extensions") or ()
    for each in extensions if isinstance(extensions, list) else ():
        if isinstance(each, dict) and each.get("name") == FOR_LOGIN:
            told["config"] = each.get("extension")
    return told
