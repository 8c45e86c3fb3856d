"""
Questions to the service in its own terms: jobs, metrics, results, backends.

What a job's own answer may be missing, the service is asked for apart: when it ran is in its
metrics, which cost a request each. So they are kept, and asked for only where they can have moved.
"""

from __future__ import annotations

from collections import OrderedDict

from bascule.errors import Error, Unavailable
from bascule.managers.quantum.rest import Answer, Rest, expected, segment
from bascule.managers.quantum.states import phase_of
from bascule.managers.quantum.wire import Backends, Configuration, JobList, JobRecord, Metrics
from bascule.model import Phase
from bascule.ports import Clock

PAGE = 200
MOST_PAGES = 500
REMEMBERED = 5000
METRICS_HOLD = 60.0
CONFIGURATION_HOLDS = 600.0


class Service:
    """One instance, as one account sees it."""

    def __init__(self, rest: Rest, clock: Clock) -> None:
        self.rest = rest
        self._clock = clock
        self._metrics: OrderedDict[str, tuple[float, str, Metrics]] = OrderedDict()
        self._configurations: dict[str, tuple[float, Configuration]] = {}

    async def job(self, job_id: str) -> JobRecord | None:
        """Return one job; None where the service has no such."""
        answer = await self.rest.get(f"/jobs/{segment(job_id)}", {"exclude_params": "true"})
        if answer.status == 404:
            return None
        return expected(self.rest, answer, f"of job `{job_id}`").read(JobRecord)

    async def jobs(self, **query: str) -> list[JobRecord]:
        """Return all jobs of the kind, oldest first; raise `Unavailable` where the list is not whole."""
        found: dict[str, JobRecord] = {}
        for page in range(MOST_PAGES):
            asked = {
                "exclude_params": "true",
                "limit": str(PAGE),
                "offset": str(page * PAGE),
                "sort": "ASC",
                **query,
            }
            answer = await self.rest.get("/jobs", asked)
            listed = expected(self.rest, answer, "which jobs there are").read(JobList)
            found.update((record.id, record) for record in listed.jobs)
            # A page that is not full is the last one, whatever the count says.
            if len(listed.jobs) < PAGE:
                return list(found.values())
        raise Unavailable(f"{self.rest.where} lists more than {MOST_PAGES * PAGE:,} jobs")

    async def metrics(self, record: JobRecord) -> Metrics | None:
        """Return what was measured of a job; None where the service would not tell. What is final is asked for once."""
        phase = phase_of(record)
        kept = self._metrics.get(record.id)
        now = self._clock.monotonic()
        if kept is not None and kept[1] == record.word and (phase is not Phase.QUEUED or now - kept[0] < METRICS_HOLD):
            return kept[2]
        try:
            answer = await self.rest.get(f"/jobs/{segment(record.id)}/metrics")
            metrics = expected(self.rest, answer, "what was measured").read(Metrics)
        except Error:
            return kept[2] if kept is not None else None
        times = metrics.timestamps
        is_whole = times is not None and bool(times.finished if phase and phase.is_final else times.running)
        if is_whole or phase is Phase.QUEUED:
            self._metrics[record.id] = (now, record.word, metrics)
            while len(self._metrics) > REMEMBERED:
                self._metrics.popitem(last=False)
        return metrics

    async def results(self, job_id: str) -> Answer:
        """Return a job's results, or the refusal to give them."""
        return await self.rest.get(f"/jobs/{segment(job_id)}/results", large=True)

    async def logs(self, job_id: str) -> bytes:
        """Return a job's log; nothing where there is none."""
        answer = await self.rest.get(f"/jobs/{segment(job_id)}/logs")
        return answer.http.body if answer.status == 200 else b""

    async def backends(self) -> Backends:
        """Return all backends."""
        answer = await self.rest.get("/backends")
        return expected(self.rest, answer, "which backends there are").read(Backends)

    async def configuration(self, name: str) -> Configuration | None:
        """Return what circuits for a backend must keep to; None where there is no such backend."""
        kept = self._configurations.get(name)
        now = self._clock.monotonic()
        if kept is not None and now - kept[0] < CONFIGURATION_HOLDS:
            return kept[1]
        answer = await self.rest.get(f"/backends/{segment(name)}/configuration")
        if answer.status == 404:
            return None
        configuration = expected(self.rest, answer, f"of backend `{name}`").read(Configuration)
        self._configurations[name] = (now, configuration)
        return configuration
