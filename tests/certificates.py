"""Certificates for tests, made when they are needed; that takes `openssl`."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import NamedTuple


class Certificates(NamedTuple):
    """An authority, and a server's certificate for `localhost` that it signed."""

    authority: str
    chain: Path
    key: Path


def certificates_in(folder: Path) -> Certificates:
    """Make an authority and a certificate in *folder*."""

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    new_key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    # Python 3.13 and later want to be told what the authority's key is for, and who signed.
    may_sign = ("-addext", "keyUsage=critical,keyCertSign,cRLSign")
    named = ("-subj", "/CN=test authority", "-days", "2")
    openssl("req", "-x509", *new_key, "-keyout", "ca.key", "-out", "ca.pem", *named, *may_sign)
    openssl("req", *new_key, "-keyout", "key.pem", "-out", "request.pem", "-subj", "/CN=localhost")
    (folder / "names").write_text("subjectAltName=DNS:localhost,DNS:slurm.example.org\nauthorityKeyIdentifier=keyid\n")
    signed_by = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2")
    openssl("x509", "-req", "-in", "request.pem", *signed_by, "-extfile", "names", "-out", "chain.pem")
    return Certificates((folder / "ca.pem").read_text(), folder / "chain.pem", folder / "key.pem")
