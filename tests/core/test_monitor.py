"""The monitor: one request for many jobs, and silence is no news."""

import asyncio
from contextlib import asynccontextmanager
from random import Random

from bascule.errors import Unavailable
from bascule.model import Absent, Handle, JobStatus, ManagerView, Observation, Phase, Ref, Report
from bascule.monitor import Monitor, fingerprint_of
from bascule.ports import Abilities
from tests.virtual import FakeClock, VirtualLoop

ABILITIES = Abilities(key="searched", poll_soon=2, poll_rest=30)
RUNNING = Report(Phase.RUNNING, state="RUNNING", explanation="running on n1", nodes=("n1",))


class Cluster:
    """What the manager has under an id, and whose it is; a cursor says that nothing moved."""

    def __init__(self, clock, jobs):
        self.clock = clock
        self.jobs = jobs

    async def observe(self, handles, cursor=""):
        as_of = self.clock.now()
        await asyncio.sleep(1)
        if cursor:
            return Observation(as_of, unchanged=True, cursor=cursor)
        answers = {one.id: self.jobs.get((one.id, one.key), Absent("another has its id", as_of)) for one in handles}
        return Observation(as_of, answers, cursor="1")


class Table:
    """What the manager would answer; a test fills it."""

    def __init__(self, clock):
        self.clock = clock
        self.answers = {}
        self.asked = []
        self.fault = None
        self.takes = 0.0

    async def observe(self, handles, cursor=""):
        self.asked.append((asyncio.get_running_loop().time(), len(handles)))
        await asyncio.sleep(self.takes)
        if self.fault:
            raise self.fault
        return Observation(self.clock.now(), dict(self.answers))


@asynccontextmanager
async def watching(table, *, jobs=0):
    """A monitor that runs over *table* with *jobs* jobs; gives it and the list of what it woke."""
    woken, heard = [], []
    monitor = Monitor(table.observe, ABILITIES, table.clock, wake=woken.append, heard=heard.append, luck=Random(0))
    for number in range(jobs):
        monitor.track(Ref("default", f"j{number}"), Handle(str(number), f"k{number}"), JobStatus())
    task = asyncio.ensure_future(monitor.run())
    try:
        yield monitor, woken, heard
    finally:
        task.cancel()
        await asyncio.wait([task])


class TestPolls:
    loop_factory = VirtualLoop

    async def test_a_thousand_jobs_cost_one_request(self):
        """The cost of watching is per target, not per job."""
        table = Table(FakeClock())

        async with watching(table, jobs=1000):
            await asyncio.sleep(3)

        assert [1000] == [count for _, count in table.asked]

    async def test_nothing_to_watch_costs_nothing(self):
        """A target without live jobs is left alone."""
        table = Table(FakeClock())

        async with watching(table):
            await asyncio.sleep(3600)

        assert [] == table.asked

    async def test_the_interval_grows_to_its_rest(self):
        """At rest a target is asked at the resting interval, give or take the jitter."""
        table = Table(FakeClock())
        table.answers = {"0": RUNNING}

        async with watching(table, jobs=1):
            await asyncio.sleep(3600)

        times = [time for time, _ in table.asked]
        assert all(26 < later - earlier < 34 for earlier, later in zip(times[-20:], times[-19:], strict=False))

    async def test_a_slow_manager_is_asked_less(self):
        """No more than a tenth of the manager's time is taken."""
        table = Table(FakeClock())
        table.takes = 20.0

        async with watching(table, jobs=1):
            await asyncio.sleep(7200)

        assert len(table.asked) < 7200 / 180

    async def test_one_slow_look_is_no_slow_manager(self):
        """The first look after a start reads everything, and may take long: what comes next must not wait for that."""
        table = Table(FakeClock())
        table.takes = 20.0

        async with watching(table, jobs=1):
            await asyncio.sleep(10)
            table.takes = 0.1
            await asyncio.sleep(50)

        assert len(table.asked) >= 3


