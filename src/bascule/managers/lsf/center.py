"""
Questions to Application Center in its own terms: jobs, history, commands, files.

Two interfaces: that of 9.1.5 and later, and the one before it, which answers 200 to
everything. Every answer about jobs is a list of `Record`; what it means is said elsewhere.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple
from urllib.parse import quote, urlencode
from xml.sax.saxutils import escape

from bascule.errors import Refused, Unavailable, Uncertain
from bascule.managers.lsf import multipart
from bascule.managers.lsf.ends import outcome_in, ran_in
from bascule.managers.lsf.multipart import Attachment
from bascule.managers.lsf.payload import Tree, found_in, texts_in
from bascule.managers.lsf.records import Record, jobs_in
from bascule.managers.lsf.rest import FILES, XML, Answer, Rest
from bascule.model import Source

IDS_AT_ONCE = 500
ONE_BY_ONE = 20
"""How many jobs the old interface is asked for singly, which its list does not have."""
LARGEST_FILE = 32 << 20
FINISHED = "COMPLETE"
_NOT_EVENTS = frozenset({"command", "cmd", "jobName", "name", "description", "jobDescription", "user", "userName"})
_FILE = re.compile(r"[^*;]*\*([^*;]+)\*(FILE|DIR)\*(\d+)\*(?:true|false)", re.IGNORECASE)
NOT_THERE = re.compile(r"no (?:matching )?job|not found|does not exist|no unfinished job|no running job", re.IGNORECASE)


class Listing(NamedTuple):
    """Jobs; *whole* is False where Application Center counts more than it tells of."""

    records: list[Record]
    whole: bool = True


class Said(NamedTuple):
    """What a command printed, and what went wrong with it."""

    words: str
    trouble: str


class Center:
    """One Application Center, as one user sees it."""

    def __init__(self, rest: Rest) -> None:
        self._rest = rest

    @property
    def user(self) -> str:
        """Whose jobs are ours."""
        return self._rest.user

    @property
    def where(self) -> str:
        """Who is spoken to, for messages."""
        return self._rest.where

    @property
    def known_old(self) -> bool:
        """Whether it is known to have the old interface only."""
        return self._rest.known_old

    def hide(self, secret: str) -> None:
        """Repeat *secret* in no error."""
        self._rest.hide(secret)

    # Jobs

    async def states(self, ids: Iterable[str]) -> Listing:
        """Return the jobs of *ids* that LSF still has, in brief; all tasks of an array."""
        return await self._by_ids("/ws/jobs/getbasicinfo", ids)

    async def details(self, ids: Iterable[str]) -> Listing:
        """Return the jobs of *ids* that LSF still has, with all that is told of them."""
        return await self._by_ids("/ws/jobs/getfullinfo", ids)

    async def named(self, name: str) -> Listing:
        """Return the user's jobs of that name that LSF still has, in brief; ``*`` stands for anything."""
        if await self._rest.is_old():
            if "*" in name:
                return self._listing(await self._rest.get("/webservice/pacclient/jobs", accept=XML, large=True))
            path = f"/webservice/pacclient/jobsforname/{quote(name)}"
            return self._listing(await self._rest.get(path, accept=XML))
        return self._listing(await self._rest.get("/ws/jobs", {"jobname": name}, large=True))

    async def past(self, ids: Sequence[str]) -> list[Record] | None:
        """Return what the history has of jobs; None where there is none."""
        if await self._rest.is_old():
            return None
        found = []
        for start in range(0, len(ids), IDS_AT_ONCE):
            query = {"ids": ",".join(ids[start : start + IDS_AT_ONCE])}
            found += self._history(await self._rest.get("/ws/jobhistory", query, large=True))
        return found

    async def past_named(self, name: str) -> list[Record] | None:
        """Return what the history has of jobs of that name that are over; None where there is none."""
        if await self._rest.is_old():
            return None
        query = {"jobname": name, "status": FINISHED}
        return self._history(await self._rest.get("/ws/jobhistory", query, large=True))

    async def _by_ids(self, path: str, ids: Iterable[str]) -> Listing:
        wanted = list(dict.fromkeys(ids))
        if await self._rest.is_old():
            return await self._by_old_list(wanted)
        records: list[Record] = []
        whole = True
        for start in range(0, len(wanted), IDS_AT_ONCE):
            body = urlencode({"ids": ",".join(wanted[start : start + IDS_AT_ONCE])}, safe=",").encode()
            listing = self._listing(await self._rest.look(path, body, large=True))
            records += listing.records
            whole = whole and listing.whole
        asked = set(wanted)
        return Listing([record for record in records if record.id in asked], whole)

    async def _by_old_list(self, wanted: list[str]) -> Listing:
        listed = self._listing(await self._rest.get("/webservice/pacclient/jobs", accept=XML, large=True))
        records = [record for record in listed.records if record.id in set(wanted)]
        missing = [number for number in wanted if number not in {record.id for record in records}]
        for number in missing[:ONE_BY_ONE]:
            answer = await self._rest.get(f"/webservice/pacclient/jobs/{number}", accept=XML)
            if not (answer.trouble and NOT_THERE.search(answer.trouble)):
                records += [record for record in self._listing(answer).records if record.id == number]
        return Listing(records, listed.whole and len(missing) <= ONE_BY_ONE)

    def _listing(self, answer: Answer) -> Listing:
        if answer.is_none:
            return Listing([])
        if answer.trouble:
            raise Unavailable(f"{self.where} would not tell of jobs: {answer.trouble[:300]}")
        records = jobs_in(answer.tree)
        total = found_in(answer.tree, "@total", "total")
        if not records and total != "0" and not found_in(answer.tree, "note"):
            raise Unavailable(f"{self.where} answered with what is no list of jobs")
        return Listing(records, not total.isdecimal() or len(records) >= int(total))

    def _history(self, answer: Answer) -> list[Record]:
        if answer.is_none:
            return []
        if answer.trouble:
            raise Unavailable(f"{self.where} would not tell the history of jobs: {answer.trouble[:300]}")
        return [
            _from_history(raw, record) for raw in _each_job(answer.tree) for record in jobs_in(raw, Source.HISTORY)[:1]
        ]

    # Changes

    async def submit(self, form: str, parameters: Mapping[str, str], files: Sequence[Attachment], *, what: str) -> str:
        """Submit a job; return its id."""
        old = await self._rest.is_old()
        body = multipart.form(form, parameters, files)
        path = "/webservice/pacclient/submitapp" if old else "/ws/jobs/submit"
        answer = await self._rest.change(
            path, body.data, kind=body.kind, accept=XML if old else "application/json", what=what
        )
        if answer.trouble:
            raise Refused(f"{self.where} refused {what}: {answer.trouble[:500]}")
        number = found_in(answer.tree, "id", "jobId")
        if not number.isdecimal() or not int(number):
            raise Uncertain(f"{self.where} took {what} without saying under which id")
        return number

    async def command(self, words: str, *, what: str) -> Said:
        """Let LSF's command *words* be run for the user."""
        old = await self._rest.is_old()
        body = f"<UserCmd><cmd>{escape(words)}</cmd></UserCmd>".encode()
        path = "/webservice/pacclient/userCmd" if old else "/ws/userCmd"
        answer = await self._rest.change(path, body, accept=XML if old else "application/json", what=what)
        said = found_in(answer.tree, "cmdMsg", "actionMsg", "message") if isinstance(answer.tree, dict) else ""
        return Said(said or (answer.tree if isinstance(answer.tree, str) else ""), answer.trouble)

    async def upload(self, job: str, file: Attachment, *, part: int, parts: int, name: str) -> None:
        """Bring one part of the file *name* into the job's folder."""
        body = multipart.upload("", file)
        query = urlencode({"chunkid": part, "chunkbase": name, "chunkamount": parts})
        answer = await self._rest.change(
            f"/ws/jobfiles/upload/{job}?{query}", body.data, kind=body.kind, what=f"part {part} of `{name}`"
        )
        if answer.trouble:
            raise Refused(f"{self.where} refused part {part} of `{name}`: {answer.trouble[:300]}")

    # Files

    async def files(self, job: str) -> dict[str, int]:
        """Return the files in a job's folder by their whole names, with their sizes."""
        if await self._rest.is_old():
            answer = await self._rest.get(f"/webservice/pacclient/jobfiles/{job}", accept="text/plain, application/xml")
        else:
            answer = await self._rest.get(f"/ws/jobfiles/{job}")
        if answer.is_none:
            return {}
        text = ";".join(texts_in(answer.tree))
        return {found[1]: int(found[3]) for found in _FILE.finditer(text) if found[2].upper() == "FILE"}

    async def download(self, job: str, names: Sequence[str]) -> dict[str, bytes]:
        """Return the files *names* of a job, those that are there; a whole path is taken as it is."""
        if not await self._rest.is_old():
            body = urlencode({"dir": ",".join(names)}, safe="/,").encode()
            return self._brought(
                await self._rest.look(
                    f"/ws/jobfiles/download/{job}", body, accept=FILES, most=LARGEST_FILE + (1 << 16), is_file=True
                ),
                names,
            )
        found: dict[str, bytes] = {}
        for name in names:
            answer = await self._rest.look(
                f"/webservice/pacclient/file/{job}",
                posixpath.basename(name).encode(),
                method="GET",
                kind="text/plain",
                accept="multipart/mixed, text/plain, application/xml",
                most=LARGEST_FILE + (1 << 16),
                is_file=True,
            )
            found |= self._brought(answer, [name])
        return found

    async def download_like(self, job: str, patterns: Sequence[str]) -> dict[str, bytes] | None:
        """Return the files in a job's folder whose names are like *patterns*, by their names; None where that cannot be asked."""
        if await self._rest.is_old():
            return None
        body = urlencode({"dir": ",".join(patterns)}, safe="/,*").encode()
        answer = await self._rest.look(
            f"/ws/jobfiles/download/{job}", body, accept=FILES, most=LARGEST_FILE, is_file=True
        )
        return {posixpath.basename(file.name): file.data for file in self._files_in(answer)}

    def _brought(self, answer: Answer, names: Sequence[str]) -> dict[str, bytes]:
        wanted = {posixpath.basename(name): name for name in names}
        files = self._files_in(answer)
        return {wanted[base]: file.data for file in files if (base := posixpath.basename(file.name)) in wanted}

    def _files_in(self, answer: Answer) -> list[Attachment]:
        start = answer.body[:200].lstrip()
        if answer.status != 200 or not start or ("multipart" not in answer.kind and not start.startswith(b"--")):
            return []
        try:
            return multipart.files_in(answer.body, answer.kind)
        except ValueError as wrong:
            raise Unavailable(f"{self.where} sent files that cannot be read: {wrong}") from None

    # The rest

    async def version(self) -> str:
        """Return the version, in its own words."""
        if await self._rest.is_old():
            return "before 9.1.5"
        answer = await self._rest.get("/ws/version", accept="application/xml, application/json")
        told = found_in(answer.tree, "version", "productVersion", "fullVersion")
        words = told or " ".join(text for text in texts_in(answer.tree) if text)
        return " ".join(words.split())[:80] or "unknown"


def _each_job(tree: Tree) -> Iterator[dict[str, Tree]]:
    """Iterate over the outermost objects of *tree* that each are about one job, with all that is within."""
    if isinstance(tree, dict) and len({record.own_id for record in jobs_in(tree)}) == 1:
        yield tree
        return
    for inside in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from _each_job(inside)


def _from_history(raw: dict[str, Tree], record: Record) -> Record:
    events = tuple(texts_in(raw, but=_NOT_EVENTS))
    word, number, term = outcome_in(events)
    return replace(
        record,
        status=word or record.status,
        exit_status=record.exit_status if record.exit_status is not None else number,
        term=record.term or term,
        ran=ran_in(events),
    )
