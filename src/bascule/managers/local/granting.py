"""How the supervisor sees to wishes: of jobs that wait, of those that run, and of arrays and their tasks."""

from __future__ import annotations

from msgspec.structs import replace

from bascule.managers.local.arrays import Array
from bascule.managers.local.course import Run
from bascule.managers.local.journal import Journal
from bascule.managers.local.processes import relatives, send, signal_number
from bascule.managers.local.queue import Waiting
from bascule.managers.local.records import CANCEL, End, State
from bascule.managers.local.roll import Roll
from bascule.managers.local.tasks import parted, task_key
from bascule.managers.local.wishes import Wish
from bascule.model import Phase


class Granting:
    """Sees to the wishes of one home."""

    def __init__(self, roll: Roll, journal: Journal) -> None:
        self._roll = roll
        self._log = journal

    def see_to(self, wish: Wish, now: float) -> bool:
        """Do what is wished; False where an end could not be written down yet."""
        what, _, value = wish.what.partition("-")
        job, index = parted(wish.key)
        if not self._roll.knows(job, now):
            return True
        if wish.key in self._roll.runs:
            self._of_runs([self._roll.runs[wish.key]], what, value, now)
        elif job in self._roll.arrays and index is not None:
            return self._of_task(self._roll.arrays[job], index, what)
        elif job in self._roll.arrays:
            self._of_array(self._roll.arrays[job], what, value, now)
        elif (waiting := self._roll.queue.get(job)) is not None:
            return self._of_waiting(waiting, what, value)
        return True

    def _of_waiting(self, waiting: Waiting, what: str, value: str) -> bool:
        key = waiting.outline.key
        if what == "cancel":
            self._roll.queue.remove(key)
            self._log("job.cancelled", key=key)
            return self._roll.end(key, waiting.state, _never_started())
        changed = waiting.as_wished(what, value)
        self._roll.ledger.mend(key, changed.state)
        if changed != waiting:
            self._roll.ledger.save(key, changed.state)
            self._roll.queue.add(changed)
        return True

    def _of_runs(self, runs: list[Run], what: str, value: str, now: float) -> None:
        before = {run.key: run.state for run in runs}
        match what:
            case "cancel":
                for run in runs:
                    if run.stop(CANCEL, now):
                        self._log("job.stopping", key=run.key, cause=CANCEL)
            case "walltime":
                for run in runs:
                    run.state = replace(run.state, walltime=float(value))
                    run.stir()
            case "signal":
                number = signal_number(value)
                for family in relatives({run.key: run.marks for run in runs}).values():
                    send((one.birth for one in family), number)
        for run in runs:
            if run.state != before[run.key]:
                self._roll.ledger.save(run.key, run.state)

    def _of_task(self, array: Array, index: int, what: str) -> bool:
        if what != "cancel" or not array.waits(index):
            return True
        key = task_key(array.key, index)
        self._log("job.cancelled", key=key)
        self._roll.make_folder(key)
        return self._roll.end(key, State("queued", array.state.at), _never_started())

    def _of_array(self, array: Array, what: str, value: str, now: float) -> None:
        running = [
            self._roll.runs[key] for index in array.running if (key := task_key(array.key, index)) in self._roll.runs
        ]
        if what == "cancel":
            array.cancel(now)
        else:
            array.state = Waiting(array.outline, array.state).as_wished(what, value).state
        self._roll.ledger.save(array.key, array.counted())
        self._of_runs(running, what, value, now)
        self._roll.go_on(array)


def _never_started() -> End:
    return End(Phase.CANCELLED, "", "cancelled before it started")
