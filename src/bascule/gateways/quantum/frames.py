"""How the engine and its worker speak: JSON, each message behind its length, over two pipes."""

from __future__ import annotations

import json
import struct
from typing import Any, BinaryIO

LARGEST = 1 << 30
_HEAD = struct.Struct(">I")
HEAD = _HEAD.size


def framed(message: dict[str, Any]) -> bytes:
    """Return *message* as it is sent."""
    body = json.dumps(message).encode()
    return _HEAD.pack(len(body)) + body


def length_in(head: bytes) -> int:
    """Return how long the message behind *head* is."""
    length: int = _HEAD.unpack(head)[0]
    if length > LARGEST:
        raise ValueError("a message is too long")
    return length


def read_from(stream: BinaryIO) -> dict[str, Any] | None:
    """Read a message; None at the end."""
    head = stream.read(HEAD)
    if len(head) < HEAD:
        return None
    message: dict[str, Any] = json.loads(stream.read(length_in(head)))
    return message
