"""The Debian mirror that this machine itself uses, read from its own apt sources."""

import re
from pathlib import Path

from tests.testbed.machine import TestbedUnavailable, os_release


def debian_mirror(apt: Path = Path("/etc/apt"), codename: str = "") -> str:
    """Return the address from which the machine takes the suite it runs."""
    codename = codename or os_release().get("VERSION_CODENAME", "")
    files = [apt / "sources.list", *sorted((apt / "sources.list.d").glob("*"))]
    for path in files:
        if not path.is_file():
            continue
        text = path.read_text()
        found = _deb822(text, codename) if path.suffix == ".sources" else _one_line(text, codename)
        if found:
            return found
    raise TestbedUnavailable(f"no apt source below {apt} has suite `{codename}`, component `main`")


def _deb822(text: str, codename: str) -> str:
    for stanza in re.split(r"\n\s*\n", text):
        lines = [line for line in stanza.splitlines() if not line.startswith("#")]
        fields: dict[str, list[str]] = {}
        for line in lines:
            key, colon, value = line.partition(":")
            if colon and not line[0].isspace():
                fields[key.strip().lower()] = value.split()
        is_ours = codename in fields.get("suites", []) and "main" in fields.get("components", [])
        if is_ours and "deb" in fields.get("types", []) and fields.get("enabled", ["yes"]) != ["no"]:
            return fields["uris"][0]
    return ""


def _one_line(text: str, codename: str) -> str:
    for line in text.splitlines():
        match = re.match(r"deb\s+(?:\[[^]]*\]\s+)?(\S+)\s+(\S+)\s+(.*)", line.strip())
        if match and match[2] == codename and "main" in match[3].split():
            return match[1]
    return ""
