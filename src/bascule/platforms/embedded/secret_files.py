"""Secrets of the embedded platform: a folder for each, a file for each key, for the owner's eyes only."""

from __future__ import annotations

import re
from pathlib import Path

from bascule.errors import Mistake

LARGEST = 1 << 20
_PLAIN = re.compile(r"(?!\.)[\w.@-]{1,253}")


def read_secret(folder: Path, name: str, key: str) -> str:
    """
    Return one value; raise `Mistake` with a hint where it is not there or others could read it.

    One line break at the end is no part of it: editors and `echo` put it there.
    """
    if not (_PLAIN.fullmatch(name) and _PLAIN.fullmatch(key)):
        raise Mistake(
            f"`{name}` or `{key}` cannot name a secret",
            hint="use letters, digits, `-`, `_`, `.` and `@`, not beginning with a dot",
        )
    file = folder / name / key
    try:
        mode = file.stat().st_mode
        value = file.read_bytes()[: LARGEST + 1]
    except (FileNotFoundError, NotADirectoryError) as fault:
        raise Mistake(
            f"secret `{name}` has no key `{key}`",
            hint=f"put it there: `mkdir -p {file.parent} && (umask 077; cat > {file})`",
        ) from fault
    except OSError as fault:
        raise Mistake(
            f"secret `{name}`, key `{key}`, cannot be read: {fault.strerror}", hint=f"look at `ls -l {file}`"
        ) from fault
    if mode & 0o077:
        raise Mistake(f"secret file `{file}` can be read by others", hint=f"`chmod 600 {file}`, and renew the secret")
    if len(value) > LARGEST:
        raise Mistake(f"secret file `{file}` is larger than 1 MiB", hint="a secret is a token or a password")
    if b"\0" in value:
        raise Mistake(
            f"secret file `{file}` holds a NUL character, which no program can be given",
            hint="store it as text, for example in base64",
        )
    try:
        return value.decode().removesuffix("\n")
    except UnicodeDecodeError as fault:
        raise Mistake(
            f"secret file `{file}` is no UTF-8 text", hint="store it as text, for example in base64"
        ) from fault
