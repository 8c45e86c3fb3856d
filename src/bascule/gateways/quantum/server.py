"""
The service over HTTP: the calls that the official client makes, and no others.

Both ``/api/v1`` and ``/experimental/api/v1`` are the API: the official client leaves an address
alone that has that word in it, and would make another of the first.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.parse import parse_qsl

from aiohttp import web

from bascule.gateways.quantum.accounts import INSTANCE, Accounts
from bascule.gateways.quantum.asking import closing_from, listing_from, opening_from, submit_from, tags_from
from bascule.gateways.quantum.refusals import BAD_REQUEST, Refusal
from bascule.gateways.quantum.service import QuantumService

LARGEST_REQUEST = 64 << 20
PREFIXES = ("/api/v1", "/experimental/api/v1")
PLAN = "gateway"
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def application(service: QuantumService, accounts: Accounts, *, before: Sequence[Any] = ()) -> web.Application:
    """Return the application; *before* are middlewares that stand in front of everything."""
    app = web.Application(client_max_size=LARGEST_REQUEST, middlewares=[*before, _refusing])
    doors = _Doors(service, accounts)
    app.router.add_post("/identity/token", doors.token)
    app.router.add_post("/search/v3/resources/search", doors.instances)
    app.router.add_get("/catalog/api/v1/{plan}", doors.plan)
    for prefix in PREFIXES:
        for method, path, handler in doors.routes():
            app.router.add_route(method, f"{prefix}{path}", handler)
    return app


@asynccontextmanager
async def serving(app: web.Application, service: QuantumService, host: str, port: int) -> AsyncIterator[int]:
    """Serve while the context lasts, and compute; give the port. Raises `OSError` where it cannot be had."""
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
        async with asyncio.TaskGroup() as tasks:
            computing = tasks.create_task(service.run(), name="compute what waits")
            yield int(runner.addresses[0][1])
            computing.cancel()
    finally:
        await runner.cleanup()


@web.middleware
async def _refusing(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except Refusal as refusal:
        headers = {"Retry-After": str(refusal.retry_after)} if refusal.retry_after is not None else None
        return web.json_response(refusal.body, status=refusal.status, headers=headers)
    except web.HTTPException as error:
        return web.json_response(Refusal(error.status, BAD_REQUEST, error.reason).body, status=error.status)


class _Doors:
    """One method per call."""

    def __init__(self, service: QuantumService, accounts: Accounts) -> None:
        self._service = service
        self._accounts = accounts

    def routes(self) -> list[tuple[str, str, Handler]]:
        """Return the calls of the API."""
        routes: list[tuple[str, str, Handler]] = [
            ("GET", "/versions", self.versions),
            ("GET", "/instance", self.instance),
            ("GET", "/instances/usage", self.usage),
            ("GET", "/backends", self.backends),
            ("GET", "/backends/{name}/configuration", self.configuration),
            ("GET", "/backends/{name}/properties", self.properties),
            ("GET", "/backends/{name}/status", self.status),
            ("POST", "/jobs", self.submit),
            ("GET", "/jobs", self.listed),
            ("GET", "/jobs/{id}", self.job),
            ("DELETE", "/jobs/{id}", self.delete),
            ("GET", "/jobs/{id}/results", self.results),
            ("GET", "/jobs/{id}/logs", self.logs),
            ("GET", "/jobs/{id}/metrics", self.metrics),
            ("POST", "/jobs/{id}/cancel", self.cancel),
            ("PUT", "/jobs/{id}/tags", self.tag),
            ("POST", "/sessions", self.open),
            ("GET", "/sessions/{id}", self.session),
            ("PATCH", "/sessions/{id}", self.close),
            ("DELETE", "/sessions/{id}/close", self.cancel_session),
        ]
        return [(method, path, self._signed_in(handler)) for method, path, handler in routes]

    def _signed_in(self, handler: Handler) -> Handler:
        async def checked(request: web.Request) -> web.StreamResponse:
            headers = request.headers
            self._accounts.check(headers.get("Authorization", ""), headers.get("Service-CRN", ""))
            return await handler(request)

        return checked

    # Accounts

    async def token(self, request: web.Request) -> web.Response:
        form = dict(parse_qsl((await request.read()).decode(errors="replace")))
        try:
            return web.json_response(self._accounts.token(form))
        except Refusal as refusal:  # IAM has a form of its own
            denied = {"errorCode": "BXNIM0415E", "errorMessage": refusal.message}
            return web.json_response(denied, status=refusal.status)

    async def instances(self, request: web.Request) -> web.Response:
        extensions = {"resource": "gateway"}
        item = {"crn": INSTANCE, "name": "gateway", "service_plan_unique_id": PLAN, "tags": []}
        return web.json_response({"items": [{**item, "doc": {"extensions": extensions}}], "limit": 100})

    async def plan(self, request: web.Request) -> web.Response:
        overview = {"en": {"display_name": "Gateway"}}
        return web.json_response({"overview_ui": overview, "metadata": {"pricing": {"type": "free"}}})

    async def instance(self, request: web.Request) -> web.Response:
        return web.json_response({"crn": INSTANCE, "plan_id": PLAN})

    async def usage(self, request: web.Request) -> web.Response:
        return web.json_response({"instance_id": INSTANCE, "usage_consumed_seconds": self._service.usage()})

    async def versions(self, request: web.Request) -> web.Response:
        return web.json_response({"versions": ["2025-05-01", "2026-04-15"]})

    # Devices

    async def backends(self, request: web.Request) -> web.Response:
        service = self._service
        listed = [device.listing(service.waiting(device.name)) for device in service.devices.values()]
        for each in listed:
            if why := service.offline.get(str(each["name"])):
                each["status"] = {"name": "offline", "reason": why}
        return web.json_response({"devices": listed})

    async def configuration(self, request: web.Request) -> web.Response:
        return web.json_response(self._service.device(request.match_info["name"]).configuration())

    async def properties(self, request: web.Request) -> web.Response:
        self._service.device(request.match_info["name"])
        return web.json_response({})

    async def status(self, request: web.Request) -> web.Response:
        device = self._service.device(request.match_info["name"])
        status = device.status(self._service.waiting(device.name))
        if why := self._service.offline.get(device.name):
            status |= {"state": False, "status": "offline", "message": why}
        return web.json_response(status)

    # Jobs

    async def submit(self, request: web.Request) -> web.Response:
        job = self._service.submit(submit_from(await _json(request)))
        taken = {"id": job.id, "backend": job.backend}
        return web.json_response({**taken, "session_id": job.session} if job.session else taken)

    async def listed(self, request: web.Request) -> web.Response:
        asked = listing_from(list(request.query.items()))
        jobs, count = self._service.listed(asked)
        shown = [job.shown(with_params=asked.with_params) for job in jobs]
        return web.json_response({"jobs": shown, "count": count, "limit": asked.limit, "offset": asked.offset})

    async def job(self, request: web.Request) -> web.Response:
        job = self._service.job(request.match_info["id"])
        return web.json_response(job.shown(with_params=request.query.get("exclude_params") != "true"))

    async def delete(self, request: web.Request) -> web.Response:
        self._service.delete(request.match_info["id"])
        return web.Response(status=204)

    async def results(self, request: web.Request) -> web.Response:
        return web.Response(text=self._service.results(request.match_info["id"]))

    async def logs(self, request: web.Request) -> web.Response:
        return web.Response(text=self._service.job(request.match_info["id"]).logs)

    async def metrics(self, request: web.Request) -> web.Response:
        job = self._service.job(request.match_info["id"])
        return web.json_response(job.metrics(self._service.place_of(job)))

    async def cancel(self, request: web.Request) -> web.Response:
        self._service.cancel(request.match_info["id"])
        return web.Response(status=204)

    async def tag(self, request: web.Request) -> web.Response:
        body = await _json(request)
        job = self._service.job(request.match_info["id"])
        job.tags = tags_from(body.get("tags") if isinstance(body, dict) else None)
        return web.Response(status=204)

    # Sessions

    async def open(self, request: web.Request) -> web.Response:
        return web.json_response(self._service.open(opening_from(await _json(request))).shown())

    async def session(self, request: web.Request) -> web.Response:
        return web.json_response(self._service.session(request.match_info["id"]).shown())

    async def close(self, request: web.Request) -> web.Response:
        closing_from(await _json(request))
        self._service.close(request.match_info["id"])
        return web.Response(status=204)

    async def cancel_session(self, request: web.Request) -> web.Response:
        self._service.cancel_session(request.match_info["id"])
        return web.Response(status=204)


async def _json(request: web.Request) -> object:
    with suppress(ValueError, RecursionError):
        return json.loads(await request.read())
    raise Refusal(400, BAD_REQUEST, "the body is no JSON")
