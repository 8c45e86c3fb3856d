"""Tokens that Slurm's JWT sign-in accepts, signed with the cluster's own key."""

import base64
import hashlib
import hmac
import json
import time


def sign(user: str, lifespan: int, *, key: bytes) -> str:
    now = int(time.time())
    claims = {"exp": now + lifespan, "iat": now, "sun": user}
    signed = b".".join(_encode(json.dumps(part).encode()) for part in ({"alg": "HS256", "typ": "JWT"}, claims))
    return b".".join((signed, _encode(hmac.digest(key, signed, hashlib.sha256)))).decode()


def _encode(content: bytes) -> bytes:
    return base64.urlsafe_b64encode(content).rstrip(b"=")
