"""From a target to its manager; no I/O."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from bascule.clients.addresses import AddressPolicy
from bascule.clients.asking import Site
from bascule.clients.http import HttpClient
from bascule.errors import Mistake
from bascule.managers.quantum.home import Home
from bascule.managers.quantum.iam import IamTokens, keys_of
from bascule.managers.quantum.manager import QuantumManager
from bascule.managers.quantum.options import options_of_target
from bascule.managers.quantum.rest import LARGEST_ANSWER, Rest
from bascule.model import Target
from bascule.ports import Clock


class Place(Protocol):
    """What is needed of the place it is used in; `wiring.Surroundings` has more."""

    @property
    def home(self) -> Path:
        """Return the folder that all processes share."""

    @property
    def clock(self) -> Clock:
        """Return the time."""

    def policy(self, allow: tuple[str, ...]) -> AddressPolicy:
        """Return which addresses may be gone to."""

    async def secret(self, namespace: str, name: str, key: str) -> str:
        """Return one value of a secret."""


def connect(target: Target, namespace: str, place: Place) -> QuantumManager:
    """Return the manager of *target*, for jobs of *namespace*; raise `Mistake` where its spec is wrong."""
    spec = target.spec
    options = options_of_target(spec, target.name)
    root = spec.files.root
    if root is not None and not root.startswith("/"):
        raise Mistake(f"target `{target.name}`: `files.root` is no absolute path", hint="begin it with `/`")
    url = spec.url or _url_of(options.instance)
    if _is_plain_and_far(options.iam) and not spec.network.plaintext:
        raise Mistake(
            f"target `{target.name}`: `options.iam` would send the API key over the network unencrypted",
            hint="use `https://`, or say `network: {plaintext: true}` if you own that network",
        )
    policy = place.policy(spec.network.allow)
    keys = keys_of(spec.credentials, home=target.namespace, namespace=namespace, read=place.secret)
    plaintext = spec.network.plaintext
    iam = Site(url=options.iam, policy=policy, ca=spec.tls.ca, plaintext=plaintext, max_bytes=1 << 20)
    tokens = IamTokens(HttpClient(iam), keys, place.clock, f"IAM at `{options.iam}`")
    ours = place.home / "quantum"
    site = Site(
        url=url,
        policy=policy,
        ca=spec.tls.ca,
        server_name=spec.tls.server_name,
        plaintext=plaintext,
        max_bytes=LARGEST_ANSWER,
        requests_per_second=spec.limits.requests_per_second,
        pace=place.home / "pace" / f"{target.namespace}.{target.name}",
    )
    return QuantumManager(
        Rest(HttpClient(site, tokens), options.instance, options.api_version, url),
        tokens,
        options,
        place.clock,
        home=Home(Path(root), is_ours=False) if root is not None else Home(ours / "results", is_ours=True),
        ours=ours / f"{target.namespace}.{target.name}",
    )


def _url_of(instance: str) -> str:
    """Return the address of IBM's service for an instance, by the region in its CRN."""
    region = instance.split(":")[5]
    return f"https://{'' if region == 'us-east' else f'{region}.'}quantum.cloud.ibm.com/api/v1"


def _is_plain_and_far(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme == "http" and parts.hostname not in {"localhost", "127.0.0.1", "::1"}
