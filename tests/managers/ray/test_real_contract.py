"""
The contract of managers on a real Ray head.

Not all of it: a head ends less than one job a second, and what is about our own side alone is
looked at with the fake (`test_contract`), which is compared with the real one.
"""

from __future__ import annotations

import pytest

from tests.contracts.manager import ManagerContract
from tests.managers.ray.real_world import RealWorld

pytestmark = [pytest.mark.real, pytest.mark.root, pytest.mark.timeout(240)]


class TestRay(ManagerContract):
    world_type = RealWorld
    loop_factory = None

    @pytest.fixture(autouse=True)
    def _head(self, ray_head):
        RealWorld.head = ray_head

    @pytest.fixture
    async def world(self, _head, tmp_path):
        async with RealWorld(tmp_path) as world:
            yield world

    # Jobs of earlier tests are listed too.
    test_a_sweep_lists_ours_and_no_strangers = None
    # Six jobs keep a head busy for half a minute: a list is asked for in test_real_lives.
    test_many_are_asked_for_in_one_call_and_only_they_are_answered = None
    # No question of these reaches the head.
    test_who_cannot_signal_says_so = None
    test_who_cannot_hold_says_so = None
    test_signalling_what_is_over_harms_nobody = None
    test_a_held_submit_is_never_made_without_the_hold = None
    # These ask the head what others ask it too.
    test_a_submitted_job_starts_once = None
    test_a_running_job_is_running = None
    test_a_job_is_watched_by_its_id_alone_when_adopted = None
    test_an_end_is_told_again_and_again = None
    test_an_id_that_never_was_is_not_reported = None
    test_beyond_the_end_there_is_nothing_yet = None
    test_a_read_gives_no_more_than_was_asked_for = None
    test_cancel_ends_a_running_job = None
    test_cancelling_what_never_was_harms_nobody = None
    test_a_submitted_job_is_found_by_its_key = None
    test_a_second_submit_of_a_key_is_recognised = None
    test_a_cancelled_call_leaks_nothing_and_may_be_repeated = None
