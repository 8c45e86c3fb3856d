"""The stored objects: a job and a target, each with its name, version and status."""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import NamedTuple

from bascule.model.spec import JobSpec, Noun
from bascule.model.status import JobStatus
from bascule.model.target import TargetSpec, TargetStatus

ABANDON = "bascule.dev/abandon"
"""The annotation that lets go of a job whose manager can no longer confirm a cancellation."""

SUBMITTER = "bascule.dev/submitter"
"""The annotation that names the surroundings which a manager on this machine keeps for a job."""


class Ref(NamedTuple):
    """Which object: a namespace (``default`` where the platform has none) and a name."""

    namespace: str
    name: str

    def __str__(self) -> str:
        """As people write it."""
        return self.name if self.namespace == "default" else f"{self.namespace}/{self.name}"


class Job(Noun, frozen=True):
    """
    A job as it is stored.

    *version* is for compare-and-set: it moves at every write, of spec or status.
    *generation* moves when the spec changes. *uid* is new for each object, also when a
    name is used again.
    """

    namespace: str
    name: str
    uid: str
    spec: JobSpec
    status: JobStatus = JobStatus()
    version: str = ""
    generation: int = 1
    created_at: datetime | None = None
    deleted_at: datetime | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}

    @property
    def ref(self) -> Ref:
        """The job's reference."""
        return Ref(self.namespace, self.name)

    @property
    def is_live(self) -> bool:
        """Tell whether something is still to be done: not final, or being deleted, or to be removed at its time."""
        expires = self.spec.ttl_after_finished is not None
        return not self.status.phase.is_final or self.deleted_at is not None or expires

    @property
    def is_array(self) -> bool:
        """Tell whether it is many tasks; of an adopted job only its manager can say so."""
        return self.spec.array is not None or self.status.tasks is not None

    @property
    def target_ref(self) -> Ref:
        """The reference of the job's target."""
        return Ref(self.spec.target.namespace or self.namespace, self.spec.target.name)

    @property
    def way_out(self) -> str:
        """What a person can do where it was deleted and is held back by what is outside; empty where it was not."""
        if self.deleted_at is None:
            return ""
        return f"; to let it go as it is, annotate it with `{ABANDON}=true`"


class Target(Noun, frozen=True):
    """A target as it is stored; the fields are as in `Job`."""

    namespace: str
    name: str
    uid: str
    spec: TargetSpec
    status: TargetStatus = TargetStatus()
    version: str = ""
    generation: int = 1
    created_at: datetime | None = None
    deleted_at: datetime | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}

    @property
    def ref(self) -> Ref:
        """The target's reference."""
        return Ref(self.namespace, self.name)

    @property
    def address(self) -> str:
        """
        What tells one manager behind a target from another, as far as the spec can.

        A digest: it is kept with jobs, whose readers need not know the URL.
        """
        url = (self.spec.url or "").rstrip("/").lower()
        return hashlib.sha256(f"{self.spec.manager}\0{url}".encode()).hexdigest()[:12]
