"""
The key: what an attempt is called on the outside system, and how it is found again.

``train-7fq2-k3x9p2qd-1`` is the job's name (shortened), the installation, a part of the
object's uid, and the attempt. It is made of ``a-z0-9-`` only, starts with a letter and
is at most 48 characters long, which every manager accepts.
"""

from __future__ import annotations

import hashlib
import re
from typing import NamedTuple

_LONGEST_NAME = 24
_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"  # no l, o, 0, 1: people read keys to each other
_FORM = re.compile(r"([a-z][a-z0-9-]*)-([a-z0-9]{4,8})-([a-z0-9]{8})-([1-9][0-9]{0,5})")


class KeyParts(NamedTuple):
    """What a key was made of."""

    name: str
    installation: str
    uid_part: str
    attempt: int


def key_for(name: str, *, installation: str, uid: str, attempt: int) -> str:
    """Return the key of *attempt*; the same arguments give the same key."""
    short = re.sub(r"[^a-z0-9]+", "-", name.lower())[:_LONGEST_NAME].strip("-")
    if not short or not short[0].isalpha():
        short = f"j-{short}".strip("-")
    return f"{short}-{installation}-{_letters(uid, 8)}-{attempt}"


def parts_of(key: str) -> KeyParts | None:
    """Take *key* apart; None where it is none of ours."""
    found = _FORM.fullmatch(key)
    if not found:
        return None
    name, installation, uid_part, attempt = found.groups()
    return KeyParts(name, installation, uid_part, int(attempt))


def belongs_to(key: str, installation: str) -> bool:
    """Tell whether *key* was made by *installation*."""
    parts = parts_of(key)
    return parts is not None and parts.installation == installation


def installation_from(seed: str) -> str:
    """Return an installation's short name, from something unique to it."""
    return _letters(seed, 6)


def _letters(seed: str, count: int) -> str:
    digest = int.from_bytes(hashlib.sha256(seed.encode()).digest())
    letters = []
    for _ in range(count):
        digest, index = divmod(digest, len(_ALPHABET))
        letters.append(_ALPHABET[index])
    return "".join(letters)
