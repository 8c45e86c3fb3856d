"""
Who may come in: one API key, exchanged for tokens that are signed and end.

The tokens are JSON Web Tokens, as IAM's are; only who made them can tell whether they are good.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import secrets
from collections.abc import Callable

from bascule.gateways.quantum.refusals import NOT_SIGNED_IN, NOT_YOURS, Refusal

GRANT = "urn:ibm:params:oauth:grant-type:apikey"
INSTANCE = (
    "crn:v1:bluemix:public:quantum-computing:us-east:"
    "a/00000000000000000000000000000000:00000000-0000-4000-8000-000000000000::"
)
LIVES = 3600.0


class Accounts:
    """The account of whoever has *key*; *now* gives seconds since the epoch."""

    def __init__(self, key: str, now: Callable[[], float], *, lives: float = LIVES) -> None:
        self._key = key
        self._now = now
        self._lives = lives
        self._secret = secrets.token_bytes(32)
        self.is_locked = False
        """Whether nothing is accepted any more, whatever it is signed with."""

    def token(self, form: dict[str, str]) -> dict[str, object]:
        """Exchange an API key for a token."""
        if form.get("grant_type") != GRANT:
            raise Refusal(400, NOT_SIGNED_IN, f"the grant type `{form.get('grant_type', '')[:80]}` is not known")
        if self.is_locked or not hmac.compare_digest(form.get("apikey", "").encode(), self._key.encode()):
            raise Refusal(400, NOT_SIGNED_IN, "Provided API key could not be found.")
        begins = int(self._now())
        ends = begins + int(self._lives)
        signed = f"{_part({'alg': 'HS256', 'typ': 'JWT'})}.{_part({'iss': 'gateway', 'iat': begins, 'exp': ends})}"
        return {
            "access_token": f"{signed}.{self._signature(signed)}",
            "refresh_token": "not_supported",
            "token_type": "Bearer",
            "expires_in": int(self._lives),
            "expiration": ends,
            "scope": "ibm openid",
        }

    def check(self, authorization: str, instance: str) -> None:
        """Raise `Refusal` where a request is not signed by a token of ours, or is for another instance."""
        kind, _, token = authorization.partition(" ")
        if kind.lower() != "bearer" or not self._is_good(token.strip()):
            raise Refusal(401, NOT_SIGNED_IN, "the token is missing, not of this service, or over")
        if instance != INSTANCE:
            raise Refusal(403, NOT_YOURS, f"the instance `{instance[:200]}` is not of this account")

    def _is_good(self, token: str) -> bool:
        signed, _, signature = token.rpartition(".")
        if self.is_locked or not hmac.compare_digest(self._signature(signed).encode(), signature.encode()):
            return False
        try:
            body = signed.partition(".")[2]
            claims = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
        except (ValueError, binascii.Error):
            return False
        return float(claims["exp"]) > self._now()

    def _signature(self, signed: str) -> str:
        digest = hmac.new(self._secret, signed.encode(), hashlib.sha256).digest()
        return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def _part(claims: dict[str, object]) -> str:
    return base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
