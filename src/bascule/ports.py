"""
What the core needs from outside: a manager, a platform, a clock.

Adapters implement these Protocols and may import this module, ``model``, ``errors``,
``spec`` and ``clients``; nothing here knows of any of them. What every manager and
every platform owes is written as tests in ``tests/contracts/``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Literal, NamedTuple, Protocol, runtime_checkable

from bascule.model import (
    Absent,
    Answer,
    CannotTell,
    Chunk,
    Event,
    Found,
    Handle,
    Health,
    Job,
    Noun,
    Observation,
    Phase,
    Ref,
    Stray,
    Target,
)

Stream = Literal["output", "error"]


class Abilities(Noun, frozen=True):
    """
    What a manager can do; the core asks here, never for a name.

    *key*: ``chosen`` the client picks the id, a second submit under it is recognised;
    ``searched`` jobs can be found by their key; ``none`` neither, so an uncertain
    submit stays Unknown. *holds*: a job can be submitted held and released. *settles*:
    how long an accepted job may stay invisible. *warns*: sends the warning signal
    itself. *recalls*: something there tells that a job ran, though the manager itself came
    back from before that. *volatile*: forgets its jobs when it is started anew, and
    `Health.instance` names its run. *batch*: many jobs are asked for in few requests.
    *here*: its jobs run on this machine, and see the caller's folders. *walltime*: ends a
    job at its walltime itself; where not, the core does. *poll*: the intervals between two
    observations, when something just changed and at rest.
    """

    key: Literal["chosen", "searched", "none"]
    holds: bool = False
    batch: bool = True
    history: bool = False
    arrays: bool = False
    hold: bool = False
    signal: bool = False
    update_walltime: bool = False
    output: bool = False
    files: bool = False
    warns: bool = False
    recalls: bool = True
    volatile: bool = False
    here: bool = False
    walltime: bool = True
    settles: float = 60.0
    poll_soon: float = 2.0
    poll_rest: float = 10.0


class Order(NamedTuple):
    """One submit: the job, the key it must bear, whether held, and the secrets it needs, resolved."""

    job: Job
    key: str
    held: bool = False
    secret_env: Mapping[str, str] = {}


class Manager(Protocol):
    """
    One resource manager, at one address, under one credential.

    Every call is one try without automatic retry, is bounded in time and size, and may
    be cancelled at any await. All raise `Unavailable` (nothing happened), `Uncertain`
    (only from calls that change something), `Refused` (the manager's own words) or
    `Mistake`.
    """

    abilities: Abilities

    def check(self, job: Job) -> None:
        """Raise `Mistake` where this manager cannot take *job*; no I/O."""

    async def submit(self, order: Order) -> Handle:
        """Submit once; under ``chosen`` keys, a job that bears the key already is the answer."""

    async def release(self, handle: Handle) -> None:
        """End our own two-phase hold."""

    async def find(self, key: str, since: datetime, *, may_have_run: bool = False) -> Found | Absent | CannotTell:
        """
        Look for *key* in the live view and the history, from *since* (our clock; allow for a difference) on.

        *may_have_run*: it may have been released since (the store is older than the truth),
        so that a job which was submitted held can have ended.
        """

    async def observe(self, handles: Sequence[Handle], cursor: str = "") -> Observation:
        """Ask for all *handles* in as few requests as the API allows. An empty key means: by id alone."""

    async def cancel(self, handle: Handle, index: int | None = None) -> None:
        """Ask to end the job and all it started; one that is over already is no error. *index*: one task of an array."""

    async def signal(self, handle: Handle, name: str) -> None:
        """Send the signal *name* (``USR1``) to the job."""

    async def hold(self, handle: Handle) -> None:
        """Keep a waiting job from starting: the user's hold."""

    async def unhold(self, handle: Handle) -> None:
        """End the user's hold."""

    async def update(self, handle: Handle, walltime: timedelta) -> None:
        """Change the walltime."""

    async def sweep(self, installation: str) -> Sequence[Stray]:
        """List what bears a key of *installation*."""

    async def read(self, handle: Handle, stream: Stream, offset: int, limit: int, index: int | None = None) -> Chunk:
        """Read at most *limit* bytes of the output, of task *index* of an array; nothing yet is an empty chunk."""

    async def forget(self, handle: Handle) -> None:
        """Remove what we keep on the manager's side for a job that is over and deleted."""

    async def probe(self) -> Health:
        """Try name, port, TLS, sign-in and version, each a step with a hint; raises nothing."""

    async def aclose(self) -> None:
        """Close connections."""


@runtime_checkable
class Neighbour(Protocol):
    """A manager on this machine (*here*), whose jobs have their submitter's surroundings."""

    def keep_submitter(self) -> str:
        """Keep the surroundings of this process durably for jobs to come; return their name."""


class Selector(Noun, frozen=True):
    """Which jobs to list: all given must hold. *live*: as `Job.is_live`."""

    namespace: str | None = None
    names: tuple[str, ...] = ()
    labels: dict[str, str] = {}
    phases: tuple[Phase, ...] = ()
    target: str | None = None
    live: bool | None = None
    limit: int | None = None


class Change(NamedTuple):
    """Something moved: look at it again. An event carries no more than this."""

    kind: Literal["job", "target"]
    ref: Ref


class Platform(Protocol):
    """Where objects live. Whoever saves a status is the driver; others only write specs."""

    @property
    def installation(self) -> str:
        """Return this installation's short name, part of every key."""

    @property
    def distrusts_before(self) -> datetime | None:
        """Return the time before which objects may be older than the truth (a restored backup)."""

    async def get(self, ref: Ref) -> Job | None:
        """Return the job as it is stored now."""

    async def bearer(self, key: str) -> Job | None:
        """Return the job of which *key* is or was the key of an attempt."""

    def list(self, selector: Selector) -> AsyncIterator[Job]:
        """Iterate over jobs, oldest first, in bounded memory."""

    async def target(self, ref: Ref) -> Target | None:
        """Return the target as it is stored now."""

    def targets(self) -> AsyncIterator[Target]:
        """Iterate over all targets."""

    def watch(self) -> AsyncIterator[Change]:
        """Tell what changed from now on, by whoever; may tell too much, never too little, and never ends by itself."""

    async def save(self, job: Job, events: Sequence[Event] = ()) -> Job:
        """
        Store *job*'s status durably if ``job.version`` and the driver's epoch still hold; return it with its new version.

        Raises `Conflict` (read again), `Fenced` (stop), `StoreFailed`. *events* are recorded with it.
        """

    async def remove(self, job: Job) -> None:
        """Let a job that is being deleted, or whose time is over, go; raises as `save`."""

    async def save_target(self, target: Target) -> Target:
        """Store a target's status, as `save`."""

    async def secret(self, namespace: str, name: str, key: str) -> str:
        """Return one value of a secret; raise `Mistake` where it is not there."""

    def drives(self, job: Job, target: Target | None) -> bool:
        """Tell whether *job* is this driver's to move; where not, another process moves it."""

    def hands_over(self, job: Job, target: Target | None) -> bool:
        """Tell whether another process moves *job* from the moment when it would go outside."""

    async def hand_over(self, job: Job) -> None:
        """Let that process move *job* from here; raises `Mistake` where it cannot, or as `save`."""

    async def admit(self, job: Job, target: Target) -> None:
        """Raise `Mistake` where *job* breaks a rule of the place it lives in, or may not use *target*."""


class Front(Protocol):
    """What people do to objects, from any process: they write specs, the driver writes statuses."""

    async def get(self, ref: Ref) -> Job | None:
        """Return the job as it is stored now."""

    def list(self, selector: Selector) -> AsyncIterator[Job]:
        """Iterate over jobs, oldest first, in bounded memory."""

    async def create(self, job: Job) -> Job:
        """Accept *job* durably, with a uid and version of its own; raise `Conflict` where the name is taken."""

    async def change(self, job: Job) -> Job:
        """
        Store *job*'s spec, labels and annotations if ``job.version`` still holds; raise `Conflict` otherwise.

        The generation moves when the spec differs. Which changes are allowed is the caller's rule.
        """

    async def delete(self, ref: Ref) -> Job | None:
        """Ask for a job's end: sets `Job.deleted_at`; the driver removes it when it may. None where there is none."""

    async def target(self, ref: Ref) -> Target | None:
        """Return the target as it is stored now."""

    def targets(self) -> AsyncIterator[Target]:
        """Iterate over all targets."""

    async def put_target(self, target: Target) -> Target:
        """Create or change a target's spec, labels and annotations."""

    async def delete_target(self, ref: Ref) -> bool:
        """Remove a target; False where there is none."""

    async def events(self, ref: Ref) -> Sequence[Event]:
        """Return what happened to a job, oldest first."""

    def watch(self) -> AsyncIterator[Change]:
        """Tell what changed from now on, by whoever; as `Platform.watch`."""


class Clock(Protocol):
    """Time, so that tests and simulations can move it."""

    def now(self) -> datetime:
        """Return the time of day, in UTC; it may jump."""

    def monotonic(self) -> float:
        """Return seconds that never jump."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""


__all__ = [
    "Abilities",
    "Answer",
    "Change",
    "Clock",
    "Front",
    "Manager",
    "Order",
    "Platform",
    "Selector",
    "Stream",
]
