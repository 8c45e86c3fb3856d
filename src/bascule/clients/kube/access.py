"""
Where the API server is, and who we are there: from the pod we run in, or a kubeconfig.

Of a kubeconfig all is read that signs in without a person: tokens and client certificates,
in the file or beside it, and programs (``exec``) that print either. A server's certificate
is always verified.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from bascule.errors import Mistake

IN_POD = Path("/var/run/secrets/kubernetes.io/serviceaccount")
LONGEST_FILE = 4 * 1024 * 1024
_HINT = "see `kubectl config view`"


@dataclass(frozen=True, slots=True)
class Login:
    """A program that prints a credential, as kubeconfigs name it under ``exec``."""

    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    api_version: str = "client.authentication.k8s.io/v1"


@dataclass(frozen=True, slots=True)
class Access:
    """
    One cluster, and one identity there.

    *namespace* is where objects are meant to be that name none. A token file is read again
    and again, so that it may be rotated. *certificate* and *key* are PEM, or empty.
    """

    server: str
    ca: str | None = None
    server_name: str | None = None
    namespace: str = "default"
    token: str = field(default="", repr=False)
    token_file: Path | None = None
    certificate: bytes = field(default=b"", repr=False)
    key: bytes = field(default=b"", repr=False)
    login: Login | None = None


def is_in_cluster() -> bool:
    """Tell whether this process runs in a pod that has a service account."""
    return "KUBERNETES_SERVICE_HOST" in os.environ and (IN_POD / "token").exists()


def access_from_environment(kubeconfig: str | None = None, context: str | None = None) -> Access:
    """
    Return how to reach the cluster: by *kubeconfig*, `$KUBECONFIG`, the pod, or ``~/.kube/config``.

    Raises `Mistake` where there is none, or it cannot be used.
    """
    named = kubeconfig or os.environ.get("KUBECONFIG", "")
    if not named and is_in_cluster():
        return _access_of_pod()
    files = [Path(part) for part in named.split(os.pathsep) if part] or [Path("~/.kube/config").expanduser()]
    return _access_of_files(files, context)


def _access_of_pod() -> Access:
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    try:
        return Access(
            server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
            ca=(IN_POD / "ca.crt").read_text(encoding="ascii"),
            namespace=(IN_POD / "namespace").read_text(encoding="utf-8").strip() or "default",
            token_file=IN_POD / "token",
        )
    except OSError as error:
        raise Mistake(
            f"the pod's service account cannot be read: {error.strerror}", hint="see `automountServiceAccountToken`"
        ) from error


def _access_of_files(files: list[Path], context: str | None) -> Access:
    documents = [(file, document) for file in files if (document := _read(file)) is not None]
    if not documents:
        raise Mistake(
            f"there is no kubeconfig `{files[0]}`", hint="name one in `$KUBECONFIG`, or sign in to the cluster first"
        )
    current = context or next((name for _, each in documents if (name := each.get("current-context"))), None)
    if not current:
        raise Mistake(f"`{documents[0][0]}` has no current context", hint="choose one: `kubectl config use-context`")
    _, chosen = _named(documents, "contexts", "context", current)
    at, cluster = _named(documents, "clusters", "cluster", str(chosen.get("cluster", "")))
    beside, user = _named(documents, "users", "user", str(chosen["user"])) if chosen.get("user") else (at, {})
    server = cluster.get("server")
    if not isinstance(server, str) or not server.startswith("https://"):
        raise Mistake(f"`{at}`: the cluster of `{current}` has no `server` with `https://`", hint=_HINT)
    if cluster.get("insecure-skip-tls-verify"):
        raise Mistake(
            f"`{at}`: the cluster of `{current}` is not to be verified, which is not done here",
            hint="give its authority in `certificate-authority-data`",
        )
    ca = _data(cluster, "certificate-authority", at)
    return Access(
        server=server.rstrip("/"),
        ca=ca.decode() if ca else None,
        server_name=cluster.get("tls-server-name"),
        namespace=chosen.get("namespace") or "default",
        token=user.get("token") or "",
        token_file=_beside(at=beside, name=user["tokenFile"]) if user.get("tokenFile") else None,
        certificate=_data(user, "client-certificate", beside),
        key=_data(user, "client-key", beside),
        login=_login(user["exec"], beside) if user.get("exec") else None,
    )


def _read(file: Path) -> dict[str, Any] | None:
    try:
        with file.open("rb") as opened:
            data = opened.read(LONGEST_FILE + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Mistake(
            f"the kubeconfig `{file}` cannot be read: {error.strerror}", hint="see its owner and mode"
        ) from error
    try:
        document = yaml.safe_load(data) if len(data) <= LONGEST_FILE else None
    except yaml.YAMLError:  # its words could hold a secret
        document = None
    if not isinstance(document, dict):
        raise Mistake(f"`{file}` is no kubeconfig", hint=_HINT)
    return document


def _named(
    documents: list[tuple[Path, dict[str, Any]]], kind: str, inner: str, name: str
) -> tuple[Path, dict[str, Any]]:
    for file, document in documents:
        for entry in document.get(kind) or ():
            if isinstance(entry, dict) and entry.get("name") == name and isinstance(entry.get(inner), dict):
                return file, entry[inner]
    raise Mistake(f"the kubeconfig has no `{name}` among its {kind}", hint=_HINT)


def _beside(at: Path, name: str) -> Path:
    return at.parent / name


def _data(entry: dict[str, Any], name: str, file: Path) -> bytes:
    """Return what is given as data, or in a file whose path is relative to the kubeconfig's folder."""
    if text := entry.get(f"{name}-data"):
        try:
            return base64.b64decode(text, validate=True)
        except (binascii.Error, TypeError, ValueError) as error:
            raise Mistake(f"`{file}`: `{name}-data` is not base64", hint=_HINT) from error
    if path := entry.get(name):
        try:
            return _beside(file, path).read_bytes()
        except OSError as error:
            raise Mistake(f"`{file}`: `{name}` cannot be read: {error.strerror}", hint=_HINT) from error
    return b""


def _login(entry: dict[str, Any], file: Path) -> Login:
    command = entry.get("command")
    version = str(entry.get("apiVersion", ""))
    if not isinstance(command, str) or version not in {
        "client.authentication.k8s.io/v1",
        "client.authentication.k8s.io/v1beta1",
    }:
        raise Mistake(
            f"`{file}`: `exec` is of a form that is not known here", hint="`apiVersion` must be v1 or v1beta1"
        )
    if "/" in command:
        command = str(_beside(file, command))
    env = {str(each["name"]): str(each.get("value", "")) for each in entry.get("env") or () if "name" in each}
    return Login((command, *map(str, entry.get("args") or ())), env, version)