class TestNews:
    loop_factory = VirtualLoop

    async def test_only_jobs_with_news_are_woken(self):
        """The same answer again is no news."""
        table = Table(FakeClock())
        table.answers = {"0": RUNNING, "1": RUNNING}

        async with watching(table, jobs=2) as (_, woken, _):
            await asyncio.sleep(300)
            table.answers["1"] = Report(Phase.SUCCEEDED, state="COMPLETED", exit_code=0)
            await asyncio.sleep(300)

        assert ["j0", "j1", "j1"] == [ref.name for ref in woken]

    async def test_what_the_status_says_already_is_no_news(self):
        """After a restart the first poll wakes only the jobs that moved meanwhile."""
        table, woken = Table(FakeClock()), []
        table.answers = {"0": RUNNING}
        status = JobStatus(phase=Phase.RUNNING, message="running on n1", manager=ManagerView("RUNNING", nodes=("n1",)))
        monitor = Monitor(
            table.observe, ABILITIES, table.clock, wake=woken.append, heard=lambda _: None, luck=Random(0)
        )
        monitor.track(Ref("default", "j0"), Handle("0", "k0"), status)

        await monitor.poll()

        assert [] == woken

    async def test_an_answer_without_the_job_is_no_news(self):
        """A partial list leaves out jobs without meaning anything by it."""
        table = Table(FakeClock())

        async with watching(table, jobs=3) as (monitor, woken, _):
            await asyncio.sleep(100)
            news = monitor.news(Ref("default", "j0"))

        assert [] == woken
        assert news is None

    async def test_an_absence_is_told_each_time(self):
        """How new an absence is decides what it proves."""
        table = Table(FakeClock())
        table.answers = {"0": Absent("not in the list", table.clock.now())}

        async with watching(table, jobs=1) as (_, woken, _):
            await asyncio.sleep(100)

        assert len(table.asked) == len(woken) > 2

    async def test_a_job_whose_end_settles_is_woken(self):
        """COMPLETING and then completed, in the same words: the second is the news that counts."""
        table = Table(FakeClock())
        table.answers = {"0": Report(Phase.SUCCEEDED, state="COMPLETED", settled=False)}

        async with watching(table, jobs=1) as (_, woken, _):
            await asyncio.sleep(60)
            table.answers = {"0": Report(Phase.SUCCEEDED, state="COMPLETED", settled=True)}
            await asyncio.sleep(60)

        assert 2 == len(woken)

    async def test_an_absence_in_doubt_is_not_hidden_by_nothing_has_moved(self):
        """While a job is missing the whole answer is asked for: no cursor."""
        cursors = []
        table = Table(FakeClock())
        table.answers = {"0": Absent("not in the list", table.clock.now())}

        async def observe(handles, cursor=""):
            cursors.append(cursor)
            return Observation(table.clock.now(), dict(table.answers), cursor="mark")

        table.observe = observe
        async with watching(table, jobs=1):
            await asyncio.sleep(60)
            doubtful = len(cursors)
            table.answers = {"0": RUNNING}
            await asyncio.sleep(120)

        assert {""} == set(cursors[:doubtful])
        assert "mark" == cursors[-1]

    async def test_news_that_was_replaced_is_not_dropped(self):
        """What came in while a pass took in the older news stays."""
        table = Table(FakeClock())
        table.answers = {"0": RUNNING}

        async with watching(table, jobs=1) as (monitor, _, _):
            await asyncio.sleep(3)
            older = monitor.news(Ref("default", "j0"))
            table.answers = {"0": Report(Phase.SUCCEEDED, state="COMPLETED")}
            await asyncio.sleep(30)
            monitor.taken_in(Ref("default", "j0"), older)
            newer = monitor.news(Ref("default", "j0"))

        assert "COMPLETED" == newer.state


class TestSilence:
    loop_factory = VirtualLoop

    async def test_silence_wakes_no_job_and_backs_off(self):
        """A failed poll only tells how the target is."""
        table = Table(FakeClock())
        table.fault = Unavailable("no answer")

        async with watching(table, jobs=5) as (_, woken, heard):
            await asyncio.sleep(3600)

        assert [] == woken
        assert len(table.asked) == len(heard) < 25

    async def test_retry_after_is_obeyed(self):
        """A manager that names a time is left alone until then."""
        table = Table(FakeClock())
        table.fault = Unavailable("slow down", retry_after=500)

        async with watching(table, jobs=1):
            await asyncio.sleep(400)

        assert 1 == len(table.asked)

    async def test_a_silent_manager_is_not_hurried(self):
        """New jobs do not shorten the back-off."""
        table = Table(FakeClock())
        table.fault = Unavailable("no answer")

        async with watching(table, jobs=1) as (monitor, _, _):
            await asyncio.sleep(600)
            before = len(table.asked)
            for _ in range(100):
                monitor.hurry()
                await asyncio.sleep(0.1)

        assert len(table.asked) - before <= 1


class TestFingerprints:
    def test_a_status_and_the_report_behind_it_agree(self):
        """Both sides are compared after a restart."""
        status = JobStatus(phase=Phase.RUNNING, message="running on n1", manager=ManagerView("RUNNING", nodes=("n1",)))

        assert fingerprint_of(RUNNING) == fingerprint_of(status)


class TestIds:
    loop_factory = VirtualLoop

    async def test_a_job_whose_id_was_given_to_another_of_ours_does_not_get_its_result(self):
        """The manager forgot the first in a restart, and counts on from where it was."""
        forgotten, later = Ref("default", "forgotten"), Ref("default", "later")
        cluster = Cluster(FakeClock(), {("100", "key-2"): RUNNING})

        async with watching(cluster) as (monitor, _, _):
            monitor.track(forgotten, Handle("100", "key-1"), JobStatus())
            monitor.track(later, Handle("100", "key-2"), JobStatus())
            await asyncio.sleep(10)

            assert RUNNING == monitor.news(later)
            assert isinstance(monitor.news(forgotten), Absent)

    async def test_a_job_that_joins_during_a_request_is_asked_for_in_the_next(self):
        """That nothing moved since would say nothing about it."""
        first, second = Ref("default", "first"), Ref("default", "second")
        cluster = Cluster(FakeClock(), {("1", "key-1"): RUNNING, ("2", "key-2"): RUNNING})

        async with watching(cluster) as (monitor, _, _):
            monitor.track(first, Handle("1", "key-1"), JobStatus())
            await asyncio.sleep(2.5)
            monitor.track(second, Handle("2", "key-2"), JobStatus())
            await asyncio.sleep(30)

            assert RUNNING == monitor.news(second)
