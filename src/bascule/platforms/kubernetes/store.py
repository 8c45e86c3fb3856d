"""
The store: both ports, `Platform` for the driver and `Front` for people, over the API server.

Any process may write specs; only the one that leads saves statuses, each against the
version that it read and with its epoch. ``opening`` is the way in, ``saving`` how a status
is written, ``reading`` how objects are found.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import datetime

from msgspec.structs import replace

from bascule.clients.kube import KubeClient, Rejected
from bascule.clients.kube.client import MERGE
from bascule.errors import Conflict, Mistake
from bascule.model import ABANDON, Event, Job, Ref, Target, key_for, parts_of
from bascule.platforms.kubernetes import names
from bascule.platforms.kubernetes.admitting import Admission
from bascule.platforms.kubernetes.agents import AgentEpochs
from bascule.platforms.kubernetes.faults import translated
from bascule.platforms.kubernetes.following import Following
from bascule.platforms.kubernetes.leading import Lease
from bascule.platforms.kubernetes.pod_access import Pods
from bascule.platforms.kubernetes.pods import pod_name
from bascule.platforms.kubernetes.reading import Reader
from bascule.platforms.kubernetes.saving import Saver
from bascule.platforms.kubernetes.secrets import Secrets
from bascule.platforms.kubernetes.settings import Settings
from bascule.platforms.kubernetes.stories import Stories
from bascule.platforms.kubernetes.wire import StoredJob, job_of, object_of, target_of
from bascule.ports import Change, Clock, Selector


class Store:
    """One process' view of a cluster's jobs and targets."""

    def __init__(
        self, client: KubeClient, clock: Clock, settings: Settings, *, tasks: asyncio.TaskGroup, installation: str
    ) -> None:
        self.client = client
        self.settings = settings
        self.lease = Lease(client, settings, clock)
        self.following = Following(client, settings, clock)
        self.stories = Stories(client, settings)
        self.pods: Pods | None = None
        self._clock = clock
        self._tasks: asyncio.TaskGroup = tasks
        self._installation = installation
        self._reader = Reader(client, settings.watched)
        self._saver = Saver(client, self.lease, self.stories, self._reader.job, clock)
        self._admission = Admission(client)
        self._secrets = Secrets(client)
        self._follower: asyncio.Task[None] | None = None
        self._keeper: asyncio.Task[None] | None = None
        self.following.when_gone(self._saver.forget)

    # Driving

    @property
    def installation(self) -> str:
        """Return this installation's short name, part of every key."""
        return self._installation

    @property
    def distrusts_before(self) -> datetime | None:
        """Return None: objects that were restored are new ones, with a uid of their own."""
        return None

    async def lead(self) -> bool:
        """Take the Lease, without waiting for it; once taken, wait until all is known."""
        if not await self.lease.take():
            return False
        if self._keeper is None:
            self._keeper = self._tasks.create_task(self.lease.keep(), name="keep the lease")
        self._follow()
        await self.following.synced()
        return True

    async def become_agent(self, ref: Ref) -> StoredJob:
        """Drive the job *ref* alone from now on, as its next agent; raise `Conflict` where that cannot be now."""
        taken = await self._saver.take_over(ref)
        self._saver.epochs = AgentEpochs(taken, self._reader.job)
        return taken

    def drives(self, job: Job, target: Target | None) -> bool:
        """Tell whether *job* is this process' to move: from the hand-over to its end it is its agent's."""
        if not _is_handed_over(job) or job.status.phase.is_final:
            return True
        return job.deleted_at is not None and job.annotations.get(ABANDON) == "true"

    def hands_over(self, job: Job, target: Target | None) -> bool:
        """Tell whether *job* was handed over to an agent, or is to be before anything of it goes outside."""
        if _is_handed_over(job):
            return True
        return target is not None and target.spec.mirror == "Isolated" and job.status.intent is None

    async def hand_over(self, job: Job) -> None:
        """Let a controller pod move *job* from here; raise `Mistake` where it cannot have one."""
        if self.pods is None:
            raise Mistake(
                f"job `{job.ref}`: this operator makes no controller pods, which its target asks for",
                hint="it needs $BASCULE_AGENT_IMAGE, which the chart sets; or give the target `mirror: None`",
            )
        await self.pods.make(job, await self.target(job.target_ref))
        await self._saver.hand_over(job, f"waits for its controller pod `{pod_name(job.name)}`")

    async def note(self, job: StoredJob, message: str) -> None:
        """Let the status of *job*, which an agent moves, say why none does."""
        await self._saver.note(job, message)

    async def tell(self, job: StoredJob, events: Sequence[Event]) -> None:
        """Write *events* of *job* beside its story, which is its driver's."""
        await self.stories.tell_beside(job, events)

    async def admit(self, job: Job, target: Target) -> None:
        """Raise `Mistake` where *job* cannot be accepted, or may not use *target*."""
        await self._admission.check(job, target)

    async def save(self, job: Job, events: Sequence[Event] = ()) -> Job:
        """Store *job*'s status if its version and our epoch still hold; return it with its new version."""
        saved = await self._saver.save(job, events)
        self.following.note(saved.ref, saved.uid)
        return saved

    async def remove(self, job: Job) -> None:
        """Let *job* go, and its pod before it; raises as `save`."""
        if self.pods is not None and _is_handed_over(job):
            try:
                pod = await self.pods.get(job.ref)
            except Mistake:
                pod = None  # our rights there are gone, as in a namespace that is deleted; pods go before them
            if pod is not None and pod.owner == job.uid and pod.is_held:
                await self.pods.let_go(job.ref, pod)
        await self._saver.remove(job)

    async def save_target(self, target: Target) -> Target:
        """Store a target's status, as `save`."""
        return await self._saver.save_target(target)

    async def secret(self, namespace: str, name: str, key: str) -> str:
        """Return one value of a Secret as it is now; raise `Mistake` where it is not there, or not for us."""
        return await self._secrets.value(namespace, name, key)

    # What people do

    async def create(self, job: Job) -> Job:
        """Accept *job* durably, with a uid and version of its own; raise `Conflict` where the name is taken."""
        with translated(f"job `{job.ref}`", by_people=True):
            return job_of(await self.client.post(names.collection("bridgejobs", job.namespace), object_of(job)))

    async def change(self, job: Job) -> Job:
        """Store *job*'s spec, labels and annotations if its version still holds; raise `Conflict` otherwise."""
        stored = await self._reader.job(job.ref)
        if stored is None or stored.version != job.version:
            raise Conflict(f"job `{job.ref}` was changed by somebody else, or is gone", hint="read it again")
        if (stored.spec, stored.labels, stored.annotations) == (job.spec, job.labels, job.annotations):
            return stored
        with translated(f"job `{job.ref}`", by_people=True):
            path = names.item("bridgejobs", job.ref)
            data = await self.client.patch(path, _difference(stored, replace(stored, spec=job.spec), job), kind=MERGE)
        return job_of(data)

    async def delete(self, ref: Ref) -> Job | None:
        """Ask for a job's end; None where there is none."""
        stored = await self._reader.job(ref)
        if stored is None or stored.deleted_at is not None:
            return stored
        try:
            with translated(f"job `{ref}`", by_people=True):
                await self.client.delete(names.item("bridgejobs", ref), {"preconditions": {"uid": stored.uid}})
        except Conflict:
            return await self.delete(ref)
        return await self._reader.job(ref) or replace(stored, deleted_at=self._clock.now())

    async def put_target(self, target: Target) -> Target:
        """Create or change a target's spec, labels and annotations."""
        while True:
            stored = await self._reader.target(target.ref)
            try:
                with translated(f"target `{target.ref}`", by_people=True):
                    if stored is None:
                        path = names.collection("bridgetargets", target.namespace)
                        return target_of(await self.client.post(path, object_of(target)))
                    if (stored.spec, stored.labels, stored.annotations) == (
                        target.spec,
                        target.labels,
                        target.annotations,
                    ):
                        return stored
                    document = object_of(target, version=stored.version)
                    return target_of(await self.client.put(names.item("bridgetargets", target.ref), document))
            except Conflict:
                continue

    async def delete_target(self, ref: Ref) -> bool:
        """Remove a target; False where there is none."""
        try:
            await self.client.delete(names.item("bridgetargets", ref))
        except Rejected as refusal:
            if refusal.code == 404:
                return False
            raise Mistake(refusal.message, hint=refusal.hint) from refusal
        return True

    # What both read

    async def get(self, ref: Ref) -> Job | None:
        """Return the job as it is stored now; what somebody else put into its status is put right first."""
        return await self._saver.hold_again(await self._saver.put_right(await self._reader.job(ref)))

    async def bearer(self, key: str) -> Job | None:
        """Return the job of which *key* is or was the key of an attempt."""
        parts = parts_of(key)
        ref = self.following.job_with(f"{parts.name}-{parts.uid_part}") if parts is not None else None
        job = await self.get(ref) if ref is not None else None
        if parts is None or job is None or parts.attempt > job.status.attempt:
            return None
        own = key_for(job.name, installation=self._installation, uid=job.uid, attempt=parts.attempt)
        return job if own == key else None

    def list(self, selector: Selector) -> AsyncIterator[Job]:
        """Iterate over jobs, oldest first, in bounded memory."""
        return self._reader.jobs(selector)

    async def target(self, ref: Ref) -> Target | None:
        """Return the target as it is stored now."""
        return await self._reader.target(ref)

    def targets(self) -> AsyncIterator[Target]:
        """Iterate over all targets."""
        return self._reader.targets()

    async def events(self, ref: Ref) -> Sequence[Event]:
        """Return what happened to a job, oldest first, as far as the API server remembers."""
        job = await self._reader.job(ref)
        return await self.stories.of(job) if job is not None else []

    def watch(self) -> AsyncIterator[Change]:
        """Tell what changed from now on, by whoever."""
        self._follow()
        return self.following.watch()

    async def aclose(self) -> None:
        """Stop driving, and let the next one lead at once."""
        for task in (self._keeper, self._follower):
            if task is not None:
                task.cancel()
        await self.lease.release()

    def _follow(self) -> None:
        if self._follower is None:
            self._follower = self._tasks.create_task(self.following.run(), name="follow")


def _is_handed_over(job: Job) -> bool:
    return isinstance(job, StoredJob) and job.agent > 0


def _difference(stored: StoredJob, wanted: Job, given: Job) -> dict[str, object]:
    """Return the merge patch that makes *stored* what is wanted, and leaves alone what is not seen here."""
    before, after = object_of(stored), object_of(wanted)
    metadata: dict[str, object] = {
        "resourceVersion": stored.version,
        "labels": _merge(stored.labels, given.labels),
        "annotations": _merge(stored.annotations, given.annotations),
    }
    return {"metadata": metadata, "spec": _merge(before["spec"], after["spec"])}


def _merge(before: object, after: object) -> object:
    """Return what, merged into *before*, makes it *after*: what is to go is null."""
    if not isinstance(before, dict) or not isinstance(after, dict):
        return after
    gone = dict.fromkeys(before.keys() - after.keys())
    return gone | {key: _merge(before.get(key), value) for key, value in after.items() if before.get(key) != value}
