"""
A strict fake slurmrestd over real HTTP, in one of three versions.

Strict: what the real one takes in silence and drops, or dies of, is written down in
`crimes`, and a test that ends with one fails. Faults are ordered one request at a time.
"""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Callable
from http.server import ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

from tests.fakes.slurmrestd import shapes
from tests.fakes.slurmrestd.cluster import US, FakeCluster, FakeJob, Said
from tests.fakes.slurmrestd.front import Fault, Kind, handler_for

TOKEN = "header.eyJzdW4iOiJhbGljZSIsImV4cCI6NDEwMjQ0NDgwMH0.signature"
Reply = tuple[int, object]


class FakeSlurmrestd:
    def __init__(self, cluster: FakeCluster, version: str = "v0.0.45") -> None:
        self.cluster = cluster
        self.version = version
        self.old = version == shapes.OLD
        self.locked = False
        self.faults: list[Fault] = []
        self.belated: list[Callable[[], object]] = []
        self.token = TOKEN
        self.crimes: list[str] = []
        self.requests: Counter[str] = Counter()
        self.bytes_out = 0
        self.submits: list[dict[str, Any]] = []
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler_for(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

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
        self.requests[f"{method} {re.sub(r'[0-9]+(?=$|[_?])', 'N', parts.path)}"] += 1
        if "," in parts.query or "%2C" in parts.query.upper():
            return 400, "Unable to parse query."
        if self.old and headers.get("connection", "").lower() == "close":
            self.crimes.append("22.05 writes a header behind the body of a connection that is to be closed")
        token, user = headers.get("x-slurm-user-token"), headers.get("x-slurm-user-name")
        if token is None or (self.old and user is None):
            return 401, "Authentication failure"
        if "authorization" in headers:
            self.crimes.append("two kinds of token in one request")
        with self._lock:
            return self._routed(method, parts.path, parse_qsl(parts.query), body, user or US, token)

    def _routed(
        self, method: str, path: str, query: list[tuple[str, str]], body: bytes, user: str, token: str
    ) -> Reply:
        matched = re.fullmatch(r"/(slurm|slurmdb)/(v[\d.]+)/(.*?)/?", path)
        if matched is None or matched[2] != self.version or (matched[1] == "slurmdb" and not self.cluster.accounting):
            return 404, "Unable to find requested URL endpoint."
        daemon, _, rest = matched.groups()
        if self.locked or token != self.token or user != US:
            return self._not_signed_in(method, rest)
        if daemon == "slurmdb":
            return self._past(rest, query)
        if rest == "ping":
            state = not (self.cluster.is_down or self.cluster.is_locked_up)
            ping = (
                {"hostname": "lab", "ping": "UP" if state else "DOWN"}
                if self.old
                else {"hostname": "lab", "responding": state}
            )
            return 200, self._whole(pings=[ping])
        if self.cluster.is_down or self.cluster.is_locked_up:
            return 502, self._whole(
                errors=[shapes.error("Unable to contact slurm controller (connect failure)", 1800, old=False)]
            )
        try:
            return self._controlled(method, rest, query, body, user)
        except Said as said:
            return self._said(said, submit=rest == "job/submit")

    def _controlled(self, method: str, rest: str, query: list[tuple[str, str]], body: bytes, user: str) -> Reply:
        number = re.fullmatch(r"job/(\d+)", rest)
        match method, rest:
            case "GET", "jobs":
                return self._list(dict(query))
            case "GET", "jobs/state" if not self.old:
                wanted = {int(value) for name, value in query if name == "job_id"}
                jobs = [job for job in self.cluster.jobs() if not wanted or job.id in wanted]
                return 200, self._whole(jobs=[{"job_id": str(job.id), "state": job.words} for job in jobs])
            case "GET", "partitions":
                return 200, self._whole(partitions=[{"name": "main"}, {"name": "short"}])
            case "GET", "diag":
                return 200, self._whole(statistics={"req_time": self.cluster.seconds()})
            case "POST", "job/submit":
                return self._submit(body, user)
            case "DELETE", "jobs":
                self.crimes.append("DELETE of all jobs")
                return 200, self._whole()
        if number is None:
            return (405 if self.old and rest in {"jobs", "ping", "job/submit"} else 404), "wrong method or path"
        if method == "GET":
            return 200, self._whole(jobs=[shapes.live(self.cluster.job(int(number[1])), old=self.old)])
        if method == "POST":
            return self._update(self.cluster.job(int(number[1])), json.loads(body), user)
        if method == "DELETE":
            return self._delete(int(number[1]), dict(query), user)
        return 405, "wrong method"

    def _list(self, query: dict[str, str]) -> Reply:
        if set(query) - {"update_time", "flags"}:
            self.crimes.append(f"a query that is ignored: {sorted(query)}")
        since = int(query.get("update_time", "0"))
        jobs = self.cluster.jobs()
        if since and since - 1 >= self.cluster.changed_at:
            if self.old:
                return 304, ""
            warning = {"description": f"No job changes since update_time[{since}]", "source": "fake"}
            return 200, self._whole(jobs=[], warnings=[warning], last_update=shapes.number(self.cluster.seconds()))
        more = {} if self.old else {"last_update": shapes.number(self.cluster.seconds())}
        return 200, self._whole(jobs=[shapes.live(job, old=self.old) for job in jobs], **more)

    def _past(self, rest: str, query: list[tuple[str, str]]) -> Reply:
        if self.cluster.database_is_down:
            return 502, self._whole(errors=[shapes.error("Unable to connect to database", 7000, old=self.old)])
        known = {"step", "job_name", "start_time", "end_time"} | (set() if self.old else {"users", "skip_steps"})
        if rest != "jobs" or any(name not in known for name, _ in query):
            return 500, self._whole(errors=[shapes.error("Unknown Query field", 9000, old=self.old)])
        self.cluster.catch_up()
        steps = [int(value) for name, value in query if name == "step"]
        if self.old:
            steps = steps[-1:]
        names = {value for name, value in query if name == "job_name"}
        rows = [
            job for job in (*self.cluster.past, *self.cluster.live.values()) if job.id in steps or job.name in names
        ]
        if not rows and self.old:
            return 200, self._whole(errors=[shapes.error("Nothing found with query", 9003, old=True)], jobs=[])
        return 200, self._whole(jobs=[shapes.past(job, old=self.old) for job in rows])

    def _submit(self, body: bytes, user: str) -> Reply:
        try:
            asked = json.loads(body)
        except ValueError:
            return 400, "Unable to parse query."
        job = dict(asked.get("job", {}))
        self.submits.append(asked)
        if self.old and "argv" in job:
            self.crimes.append("slurmrestd 22.05 dies of argv")
            return 500, ""
        unknown = sorted(job.keys() - shapes.FIELDS[self.old])
        if self.old and (unknown or not isinstance(job.get("environment"), dict)):
            return 400, self._whole(
                errors=[
                    {"description": f'Unknown key "{unknown}"'},
                    {"error_code": 9001, "error": "Failure during parsing"},
                ]
            )
        if not self.old:
            if not isinstance(job.get("environment"), list) or not job["environment"]:
                raise Said(2127, "Batch job environment is empty")
            if any(name in job and not isinstance(job[name], dict) for name in shapes.NUMBERS):
                self.crimes.append("a plain number where a structure is documented")
        if self.old and isinstance(job.get("nodes"), list):
            self.crimes.append("22.05 ignores a list of nodes")
        if self.old and job.get("priority") == 0:
            raise Said(2002, "priority 0")
        limit = job.get("time_limit")
        minutes = limit if isinstance(limit, int) else limit.get("number") if isinstance(limit, dict) else None
        made = self.cluster.submit(user, job, asked.get("script", ""), hold=bool(job.get("hold")), minutes=minutes)
        more: dict[str, Any] = {
            "job_id": made.id,
            "step_id": "BATCH" if self.old else "batch",
            "job_submit_user_msg": "",
        }
        if made.held and self.old:
            more["errors"] = [
                shapes.error("Job is in held state, pending scheduler release", 2042, old=True, submit=True)
            ]
        elif not self.old:
            more["warnings"] = [
                {"description": f'Ignoring unknown field "{name}" of type', "source": "fake"} for name in unknown
            ]
            if made.held:
                more["warnings"].append({"description": "Job is in held state, pending scheduler release"})
        return 200, self._whole(**more)

    def _update(self, job: FakeJob, fields: dict[str, Any], user: str) -> Reply:
        if job.user != user:
            raise Said(2002, "Access/permission denied")
        if set(fields) == {"job"}:
            if self.old:
                return 200, self._whole(errors=[{"error_code": 9001, "error": "Failure during parsing"}])
            return 200, self._whole(warnings=[{"description": 'Ignoring unknown field "job" of type object'}])
        if "hold" in fields:
            self.cluster.hold(job, hold=fields["hold"])
        if "time_limit" in fields:
            limit = fields["time_limit"]
            self.cluster.limit(job, limit if self.old else limit["number"])
        return 200, self._whole(**({} if self.old else {"results": None}))

    def _delete(self, number: int, query: dict[str, str], user: str) -> Reply:
        try:
            job = self.cluster.job(number)
            if "signal" in query:
                self.cluster.signal(job, user, query["signal"].removeprefix("SIG"))
            else:
                self.cluster.kill(job, user)
        except Said as said:
            if said.number == 2002:
                self.crimes.append(f"DELETE of job {number}, which is somebody else's")
            if self.old and said.number == 2021:
                return 200, self._whole()
            if self.old:
                raise
            failed = {
                "error": {"string": said.words, "code": said.number, "message": said.words},
                "step_id": str(number),
            }
            return 200, self._whole(status=[failed])
        return 200, self._whole(**({} if self.old else {"status": []}))

    def _said(self, said: Said, *, submit: bool) -> Reply:
        status = 500 if self.version != "v0.0.45" else 422
        if said.number == 2017 and not self.old:
            status = 404
        return status, self._whole(errors=[shapes.error(said.words, said.number, old=self.old, submit=submit)])

    def _not_signed_in(self, method: str, rest: str) -> Reply:
        if not self.old:
            if rest == "ping":
                return 200, self._whole(pings=[{"hostname": "lab", "responding": False}])
            return 511, self._whole(errors=[shapes.error("Protocol authentication error", 1007, old=False)])
        if method == "POST" and rest == "job/submit":
            return 500, self._whole(errors=[{"error_code": 5005, "error": "Zero Bytes were transmitted or received"}])
        return 500, self._whole(errors=[shapes.error("Unspecified error", -1, old=True)], jobs=[])

    def _whole(self, **matter: Any) -> dict[str, Any]:
        around: dict[str, Any] = {"meta": shapes.meta(self.version), "errors": []}
        if not self.old:
            around["warnings"] = []
        return around | matter
