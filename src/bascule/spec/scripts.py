"""Scripts: what can run as it is, and what is refused with a reason; a script is never changed."""

from __future__ import annotations

LONGEST_SCRIPT = 1024 * 1024
TOO_LONG = "put the data into files, or name a script that lies at the target by `run.scriptPath`"


def script_problem(script: str) -> tuple[str, str] | None:
    """Return what keeps *script* from running as it is, and a hint; None where nothing does."""
    if "\0" in script:
        line = script.count("\n", 0, script.index("\0")) + 1
        return f"the script holds a NUL character in its line {line}, which no shell can read", "is it a program?"
    if not script.strip():
        return "the script is empty", "begin it with `#!/bin/bash`"
    if not script.startswith("#!"):
        return "the script does not begin with `#!`, so nobody knows what runs it", "begin it with `#!/bin/bash`"
    first = script.partition("\n")[0]
    if first.endswith("\r"):
        return (
            "the first line of the script ends in CR LF, and no program is called so",
            "save it with Unix line ends (`dos2unix`)",
        )
    if not first[2:].strip():
        return "the first line of the script names no program", "begin it with `#!/bin/bash`"
    try:
        size = len(script.encode())
    except UnicodeEncodeError as error:
        return f"the script is no valid Unicode at character {error.start:,}", "save it as UTF-8"
    if size > LONGEST_SCRIPT:
        return f"the script has {size:,} bytes, more than 1 MiB", TOO_LONG
    return None


def wrapped(command: str) -> str:
    """Return the script that runs the shell *command*, as ``--wrap`` asks."""
    return f"#!/bin/sh\n{command}\n"
