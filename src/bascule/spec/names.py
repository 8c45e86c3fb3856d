"""
What may be a name: of an object, a label, a variable, a signal.

The rules are Kubernetes' own, so that a file that is accepted here is accepted there.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from difflib import get_close_matches

LONGEST_NAME = 253
LONGEST_LABEL = 63
NAME = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
LABEL_VALUE = r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?"
LABEL_KEY = rf"({NAME}/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?"
VARIABLE = r"[A-Za-z_][A-Za-z0-9_]*"

SIGNALS = (
    *("HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE", "ALRM"),
    *("TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ", "VTALRM", "PROF"),
    *("WINCH", "IO", "PWR", "SYS"),
)
"""The signals of Linux, without ``SIG``."""


def is_name(text: str) -> bool:
    """Tell whether *text* can name an object: a DNS-1123 subdomain."""
    return len(text) <= LONGEST_NAME and re.fullmatch(NAME, text) is not None


def is_label_key(text: str) -> bool:
    """Tell whether *text* can be the key of a label or an annotation."""
    prefix, _, name = text.rpartition("/")
    return len(prefix) <= LONGEST_NAME and len(name) <= LONGEST_LABEL and re.fullmatch(LABEL_KEY, text) is not None


def usable_name(text: str, otherwise: str = "job") -> str:
    """Make a name out of *text*: ``My Job_1`` becomes ``my-job-1``; *otherwise* where nothing is left."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain)[:LONGEST_LABEL].strip("-") or otherwise


def nearest(text: str, known: Iterable[str]) -> str | None:
    """Return the name in *known* that *text* was most likely meant to be."""
    by_lower = {name.lower(): name for name in known}
    found = get_close_matches(text.lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[found[0]] if found else None


def did_you_mean(text: str, known: Iterable[str]) -> str:
    """Return a hint for *text*, which is none of *known*: the nearest of them, else all."""
    names = list(known)
    near = nearest(text, names)
    return f"did you mean `{near}`?" if near else f"known here: {', '.join(f'`{name}`' for name in names)}"
