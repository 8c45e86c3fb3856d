"""SQLite and the platform in memory, side by side: whatever is done to both, they say the same."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, rule
from msgspec.structs import replace

from bascule.errors import Error
from bascule.model import Job, JobSpec, JobStatus, Phase, Ref, Run, Target, TargetRef, TargetSpec, TargetStatus, key_for
from bascule.platforms.embedded import Settings, open_store
from bascule.ports import Selector
from tests.contracts.platform_world import event, told
from tests.fakes.platform import MemoryPlatform
from tests.virtual import FakeClock, VirtualLoop

namespaces = st.sampled_from(["default", "other"])
names = st.sampled_from(["a", "b", "größe"])
texts = st.text(max_size=8)
labels = st.dictionaries(st.sampled_from(["x", "y"]), st.sampled_from(["1", "2"]), max_size=2)
specs = st.builds(
    JobSpec,
    target=st.builds(TargetRef, st.sampled_from(["local", "hpc"])),
    run=st.builds(Run, script=texts),
    cancel=st.booleans(),
)
statuses = st.builds(
    JobStatus,
    phase=st.sampled_from(Phase),
    message=texts,
    attempt=st.integers(0, 3),
    exit_code=st.none() | st.integers(0, 255),
)
events = st.lists(st.builds(event, st.sampled_from(["Queued", "Refused"]), st.sampled_from(["m", "n"])), max_size=3)
selectors = st.builds(
    Selector,
    namespace=st.none() | namespaces,
    names=st.lists(names, max_size=2).map(tuple),
    labels=labels,
    phases=st.lists(st.sampled_from(Phase), max_size=3, unique=True).map(tuple),
    target=st.none() | st.sampled_from(["local", "hpc"]),
    live=st.none() | st.booleans(),
    limit=st.none() | st.integers(0, 3),
)


@dataclass(frozen=True)
class Pair:
    """One object as each of the two knows it; versions and uids are each one's own."""

    memory: Any
    sqlite: Any


class SideBySide(RuleBasedStateMachine):
    """Every rule is done to both; both answer the same or fail alike."""

    jobs = Bundle("jobs")  # as they were read at some time: many have moved on
    targets = Bundle("targets")

    @initialize()
    def open(self):
        self.folder = Path(tempfile.mkdtemp())
        self.runner = asyncio.Runner(loop_factory=VirtualLoop)
        self.stack = AsyncExitStack()
        self.runner.run(self._open())

    async def _open(self):
        self.clock = FakeClock()
        self.memory = MemoryPlatform(self.clock)
        self.sqlite = await self._opened()
        await self.sqlite.lead()
        self.watches = [
            await self.stack.enter_async_context(aclosing(face.watch())) for face in (self.memory, self.sqlite)
        ]

    async def _opened(self):
        settings = Settings(threads=False, synchronous="OFF")
        return await self.stack.enter_async_context(open_store(self.folder, self.clock, settings=settings))

    def teardown(self):
        if hasattr(self, "stack"):
            self.runner.run(self.stack.aclose())
            self.runner.close()
            shutil.rmtree(self.folder)

    @rule(target=jobs, namespace=namespaces, name=names, spec=specs, labels=labels)
    def create(self, namespace, name, spec, labels):
        job = Job(namespace, name, "", spec, labels=labels)
        return self.both("create", Pair(job, job))

    @rule(target=jobs, job=jobs, spec=specs, labels=labels)
    def change(self, job, spec, labels):
        return self.both("change", self.each(job, spec=spec, labels=labels))

    @rule(target=jobs, job=jobs, status=statuses, events=events)
    def save(self, job, status, events):
        return self.both("save", self.each(job, status=status), events)

    @rule(target=jobs, namespace=namespaces, name=names)
    def delete(self, namespace, name):
        ref = Ref(namespace, name)
        return self.both("delete", Pair(ref, ref))

    @rule(target=jobs, namespace=namespaces, name=names)
    def read(self, namespace, name):
        ref = Ref(namespace, name)
        return self.both("get", Pair(ref, ref))

    @rule(job=jobs)
    def remove(self, job):
        self.both("remove", job)

    @rule(target=targets, name=names, url=texts)
    def put_target(self, name, url):
        target = Target("default", name, "", TargetSpec("slurm", url=url))
        return self.both("put_target", Pair(target, target))

    @rule(target=targets, known=targets, version=texts)
    def save_target(self, known, version):
        return self.both("save_target", self.each(known, status=TargetStatus(version=version)))

    @rule(name=names)
    def delete_target(self, name):
        ref = Ref("default", name)
        self.both("delete_target", Pair(ref, ref))

    @rule()
    def take_over(self):
        async def sqlite():
            (self.folder / "driver.lock").unlink()
            store = await self._opened()
            await store.lead()
            return store

        late, self.memory = self.memory, self.memory.taken_over()
        late_too, self.sqlite = self.sqlite, self.runner.run(sqlite())
        job = Job("default", "x", "", JobSpec(TargetRef("local")))
        assert "Fenced" == self.answer(late.save(job)) == self.answer(late_too.save(job))

    @rule(selector=selectors)
    def select(self, selector):
        async def listed(face):
            async with aclosing(face.list(selector)) as jobs:
                return [seen(job) async for job in jobs]

        assert self.runner.run(listed(self.memory)) == self.runner.run(listed(self.sqlite))

    @rule(job=jobs, attempt=st.integers(1, 4))
    def bear(self, job, attempt):
        found = []
        for face, known in ((self.memory, job.memory), (self.sqlite, job.sqlite)):
            key = key_for(known.name, installation=face.installation, uid=known.uid, attempt=attempt)
            found.append(seen(self.runner.run(face.bearer(key))))
        assert found[0] == found[1]

    @invariant()
    def both_tell_the_same_story(self):
        if not hasattr(self, "stack"):
            return
        for namespace in ("default", "other"):
            for name in ("a", "b", "größe"):
                ref = Ref(namespace, name)
                stories = [self.runner.run(face.events(ref)) for face in (self.memory, self.sqlite)]
                assert list(stories[0]) == list(stories[1])

    def both(self, verb, pair, *more):
        """Do one thing to both; return what both said, and see that both watches tell of it."""
        before = len(self.memory.objects.changes)
        memory = self.answer(getattr(self.memory, verb)(pair.memory, *more))
        sqlite = self.answer(getattr(self.sqlite, verb)(pair.sqlite, *more))
        assert seen(memory) == seen(sqlite)
        for change in self.memory.objects.changes[before:]:
            for watch in self.watches:
                self.runner.run(told(watch, change))
        return Pair(memory, sqlite) if isinstance(memory, Job | Target) else multiple()

    def answer(self, question):
        """Return what was said, or the kind of error."""
        try:
            return self.runner.run(question)
        except Error as error:
            return type(error).__name__

    @staticmethod
    def each(pair, **fields):
        return Pair(replace(pair.memory, **fields), replace(pair.sqlite, **fields))


def seen(answer):
    """Return *answer* without what is each platform's own."""
    if isinstance(answer, Job | Target):
        return replace(answer, uid="", version="")
    return answer


TestSideBySide = SideBySide.TestCase
TestSideBySide.settings = settings(max_examples=50, stateful_step_count=40)
TestSideBySide.pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]  # to shrink a failure takes its time
