"""Asking about namespaces: only whether one is being deleted, with all that is in it."""

from __future__ import annotations

import msgspec

from bascule.clients.kube import KubeClient, Meta
from bascule.errors import Error
from bascule.platforms.kubernetes import names


class _Namespace(msgspec.Struct):
    metadata: Meta


async def is_going(client: KubeClient, namespace: str) -> bool:
    """Tell whether *namespace* is being deleted; one that we may not read is taken to stay."""
    try:
        data = await client.get(names.namespace_path(namespace))
    except Error:
        return False
    return msgspec.json.decode(data, type=_Namespace).metadata.deletion_timestamp is not None
