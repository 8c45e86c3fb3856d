"""Signing in to Application Center: a session that ends, a password that is refused, a right that is missing."""

from __future__ import annotations

import asyncio
import json
import os

import pytest

from bascule.errors import Refused, Unauthorized, Unavailable
from bascule.managers.lsf import connect
from bascule.managers.lsf.session import LEFT_ALONE
from bascule.model import (
    Handle,
    Phase,
)
from tests.fakes.lsf.cluster import GUEST, US
from tests.fakes.lsf.server import PASSWORDS
from tests.managers.lsf.worlds import PASSWORD_NAME, Place, QuickClock, target_at

pytestmark = pytest.mark.slow

GARBAGE = [
    b"",
    b"<html>proxy</html>",
    b'{"jobs": [',
    b'{"jobs": 7}',
    b"[1]",
    b"\xff\xfe",
    b"[" * 100_000,
    b"<jobs><job>",
    b'<!DOCTYPE a [<!ENTITY b "c">]><jobs>&b;</jobs>',
    b'{"message": "Welcome to the proxy"}',
]
LOOKS = r"(POST .*/jobs/getbasicinfo|GET .*/pacclient/jobs)"


class TestSession:
    async def test_a_password_of_xml_characters_is_sent_as_it_is(self, world):
        assert set("&<>\"'") <= set(PASSWORDS[US])

        health = await world.manager.probe()

        assert health.authenticated

    async def test_one_that_ends_in_the_middle_of_a_batch_is_opened_anew(self, world):
        handles = [(await world.running())[1] for _ in range(3)]
        logons = len(world.server.logons)
        world.manager._observer._known.clear()
        world.server.expires_after = 1

        seen = await world.manager.observe(handles)

        assert 3 == len(seen.answers)
        assert logons + 1 == len(world.server.logons)

    async def test_a_403_without_words_is_taken_for_an_ended_session_first(self, new):
        """
        So old files calls tell it, and nobody can tell it from a right that is missing.
        """
        _, handle = await new.running()
        logons = len(new.server.logons)
        new.server.fault(LOOKS, "status", status=403, body=b"")

        assert Phase.RUNNING is (await new.see(handle)).phase
        assert logons + 1 == len(new.server.logons)

    async def test_one_that_is_ended_at_once_refuses_no_job(self, new):
        """
        Somebody else signs in and out as the same user: a submit must wait, not fail for good.
        """
        words = json.dumps({"message": "Your current login session was logout."}).encode()
        for _ in range(3):
            new.server.fault("POST .*/jobs/submit", "status", status=403, body=words)
        order = new.order()

        with pytest.raises(Unauthorized, match="as soon as they are opened"):
            await new.manager.submit(order)

        assert (await new.manager.submit(order)).id

    async def test_one_that_ends_before_a_change_leaves_no_doubt_and_no_second_job(self, world):
        order = world.order()
        world.server.sessions.clear()

        handle = await world.manager.submit(order)
        found = await world.manager.find(order.key, world.now())

        assert [handle.id] == [match.handle.id for match in found.matches]

    async def test_many_that_fail_together_sign_in_once(self, new):
        _, handle = await new.running()
        logons = len(new.server.logons)
        new.server.sessions.clear()

        await asyncio.gather(*(new.manager.find(handle.key, new.now()) for _ in range(5)))

        assert logons + 1 == len(new.server.logons)

    async def test_a_refused_password_is_not_tried_again_at_once(self, world):
        """
        Three wrong ones lock an account at many a site.
        """
        world.server.passwords[US] = "another"
        world.server.sessions.clear()
        logons = len(world.server.logons)

        for _ in range(5):
            with pytest.raises(Unauthorized):
                await world.manager.sweep("tests2")

        assert logons + 1 == len(world.server.logons)

    async def test_a_new_password_is_tried_at_once_and_the_old_one_after_a_while(self, new):
        new.server.passwords[US] = "another"
        new.server.sessions.clear()
        with pytest.raises(Unauthorized):
            await new.manager.sweep("tests2")
        os.environ[PASSWORD_NAME] = "another"
        await new.manager.sweep("tests2")
        new.server.sessions.clear()
        new.server.locked = True
        with pytest.raises(Unauthorized):
            await new.manager.sweep("tests2")
        new.server.locked = False
        await new.clock.sleep(LEFT_ALONE / QuickClock.AHEAD + 1)

        await new.manager.sweep("tests2")

    async def test_a_password_is_in_no_error(self, new):
        """
        Not even where the server says it back.
        """
        secret = PASSWORDS[US]
        words = json.dumps({"message": f"no such password: {secret}"}).encode()
        new.server.sessions.clear()
        new.server.fault("POST .*/logon", "status", status=403, body=words)

        with pytest.raises(Unauthorized) as caught:
            await new.manager.sweep("tests2")

        assert secret not in f"{caught.value.message} {caught.value.hint}"

    async def test_a_token_is_in_no_error(self, new):
        await new.manager.sweep("tests2")
        token = new.manager._rest._session.current
        new.server.fault("GET .*/ws/jobs", "status", status=502, body=json.dumps({"message": token}).encode())

        with pytest.raises(Unavailable) as caught:
            await new.manager.sweep("tests2")

        assert token not in caught.value.message
        assert token.partition("#")[2][:20] not in caught.value.message

    async def test_a_jobs_secret_is_in_no_error(self, new):
        order = new.order()._replace(secret_env={"KEY": "canary-in-a-mine"})
        body = json.dumps({"message": "canary-in-a-mine: No such queue. Job not submitted."}).encode()
        new.server.fault("POST .*/jobs/submit", "status", status=500, body=body)

        with pytest.raises(Refused) as caught:
            await new.manager.submit(order)

        assert "canary" not in caught.value.message
        assert "No such queue" in caught.value.message

    async def test_a_session_is_given_back(self, world):
        await world.manager.sweep("tests2")
        assert world.server.sessions

        await world.manager.aclose()

        assert not world.server.sessions

    async def test_a_user_who_is_signed_in_already_is_told_so(self, new):
        new.server.sessions.clear()
        new.server.fault("POST .*/logon", "status", status=409, body=b'{"message": "User is already logged on."}')

        with pytest.raises(Unavailable, match="signed in already"):
            await new.manager.sweep("tests2")

    async def test_an_edition_without_web_services_is_told_so(self, new):
        new.server.sessions.clear()
        body = b'{"message": "You must have Standard Edition to use web services"}'
        new.server.fault("POST .*/logon", "status", status=503, body=body)

        with pytest.raises(Unavailable, match="Standard Edition"):
            await new.manager.sweep("tests2")

    @pytest.mark.parametrize("body", [b"", b"<html/>", b"{}", b'{"token": "a;b"}', b'{"token": "a\\nb"}', b"[1]"])
    async def test_a_token_that_is_none_is_no_session(self, new, body):
        new.server.sessions.clear()
        new.server.fault("POST .*/logon", "body", body=body)

        with pytest.raises(Unavailable):
            await new.manager.sweep("tests2")


