"""
Where a home is and what its database is called: all that a quick look has to know.

Only ``os`` is imported: a quick look takes little longer than the start of Python.
"""
# ruff: noqa: PTH100, PTH111, PTH118 - `pathlib` takes half as long to import as Python to start

from __future__ import annotations

import os

DATABASE = "bascule.db"

SCHEMA = 2
"""The version of the schema that this Bascule reads and writes; see ``schema``."""


def default_folder() -> str:
    """Return the home of whoever asks: `$BASCULE_HOME`, else a folder in the XDG state folder."""
    if chosen := os.environ.get("BASCULE_HOME"):
        return os.path.abspath(os.path.expanduser(chosen))
    state = os.environ.get("XDG_STATE_HOME", "")
    if not state.startswith("/"):  # the XDG specification has relative paths ignored
        state = os.path.expanduser("~/.local/state")
    return os.path.join(state, "bascule")


def newer(database: str, schema: int) -> tuple[str, str]:
    """Return what to say, and the hint, where *database* has a *schema* that is not known here."""
    return (
        f"`{database}` was written by a newer Bascule (schema {schema}; this one knows {SCHEMA})",
        "use that version, or another home with `--home`",
    )
