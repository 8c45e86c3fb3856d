"""What must not be repeated: secrets, in whatever form the other side may send them back."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote

_SHORTEST = 6
_MOST = 64


class Secrets:
    """The secrets that a client has used, so that they can be taken out of what it says."""

    def __init__(self) -> None:
        self._forms: dict[str, None] = {}
        self._has_short = False

    def add(self, secret: str) -> None:
        """Hide *secret* from now on."""
        if not secret:
            return
        if len(secret) < _SHORTEST:
            self._has_short = True
            return
        for form in _forms(secret):
            self._forms.pop(form, None)
            self._forms[form] = None
        for form in list(self._forms)[:-_MOST]:
            del self._forms[form]

    def clean(self, text: str, longest: int = 200) -> str:
        """Return the beginning of *text*, as one line without secrets."""
        if self._has_short:
            return ""  # it may be part of any word
        for form in sorted(self._forms, key=len, reverse=True):
            text = text.replace(form, "***")
        for form in self._forms:
            text = _without_beginning_of(form, text)
        line = " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
        return line if len(line) <= longest else f"{line[:longest]}..."


def _forms(secret: str) -> set[str]:
    return {
        secret,
        quote(secret, safe=""),
        json.dumps(secret)[1:-1],
        base64.b64encode(secret.encode(errors="replace")).decode().rstrip("="),
    }


def _without_beginning_of(form: str, text: str) -> str:
    """Take the beginning of *form* from the end of *text*, where it was cut off."""
    for length in range(min(len(form), len(text)), _SHORTEST - 1, -1):
        if text.endswith(form[:length]):
            return f"{text[:-length]}***"
    return text
