"""
What `decide` is told and what it answers: `Seen` in, `Plan` out.

A plan is carried out in a fixed order: its status is saved, then its one action is done,
then `decide` is asked again with what happened. So whatever an action needs on record
(the intent before a submit, the id before a release, the end before a clean-up) is
there by construction.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal, Self

import msgspec

from bascule.errors import Error, Mistake, Refused, Unavailable, Uncertain
from bascule.model import (
    Absent,
    Answer,
    CannotTell,
    Event,
    Found,
    Handle,
    JobStatus,
    Noun,
    Phase,
)
from bascule.ports import Abilities


class Submit(Noun, frozen=True, tag=True):
    """Submit the job under *key*."""

    key: str
    held: bool


class Find(Noun, frozen=True, tag=True):
    """Look for *key*, which may have been submitted at *since* or later, and may even have run."""

    key: str
    since: datetime
    may_have_run: bool = False


class Release(Noun, frozen=True, tag=True):
    """End our two-phase hold."""

    handle: Handle


class Cancel(Noun, frozen=True, tag=True):
    """Ask the manager to end the job."""

    handle: Handle


class Hold(Noun, frozen=True, tag=True):
    """Keep the job waiting: the user's hold."""

    handle: Handle


class Unhold(Noun, frozen=True, tag=True):
    """End the user's hold."""

    handle: Handle


class Update(Noun, frozen=True, tag=True):
    """Change the walltime."""

    handle: Handle
    walltime: timedelta


class Signal(Noun, frozen=True, tag=True):
    """Send the warning signal."""

    handle: Handle
    name: str


class Forget(Noun, frozen=True, tag=True):
    """Clear away what is kept on the manager's side."""

    handle: Handle


Action = Submit | Find | Release | Cancel | Hold | Unhold | Update | Signal | Forget


class Done(Noun, frozen=True, tag=True):
    """The action went well; a submit gives a handle."""

    handle: Handle | None = None


class Trouble(Noun, frozen=True, tag=True):
    """The action failed; *kind* is the class of the error."""

    kind: Literal["Mistake", "Refused", "Unavailable", "Uncertain"]
    message: str
    hint: str = ""
    retry_after: float | None = None

    @classmethod
    def of(cls, error: Error) -> Self:
        """Put *error* into words that `decide` knows; raise it where it is of no class that it knows."""
        match error:
            case Mistake():
                return cls("Mistake", error.message, error.hint)
            case Refused():
                return cls("Refused", error.message, error.hint)
            case Uncertain():
                return cls("Uncertain", error.message, error.hint)
            case Unavailable(retry_after=retry_after):
                return cls("Unavailable", error.message, error.hint, retry_after)
        raise error


class Happened(Noun, frozen=True):
    """What became of the last action of this pass."""

    action: Action
    result: Done | Trouble | Found | Absent | CannotTell


class Seen(Noun, frozen=True):
    """
    All that is known besides the job itself.

    *news* is the latest answer about the job that was not yet taken in, or None.
    *problem* is why the manager cannot take the job (a `Mistake`, in words).
    *predecessors* has the phase of each job in `after`; None for one that does not exist.
    *address* is the target's, as in `JobStatus`.
    *reachable* None means that the target has not been asked yet. *asked_ago* is how many
    seconds ago this process last tried to submit, on a clock that does not jump.
    """

    installation: str
    abilities: Abilities | None = None
    target_exists: bool = True
    held_submit: bool = False
    problem: str = ""
    hint: str = ""
    news: Answer | None = None
    happened: Happened | None = None
    predecessors: dict[str, Phase | None] = {}
    has_room: bool = True
    reachable: bool | None = None
    silence: str = ""
    asked_ago: float | None = None
    instance: str = ""
    address: str = ""
    distrusts_before: datetime | None = None


class Plan(Noun, frozen=True):
    """
    What one step should do.

    *status* is saved first, if it differs from the job's; then *action* is done, or the
    object is let go (*remove*). *look_again_in* is in seconds; None means: when something changes.
    """

    status: JobStatus
    action: Action | None = None
    events: tuple[Event, ...] = ()
    look_again_in: float | None = None
    remove: bool = False

    def and_event(self, event: Event) -> Plan:
        """Return this plan with one more event, in front."""
        return msgspec.structs.replace(self, events=(event, *self.events))
