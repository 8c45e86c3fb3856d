"""
From records to reports: whose a record is, and for what has ended the look into its folder.

An id alone proves nothing: LSF gives ids again after `MAX_JOBID`. A record is a handle's
only under the handle's key.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from bascule.errors import Refused, Unauthorized, Unavailable
from bascule.managers.lsf.arrays import array_report
from bascule.managers.lsf.center import Center
from bascule.managers.lsf.ends import End, all_names, by_index, from_files, names_of
from bascule.managers.lsf.note import Note, note_from, note_in
from bascule.managers.lsf.records import Record
from bascule.managers.lsf.states import DONE, EXIT, HELD, RUNS, kind_of, report_of
from bascule.model import Handle, Match, Report, Source

TRIES = 3
"""How often the folder of a job that failed is asked for, before its end is told without."""
TASKS_LOOKED_INTO = 5
"""Tasks that LSF ended, whose reports are read one by one."""
REMEMBERED = 5000
SMALL = 64 << 10

_Wish = tuple[str, str, str, str]
"""Which end of which job: one that is run again has another."""


def is_of(record: Record, handle: Handle) -> bool:
    """Tell whether *record* is the job that *handle* names, or a task of it."""
    return record.id == handle.id and (not handle.key or record.key == handle.key)


class Reporter:
    """Says how jobs stand, and why they ended."""

    def __init__(self, center: Center) -> None:
        self._center = center
        self._ends: OrderedDict[_Wish, End] = OrderedDict()
        self._tries: Counter[_Wish] = Counter()
        self._asked: OrderedDict[tuple[str, str], None] = OrderedDict()

    def note_asked(self, id_: str, key: str) -> None:
        """Remember that we asked for the end of a job, or of a task."""
        self._asked[id_, key] = None
        while len(self._asked) > REMEMBERED:
            self._asked.popitem(last=False)

    async def on(self, handle: Handle, records: Sequence[Record]) -> Report | None:
        """Return what *records*, all of *handle*, say; None where the end of one cannot be told just now."""
        note = self._note(handle, records)
        limit = note.limit or None
        tasks = {record.index: record for record in records if record.index is not None}
        if not tasks and not note.array:
            only = await self._end_of(records[-1])
            return report_of(records[-1], only, limit=limit) if only is not None else None
        whole = [record for record in records if record.index is None]
        waiting = report_of(whole[-1], self._asked_end(whole[-1]), limit=limit) if whole else None
        ends = await self._ends_of([record for record in tasks.values() if kind_of(record) == EXIT])
        if ends is None:
            return None
        reports = {
            index: report_of(record, ends.get(index, End()), limit=limit) for index, record in sorted(tasks.items())
        }
        missing = set(note.indices) - set(reports)
        if missing and waiting is None:
            # LSF forgets the tasks that are over one by one.
            marked = await self._marked(handle.id, handle.key)
            reports |= {index: report for index, report in marked.items() if index in missing}
        return array_report(reports, waiting, note.indices)

    async def by_marks(self, handle: Handle) -> Report | None:
        """Return what the wrapper has written of a job that LSF does not tell of; None where that is no end."""
        note = note_from(handle.place)
        if not note.output:
            return None
        marked = await self._marked(handle.id, handle.key)
        if not note.array:
            return marked.get(0)
        report = array_report({index: marked[index] for index in note.indices if index in marked}, None, note.indices)
        return report if report.is_over else None

    async def _marked(self, id_: str, key: str) -> dict[int, Report]:
        """Return the ends that wrappers have written, by the index of the task (0: the job is no array)."""
        try:
            files = await self._center.download_like(id_, all_names()) or {}
        except (Unavailable, Refused):
            files = {}  # then it cannot be told, which is asked again
        return {
            index: report_of(
                Record(id_, index or None, key, "DONE" if end.exit_code == 0 else "EXIT", source=Source.MARKER), end
            )
            for index, end in by_index(files, id_).items()
            if end.is_told
        }

    async def matches(self, records: Iterable[Record], key: str) -> list[Match]:
        """Return the jobs that *records* show, oldest first."""
        jobs: dict[str, list[Record]] = {}
        for record in records:
            jobs.setdefault(record.id, []).append(record)
        matches = []
        for number, parts in jobs.items():
            submitted = min((part.submitted for part in parts if part.submitted), default=None)
            handle = Handle(number, key, submitted, place=note_in(parts[0].description).written())
            report = await self.on(handle, parts)
            if report is None:
                raise Unavailable(f"{self._center.where} would not tell how job `{number}` ended")
            matches.append(Match(handle, report, all(kind_of(part) == HELD for part in parts)))
        return sorted(
            matches,
            key=lambda match: (match.handle.submitted_at is not None, match.handle.submitted_at, int(match.handle.id)),
        )

    @staticmethod
    def _note(handle: Handle, records: Sequence[Record]) -> Note:
        note = note_from(handle.place)
        return note if note.output else note_in(records[0].description)

    def _asked_end(self, record: Record) -> End:
        asked = (record.own_id, record.key) in self._asked or (record.id, record.key) in self._asked
        return End(was_asked=asked)

    async def _ends_of(self, tasks: Sequence[Record]) -> dict[int, End] | None:
        """Return the ends of failed *tasks* of one array; None where they cannot be told just now."""
        known = {record.index or 0: end for record in tasks if (end := self._ends.get(_wish(record))) is not None}
        left = [record for record in tasks if record.index not in known]
        if not left:
            return known
        try:
            files = await self._center.download_like(left[0].id, all_names())
        except Unavailable as trouble:
            if self._is_worth_another_try(left[0], trouble):
                return None
            files = None
        self._tries.pop(_wish(left[0]), None)
        marks = by_index(files or {}, left[0].id)
        looked = 0
        for record in left:
            index = record.index or 0
            told = marks.get(index, End(looked=files is not None))
            if not told.is_plain and looked < TASKS_LOOKED_INTO:
                looked += 1
                closer = await self._end_of(record)
                if closer is None:
                    return None
                told = closer
            known[index] = self._remember(record, replace(told, was_asked=self._asked_end(record).was_asked))
        return known

    async def _end_of(self, record: Record) -> End | None:
        """Return what is said of the end of *record*, or of its start; None where that cannot be told just now."""
        kind = kind_of(record)
        if kind != EXIT and (kind not in {RUNS, DONE} or record.started is not None):
            return End()
        if (known := self._ends.get(_wish(record))) is not None:
            return known
        try:
            end = await self._look(record)
        except (Unavailable, Refused) as trouble:
            if self._is_worth_another_try(record, trouble):
                return None
            end = self._asked_end(record)
        self._tries.pop(_wish(record), None)
        # One that runs may not have begun to write.
        return end if kind == RUNS else self._remember(record, end)

    def _is_worth_another_try(self, record: Record, trouble: Exception) -> bool:
        self._tries[_wish(record)] += 1
        return self._tries[_wish(record)] < TRIES and not isinstance(trouble, Unauthorized | Refused)

    def _remember(self, record: Record, end: End) -> End:
        self._ends[_wish(record)] = end
        while len(self._ends) > REMEMBERED:
            self._ends.popitem(last=False)
        return end

    async def _look(self, record: Record) -> End:
        names = names_of(record.index)
        files = await self._center.download(record.id, list(names.values()))
        texts = {what: files.get(name, b"")[-SMALL:].decode(errors="replace") for what, name in names.items()}
        end = from_files(texts, record.id)
        unclear = kind_of(record) == EXIT and not (end.term or record.term or end.is_plain)
        term = end.term
        if unclear and record.index is None and (record.started or end.started):
            past = await self._center.past([record.id]) or []
            term = next((each.term for each in past if each.id == record.id and each.term), "")
        return replace(end, term=term, was_asked=self._asked_end(record).was_asked)


def _wish(record: Record) -> _Wish:
    return (record.own_id, record.key, record.status, str(record.ended))
