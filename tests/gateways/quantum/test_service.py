"""The gateway's service is strict, and keeps to its own rules; no HTTP and no simulator here."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bascule.cli.quantum_gateway import key_in
from bascule.errors import Mistake
from bascule.gateways.quantum.accounts import GRANT, INSTANCE, Accounts
from bascule.gateways.quantum.asking import Listing, listing_from, opening_from, submit_from, tags_from
from bascule.gateways.quantum.devices import DEVICES
from bascule.gateways.quantum.refusals import ProgramFailed, Refusal
from bascule.gateways.quantum.service import Outcome, QuantumService
from tests.virtual import run_virtual

SOURCE = Path(__file__).resolve().parents[3] / "src"
BODY = {"program_id": "sampler", "backend": "aer", "params": {}}


class Engine:
    """Computes when it is told to."""

    def __init__(self):
        self.go = asyncio.Event()
        self.cancelled = 0

    async def run(self, job):
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if "fail" in job.params:
            raise ProgramFailed("it is wrong", 1517)
        return Outcome("{}", "done\n")


class Time:
    def __init__(self):
        self.seconds = 1_800_000_000.0

    def __call__(self):
        return self.seconds


@pytest.fixture
def now():
    return Time()


@pytest.fixture
async def engine():
    return Engine()


@pytest.fixture
async def service(engine, now):
    service = QuantumService(engine, DEVICES, now)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(service.run())
        yield service
        running.cancel()


async def settle():
    for _ in range(20):
        await asyncio.sleep(0)


class TestJobs:
    async def test_one_computes_at_a_time_the_oldest_first(self, service, engine):
        first, second = [service.submit(submit_from(BODY)) for _ in range(2)]
        await settle()
        before = (first.status, second.status, service.place_of(second))
        engine.go.set()
        await settle()

        assert ("Running", "Queued", 1) == before
        assert ("Completed", "Completed") == (first.status, second.status)

    async def test_a_cancelled_computation_is_ended_and_the_next_goes_on(self, service, engine):
        first, second = [service.submit(submit_from(BODY)) for _ in range(2)]
        await settle()
        service.cancel(first.id)
        await settle()

        assert ("Cancelled", "Running", 1) == (first.status, second.status, engine.cancelled)

    async def test_what_is_over_cannot_be_cancelled_and_what_is_not_cannot_be_deleted(self, service, engine):
        job = service.submit(submit_from(BODY))
        with pytest.raises(Refusal, match="not over"):
            service.delete(job.id)
        engine.go.set()
        await settle()
        with pytest.raises(Refusal) as caught:
            service.cancel(job.id)
        service.delete(job.id)

        assert 409 == caught.value.status
        assert not service.jobs

    def test_a_job_that_computes_for_too_long_says_so(self, now):
        async def computed():
            service = QuantumService(Engine(), DEVICES, now)
            job = service.submit(submit_from({**BODY, "cost": 1}))
            async with asyncio.TaskGroup() as tasks:
                running = tasks.create_task(service.run())
                await asyncio.sleep(1.2)
                running.cancel()
            return job

        job = run_virtual(computed())

        assert ("Cancelled", 1305) == (job.status, job.reason_code)
        assert "Cancelled - Ran too long" == job.shown(with_params=False)["status"]

    async def test_a_failure_has_its_words_and_its_number(self, service, engine):
        job = service.submit(submit_from({**BODY, "params": {"fail": True}}))
        engine.go.set()
        await settle()

        assert ("Failed", 1517, "it is wrong") == (job.status, job.reason_code, service.results(job.id))

    async def test_lists_are_by_all_tags_and_in_pages(self, service, now):
        for n in range(5):
            now.seconds += 1
            service.submit(submit_from({**BODY, "tags": ["all", f"n{n}"]}))

        found, count = service.listed(Listing(tags=["all"], limit=2, offset=1, ascending=True))
        both, _ = service.listed(Listing(tags=["all", "n3"]))

        assert (["n1", "n2"], 5) == ([job.tags[1] for job in found], count)
        assert ["n3"] == [job.tags[1] for job in both]


class TestLimits:
    async def test_more_submits_than_a_minute_takes_are_refused_until_it_is_over(self, engine, now):
        service = QuantumService(engine, DEVICES, now, submits_per_minute=2)
        for _ in range(2):
            service.submit(submit_from(BODY))
        with pytest.raises(Refusal) as caught:
            service.submit(submit_from(BODY))
        now.seconds += caught.value.retry_after
        service.submit(submit_from(BODY))

        assert 429 == caught.value.status

    async def test_an_instance_that_has_used_its_time_takes_nothing(self, engine, now):
        service = QuantumService(engine, DEVICES, now, usage_limit=0)

        with pytest.raises(Refusal) as caught:
            service.submit(submit_from(BODY))

        assert 409 == caught.value.status


class TestSessions:
    async def test_a_closed_session_takes_no_job_and_is_over_with_its_last(self, service, engine):
        session = service.open(opening_from({"backend": "aer"}))
        job = service.submit(submit_from({**BODY, "session_id": session.id}))
        service.close(session.id)
        with pytest.raises(Refusal, match="Session has been closed"):
            service.submit(submit_from({**BODY, "session_id": session.id}))
        drains = session.shown()["state"]
        engine.go.set()
        await settle()

        assert "draining" == drains
        assert "closed" == service.session(session.id).shown()["state"]
        assert "Completed" == job.status

    async def test_a_session_whose_time_is_over_takes_its_jobs_with_it(self, service, now):
        session = service.open(opening_from({"backend": "aer", "max_ttl": 60}))
        job = service.submit(submit_from({**BODY, "session_id": session.id}))
        now.seconds += 61

        assert "closed" == service.session(session.id).shown()["state"]
        assert "Cancelled" == job.status


class TestStrictness:
    @pytest.mark.parametrize(
        "body",
        [
            None,
            [],
            {},
            {**BODY, "shots": 3},
            {**BODY, "backend": ""},
            {**BODY, "params": []},
            {**BODY, "program_id": "magic"},
            {**BODY, "cost": 0},
            {**BODY, "cost": True},
            {**BODY, "tags": "mine"},
            {**BODY, "tags": [""]},
            {**BODY, "tags": ["x"] * 25},
        ],
        ids=str,
    )
    def test_a_submit_that_is_not_whole_is_refused(self, body):
        with pytest.raises(Refusal):
            submit_from(body)

    @pytest.mark.parametrize(
        "query",
        [
            {"limit": "0"},
            {"limit": "201"},
            {"offset": "-1"},
            {"pending": "maybe"},
            {"new": "1"},
            {"created_after": "now"},
        ],
        ids=str,
    )
    def test_a_query_that_means_nothing_is_refused(self, query):
        with pytest.raises(Refusal):
            listing_from(list(query.items()))

    def test_tags_may_be_taken_away(self):
        assert [] == tags_from([])


class TestAccounts:
    def sign_in(self, accounts, key="key"):
        return accounts.token({"grant_type": GRANT, "apikey": key})["access_token"]

    def test_a_token_is_good_until_its_end(self, now):
        accounts = Accounts("key", now, lives=100)
        token = self.sign_in(accounts)
        accounts.check(f"Bearer {token}", INSTANCE)
        now.seconds += 101

        with pytest.raises(Refusal) as caught:
            accounts.check(f"Bearer {token}", INSTANCE)

        assert 401 == caught.value.status

    @pytest.mark.parametrize("how", ["changed", "another gateway's", "none", "apikey"])
    def test_a_token_that_was_not_given_is_not_taken(self, now, how):
        accounts = Accounts("key", now)
        token = {
            "changed": self.sign_in(accounts)[:-2] + "xx",
            "another gateway's": self.sign_in(Accounts("key", now)),
            "none": "",
            "apikey": "key",
        }[how]

        with pytest.raises(Refusal) as caught:
            accounts.check(f"Bearer {token}", INSTANCE)

        assert 401 == caught.value.status

    def test_a_wrong_key_is_exchanged_for_nothing(self, now):
        with pytest.raises(Refusal, match="could not be found"):
            self.sign_in(Accounts("key", now), "other")


class TestCommand:
    def test_a_key_is_made_once_for_its_owner_alone(self, tmp_path):
        file = tmp_path / "new" / "key"

        first, second = key_in(file), key_in(file)

        assert first == second
        assert len(first) > 20
        assert 0o600 == file.stat().st_mode & 0o777

    def test_an_empty_file_is_no_key(self, tmp_path):
        (tmp_path / "key").write_text("\n")

        with pytest.raises(Mistake, match="holds no key"):
            key_in(tmp_path / "key")

    @pytest.mark.slow
    def test_without_qiskit_it_says_what_to_install(self, tmp_path):
        done = subprocess.run(
            [sys.executable, "-m", "bascule", "quantum-gateway", "--port", "0", "--key-file", tmp_path / "key"],
            env={**os.environ, "PYTHONPATH": str(SOURCE)},
            capture_output=True,
            text=True,
            timeout=60,
        )

        assert 64 == done.returncode
        assert "hint: pip install 'bascule[quantum]'" in done.stderr
        assert "Traceback" not in done.stderr