class TestRights:
    @pytest.fixture
    async def guest(self, new, monkeypatch):
        monkeypatch.setenv(PASSWORD_NAME, PASSWORDS[GUEST])
        manager = connect(target_at(new.server.url, user=GUEST), "default", Place(new.clock))
        yield manager
        await manager.aclose()

    async def test_a_submit_without_the_right_is_refused_for_good(self, new, guest):
        with pytest.raises(Refused, match="does not let `guest`"):
            await guest.submit(new.order())

    async def test_a_look_without_the_right_waits_for_it(self, guest):
        with pytest.raises(Unauthorized, match="does not let `guest`"):
            await guest.observe([Handle("236", "key")])

    async def test_it_is_not_taken_for_an_ended_session_again_and_again(self, new, guest):
        for _ in range(4):
            with pytest.raises(Unauthorized):
                await guest.observe([Handle("236", "key")])

        assert 2 >= new.server.logons.count(GUEST)

    async def test_a_session_that_ended_meanwhile_is_opened_anew_after_a_while(self, new, guest):
        """
        Both show as 403: whoever lacks one right must not be locked out of all others for ever.
        """
        with pytest.raises(Unauthorized):
            await guest.observe([Handle("236", "key")])
        new.server.sessions.clear()
        for _ in range(3):
            with pytest.raises(Unauthorized):
                await guest.observe([Handle("236", "key")])
            await new.clock.sleep(LEFT_ALONE / QuickClock.AHEAD / 2)

        assert GUEST in new.server.sessions.values()

    async def test_a_probe_tells_it_from_a_bad_password(self, guest):
        health = await guest.probe()

        assert (health.reachable, health.authenticated, health.compatible) == (True, True, False)
        assert "jobs" == health.checks[-1].name
