"""
Which version of the API to speak, and whether there is accounting.

Asked when first needed and by every probe: small requests, newest version first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple

from bascule.errors import Error, Refused, Unavailable
from bascule.managers.slurm.rest import NOTHING_FOUND, Answer, Query, Rest
from bascule.managers.slurm.versions import NEWEST_FIRST, UNSUPPORTED, Shape
from bascule.model import Check

FAR_FUTURE = 4102444800
"""A time that no change is newer than: the cheapest request that needs a sign-in."""


class Facts(NamedTuple):
    """What was found out about a cluster."""

    shape: Shape
    release: str
    accounting: bool

    @property
    def version(self) -> str:
        """As a target's status shows it."""
        return f"{self.release} (REST {self.shape.name})" if self.release else f"REST {self.shape.name}"


class Discovery:
    """Finds out once, and again when asked."""

    def __init__(self, rest: Rest) -> None:
        self._rest = rest
        self._lock = asyncio.Lock()
        self.known: Facts | None = None

    async def facts(self) -> Facts:
        """Return what is known; find it out where nothing is."""
        if self.known is not None:
            return self.known
        async with self._lock:
            if self.known is None:
                self.known = await self.look(lambda check: None)
            return self.known

    def forget(self) -> None:
        """Look anew at the next call: slurmrestd may have been upgraded."""
        self.known = None

    async def look(self, note: Callable[[Check], None]) -> Facts:
        """Find out, telling each step that went well; raise what did not."""
        shape, ping = await self._version()
        release = ping.envelope.meta
        told = (release.slurm or release.Slurm) if release else None
        facts = Facts(shape, (told.release if told else "") or "", accounting=False)
        note(Check("version", ok=True, detail=facts.version))
        # A ping says nothing of a sign-in: 24.11 answers 200 to a token that it does not accept.
        await self._rest.get(shape.path("jobs"), [("update_time", FAR_FUTURE)])
        hosts = ping.envelope.pings
        note(Check("slurmctld", ok=True, detail=", ".join(host.hostname for host in hosts if host.hostname)))
        note(Check("sign-in", ok=True, detail=f"as `{self._rest.user}`"))
        accounting, words = await self._accounting(shape)
        note(Check("accounting", ok=True, detail=words))
        self.known = facts._replace(accounting=accounting)
        return self.known

    async def _version(self) -> tuple[Shape, Answer]:
        for shape in NEWEST_FIRST:
            answer = await self._rest.knows(shape.path("ping"))
            if answer is not None:
                return shape, answer
        if await self._rest.knows(f"/slurm/{UNSUPPORTED}/ping") is not None:
            raise Incompatible(
                f"{self._rest.where} speaks only REST {UNSUPPORTED}, which is not supported",
                hint="let it load v0.0.38 as well (`slurmrestd -s openapi/v0.0.38`), or use Slurm 23.11 or newer",
            )
        raise Incompatible(
            f"{self._rest.where} speaks no version of Slurm's REST API that is known here",
            hint=f"known: {', '.join(shape.name for shape in NEWEST_FIRST)}; is `url` that of slurmrestd itself, without a path?",
        )

    async def _accounting(self, shape: Shape) -> tuple[bool, str]:
        try:
            answer = await self._rest.knows(shape.past_path("jobs"), past_query(shape, [("step", 1)]))
        except Unavailable as trouble:
            return True, f"there, but silent now: {trouble.message}"
        except Error as trouble:
            return False, f"none: {trouble.message}"
        if answer is None:
            return False, "none: the history ends when slurmctld forgets a job (MinJobAge)"
        if answer.status >= 400 and NOTHING_FOUND not in answer.codes:
            return False, f"none: {answer.words}"
        return True, "slurmdbd answers"


def past_query(shape: Shape, query: Query) -> Query:
    """Return *query* for slurmdbd, without the jobs' steps where that can be said."""
    return query if shape.old else [*query, ("skip_steps", "true")]


class Incompatible(Refused):
    """slurmrestd is there, and speaks nothing that we speak."""
