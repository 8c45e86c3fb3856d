"""From a target to its manager; no I/O."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from bascule.clients.addresses import AddressPolicy
from bascule.clients.asking import Site
from bascule.clients.http import HttpClient
from bascule.errors import Mistake
from bascule.managers.slurm.credentials import SignIn, tokens_of
from bascule.managers.slurm.manager import SlurmManager
from bascule.managers.slurm.options import options_of_target
from bascule.managers.slurm.rest import LARGEST_ANSWER, Rest
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
        """Return which addresses may be reached."""

    async def secret(self, namespace: str, name: str, key: str) -> str:
        """Return one value of a secret."""


def connect(target: Target, namespace: str, place: Place) -> SlurmManager:
    """Return the manager of *target*, for jobs of *namespace*; raise `Mistake` where its spec is wrong."""
    spec = target.spec
    if not spec.url:
        raise Mistake(
            f"target `{target.name}` has no `url`", hint="give slurmrestd's: `url: https://slurm.example.org:6820`"
        )
    options = options_of_target(spec, target.name)
    root = spec.files.root
    if root is not None and not root.startswith("/"):
        raise Mistake(f"target `{target.name}`: `files.root` is no absolute path", hint="begin it with `/`")
    sign_in = SignIn(spec.credentials.user, place.clock.now)
    tokens = tokens_of(spec.credentials, home=target.namespace, namespace=namespace, read=place.secret)
    site = Site(
        url=spec.url,
        policy=place.policy(spec.network.allow),
        ca=spec.tls.ca,
        server_name=spec.tls.server_name,
        plaintext=spec.network.plaintext,
        max_bytes=LARGEST_ANSWER,
        requests_per_second=spec.limits.requests_per_second,
        pace=place.home / "pace" / f"{target.namespace}.{target.name}",
        sign=sign_in.headers,
    )
    rest = Rest(HttpClient(site, tokens), sign_in, spec.url)
    return SlurmManager(rest, options, place.clock, root=root, held=spec.submission == "Held")
