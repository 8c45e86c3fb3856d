"""BridgeTarget, as people write it; declarations only, as in `bascule.spec.job`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from bascule.spec.checks import check_text, fault
from bascule.spec.fields import (
    Absolute,
    FilePath,
    Free,
    Label,
    Line,
    Name,
    Span,
    Variable,
    Word,
    Written,
    check_line,
    check_network,
    check_url,
    form,
)
from bascule.spec.metadata import MetadataModel


def check_manager_url(text: str) -> str:
    return check_url(text, ("https", "http"))


def check_endpoint(text: str) -> str:
    return check_url(text, ("https", "http"))


def check_store_url(text: str) -> str:
    return check_url(text, ("s3", "file"))


def check_pem(text: str) -> str:
    check_text(text)
    if "PRIVATE KEY" in text:
        raise fault("holds a private key", "give the certificate of the authority only, and keep the key to yourself")
    if "-----BEGIN CERTIFICATE-----" not in text or "-----END CERTIFICATE-----" not in text:
        raise fault("is no certificate in PEM form", "paste the text from `-----BEGIN CERTIFICATE-----` on")
    return text


def check_host(text: str) -> str:
    check_line(text)
    if "/" in text or " " in text:
        raise fault("is no host", "give the host's name alone, for instance `data.example.org`")
    return text


ManagerUrl = Annotated[str, Field(max_length=2048), form("https?://.*"), AfterValidator(check_manager_url)]
Endpoint = Annotated[str, Field(max_length=2048), form("https?://.*"), AfterValidator(check_endpoint)]
StoreUrl = Annotated[str, Field(max_length=2048), form("(s3|file)://.*"), AfterValidator(check_store_url)]
Pem = Annotated[str, Field(max_length=256 * 1024), AfterValidator(check_pem)]
NetworkText = Annotated[str, Field(max_length=64), AfterValidator(check_network)]
Host = Annotated[str, Field(min_length=1, max_length=253), AfterValidator(check_host)]


class SecretRefModel(Written):
    """A secret that holds a credential."""

    name: Name = Field(description="The secret's name; its keys are `user`, and `token` or `password`.")
    from_: Literal["Target", "JobNamespace"] = Field(
        "Target", alias="from", description="Whose secret: the target's namespace, or that of each job."
    )


class CredentialsModel(Written):
    """How to sign in; at most one of secret, file, env and command."""

    user: Word | None = Field(None, description="The user at the manager.")
    secret: SecretRefModel | None = Field(None, description="A Secret (Kubernetes).")
    file: FilePath | None = Field(None, description="A file that holds a token (embedded); read again at every use.")
    env: Variable | None = Field(None, description="An environment variable that holds a token (embedded).")
    command: list[Line] | None = Field(
        None,
        min_length=1,
        max_length=100,
        description="A program that prints a token (embedded); asked again when the token is refused or near its end.",
    )


class TlsModel(Written):
    """What the server's certificate is checked against; checking cannot be switched off."""

    ca: Pem | None = Field(None, description="The authority's certificates, in PEM form; the system's unless given.")
    server_name: Host | None = Field(
        None, description="The name that the certificate must bear; the URL's unless given."
    )


class NetworkModel(Written):
    """What is refused unless the target's owner says so."""

    allow: list[NetworkText] = Field([], max_length=100, description="Inner networks that the target may lie in.")
    plaintext: bool = Field(False, description="True lets `http://` be used beyond this machine.")


class LimitsModel(Written):
    """What the target's owner allows us."""

    active_jobs: int | None = Field(None, ge=1, le=1_000_000, description="How many jobs at once, at most.")
    requests_per_second: float | None = Field(None, gt=0, le=10_000, description="How many requests a second, at most.")
    poll_interval: Span | None = Field(None, description="How long between two looks at the jobs, at least.")


class StoreModel(Written):
    """An object store that jobs may name; jobs never give addresses."""

    name: Label = Field(description="What jobs call it.")
    url: StoreUrl = Field(description="The bucket and prefix: `s3://bucket/prefix`; or a folder: `file:///scratch/x`.")
    endpoint: Endpoint | None = Field(None, description="The S3 server; Amazon's unless given.")
    secret: SecretRefModel | None = Field(None, description="The secret that holds its keys.")


class TargetFilesModel(Written):
    """Where files can go."""

    root: Absolute | None = Field(None, description="A folder that both sides see; reads stay beneath it.")
    claim: Name | None = Field(
        None,
        description="The PersistentVolumeClaim, of each job's namespace, that holds `root`; with `mirror: Isolated`"
        " (Kubernetes).",
    )
    stores: list[StoreModel] = Field([], max_length=32, description="Object stores that jobs may name.")
    sources: list[Host] = Field([], max_length=100, description="Hosts that jobs may stage in from, over https.")


class AllowedNamespacesModel(Written):
    """Which namespaces may use the target (Kubernetes)."""

    from_: Literal["Same", "All", "Selector", "Names"] = Field(
        "Same", alias="from", description="The target's own, all, those that a selector picks, or those named."
    )
    selector: Free | None = Field(None, description="A label selector, as Kubernetes writes it; with `from: Selector`.")
    names: list[Label] = Field([], max_length=1000, description="The namespaces; with `from: Names`.")


class TargetSpecModel(Written):
    """Where jobs can run, and how to get there."""

    manager: Label = Field(description="The kind of manager: `local`, `slurm`, ...; `bascule target` lists them.")
    url: ManagerUrl | None = Field(None, description="Where the manager's API is.")
    credentials: CredentialsModel | None = Field(None, description="How to sign in.")
    tls: TlsModel | None = Field(None, description="What the server's certificate is checked against.")
    network: NetworkModel | None = Field(None, description="What is refused unless it is allowed here.")
    options: Free = Field({}, description="The manager's own fields: defaults for every job's options; see its page.")
    limits: LimitsModel | None = Field(None, description="What the target's owner allows us.")
    submission: Literal["Held", "Direct"] = Field(
        "Held",
        description="`Held` submits in two steps, so that no job can run twice; `Direct` in one, where the manager chooses the id.",
    )
    files: TargetFilesModel | None = Field(None, description="Where files can go.")
    mirror: Literal["Shared", "Isolated", "None"] | None = Field(
        None, description="Which pods show the jobs (Kubernetes)."
    )
    allowed_namespaces: AllowedNamespacesModel | None = Field(
        None, description="Which namespaces may use the target (Kubernetes)."
    )


class TargetModel(Written):
    """A target: where jobs can run, made by whoever owns the access."""

    api_version: Literal["bascule.dev/v1alpha1"] = Field(description="The version of this form.")
    kind: Literal["BridgeTarget"] = Field(description="What the object is.")
    metadata: MetadataModel = Field(description="What the target is called.")
    spec: TargetSpecModel = Field(description="Where jobs can run, and how to get there.")
    status: Any = Field(None, description="How the target is; written by Bascule, ignored in what people apply.")
