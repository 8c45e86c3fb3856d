"""The text of a YAML file: what must be done before a parser sees it, and what the parser's complaints mean."""

from __future__ import annotations

import json
import re
from typing import Any

import yaml

from bascule.spec.problems import shortened

LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_PAIR = re.compile(r"(?<!\\)((?:\\\\)*)\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_NOT_IN_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_LINE_ENDS = {
    "\r\n": "CR LF",
    "\r": "a lone CR",
    "\n": "LF",
    "\x85": "U+0085",
    "\u2028": "U+2028",
    "\u2029": "U+2029",
}


def is_json(text: str) -> bool:
    if text.lstrip()[:1] not in {"{", "["}:
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def yaml_from_json(text: str) -> str:
    """Write valid JSON so that YAML reads the same: pairs of surrogates, tabs and what YAML takes for a line's end."""
    text = _PAIR.sub(
        lambda m: f"{m[1]}\\U{0x10000 + (int(m[2], 16) - 0xD800) * 0x400 + int(m[3], 16) - 0xDC00:08X}", text
    )
    return _NOT_IN_YAML.sub(lambda m: f"\\u{ord(m[0]):04x}", text.replace("\t", " "))


def changed_line_end(text: str) -> tuple[int, str] | None:
    """Find a line's end that YAML would silently change inside a script: it reads all kinds as LF."""
    breaks = re.findall("\r\n|[\r\n\x85\u2028\u2029]", text) if re.search("[\r\x85\u2028\u2029]", text) else []
    if set(breaks) <= {"\n"} or set(breaks) == {"\r\n"}:
        return None
    common = "\r\n" if breaks.count("\r\n") > breaks.count("\n") else "\n"
    line, odd = next((number, kind) for number, kind in enumerate(breaks, start=1) if kind != common)
    return line, (
        f"the line ends in {_LINE_ENDS[odd]} and others in {_LINE_ENDS[common]}, which YAML would make the same; "
        "write it as an escape in a double-quoted text, or use a script file"
    )


def explained(error: yaml.MarkedYAMLError, text: str) -> tuple[int, str]:
    """Say in one line what the parser stumbled over, and where it began."""
    mark = error.problem_mark or error.context_mark
    line = mark.line + 1 if mark else 1
    lines = re.split("\r\n|[\r\n]", text)
    start = lines[line - 1] if line <= len(lines) else ""
    problem = error.problem or "it is no YAML"
    if "\t" in start[: len(start) - len(start.lstrip())]:
        return line, "a tab cannot indent YAML; use spaces"
    if "quoted scalar" in (error.context or "") and error.context_mark:
        return error.context_mark.line + 1, "a quote is opened and not closed; close it, or take it away"
    if "mapping values are not allowed" in problem:
        return line, "a `:` where no key can be; check the indentation, or quote the text"
    if "cannot start any token" in problem and mark:
        return line, f"a text cannot begin with `{shortened(start[mark.column : mark.column + 1])}`; quote it"
    if "expected" in problem and "block" in (error.context or ""):
        return line, f"not indented as the lines before it ({problem}); use the same number of spaces"
    if "alias" in problem:
        return line, f"{problem}; name an anchor above with `&`"
    return line, f"cannot be read: {problem}"


def unreadable(error: yaml.YAMLError, text: str) -> tuple[int, str]:
    position = getattr(error, "position", None)
    if isinstance(position, int):
        # libyaml counts in bytes, the pure reader in letters.
        head = text.encode()[:position] if LOADER is not yaml.SafeLoader else text[:position].encode()
        character = getattr(error, "character", 0)
        code = ord(character) if isinstance(character, str) else int(character)
        return head.count(b"\n") + 1, f"U+{code:04X} cannot be in YAML; write it as an escape in a double-quoted text"
    return 1, "cannot be read as YAML"
