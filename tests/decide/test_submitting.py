"""Between the intent and the id."""

from bascule.decide import Cancel, Done, Find, Happened, Release, Submit, Trouble, decide
from bascule.model import Absent, CannotTell, Deadlines, Duration, Found, Handle, Match, Phase, Reason, Report
from tests.decide.stories import KEY, NOW, RAY_LIKE, ago, intended, job, seen

SUBMIT = Submit(KEY, held=True)
FIND = Find(KEY, since=ago(minutes=10))
HELD = Report(Phase.HELD, state="PENDING")


def after(action, result, status=None, abilities=None, **fields):
    """What follows *result* for a job whose intent is saved."""
    facts = (
        seen(happened=Happened(action, result))
        if abilities is None
        else seen(abilities, happened=Happened(action, result))
    )
    return decide(job(status or intended(), **fields), facts, NOW)


class TestAnswers:
    def test_the_id_is_saved_by_the_plan_that_releases(self):
        """A release never comes before the id is on record."""
        plan = after(SUBMIT, Done(Handle("4711", KEY)))

        assert Release(Handle("4711", KEY)) == plan.action
        assert "4711" == plan.status.id

    def test_a_cancelled_job_is_not_released(self):
        """It is ended while it is still held."""
        plan = after(SUBMIT, Done(Handle("4711", KEY)), cancel=True)

        assert isinstance(plan.action, Cancel)

    def test_a_job_that_is_to_be_held_is_not_released(self):
        plan = after(SUBMIT, Done(Handle("4711", KEY)), hold=True)

        assert plan.action is None
        assert plan.status.holding

    def test_refused_is_final_and_in_the_managers_words(self):
        plan = after(SUBMIT, Trouble("Refused", "no partition `gpu`", "there are: `main`"))

        assert (Phase.FAILED, Reason.REFUSED) == (plan.status.phase, plan.status.reason)
        assert "no partition `gpu`" in plan.status.message

    def test_unavailable_goes_back_to_waiting(self):
        """Nothing happened, so nothing needs to be looked for."""
        plan = after(SUBMIT, Trouble("Unavailable", "connection refused"))

        assert Phase.PENDING == plan.status.phase
        assert plan.status.intent is None

    def test_unavailable_does_not_settle_an_earlier_doubt(self):
        """The first try may still arrive."""
        plan = after(SUBMIT, Trouble("Unavailable", "connection refused"), intended(tries=2))

        assert plan.status.intent is not None

    def test_uncertain_is_looked_for_never_repeated(self):
        plan = after(SUBMIT, Trouble("Uncertain", "no answer within 30 s"))
        later = decide(job(plan.status), seen(), NOW)

        assert plan.action is None
        assert Reason.SUBMIT_UNCERTAIN == plan.status.reason
        assert isinstance(later.action, Find)

    def test_a_slow_answer_does_not_make_the_job_lost(self):
        """
        The submit took longer than the settling time; the queue shows the job a moment later.
        """
        asked = intended(asked_at=ago(seconds=90))
        submitted = decide(job(asked), seen(happened=Happened(SUBMIT, Done(Handle("4711", KEY)))), NOW).status
        absent = Absent("the live view and the history were read", as_of=NOW)

        plan = decide(job(submitted), seen(news=absent), NOW)

        assert Phase.SUBMITTING == plan.status.phase


class TestSearch:
    def test_a_new_process_looks_before_it_does_anything(self):
        plan = decide(job(intended()), seen(), NOW)

        assert isinstance(plan.action, Find)
        assert plan.action.since == plan.status.intent.at

    def test_what_is_found_is_adopted_and_released(self):
        plan = after(FIND, Found((Match(Handle("4711", KEY), HELD, held=True),)))

        assert isinstance(plan.action, Release)
        assert "4711" == plan.status.id

    def test_of_two_the_one_that_could_run_is_adopted(self):
        """The other is held by us, and the sweeper's."""
        free = Match(Handle("4712", KEY), Report(Phase.RUNNING))
        plan = after(FIND, Found((Match(Handle("4711", KEY), HELD, held=True), free)))

        assert "4712" == plan.status.id

    def test_absence_too_soon_proves_nothing(self):
        """An accepted job may be invisible for a while."""
        plan = after(FIND, Absent("live and history", NOW), intended(asked_at=ago(seconds=59)))

        assert plan.action is None

    def test_absence_after_settling_allows_one_more_submit(self):
        plan = after(FIND, Absent("live and history", NOW), intended(asked_at=ago(seconds=60)))

        assert isinstance(plan.action, Submit)
        assert 2 == plan.status.intent.tries
        assert NOW == plan.status.intent.asked_at

    def test_a_read_older_than_the_settling_time_proves_nothing(self):
        """What counts is when the manager was read, not when we think about it."""
        plan = after(FIND, Absent("cached", ago(minutes=5)), intended(asked_at=ago(minutes=5)))

        assert plan.action is None

    def test_proven_absence_ends_a_cancelled_job(self):
        plan = after(FIND, Absent("", NOW), intended(asked_at=ago(minutes=5)), cancel=True)

        assert Phase.CANCELLED == plan.status.phase

    def test_a_cancelled_job_in_doubt_is_looked_for(self):
        """Its submit may have arrived."""
        plan = decide(job(intended(), cancel=True), seen(), NOW)

        assert isinstance(plan.action, Find)

    def test_cannot_tell_stays_unknown_and_says_so(self):
        plan = after(FIND, CannotTell("no accounting"))

        assert Phase.UNKNOWN == plan.status.phase
        assert "no accounting" in plan.status.message
        assert plan.action is None

    def test_unknown_ends_at_its_deadline_as_lost(self):
        limits = Deadlines(unknown=Duration.parse("1h"))

        plan = after(FIND, CannotTell("no accounting"), intended(unknown_since=ago(hours=1)), deadlines=limits)

        assert (Phase.FAILED, Reason.LOST) == (plan.status.phase, plan.status.reason)

    def test_a_search_that_fails_is_no_news(self):
        plan = after(FIND, Trouble("Unavailable", "connection refused"))

        assert Phase.SUBMITTING == plan.status.phase
        assert plan.status.intent is not None

    def test_a_chosen_id_needs_no_release(self):
        status = intended()
        plan = after(Submit(KEY, held=False), Done(Handle(KEY, KEY)), _unheld(status), RAY_LIKE)

        assert plan.action is None
        assert Phase.QUEUED == plan.status.phase


class TestDeletion:
    def test_a_job_in_doubt_is_looked_for_before_it_is_let_go(self):
        """What we hold would else wait for ever: it is found and released, and then the object goes."""
        let_go = {"deleted_at": NOW, "on_delete": "Detach"}
        first = decide(job(intended(), **let_go), seen(), NOW)
        found = after(FIND, Found((Match(Handle("4711", KEY), HELD, held=True),)), **let_go)

        assert isinstance(first.action, Find)
        assert isinstance(found.action, Release)
        assert not found.remove

    def test_what_nobody_can_tell_is_let_go(self):
        """Nothing more can be learned of it."""
        assert after(FIND, CannotTell("no history"), deleted_at=NOW, on_delete="Detach").remove

    def test_abandon_lets_go_whatever_is_open(self):
        marked = job(intended(), deleted_at=NOW, annotations={"bascule.dev/abandon": "true"})

        assert decide(marked, seen(reachable=False), NOW).remove


def _unheld(status):
    from msgspec.structs import replace

    return replace(status, intent=replace(status.intent, held=False))
