"""
The simulation finds every known wrong behaviour: each at a seed that is known to.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import structlog

from tests.simulation.mutants import hunt
from tests.simulation.planted import MUTANTS, planted

ROOT = Path(__file__).resolve().parent.parent.parent
NEARBY = 40
"""How many seeds from the known one on are tried: a change of the stories moves things a little."""

KNOWN = {
    "id_stored_only_after_the_reply_without_an_intent": 149,
    "released_before_the_id_is_saved": 1223,
    "resubmit_on_time_out": 673,
    "an_empty_list_means_finished": 28,
    "no_changes_means_no_jobs": 1,
    "silence_means_lost": 10,
    "not_found_means_failed": 0,
    "purged_means_success": 0,
    "an_id_is_trusted_without_its_key": 277,
    "saved_without_compare_and_set": 20,
    "a_lease_without_an_epoch": 20,
    "a_final_phase_is_left_again": 25,
    "a_cancel_is_lost_when_the_manager_is_down": 14,
    "asked_to_cancel_means_cancelled": 6,
    "a_deleted_object_goes_before_its_job": 122,
    "a_cancelled_doubt_is_over": 673,
    "absence_needs_no_settling": 0,
    "submitted_without_the_hold": 3,
    "never_released": 0,
    "released_again_and_again": 40,
    "nobody_sweeps": 3,
    "the_sweeper_takes_everything": 0,
    "an_unknown_word_means_failed": 28,
    "all_attempts_bear_one_key": 1,
    "a_key_of_the_process": 467,
    "acting_though_the_disk_is_full": 94,
    "a_manager_at_rest_is_polled_as_often": 1,
    "an_answer_is_as_old_as_its_question": 2193,
    "a_new_process_counts_as_it_goes": 429,
    "a_stop_counts_only_once_it_is_on_record_that_we_asked": 3780,
    "a_restored_backup_is_taken_for_the_truth": 151,
    "a_release_is_never_made_again": 28,
    "a_predecessor_is_not_waited_for": 5,
    "a_deadline_is_left_to_the_manager": 26,
    "a_detached_job_is_cancelled": 76,
}


@pytest.fixture(autouse=True)
def own_logging():
    kept = structlog.get_config()
    yield
    structlog.configure(**kept)


def test_every_planted_bug_is_looked_for():
    assert len(MUTANTS) >= 20
    assert KNOWN.keys() == MUTANTS.keys()


def test_the_page_tells_of_every_planted_bug():
    page = (ROOT / "docs" / "reliability.md").read_text()
    told = set(re.findall(r"^\| ([a-z ]+) \| \d+ \|", page, flags=re.MULTILINE))

    assert told == {name.replace("_", " ") for name in MUTANTS}


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", MUTANTS)
def test_it_is_found(name):
    known = KNOWN[name]

    found = hunt(name, range(known, known + NEARBY))

    assert found.found_at is not None, (
        f"seeds {known} to {known + NEARBY - 1} do not find it any more; "
        f"look for another with `python -m tests.simulation.mutants {name}`"
    )
    assert " died: " not in found.wrong, "the planted code does not fit any more: it ends the process by itself"


def test_a_planted_bug_is_taken_out_again(run):
    name, seed = "never_released", KNOWN["never_released"]
    with planted(name):
        during = run(seed)[1]

    assert during
    assert not run(seed)[1]
