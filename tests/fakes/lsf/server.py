"""
A strict fake Application Center over real HTTP, in its present and its old interface.

Strict: what a real one might take in silence, or choke on, is written down in `crimes`, and
a test that ends with one fails. Faults are ordered one request at a time.
"""

from __future__ import annotations

import base64
import fnmatch
import json
import re
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple, Self
from urllib.parse import parse_qs, unquote, urlsplit
from xml.etree import ElementTree as ET

from tests.fakes.lsf import commands, shapes
from tests.fakes.lsf.cluster import GUEST, STRANGER, US, FakeCluster, FakeJob, Said
from tests.fakes.lsf.forms import Crime, submit_in, upload_in
from tests.fakes.slurmrestd.front import Fault, Kind

PASSWORDS = {US: "p&ss <w>\"rd'", STRANGER: "theirs", GUEST: "nobody"}
SIGNED_OUT = "Your current login session was logout. Log on again."
CONTEXT = "/platform"


class Reply(NamedTuple):
    status: int
    body: bytes
    kind: str


class FakeCenter:
    def __init__(self, cluster: FakeCluster, *, old: bool = False, port: int = 0) -> None:
        self.cluster = cluster
        self.old = old
        self.wait_status = False
        """Whether `exitStatus` is as ``wait`` gives it."""
        self.locked = False
        self.history_is_down = False
        self.expires_after: int | None = None
        """After how many further requests all sessions end, once."""
        self.passwords = dict(PASSWORDS)
        self.sessions: dict[str, str] = {}
        self.faults: list[Fault] = []
        self.belated: list[Callable[[], object]] = []
        """What was asked and is yet to happen, unanswered."""
        self.crimes: list[str] = []
        self.requests: Counter[str] = Counter()
        self.bytes_out = 0
        self.submits: list[dict[str, str]] = []
        self.logons: list[str] = []
        self._parts: dict[tuple[int, str], dict[int, bytes]] = {}
        self._lock = threading.RLock()
        self._server = ThreadingHTTPServer(("127.0.0.1", port), _handler_for(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}{CONTEXT}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)
        self.cluster.close()

    def fault(self, pattern: str, kind: Kind, **more: Any) -> None:
        self.faults.append(Fault(pattern, kind, **more))

    def fault_for(self, line: str) -> Fault | None:
        with self._lock:
            for fault in self.faults:
                if fault.pattern.search(line):
                    self.faults.remove(fault)
                    return fault
        return None

    # Answers

    def answer(self, method: str, target: str, headers: dict[str, str], body: bytes) -> Reply:
        parts = urlsplit(target)
        path = parts.path.removeprefix(CONTEXT)
        query = {name: values[0] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
        with self._lock, self.cluster.lock:
            self.requests[f"{method} {re.sub(r'[0-9]+', 'N', path)}"] += 1
            if not headers.get("accept"):
                self.crimes.append(f"{method} {path} without Accept")
            as_xml = "json" not in headers["accept"] or headers["accept"].startswith("application/xml")
            if path.startswith("/webservice/pacclient/"):
                return self._old(method, path.removeprefix("/webservice/pacclient/"), headers, body)
            if self.old or not path.startswith("/ws/"):
                return Reply(404, b"<html><body>HTTP Status 404</body></html>", "text/html")
            try:
                return self._new(method, path.removeprefix("/ws/"), query, headers, body, as_xml=as_xml)
            except Crime as crime:
                self.crimes.append(str(crime))
                return _error(400, str(crime), as_xml=as_xml)
            except Said as said:
                return _error(500, str(said), as_xml=as_xml)

    def _new(
        self, method: str, path: str, query: dict[str, str], headers: dict[str, str], body: bytes, *, as_xml: bool
    ) -> Reply:
        if (method, path) == ("POST", "logon"):
            user = self._logged_on(body)
            if user is None:
                return _error(403, "The user name or password is incorrect", as_xml=as_xml)
            token = self._token(user)
            return _json(200, {"csrftoken": secrets.token_hex(8), "token": token})
        if (method, path) == ("GET", "version"):
            text = "<version><name>IBM Spectrum LSF Application Center</name><version>10.2.0.13</version></version>"
            user = self._user(headers)
            return Reply(200, text.encode(), "application/xml") if user else _error(403, SIGNED_OUT, as_xml=as_xml)
        user = self._user(headers)
        if user is None:
            return _error(403, SIGNED_OUT, as_xml=as_xml)
        if (method, path) == ("POST", "logout"):
            self.sessions = {token: who for token, who in self.sessions.items() if who != user}
            return _json(200, {"message": "ok"})
        if user == GUEST:
            return _error(403, "The role of the user does not permit this", as_xml=as_xml)
        return self._routed(method, path, query, headers, body, user, as_xml=as_xml)

    def _routed(
        self,
        method: str,
        path: str,
        query: dict[str, str],
        headers: dict[str, str],
        body: bytes,
        user: str,
        *,
        as_xml: bool,
    ) -> Reply:
        kind = headers.get("content-type", "")
        number = re.fullmatch(r"(jobfiles|jobfiles/download|jobfiles/upload)/(\d+)", path)
        match method, path:
            case "POST", "jobs/submit":
                return _json(200, {"id": self._submit(user, kind, body)})
            case "POST", "jobs/getbasicinfo" | "jobs/getfullinfo":
                jobs = self._by_ids(user, _form(kind, body).get("ids", ""))
                return self._jobs(jobs, full=path.endswith("fullinfo"), as_xml=as_xml)
            case "GET", "jobs":
                return self._jobs(self._named(user, query), full=False, as_xml=as_xml)
            case "GET", "jobhistory":
                return self._history(user, query, as_xml=as_xml)
            case "POST", "userCmd":
                return _json(200, self._command(user, kind, body))
        if number is None:
            return _error(404, f"no such service: {path}", as_xml=as_xml)
        job = self._own(user, int(number[2]))
        if job is None:
            return _error(404, "no such job", as_xml=as_xml)
        match method, number[1]:
            case "GET", "jobfiles":
                return _json(200, {"message": _listed(job)})
            case "POST", "jobfiles/download":
                return self._download(job, _form(kind, body).get("dir", ""))
            case "POST", "jobfiles/upload":
                return self._upload(job, query, kind, body)
        return _error(404, f"no such service: {path}", as_xml=as_xml)

    def _old(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Reply:
        """Answer as before 9.1.5: 200 to everything, and `errMsg` where something was wrong."""
        if (method, path) == ("GET", "logon/"):
            user = self._logged_on(body)
            inside = (
                f"<token>{_escaped(self._token(user))}</token>"
                if user
                else "<errMsg>Bad user name or password</errMsg>"
            )
            return _xml(f"<User>{inside}</User>")
        user = self._user(headers)
        if user is None:
            return _xml(f"<Jobs><errMsg>{SIGNED_OUT}</errMsg></Jobs>")
        one = re.fullmatch(r"(jobs|jobsforname|file|jobfiles)/([^/]+)", path)
        try:
            match method, path:
                case "GET", "logout/":
                    self.sessions = {token: who for token, who in self.sessions.items() if who != user}
                    return Reply(200, b"ok", "text/plain")
                case "POST", "submitapp":
                    return _xml(f"<Job><id>{self._submit(user, headers.get('content-type', ''), body)}</id></Job>")
                case "POST", "userCmd":
                    said = self._command(user, headers.get("content-type", ""), body)
                    return _xml(
                        "<UserCmd>" + "".join(f"<{k}>{_escaped(v)}</{k}>" for k, v in said.items()) + "</UserCmd>"
                    )
                case "GET", "jobs":
                    return self._old_jobs(self.cluster.jobs_of_user(user))
        except Crime as crime:
            self.crimes.append(str(crime))
            return _xml(f"<Job><errMsg>{_escaped(str(crime))}</errMsg></Job>")
        except Said as said:
            return _xml(f"<Job><errMsg>{_escaped(str(said))}</errMsg></Job>")
        if one is None:
            return Reply(404, b"", "text/html")
        return self._old_one(one[1], unquote(one[2]), user, body)

    def _old_one(self, what: str, name: str, user: str, body: bytes) -> Reply:
        if what == "jobsforname":
            return self._old_jobs([job for job in self.cluster.jobs_of_user(user) if job.name == name])
        job = self._own(user, int(name)) if name.isdecimal() else None
        if job is None:
            return _xml(f"<Jobs><errMsg>Job &lt;{name}&gt; is not found</errMsg></Jobs>")
        match what:
            case "jobs":
                return self._old_jobs([each for each in self.cluster.jobs_of_user(user) if each.id == job.id])
            case "jobfiles":
                return Reply(200, _listed(job).encode(), "text/plain")
        wanted = body.decode()
        path = next(
            (path for path in [job.folder / wanted, *self._seen(job)] if path.name == wanted and path.is_file()), None
        )
        return _files([path]) if path else Reply(404, b"", "text/html")

    def _seen(self, job: FakeJob) -> list[Path]:
        return [path for path in job.folder.rglob("*") if path.is_file()]

    def _old_jobs(self, jobs: list[FakeJob]) -> Reply:
        if not jobs:
            return _xml("<Jobs><note>No matching jobs were found</note></Jobs>")
        return _xml(shapes.as_xml("Jobs", "Job", [shapes.old(job) for job in jobs]))

    # Signing in

    def _logged_on(self, body: bytes) -> str | None:
        try:
            root = ET.fromstring(body)
            user, password = root.findtext("name", ""), root.findtext("pass", "")
        except ET.ParseError as wrong:
            self.crimes.append(f"a sign-in that is no XML: {wrong}")
            return None
        self.logons.append(user)
        return user if not self.locked and self.passwords.get(user) == password else None

    def _token(self, user: str) -> str:
        random = base64.b64encode(secrets.token_bytes(24)).decode()
        token = f'{user}"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"{random}"{secrets.token_urlsafe(6)}=='
        self.sessions[token] = user
        return token

    def _user(self, headers: dict[str, str]) -> str | None:
        if self.expires_after is not None:
            self.expires_after -= 1
            if self.expires_after < 0:
                self.expires_after = None
                self.sessions.clear()
        cookie = headers.get("cookie", "")
        if '"' in cookie:
            self.crimes.append("a token whose quotes are not written as #quote#")
        return (
            self.sessions.get(cookie.removeprefix("platform_token=").replace("#quote#", '"'))
            if not self.locked
            else None
        )

    # Jobs

    def _submit(self, user: str, kind: str, body: bytes) -> int:
        asked = submit_in(kind, body)
        fields = asked.parameters
        self.submits.append(fields)
        if asked.application != "generic":
            raise Said(f"The application {asked.application} is not published")
        options = commands.bsub_options(fields.get("EXTRA_PARAMS", ""))
        name, _, array = fields.get("JOB_NAME", "").partition("[")
        limit = None
        if fields.get("RUNLIMITHOUR") or fields.get("RUNLIMITMINUTE"):
            limit = 3600.0 * int(fields.get("RUNLIMITHOUR") or 0) + 60.0 * int(fields.get("RUNLIMITMINUTE") or 0)
        folder = self.cluster.make_folder(user, name)
        for file, data in asked.files.items():
            (folder / file).write_bytes(data)
        return self.cluster.submit(
            user,
            name,
            fields["COMMANDTORUN"],
            folder,
            held="H" in options,
            indices=commands.indices_of(array.partition("]")[0]) if array else None,
            queue=fields.get("QUEUE") or "normal",
            outfile=fields.get("OUTPUT_FILE", ""),
            description=options.get("Jd", [""])[-1],
            extra=options,
            limit=limit,
        )

    def _own(self, user: str, number: int) -> FakeJob | None:
        self.cluster.catch_up()
        everything = [*self.cluster.live, *reversed(self.cluster.past)]
        return next((job for job in everything if job.id == number and job.user == user), None)

    def _by_ids(self, user: str, text: str) -> list[FakeJob]:
        ids = text.split(",")
        if not all(re.fullmatch(r"[1-9]\d*", each) for each in ids):
            raise Crime(f"ids that are none: {text[:80]}")
        wanted = {int(each) for each in ids}
        return [job for job in self.cluster.jobs_of_user(user) if job.id in wanted]

    def _named(self, user: str, query: dict[str, str]) -> list[FakeJob]:
        if set(query) - {"jobname"}:
            raise Crime(f"a query that is ignored: {sorted(query)}")
        pattern = query.get("jobname", "*")
        return [job for job in self.cluster.jobs_of_user(user) if fnmatch.fnmatchcase(job.name, pattern)]

    def _jobs(self, jobs: list[FakeJob], *, full: bool, as_xml: bool) -> Reply:
        if not jobs:
            return _error(404, "No jobs that match the specified criteria were found.", as_xml=as_xml)
        name = "job" if full else "pseudoJob"
        members = [shapes.full(job, wait_status=self.wait_status) if full else shapes.basic(job) for job in jobs]
        return _xml(shapes.as_xml("jobs", name, members)) if as_xml else _json(200, shapes.as_json(name, members))

    def _history(self, user: str, query: dict[str, str], *, as_xml: bool) -> Reply:
        if self.history_is_down:
            return _error(500, "bhist failed", as_xml=as_xml)
        self.cluster.catch_up()
        ids = {int(each) for each in query["ids"].split(",")} if "ids" in query else None
        jobs = [
            job
            for job in [*self.cluster.past, *self.cluster.live]
            if job.user == user
            and job.index is None
            and (job.id in ids if ids is not None else fnmatch.fnmatchcase(job.name, query.get("jobname", "*")))
            and (ids is not None or job.is_over == (query.get("status") == "COMPLETE"))
        ]
        if not jobs:
            return _error(404, "No matching job found", as_xml=as_xml)
        return _json(200, shapes.as_json("jobHistory", [shapes.history(job) for job in jobs]))

    def _command(self, user: str, kind: str, body: bytes) -> dict[str, str]:
        if kind != "application/xml":
            raise Crime(f"a command of the type {kind}")
        try:
            line = ET.fromstring(body).findtext("cmd", "")
        except ET.ParseError as wrong:
            raise Crime(f"a command that is no XML: {wrong}") from wrong
        try:
            return {"cmdMsg": commands.run(self.cluster, user, line)}
        except Said as said:
            return {"errMsg": str(said)}

    # Files

    def _download(self, job: FakeJob, wanted: str) -> Reply:
        if not wanted or "|" in wanted:
            raise Crime(f"a download of `{wanted}`")
        found: list[Path] = []
        for name in wanted.split(","):
            if name.startswith("/"):
                found += [path for path in [Path(name)] if path.is_file()]
            else:
                found += sorted(path for path in job.folder.glob(name.strip()) if path.is_file())
        found = [path for path in found if not path.name.startswith(".")]
        return _files(found) if found else _error(404, "The file does not exist.", as_xml=False)

    def _upload(self, job: FakeJob, query: dict[str, str], kind: str, body: bytes) -> Reply:
        folder, files = upload_in(kind, body)
        if folder or set(query) != {"chunkid", "chunkbase", "chunkamount"} or len(files) != 1:
            raise Crime("an upload of another form")
        parts = self._parts.setdefault((job.id, query["chunkbase"]), {})
        parts[int(query["chunkid"])] = next(iter(files.values()))
        if len(parts) == int(query["chunkamount"]):
            (job.folder / query["chunkbase"]).write_bytes(b"".join(parts[number] for number in sorted(parts)))
        return _json(200, {"message": "uploaded successfully"})


def _listed(job: FakeJob) -> str:
    files = [path for path in sorted(job.folder.iterdir()) if not path.name.startswith(".")]
    return "".join(
        f"AC Server*{path}*{'DIR' if path.is_dir() else 'FILE'}*{path.stat().st_size}*true;" for path in files
    )


def _files(paths: list[Path]) -> Reply:
    boundary = secrets.token_hex(8)
    body = b"".join(
        f"\r\n--{boundary}\r\nContent-Type: application/octet-stream\r\nContent-Transfer-Encoding: binary\r\n"
        f"Content-ID: <{path}>\r\n\r\n".encode()
        + path.read_bytes()
        for path in paths
    )
    return Reply(200, body + f"\r\n--{boundary}--\r\n".encode(), f'multipart/mixed; boundary="{boundary}"')


def _form(kind: str, body: bytes) -> dict[str, str]:
    if kind != "application/x-www-form-urlencoded":
        raise Crime(f"a form of the type {kind}")
    return {name: values[0] for name, values in parse_qs(body.decode()).items()}


def _json(status: int, value: object) -> Reply:
    return Reply(status, json.dumps(value).encode(), "application/json")


def _xml(text: str) -> Reply:
    return Reply(200, text.encode(), "application/xml")


def _error(status: int, words: str, *, as_xml: bool) -> Reply:
    if as_xml:
        return Reply(status, f"<error><message>{_escaped(words)}</message></error>".encode(), "application/xml")
    return _json(status, {"message": words})


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def _handler_for(fake: FakeCenter) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 20

        def log_message(self, *_: object) -> None:
            pass

        def handle(self) -> None:
            try:
                super().handle()
            except OSError:
                self.close_connection = True  # the client has gone, which is its right

        def _serve(self) -> None:
            self.close_connection = True
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            fault = fake.fault_for(f"{self.command} {self.path}")
            if fault is not None and fault.kind == "cut before":
                return
            headers = {name.lower(): value for name, value in self.headers.items()}
            if fault is not None and fault.kind == "silent":
                self.rfile.read(1)  # until the client leaves
                return
            if fault is not None and fault.kind == "late":
                fake.belated.append(partial(fake.answer, self.command, self.path, headers, body))
                return
            if fault is not None and fault.kind == "doubled":
                fake.answer(self.command, self.path, headers, body)
            if fault is None or fault.kind in {"cut after", "slow", "doubled"}:
                reply = fake.answer(self.command, self.path, headers, body)
            else:
                reply = Reply(fault.status, fault.body, fault.headers.get("Content-Type", "application/json"))
            if fault is not None and fault.kind == "cut after":
                return
            self._send(reply, fault)

        def _send(self, reply: Reply, fault: Fault | None) -> None:
            fake.bytes_out += len(reply.body)
            self.send_response(reply.status)
            self.send_header("Content-Type", reply.kind)
            for name, value in (fault.headers if fault else {}).items():
                self.send_header(name, value)
            self.send_header("Connection", "close")
            if fault is not None and fault.kind == "endless":
                self.end_headers()
                while True:
                    self.wfile.write(b" " * 65536)
            self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            if fault is not None and fault.kind == "slow":
                time.sleep(0.2)
            self.wfile.write(reply.body)

        do_GET = do_POST = do_DELETE = do_PUT = _serve  # noqa: N815

    return Handler
