"""From a target to its manager; no I/O."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from bascule.clients.addresses import AddressPolicy
from bascule.clients.asking import Site
from bascule.clients.http import HttpClient
from bascule.errors import Mistake
from bascule.managers.lsf.manager import LsfManager
from bascule.managers.lsf.options import options_of_target
from bascule.managers.lsf.rest import Rest
from bascule.managers.lsf.session import Session, Told, cookie, login_of, nothing
from bascule.model import Target
from bascule.ports import Clock

CONTEXT = "/platform"


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


def connect(target: Target, namespace: str, place: Place) -> LsfManager:
    """Return the manager of *target*, for jobs of *namespace*; raise `Mistake` where its spec is wrong."""
    spec = target.spec
    if not spec.url:
        raise Mistake(
            f"target `{target.name}` has no `url`",
            hint="give Application Center's: `url: https://lsf.example.org:8443/platform`",
        )
    url = spec.url if urlsplit(spec.url).path.strip("/") else spec.url.rstrip("/") + CONTEXT
    options = options_of_target(spec, target.name)
    login = login_of(spec.credentials, home=target.namespace, namespace=namespace, read=place.secret)
    where = f"Application Center at `{url}`"

    def site(sign: Callable[[str], Mapping[str, str]]) -> Site:
        return Site(
            url=url,
            policy=place.policy(spec.network.allow),
            ca=spec.tls.ca,
            server_name=spec.tls.server_name,
            plaintext=spec.network.plaintext,
            requests_per_second=spec.limits.requests_per_second,
            pace=place.home / "pace" / f"{target.namespace}.{target.name}",
            sign=sign,
        )

    signing_in = HttpClient(site(nothing), Told(login.passwords))
    session = Session(signing_in, login, place.clock, where)
    rest = Rest(HttpClient(site(cookie), session), session, place.clock, where)
    return LsfManager(rest, options, place.clock, held=spec.submission == "Held")
