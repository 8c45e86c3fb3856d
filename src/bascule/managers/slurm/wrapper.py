"""
The wrapper: a few lines of sh that carry a script along, byte for byte, and run it.

Only for what Slurm cannot do by itself: a login environment, arguments where the
version has none, and a marker of the result where there is no accounting. Without a
marker the wrapper becomes the script; with one it stays, and writes down the end.
"""

from __future__ import annotations

import base64
import re
import shlex
from collections.abc import Sequence

SHEBANG = re.compile(r"#!\s*(\S+)[ \t]*([^\n]*?)\s*(?:\n|$)")

_HEAD = """\
#!/bin/sh
# Bascule carries the script along as it was written, in the lines at the end, and runs it.
mask=$(umask)
{place}
command -p base64 -d >"$script" <<'{end}' || exit 1
{script}{end}
umask "$mask"
"""

_TEMPORARY = """\
umask 077
script=$(command -p mktemp "${TMPDIR:-/tmp}/bascule-XXXXXXXX") || exit 1"""

_MARKED = """\
umask 022
marks={marks}
# All users of the folder share the one above it, as they do /tmp: whoever comes first makes it for all.
command -p mkdir -m 1777 "${{marks%/*}}" 2>/dev/null
command -p mkdir -p "$marks" || exit 1
task=${{SLURM_ARRAY_TASK_ID:-0}}
script=$marks/script.$task"""

_BECOME = """\
exec {run}
"""

_STAY = """\
note() {{ echo "$2 ." >"$marks/.$1.$task" && command -p mv -f "$marks/.$1.$task" "$marks/$1.$task"; }}
command -p rm -f "$marks/result.$task"
note start "$SLURM_JOB_ID ${{SLURM_RESTART_COUNT:-0}} $(command -p date +%s) {walltime}"
# What is sent to the whole job is for the script: a trap keeps the wrapper, and the script gets the default back.
trap : HUP INT QUIT ALRM TERM USR1 USR2
# The shell says something of a child that a signal ended, and nothing of one that left with 143 by itself.
exec 3>&2 2>"$marks/.said.$task"
( exec {run} 2>&3 3>&- )
code=$?
exec 2>&3 3>&-
if [ "$code" -gt 128 ] && [ -s "$marks/.said.$task" ]; then signal=$((code - 128)); else signal=0; fi
command -p rm -f "$script" "$marks/.said.$task"
note result "$SLURM_JOB_ID ${{SLURM_RESTART_COUNT:-0}} $(command -p date +%s) $code $signal"
if [ "$signal" -gt 0 ]; then
    trap - HUP INT QUIT ALRM TERM USR1 USR2
    kill -s "$signal" $$
fi
exit "$code"
"""


def wrapped(
    script: str, arguments: Sequence[str], *, login: bool = False, marks: str = "", walltime: int | None = None
) -> str:
    """
    Return a script that runs *script* with *arguments*.

    *marks* is the folder for the marker, *walltime* in seconds goes into it.
    """
    run = _run(script, arguments, login=login)
    end = "END_OF_SCRIPT"
    place = _MARKED.format(marks=shlex.quote(marks)) if marks else _TEMPORARY
    head = _HEAD.format(place=place, end=end, script=base64.encodebytes(script.encode()).decode())
    return head + (_STAY if marks else _BECOME).format(run=run, walltime=walltime or 0)


def _run(script: str, arguments: Sequence[str], *, login: bool) -> str:
    """Return the words that run the script as the kernel would, from a file that need not be executable."""
    found = SHEBANG.match(script)
    interpreter = [found[1], *([found[2]] if found[2] else [])] if found else ["/bin/sh"]
    words = [*(shlex.quote(word) for word in interpreter), '"$script"', *(shlex.quote(word) for word in arguments)]
    command = " ".join(words)
    if not login:
        return command
    return f"/bin/bash -l -c 'exec \"$@\"' bash {command}"


def calling(words: Sequence[str]) -> str:
    """Return a script that becomes the program *words*."""
    return f"#!/bin/sh\nexec {' '.join(shlex.quote(word) for word in words)}\n"
