"""How to verify an API server, and what certificate to show it."""

from __future__ import annotations

import os
import ssl

from bascule.errors import Mistake, Unauthorized

_WRONG = {
    "KEY_VALUES_MISMATCH": "do not belong together",
    "NO_START_LINE": "are no PEM",
}


def context_of(ca: str | None, certificate: bytes, key: bytes) -> ssl.SSLContext:
    """Return a context that trusts *ca* alone (None: whom the system trusts), and shows *certificate*."""
    try:
        context = ssl.create_default_context(cadata=ca)
    except (ssl.SSLError, ValueError) as error:
        raise Mistake("the cluster's authority is no certificate", hint="see `kubectl config view`") from error
    if certificate or key:
        _show(context, certificate, key)
    return context


def _show(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Hand certificate and key over, for which the library only takes a file: one that is in memory alone."""
    with os.fdopen(os.memfd_create("bascule-key"), "wb") as file:
        file.write(certificate + b"\n" + key)
        file.flush()
        try:
            # A password would be asked for on the terminal, if it were not given.
            context.load_cert_chain(f"/proc/self/fd/{file.fileno()}", password="")
        except (ssl.SSLError, OSError) as error:
            words = _WRONG.get(getattr(error, "reason", None) or "", "cannot be read")
            if b"ENCRYPTED" in key:
                words = "cannot be used: the key is encrypted"
            raise Unauthorized(
                f"the client's certificate and key for the cluster {words}", hint="see `kubectl config view`"
            ) from error
