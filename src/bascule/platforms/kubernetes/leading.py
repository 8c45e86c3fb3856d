"""
Who drives: one process at a time, by a Lease that must be renewed.

A leader stops before its Lease can have expired for others, by a clock that does not jump.
Each one has an epoch, higher than all before it, which is written with every status.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from bascule.clients.kube import KubeClient, Rejected
from bascule.clients.kube.meta import Meta
from bascule.errors import Error, Fenced
from bascule.journal import Logger
from bascule.platforms.kubernetes import names
from bascule.platforms.kubernetes.settings import Settings
from bascule.ports import Clock

EPOCH = f"{names.GROUP}/epoch"
ATTEMPT = 0.4
"""The part of a leader's time that one try to renew may take: a silent connection must leave time for another."""
SHORTEST = 0.05
FAREWELL = 5.0
log = Logger(__name__)


class _Spec(msgspec.Struct, rename="camel"):
    holder_identity: str | None = None
    lease_duration_seconds: int = 15
    lease_transitions: int = 0
    renew_time: datetime | None = None
    acquire_time: datetime | None = None


class _Lease(msgspec.Struct):
    metadata: Meta
    spec: _Spec = msgspec.field(default_factory=_Spec)

    @property
    def epoch(self) -> int:
        """The epoch of whoever holds it, or held it last."""
        text = (self.metadata.annotations or {}).get(EPOCH, "")
        return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 0


_LEASES = msgspec.json.Decoder(_Lease)


class Lease:
    """This process' part in the choice of a leader."""

    def __init__(self, client: KubeClient, settings: Settings, clock: Clock) -> None:
        self._client = client
        self._settings = settings
        self._clock = clock
        self._path = names.lease(settings.namespace, settings.lease)
        self._seen: tuple[str, str] | None = None
        self._seen_at = 0.0
        self._tried_at = float("-inf")
        self._valid_until = float("-inf")
        self._version = ""
        self._transitions = 0
        self._acquired = ""
        self._epoch = 0
        self.holder = ""

    @property
    def is_held(self) -> bool:
        """Tell whether this process leads, for certain."""
        return self._clock.monotonic() < self._valid_until

    @property
    def epoch(self) -> int:
        """Return this leader's epoch; raise `Fenced` where it does not lead, or not any more for certain."""
        if not self.is_held:
            raise Fenced(
                f"this process does not lead in namespace `{self._settings.namespace}`",
                hint=f"`{self.holder}` does" if self.holder else "it must take the Lease first",
            )
        return self._epoch

    async def take(self) -> bool:
        """Take the Lease if it is free, or was not renewed for its whole time; no waiting."""
        now = self._clock.monotonic()
        if self.is_held:
            return True
        if now - self._tried_at < self._settings.retry:
            return False
        self._tried_at = now
        lease = await self._read()
        if lease is None:
            return await self._write(None)
        self.holder = lease.spec.holder_identity or ""
        is_ours = self.holder == self._settings.identity  # taken by a write whose answer was lost
        if self.holder and not is_ours and not self._has_expired(lease, now):
            return False
        return await self._write(lease)

    async def keep(self) -> None:
        """Renew until cancelled; raises `Fenced` once this process must not lead any more."""
        while True:
            await self._clock.sleep(self._settings.renew)
            while True:
                if not self.is_held:
                    raise Fenced("the Lease could not be renewed in time", hint="another process takes over")
                try:
                    await self._renew(
                        min(self._settings.deadline * ATTEMPT, self._valid_until - self._clock.monotonic())
                    )
                    break
                except Fenced:
                    self._valid_until = float("-inf")
                    raise
                except Error as trouble:
                    log.warning("lease.not_renewed", error=trouble.message)
                    await self._clock.sleep(min(0.5, self._settings.renew))

    async def confirm(self) -> None:
        """Ask the API server itself; raise `Fenced` where somebody else has the Lease."""
        lease = await self._read()
        if lease is None or lease.spec.holder_identity != self._settings.identity:
            self._valid_until = float("-inf")
            raise Fenced("another process has taken over", hint="nothing is lost: it goes on with all jobs")

    async def release(self) -> None:
        """Let the next one lead at once."""
        if not self.is_held:
            return
        self._valid_until = float("-inf")
        try:
            document = self._document(self._version, holder="", duration=1)
            await self._client.put(self._path, document, within=FAREWELL)
        except Error as trouble:  # it expires by itself
            log.warning("lease.not_released", error=trouble.message)

    def _has_expired(self, lease: _Lease, now: float) -> bool:
        """Tell whether nobody renewed it for its whole time, by our own clock."""
        seen = (self.holder, lease.metadata.resource_version)
        if seen != self._seen:
            self._seen, self._seen_at = seen, now
        return now - self._seen_at > max(lease.spec.lease_duration_seconds, 1)

    async def _read(self) -> _Lease | None:
        try:
            return _LEASES.decode(await self._client.get(self._path))
        except Rejected as refusal:
            if refusal.code == 404:
                return None
            raise

    async def _write(self, lease: _Lease | None) -> bool:
        began = self._clock.monotonic()
        epoch = max(int(self._clock.now().timestamp()), (lease.epoch if lease else 0) + 1)
        self._epoch, self._transitions = epoch, lease.spec.lease_transitions + 1 if lease else 0
        self._acquired = _micro(self._clock.now())
        version = lease.metadata.resource_version if lease else ""
        document = self._document(version, holder=self._settings.identity, duration=self._settings.duration)
        try:
            if lease is None:
                data = await self._client.post(names.lease(self._settings.namespace), document)
            else:
                data = await self._client.put(self._path, document)
        except Rejected as refusal:
            if refusal.code == 409:
                return False
            raise
        self._holds(data, began)
        self.holder = self._settings.identity
        log.info("lease.taken", epoch=epoch, identity=self._settings.identity)
        return True

    async def _renew(self, within: float) -> None:
        began = self._clock.monotonic()
        document = self._document(self._version, holder=self._settings.identity, duration=self._settings.duration)
        try:
            self._holds(await self._client.put(self._path, document, within=max(within, SHORTEST)), began)
        except Rejected as refusal:
            if refusal.code not in {404, 409}:
                raise
            lease = await self._read()
            if lease is None or lease.spec.holder_identity != self._settings.identity or lease.epoch != self._epoch:
                self.holder = (lease.spec.holder_identity or "") if lease else ""
                raise Fenced(
                    "another process has taken over", hint="nothing is lost: it goes on with all jobs"
                ) from None
            # Our own write, whose answer was lost, or somebody's label.
            self._version = lease.metadata.resource_version

    def _holds(self, data: bytes, began: float) -> None:
        self._version = _LEASES.decode(data).metadata.resource_version
        self._valid_until = began + self._settings.deadline

    def _document(self, version: str, *, holder: str, duration: int) -> dict[str, Any]:
        metadata: dict[str, Any] = {"name": self._settings.lease, "annotations": {EPOCH: str(self._epoch)}}
        if version:
            metadata["resourceVersion"] = version
        return {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": metadata,
            "spec": {
                "holderIdentity": holder,
                "leaseDurationSeconds": duration,
                "leaseTransitions": self._transitions,
                "acquireTime": self._acquired,
                "renewTime": _micro(self._clock.now()),
            },
        }


def _micro(time: datetime) -> str:
    return f"{time:%Y-%m-%dT%H:%M:%S.%f}Z"
