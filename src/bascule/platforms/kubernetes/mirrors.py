"""
Keeping the controller pods of all jobs that were handed over, while this process leads.

A pod is looked at when it or its job moves. Each namespace whose jobs have pods is
followed by itself: its admin has allowed that, and nothing is asked of the others.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing

from msgspec.structs import replace

from bascule.clients.kube import Meta, Reflector
from bascule.clients.kube.meta import Key
from bascule.errors import Conflict, Error, Fenced, Mistake
from bascule.failpoints import failpoint
from bascule.journal import Logger
from bascule.model import Event, Ref
from bascule.platforms.kubernetes import names
from bascule.platforms.kubernetes.mirroring import CancelJob, LetGo, Make, Mark, Nothing, Replace, Step, Tell, next_step
from bascule.platforms.kubernetes.namespaces import is_going
from bascule.platforms.kubernetes.pod_access import Pods
from bascule.platforms.kubernetes.pods import JOB, SELECTOR, SUFFIX, Pod, pod_name
from bascule.platforms.kubernetes.store import Store
from bascule.platforms.kubernetes.wire import StoredJob
from bascule.ports import Clock, Selector

WORKERS = 8
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 300.0
TELL_AGAIN = 300.0
MOST_STEPS = 8
log = Logger(__name__)


class Mirrors:
    """Gives each job that was handed over its pod, and takes note of what becomes of it."""

    def __init__(self, store: Store, pods: Pods, clock: Clock) -> None:
        self._store = store
        self._pods = pods
        self._clock = clock
        self._due: dict[Ref, float] = {}
        self._busy: set[Ref] = set()
        self._moved = asyncio.Event()
        self._pauses: dict[Ref, float] = {}
        self._names: dict[Key, Ref] = {}
        self._namespaces: set[str] = set()
        self._told: dict[Ref, str] = {}
        self._group: asyncio.TaskGroup | None = None

    async def run(self) -> None:
        """Keep them until cancelled; raises `Fenced` once another process leads."""
        async with asyncio.TaskGroup() as group:
            self._group = group
            group.create_task(self._watch(), name="watch jobs with pods")
            for number in range(WORKERS):
                group.create_task(self._work(), name=f"look after pods {number}")

    def wake(self, ref: Ref, seconds: float = 0.0) -> None:
        """Look at the pod of *ref*, after *seconds* at the latest."""
        due = self._clock.monotonic() + seconds
        if self._due.get(ref, float("inf")) > due:
            self._due[ref] = due
            self._moved.set()

    async def _watch(self) -> None:
        async with aclosing(self._store.watch()) as changes:  # type: ignore[type-var]
            async with aclosing(self._store.list(Selector(live=True))) as jobs:  # type: ignore[type-var]
                async for job in jobs:
                    if isinstance(job, StoredJob) and job.agent:
                        self.wake(job.ref)
            async for change in changes:
                if change.kind == "job":
                    self.wake(change.ref)

    def _follow(self, namespace: str) -> None:
        """Follow the pods of *namespace* from now on."""
        if namespace in self._namespaces or self._group is None:
            return
        self._namespaces.add(namespace)
        path = names.core_collection("pods", namespace)
        reflector = Reflector(
            self._store.client, path, self._pod_told, sleep=self._clock.sleep, query={"labelSelector": SELECTOR}
        )
        self._group.create_task(reflector.run(), name=f"follow pods of {namespace}")

    def _pod_told(self, key: Key, meta: Meta | None) -> None:
        if meta is not None:
            name = (meta.annotations or {}).get(JOB, "")
            if pod_name(name) != key.name:
                name = key.name.removesuffix(SUFFIX)  # somebody has changed the annotation
            self._names[key] = Ref(key.namespace, name)
        ref = self._names.get(key) if meta is not None else self._names.pop(key, None)
        if ref is not None:
            self.wake(ref)

    async def _work(self) -> None:
        while True:
            ref = self._next()
            if ref is None:
                await self._rest()
                continue
            self._busy.add(ref)
            try:
                again = await self._look(ref)
            except Fenced:
                raise
            except Error as trouble:
                pause = self._pauses[ref] = min(LONGEST_PAUSE, self._pauses.get(ref, FIRST_PAUSE / 2) * 2)
                log.warning("mirror.trouble", job=str(ref), error=trouble.message, hint=trouble.hint, again_in=pause)
                again = pause
            finally:
                self._busy.discard(ref)
            if again is not None:
                self.wake(ref, again)
            self._moved.set()

    def _next(self) -> Ref | None:
        now = self._clock.monotonic()
        ready = [ref for ref, due in self._due.items() if due <= now and ref not in self._busy]
        if not ready:
            return None
        ref = min(ready, key=lambda each: self._due[each])
        del self._due[ref]
        return ref

    async def _rest(self) -> None:
        """Wait until something is due, or moved."""
        self._moved.clear()
        now = self._clock.monotonic()
        waiting = [due - now for ref, due in self._due.items() if ref not in self._busy]
        seconds = max(min(waiting, default=3600.0), 0.0)
        async with asyncio.TaskGroup() as tasks:
            moved = tasks.create_task(self._moved.wait(), name="moved")
            timer = tasks.create_task(self._clock.sleep(seconds), name="due")
            await asyncio.wait((moved, timer), return_when=asyncio.FIRST_COMPLETED)
            moved.cancel()
            timer.cancel()

    async def _look(self, ref: Ref) -> float | None:
        for _ in range(MOST_STEPS):
            job = await self._store.get(ref)
            assert job is None or isinstance(job, StoredJob)  # noqa: S101 - it is this platform's
            if job is not None and not job.agent:
                return None
            if job is not None and not job.status.phase.is_final:
                self._follow(ref.namespace)
            elif ref.namespace not in self._namespaces:
                return None  # nothing of it was ever seen here
            try:
                pod = await self._pods.get(ref)
            except Mistake as mistake:
                await self._note(job, mistake)
                raise
            step = next_step(job, pod, self._clock.now())
            if isinstance(step, Nothing):
                if pod is None or pod.has_started:
                    self._pauses.pop(ref, None)
                    self._told.pop(ref, None)
                return step.seconds
            again = await self._do(ref, job, pod, step)
            if again is not None:
                return again
        return FIRST_PAUSE

    async def _do(self, ref: Ref, job: StoredJob | None, pod: Pod | None, step: Step) -> float | None:
        """Do *step*; return the seconds after which to look again, or None for at once."""
        failpoint(f"mirrors.before.{type(step).__name__.lower()}")
        match step:
            case Make() if job is not None:
                await self._make(job)
                log.info("mirror.made", job=str(ref), pod=pod_name(ref.name))
                return 0.5
            case CancelJob() if job is not None:
                await self._cancel(job)
            case Mark() if job is not None and pod is not None:
                log.warning("mirror.marked", job=str(ref), pod=pod.name, hint="somebody had changed whose it is")
                await self._pods.mark(job, pod)
            case LetGo() if pod is not None:
                await self._pods.let_go(ref, pod)
            case Replace(at_once=at_once) if pod is not None:
                log.info("mirror.replaced", job=str(ref), pod=pod.name, at_once=at_once)
                await self._pods.replace(ref, pod, at_once=at_once)
                pause = self._pauses[ref] = min(LONGEST_PAUSE, self._pauses.get(ref, FIRST_PAUSE / 2) * 2)
                return pause
            case Tell(reason=reason, message=message) if job is not None:
                if self._told.get(ref) != message:
                    self._told[ref] = message
                    await self._store.tell(job, [Event(self._clock.now(), reason, message, "Warning")])
                return TELL_AGAIN
        return None

    async def _make(self, job: StoredJob) -> None:
        try:
            await self._pods.make(job, await self._store.target(job.target_ref))
        except Mistake as mistake:
            await self._note(job, mistake)
            raise

    async def _note(self, job: StoredJob | None, mistake: Mistake) -> None:
        """Let the job say why it has no pod, where it should have one."""
        if job is None or job.status.phase.is_final:
            return
        words = f"{mistake.message} ({mistake.hint})" if mistake.hint else mistake.message
        if await is_going(self._store.client, job.namespace):
            words = f"namespace `{job.namespace}` is being deleted, and takes none any more"
        await self._store.note(job, f"has no controller pod: {words}{job.way_out}")

    async def _cancel(self, job: StoredJob) -> None:
        """Write down what a person wants who has deleted the pod of *job*."""
        try:
            await self._store.change(replace(job, spec=replace(job.spec, cancel=True)))
        except Conflict:
            return
        except Mistake as mistake:
            log.warning("mirror.not_cancelled", job=str(job.ref), error=mistake.message)
            return
        words = "its controller pod was deleted by somebody: the job is cancelled"
        await self._store.tell(job, [Event(self._clock.now(), "PodDeleted", words)])
