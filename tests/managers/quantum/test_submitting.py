"""Submitting to a quantum service: what it may answer, and what must not be sent at all."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from msgspec.structs import replace

from bascule.errors import Mistake, Refused, Unauthorized, Unavailable, Uncertain
from bascule.managers.quantum import connect
from bascule.managers.quantum.backends import choose
from bascule.model import Credentials, Network, Program, Run
from tests.managers.quantum.worlds import BELL, KEY, Place, QuantumWorld, target_at

FULL = '{"errors": [{"code": 1430, "message": "Usage exceeds instance limit."}]}'
BUSY = '{"errors": [{"code": 1429, "message": "Too many requests."}]}'


def program(circuit, *rest, kind="sampler", **params):
    return Run(program=Program(kind, {"pubs": [[circuit, *rest]], **params}))


class TestTags:
    async def test_a_job_bears_its_key_and_whose_it_is(self, world):
        order = world.order(options={"tags": ["mine"]})
        handle = await world.manager.submit(order)

        assert [order.key, "bascule-tests2", "mine"] == world.service.job(handle.id).tags

    async def test_options_become_the_services_own_words(self, world):
        options = {"shots": 77, "maxExecutionTime": "90s", "private": True}
        order = world.order(run=program(BELL), options=options)

        job = world.service.job((await world.manager.submit(order)).id)

        assert (90, True, 77) == (job.cost, job.private, job.params["pubs"][0][2])

    async def test_plain_circuits_ask_for_plain_results(self, world):
        job = world.service.job((await world.manager.submit(world.order())).id)

        assert job.params["support_qiskit"] is False
        assert 2 == job.params["version"]


class TestInDoubt:
    """No answer but a success and a clear no says what became of a submit."""

    @pytest.mark.parametrize("status", [408, 429, 503, 409])
    async def test_a_job_that_was_taken_in_spite_of_the_answer_is_found_at_once(self, world, status):
        order = world.order()
        world.weather.next(r"POST .*/jobs$", "after", status=status, body=BUSY)

        handle = await world.manager.submit(order)

        assert [handle.id] == list(world.service.jobs)

    @pytest.mark.parametrize("status", [500, 502, 504])
    async def test_a_failure_of_the_service_is_a_doubt(self, world, status):
        world.weather.next(r"POST .*/jobs$", "after", status=status)

        with pytest.raises(Uncertain):
            await world.manager.submit(world.order())

        assert 1 == world.weather.count(r"POST .*/jobs$")
        assert 1 == len(world.service.jobs)

    async def test_a_503_that_took_nothing_is_a_doubt_too(self, world):
        """
        The list may lag behind; the core looks again after the settling time.
        """
        world.weather.next(r"POST .*/jobs$", "instead", status=503)

        with pytest.raises(Uncertain):
            await world.manager.submit(world.order())

    async def test_an_answer_that_cannot_be_looked_into_is_a_doubt(self, world):
        world.weather.next(r"POST .*/jobs$", "instead", status=429)
        world.weather.next(r"GET .*/jobs\?", "cut before")

        with pytest.raises(Uncertain):
            await world.manager.submit(world.order())


class TestFreezing:
    @pytest.mark.parametrize(("seconds", "is_sent"), [(20, True), (40, False)])
    async def test_a_process_that_was_frozen_before_its_submit_sends_nothing(
        self, world, monkeypatch, seconds, is_sent
    ):
        """
        A successor may have looked meanwhile, and found that there is no such job.
        """

        async def after_a_while(*args, **more):
            await world.clock.sleep(seconds)
            return await choose(*args, **more)

        monkeypatch.setattr("bascule.managers.quantum.submitting.choose", after_a_while)

        with suppress(Unavailable):
            await world.manager.submit(world.order(options={"session": {}}))

        assert is_sent is bool(world.service.jobs)
        assert is_sent is all(session.accepts for session in world.service.sessions.values())


class TestRefusals:
    async def test_too_many_requests_keep_the_next_submit_waiting(self, world):
        world.weather.next(r"POST .*/jobs$", "instead", status=429, body=BUSY, headers={"Retry-After": "42"})

        with pytest.raises(Unavailable) as caught:
            await world.manager.submit(world.order())
        before = world.clock.monotonic()
        await world.manager.submit(world.order())

        assert 42 == caught.value.retry_after
        assert 42 <= world.clock.monotonic() - before

    async def test_an_instance_without_time_left_refuses(self, world):
        world.weather.next(r"POST .*/jobs$", "instead", status=409, body=FULL)

        with pytest.raises(Refused, match="Usage exceeds instance limit") as caught:
            await world.manager.submit(world.order())

        assert "raise its limit" in caught.value.hint

    async def test_an_unknown_backend_is_refused_with_those_that_there_are(self, world):
        with pytest.raises(Refused, match="no backend `ibm_nowhere`") as caught:
            await world.manager.submit(world.order(options={"backend": "ibm_nowhere"}))

        assert "`line5`" in caught.value.hint
        assert not world.weather.count("POST .*/jobs$")

    async def test_a_backend_that_is_away_is_waited_for(self, world):
        """
        Nothing is lost: the job goes when the backend is back, and asks no more often than every half minute.
        """
        world.service.offline["aer"] = "maintenance"

        with pytest.raises(Unavailable, match="maintenance"):
            await world.manager.submit(world.order())
        before = world.clock.monotonic()
        world.service.offline.clear()
        await world.manager.submit(world.order())

        assert 30 <= world.clock.monotonic() - before

    @pytest.mark.parametrize(
        ("circuit", "words"),
        [
            (BELL.replace("qubit[2]", "qubit[6]"), "has 6 qubits"),
            (BELL, "uses the gate `h`"),
            (BELL.replace("h q[0];", "").replace("q[0], q[1]", "q[0], $2"), "does not couple"),
        ],
    )
    async def test_a_circuit_that_does_not_fit_is_refused_before_it_is_sent(self, world, circuit, words):
        order = world.order(run=program(circuit), options={"backend": "line5"})

        with pytest.raises(Refused, match=words) as caught:
            await world.manager.submit(order)

        assert "transpile" in caught.value.hint
        assert not world.weather.count("POST .*/jobs$")

    async def test_more_shots_than_a_backend_takes_are_refused(self, world):
        with pytest.raises(Refused, match="1,000,000 shots"):
            await world.manager.submit(world.order(run=program(BELL), options={"shots": 1_000_000}))

    async def test_the_least_busy_backend_is_taken_that_is_wide_enough(self, world):
        wide = BELL.replace("qubit[2]", "qubit[9]")
        flat = BELL.replace("h q[0];", "x q[0];")
        taken = [
            world.service.job((await world.manager.submit(world.order(run=program(one), options=options))).id).backend
            for one, options in ((flat, {"backend": "least-busy"}), (wide, {"backend": "least-busy"}))
        ]

        assert ["line5", "aer"] == taken


class TestSignIn:
    async def test_a_wrong_key_is_told_as_such(self, world, monkeypatch):
        monkeypatch.setenv("BASCULE_TEST_QUANTUM_KEY", "wrong-canary-key")
        manager = world.connect(world.url)

        health = await manager.probe()
        with pytest.raises(Unauthorized, match="API key could not be found"):
            await manager.submit(world.order())
        await manager.aclose()

        assert health.reachable
        assert not health.authenticated

    async def test_an_instance_of_another_account_is_told_as_such(self, world):
        other = "crn:v1:bluemix:public:quantum-computing:us-east:a/ffff:00000000-0000-4000-8000-000000000000::"
        manager = world.connect(world.url, instance=other)

        with pytest.raises(Unauthorized) as caught:
            await manager.submit(world.order())
        health = await manager.probe()
        await manager.aclose()

        assert "options.instance" in caught.value.hint
        assert not health.authenticated

    @pytest.mark.parametrize("body", ["{}", '{"access_token": "two\\nlines"}', "<html>", '{"access_token": "ümlaut"}'])
    async def test_a_token_that_is_none_is_never_sent(self, world, body):
        manager = world.connect(world.url)
        world.weather.next("POST /identity/token", "instead", status=200, body=body)
        before = world.weather.count("GET .*/backends")

        with pytest.raises(Unavailable):
            await manager.submit(world.order())
        await manager.aclose()

        assert before == world.weather.count("GET .*/backends")

    async def test_a_token_is_kept_and_renewed_before_its_end(self, world):
        for _ in range(3):
            await world.manager.observe([])
            await world.manager.probe()
        once = world.weather.count("identity")
        await world.clock.sleep(3590)
        await world.manager.probe()

        assert 1 == once
        assert 2 == world.weather.count("identity")

    async def test_the_key_stands_in_no_error(self, world):
        world.accounts.is_locked = True
        manager = world.connect(world.url)
        world.weather.next(
            "POST /identity/token", "instead", status=400, body=json.dumps({"errorMessage": f"no {KEY}"})
        )

        with pytest.raises(Unauthorized) as caught:
            await manager.submit(world.order())
        await manager.aclose()

        assert KEY not in f"{caught.value} {caught.value.hint} {caught.value.__cause__}"

    async def test_a_token_that_the_service_sends_back_stands_in_no_error(self, world):
        token = await world.manager._tokens.token()
        body = json.dumps({"errors": [{"code": 1200, "message": f"what is {token}?"}]})
        world.weather.next(r"POST .*/jobs$", "instead", status=400, body=body)

        with pytest.raises(Refused) as caught:
            await world.manager.submit(world.order())

        assert "what is" in caught.value.message
        assert token not in caught.value.message


class TestPace:
    async def test_five_submits_go_at_once_and_the_sixth_a_minute_later(self, tmp_path):
        async with QuantumWorld(tmp_path, submits_per_minute=5) as world:
            world.manager = world.connect(world.url, submitsPerMinute=5)
            for _ in range(5):
                await world.manager.submit(world.order())
            at_once = world.clock.monotonic()
            await world.manager.submit(world.order())

            assert at_once < 1
            assert 60 <= world.clock.monotonic() < 62
            assert 6 == len(world.service.jobs)

    async def test_another_process_of_the_home_shares_the_pace(self, tmp_path):
        async with QuantumWorld(tmp_path) as world:
            managers = [world.connect(world.url, submitsPerMinute=2) for _ in range(2)]
            for manager in (*managers, *managers):
                await manager.submit(world.order())
                await manager.aclose()

            assert 60 <= world.clock.monotonic() < 62

    async def test_without_a_limit_nobody_waits(self, world):
        for _ in range(12):
            await world.manager.submit(world.order())

        assert 0 == world.clock.monotonic()


class TestChecks:
    """What a quantum service has no meaning for is never dropped in silence."""

    @pytest.mark.parametrize(
        "spec",
        [
            {"env": {"A": "1"}},
            {"working_directory": "/scratch"},
            {"output": "x.out"},
            {"arguments": ("--fast",)},
            {"run": Run(script="#!/bin/sh\n")},
            {"run": Run(program=Program("magic", {}))},
            {"run": Run(program=Program("sampler", {}))},
            {"options": {"precision": 0.1}},
            {"options": {"session": {"mode": "open"}}},
            {"options": {"maxExecutionTime": "4h"}},
        ],
    )
    async def test_what_means_nothing_there_is_refused(self, world, spec):
        with pytest.raises(Mistake):
            world.manager.check(world.order(**spec).job)

    @pytest.mark.parametrize(
        ("run", "words"),
        [
            (program("x q;"), "does not begin with"),
            (program(BELL.replace("3.0", "2.0")), "is OpenQASM 2"),
            (program(BELL[:-3]), "breaks off"),
            (program(BELL.replace("meas = measure q;", "")), "measures nothing"),
            (program(BELL, [0.5]), "has 0 parameters"),
            (program(BELL, [[0.1], [0.2, 0.3]]), "no array of numbers"),
            (program(BELL, [], 0), "shots"),
            (program(BELL, "ZZZ", kind="estimator"), "is of 3 qubits"),
            (program(BELL, {"ZQ": 1.0}, kind="estimator"), "letters beside"),
            (program(BELL, {"ZZ": "much"}, kind="estimator"), "no numbers"),
            (program(7), "begins with no circuit"),
        ],
    )
    async def test_a_malformed_program_is_refused_with_the_reason(self, world, run, words):
        with pytest.raises(Mistake, match=words) as caught:
            world.manager.check(world.order(run=run).job)

        assert caught.value.hint

    async def test_transpiling_without_qiskit_is_refused_with_what_to_install(self, world):
        with pytest.raises(Mistake, match="needs Qiskit") as caught:
            world.manager.check(world.order(options={"transpile": True}).job)

        assert "bascule[quantum]" in caught.value.hint

    async def test_a_target_without_a_key_is_refused(self, world):
        target = target_at(world.url)
        bare = replace(target, spec=replace(target.spec, credentials=Credentials()))

        with pytest.raises(Mistake, match="needs `credentials` with an API key"):
            connect(bare, "default", Place(world.folder, world.clock))

    async def test_plain_http_to_an_iam_elsewhere_is_for_the_owner_to_allow(self, world):
        target = target_at(world.url, iam="http://iam.example.org")
        allowed = replace(target, spec=replace(target.spec, network=Network(plaintext=True)))

        with pytest.raises(Mistake, match="unencrypted"):
            connect(target, "default", Place(world.folder, world.clock))
        await connect(allowed, "default", Place(world.folder, world.clock)).aclose()

    @pytest.mark.parametrize("options", [{"instance": "mine"}, {"iam": "ftp://example.org"}, {"apiVersion": "new"}])
    async def test_a_target_that_is_wrong_is_refused(self, world, options):
        with pytest.raises(Mistake):
            world.connect(world.url, **options)
