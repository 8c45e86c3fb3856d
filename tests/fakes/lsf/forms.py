"""
What a submit and an upload hold, read strictly: by Python's own reader of mail, and not by ours.

Whatever a tolerant server might let pass is a `Crime`.
"""

from __future__ import annotations

import re
from email.message import Message
from email.parser import BytesParser
from typing import NamedTuple
from urllib.parse import unquote
from xml.etree import ElementTree as ET

FIELDS = {
    "JOB_NAME",
    "COMMANDTORUN",
    "OUTPUT_FILE",
    "ERROR_FILE",
    "QUEUE",
    "RUNLIMITHOUR",
    "RUNLIMITMINUTE",
    "EXTRA_PARAMS",
    "NOTIFY_ENABLE",
    "INPUT_FILE",
}


class Crime(Exception):
    """Something that no client should send."""


class Submit(NamedTuple):
    application: str
    parameters: dict[str, str]
    files: dict[str, bytes]


def submit_in(kind: str, body: bytes) -> Submit:
    """Read a submit; raise `Crime`."""
    application, parameters, files = "", {}, {}
    named: list[str] = []
    for part in parts_of(kind, body):
        name = _name(part)
        if name == "AppName":
            application = _data(part).decode()
        elif name == "data":
            if part.get_content_type() != "multipart/mixed":
                raise Crime("the parameters are no multipart/mixed")
            for inner in part.get_payload():  # type: ignore[union-attr]
                id_, value, type_ = _parameter(inner)  # type: ignore[arg-type]
                if type_ == "file":
                    named += [each.partition(",")[0] for each in value.split(";")]
                    if not all(each.endswith(",upload") for each in value.split(";")):
                        raise Crime(f"a file that is not uploaded: {value}")
                parameters[id_] = value
        else:
            files[_file_name(part)] = _data(part)
    if not application or "COMMANDTORUN" not in parameters:
        raise Crime("no form, or nothing to run")
    if unknown := parameters.keys() - FIELDS:
        raise Crime(f"the form `generic` has no {sorted(unknown)}")
    if sorted(named) != sorted(files):
        raise Crime(f"files {sorted(files)}, of which {named} are named")
    return Submit(application, parameters, files)


def upload_in(kind: str, body: bytes) -> tuple[str, dict[str, bytes]]:
    """Read an upload: the folder, and the files."""
    folder, files = "", {}
    for part in parts_of(kind, body):
        if _name(part) == "DirName":
            folder = unquote(_data(part).decode())
        else:
            files[_file_name(part)] = _data(part)
    return folder, files


def parts_of(kind: str, body: bytes) -> list[Message]:
    if not re.fullmatch(r"multipart/mixed; ?boundary=[\w.'()+,/:=?-]{1,70}", kind):
        raise Crime(f"a strange content type: {kind}")
    boundary = kind.partition("boundary=")[2].encode()
    if not body.startswith(b"--" + boundary + b"\r\n") or not body.rstrip(b"\r\n").endswith(b"--" + boundary + b"--"):
        raise Crime("the outer parts do not begin or end as they should")
    if re.search(rb"--" + re.escape(boundary) + rb"(?!--)(?!\r\n)", body):
        raise Crime("a boundary without a line end of CR LF")
    message = BytesParser().parsebytes(f"Content-Type: {kind}\r\n\r\n".encode() + body)
    if message.defects or not message.is_multipart():
        raise Crime(f"cannot be taken apart: {message.defects}")
    parts: list[Message] = message.get_payload()  # type: ignore[assignment]
    for part in parts:
        if part.defects:
            raise Crime(f"a part cannot be taken apart: {part.defects}")
    return parts


def _parameter(part: Message) -> tuple[str, str, str]:
    if part.get_content_type() != "application/xml":
        raise Crime("a parameter that is no XML")
    try:
        root = ET.fromstring(_data(part))
    except ET.ParseError as wrong:
        raise Crime(f"a parameter's XML is broken: {wrong}") from wrong
    if root.tag != "AppParam" or [child.tag for child in root] != ["id", "value", "type"]:
        raise Crime("a parameter of another form")
    id_, value, type_ = (child.text or "" for child in root)
    if id_ != _name(part):
        raise Crime(f"`{id_}` in a part called `{_name(part)}`")
    return id_, value, type_


def _file_name(part: Message) -> str:
    if part.get_content_type() != "application/octet-stream":
        raise Crime("a file of another type than application/octet-stream")
    name = unquote((part["Content-ID"] or "").strip("<>"))
    if not name or "/" in name:
        raise Crime(f"a file called `{name}`")
    return name


def _name(part: Message) -> str:
    name = part.get_param("name", "", "Content-Disposition")
    return name if isinstance(name, str) else ""


def _data(part: Message) -> bytes:
    data = part.get_payload(decode=True)
    assert isinstance(data, bytes)
    return data
