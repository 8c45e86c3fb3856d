"""From a target to its manager; no I/O."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Protocol

from bascule.clients.addresses import AddressPolicy
from bascule.clients.asking import Site
from bascule.clients.credentials import Tokens, tokens_from
from bascule.clients.http import HttpClient
from bascule.errors import Mistake
from bascule.managers.ray.head import Head
from bascule.managers.ray.manager import RayManager
from bascule.managers.ray.options import options_of_target
from bascule.model import Target
from bascule.ports import Clock

LARGEST_ANSWER = 4 << 20


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


def connect(target: Target, namespace: str, place: Place) -> RayManager:
    """Return the manager of *target*, for jobs of *namespace*; raise `Mistake` where its spec is wrong."""
    spec = target.spec
    if not spec.url:
        raise Mistake(
            f"target `{target.name}` has no `url`", hint="give the dashboard's: `url: https://ray.example.org:8265`"
        )
    options = options_of_target(spec, target.name)
    site = Site(
        url=spec.url,
        policy=place.policy(spec.network.allow),
        ca=spec.tls.ca,
        server_name=spec.tls.server_name,
        plaintext=spec.network.plaintext,
        max_bytes=LARGEST_ANSWER,
        requests_per_second=spec.limits.requests_per_second,
        pace=place.home / "pace" / f"{target.namespace}.{target.name}",
        # Ray says 401 where a token is missing, and 403 to one that is wrong.
        renews_on=frozenset({401, 403}),
    )
    head = Head(HttpClient(site, _tokens(target, namespace, place)), place.clock, spec.url)
    return RayManager(head, options, place.clock)


def _tokens(target: Target, namespace: str, place: Place) -> Tokens | None:
    """Return where the token comes from; None for a head that asks for none."""
    credentials = target.spec.credentials
    secret = credentials.secret
    whose = namespace if secret is not None and secret.from_ == "JobNamespace" else target.namespace
    return tokens_from(
        secret=None if secret is None else partial(place.secret, whose, secret.name, "token"),
        file=credentials.file,
        env=credentials.env,
        command=credentials.command,
    )
