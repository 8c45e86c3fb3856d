"""
Bodies of many parts: a submit's, which nests one within another, and what a download brings.

Binary throughout: a file may hold anything, line ends and what looks like a boundary too.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Mapping
from typing import NamedTuple
from urllib.parse import quote, unquote
from xml.sax.saxutils import escape

_BOUNDARY = re.compile(r'boundary\s*=\s*(?:"([^"]{1,200})"|([^\s;,]{1,200}))', re.IGNORECASE)
_NOT_IN_XML = re.compile(r"[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Attachment(NamedTuple):
    """A file that goes along."""

    name: str
    data: bytes


class Body(NamedTuple):
    """A request's body, and its type."""

    data: bytes
    kind: str


def form(application: str, parameters: Mapping[str, str], files: Iterable[Attachment]) -> Body:
    """Return a submit: the form's name, its *parameters* as parts of their own kind, the *files*."""
    files = tuple(files)
    contents = [file.data for file in files]
    outer, inner = _boundary(contents), _boundary(contents)
    data = [_part(inner, _headers(name), _parameter(name, value)) for name, value in parameters.items()]
    if files:
        names = ";".join(f"{file.name},upload" for file in files)
        data.append(_part(inner, _headers("INPUT_FILE"), _parameter("INPUT_FILE", names, "file")))
    data.append(f"--{inner}--\r\n".encode())
    parts = [
        _part(
            outer,
            ['Content-Disposition: form-data; name="AppName"', "Content-ID: <AppName>"],
            application.encode(),
        ),
        _part(
            outer,
            [
                'Content-Disposition: form-data; name="data"',
                f"Content-Type: multipart/mixed; boundary={inner}",
                "Content-ID: <data>",
            ],
            b"".join(data),
        ),
        *(_file(outer, file) for file in files),
        f"--{outer}--\r\n".encode(),
    ]
    return Body(b"".join(parts), f"multipart/mixed; boundary={outer}")


def upload(folder: str, file: Attachment) -> Body:
    """Return the upload of one *file* into *folder*; an empty one is the job's own."""
    outer = _boundary([file.data])
    head = ['Content-Disposition: form-data; name="DirName"', "Content-ID: <DirName>"]
    parts = [_part(outer, head, quote(folder).encode()), _file(outer, file), f"--{outer}--\r\n".encode()]
    return Body(b"".join(parts), f"multipart/mixed; boundary={outer}")


def files_in(body: bytes, kind: str) -> list[Attachment]:
    """Return the files that a download brought; raise `ValueError` where it broke off, or is no such thing."""
    boundary = _boundary_of(kind) or _first_line(body)
    if not boundary:
        raise ValueError("no boundary between its parts")
    mark = b"--" + boundary
    pieces = (b"\r\n" + body).split(b"\r\n" + mark)
    if len(pieces) < 2 or not pieces[-1].startswith(b"--"):
        raise ValueError("broken off before its end")
    files = []
    for piece in pieces[1:-1]:
        head, blank, data = piece.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        if not blank:
            raise ValueError("a part without a head")
        name = _name_in(head.decode(errors="replace"))
        if name:
            files.append(Attachment(name, data))
    return files


def _headers(name: str) -> list[str]:
    return [
        f'Content-Disposition: form-data; name="{name}"',
        "Content-Type: application/xml; charset=UTF-8",
        "Content-Transfer-Encoding: 8bit",
    ]


def _parameter(name: str, value: str, kind: str = "") -> bytes:
    text = f"<AppParam><id>{escape(name)}</id><value>{escape(value)}</value><type>{kind}</type></AppParam>"
    if _NOT_IN_XML.search(text):
        raise ValueError(f"`{name}` holds a character that XML cannot carry")
    return text.encode()


def _file(boundary: str, file: Attachment) -> bytes:
    name = quote(file.name)
    head = [
        f'Content-Disposition: form-data; name="{name}"; filename="{name}"',
        "Content-Type: application/octet-stream",
        "Content-Transfer-Encoding: binary",
        f"Content-ID: <{name}>",
    ]
    return _part(boundary, head, file.data)


def _part(boundary: str, headers: list[str], data: bytes) -> bytes:
    head = "\r\n".join([f"--{boundary}", *headers, "", ""])
    return head.encode() + data + b"\r\n"


def _boundary(contents: Iterable[bytes]) -> str:
    while True:
        boundary = f"bascule-{secrets.token_hex(16)}"
        if not any(boundary.encode() in data for data in contents):
            return boundary


def _boundary_of(kind: str) -> bytes:
    found = _BOUNDARY.search(kind)
    return (found[1] or found[2]).encode() if found else b""


def _first_line(body: bytes) -> bytes:
    """Return the boundary that stands in the body's first line with words, where the type does not tell it."""
    line = body.lstrip(b"\r\n")[:300].partition(b"\r\n")[0]
    return line.removeprefix(b"--") if line.startswith(b"--") else b""


def _name_in(head: str) -> str:
    """Return a part's name: its Content-ID, which may be a whole path, or its file name."""
    found = re.search(r"^Content-ID:\s*<([^>]*)>", head, re.IGNORECASE | re.MULTILINE)
    if found is None:
        found = re.search(r'filename="([^"]*)"', head, re.IGNORECASE)
    return unquote(found[1]).strip() if found else ""
