"""Choosing a backend: the one that is named, or the least busy that a job fits on."""

from __future__ import annotations

from bascule.errors import Refused, Unavailable
from bascule.managers.quantum.options import LEAST_BUSY
from bascule.managers.quantum.service import Service
from bascule.managers.quantum.wire import Backend, Configuration

AGAIN_IN = 30.0


class Offline(Unavailable):
    """The backend that a job wants takes none at the moment."""


async def choose(service: Service, wanted: str | None, *, width: int, job: str) -> Configuration:
    """Return the backend for a job of *width* qubits; raise `Refused` where there is none, `Offline` where it is away."""
    backends = (await service.backends()).all
    name = wanted or LEAST_BUSY
    if name == LEAST_BUSY:
        name = _least_busy(backends, width, job).name
    found = next((backend for backend in backends if backend.name == name), None)
    configuration = await service.configuration(name) if found is not None else None
    if found is None or configuration is None:
        known = ", ".join(f"`{backend.name}`" for backend in backends[:20])
        raise Refused(
            f"job `{job}`: there is no backend `{name}` for this instance",
            hint=f"set `options.backend` to {LEAST_BUSY} or one of {known or 'none: the instance has no backends'}",
        )
    if not found.is_online:
        why = (found.status.reason if found.status else "") or "no reason is given"
        raise Offline(
            f"job `{job}`: the backend `{name}` takes no jobs ({why})",
            hint=f"it goes when that is over; `options.backend: {LEAST_BUSY}` takes another",
            retry_after=AGAIN_IN,
        )
    return configuration


def _least_busy(backends: list[Backend], width: int, job: str) -> Backend:
    wide = [backend for backend in backends if backend.qubits is None or backend.qubits >= width]
    if not wide:
        raise Refused(
            f"job `{job}`: no backend of this instance has {width} qubits", hint="use fewer, or another instance"
        )
    online = [backend for backend in wide if backend.is_online]
    if not online:
        raise Offline(
            f"job `{job}`: no backend of {width} qubits takes jobs at the moment",
            hint="it goes when one does",
            retry_after=AGAIN_IN,
        )
    # As the official client has it: a simulator only where there is nothing else.
    return min(online, key=lambda backend: (backend.is_simulator, backend.queue_length or 0, backend.name))
