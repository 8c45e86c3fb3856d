"""
Reading Secrets: as they are now, and only where a target or a job names them.

A namespace that is deleted loses its Secrets while its jobs are still to be cancelled.
So what was read last is used on there, in memory and nowhere else, until the namespace is
gone. Everywhere else a Secret that is taken away is not used any more.
"""

from __future__ import annotations

import base64
import binascii

import msgspec

from bascule.clients.kube import KubeClient, Rejected
from bascule.errors import Mistake
from bascule.platforms.kubernetes import names
from bascule.platforms.kubernetes.namespaces import is_going

MOST_KEPT = 1000


class _Secret(msgspec.Struct):
    data: dict[str, str] | None = None


class Secrets:
    """Reads single values of Secrets, as far as this account may."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self._read: dict[tuple[str, str, str], str] = {}

    async def value(self, namespace: str, name: str, key: str) -> str:
        """Return one value of a Secret as it is now; raise `Mistake` where it is not there, or not for us."""
        which = (namespace, name, key)
        try:
            value = await self._value(namespace, name, key)
        except Mistake:
            if which in self._read and await is_going(self._client, namespace):
                return self._read[which]
            raise
        self._read.pop(which, None)
        self._read[which] = value
        if len(self._read) > MOST_KEPT:
            del self._read[next(iter(self._read))]
        return value

    async def _value(self, namespace: str, name: str, key: str) -> str:
        try:
            data = await self._client.get(names.core("secrets", namespace, name))
        except Rejected as refusal:
            if refusal.code == 403:
                raise Mistake(
                    f"Secret `{name}` of namespace `{namespace}` may not be read by this account",
                    hint=f"grant it: a Role with `get` on the Secret `{name}` alone, and a RoleBinding",
                ) from None
            raise Mistake(
                f"there is no Secret `{name}` in namespace `{namespace}`",
                hint=f"`kubectl create secret generic {name} -n {namespace} --from-file={key}=FILE`",
            ) from None
        values = msgspec.json.decode(data, type=_Secret).data or {}
        if key not in values:
            raise Mistake(
                f"Secret `{name}` of namespace `{namespace}` has no key `{key}`", hint=f"put the value under `{key}`"
            )
        try:
            return base64.b64decode(values[key]).decode().removesuffix("\n")
        except (binascii.Error, UnicodeDecodeError):
            raise Mistake(
                f"Secret `{name}` of namespace `{namespace}`, key `{key}`, is no UTF-8 text", hint="store it as text"
            ) from None
