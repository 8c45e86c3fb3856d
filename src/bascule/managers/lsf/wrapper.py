"""
The wrapper: some lines of sh that carry a script along, byte for byte, and run it.

It is the one file of ours in a job's folder, always there, since LSF alone would keep the
output to itself until the end, put a report of its own into it, and say of a signal and of
an exit code above 128 the same. It writes down start and end, and outlives us.
"""

from __future__ import annotations

import base64
import re
import shlex
from collections.abc import Mapping, Sequence

NAME = "bascule.sh"
REPORT = "bascule.lsf"
"""LSF's own words: what it prints at the end of a job, and what the wrapper could not do."""
SHEBANG = re.compile(r"#!\s*(\S+)[ \t]*([^\n]*?)\s*(?:\n|$)")
END = "END_OF_SCRIPT"
CANNOT = 125

_TEXT = """\
#!/bin/sh
# {note}
# Bascule carries the script along as it was written, in the lines at the end, and runs it.
here=$(pwd)
task=${{LSB_JOBINDEX:-0}}
script=$here/bascule.script.$task
note() {{ echo "$2 ." >"$here/bascule.new.$1.$task" && mv -f "$here/bascule.new.$1.$task" "$here/bascule.$1.$task"; }}
cannot() {{ note failed "$1"; echo "bascule: $1" >&2; exit {cannot}; }}
{secrets}rm -f "$here/bascule.result.$task" "$here/bascule.failed.$task"
mask=$(umask)
umask 077
base64 -d >"$script" <<'{end}' || cannot "the script could not be written into $here"
{script}{end}
umask "$mask"
{environment}{inputs}{folder}{brought}output={output}
error={error}
if [ ! -e "$here/bascule.start.$task" ]; then
    {{ true >"$output"; }} 2>/dev/null || cannot "the output $output could not be written"
    {{ true >"$error"; }} 2>/dev/null || cannot "the error output $error could not be written"
fi
note start "${{LSB_JOBID:-0}} $(date +%s)"
# What is sent to the whole job is for the script: a trap keeps the wrapper, and the script gets the default back.
trap : HUP INT QUIT ALRM TERM USR1 USR2
# The shell says something of a child that a signal ended, and nothing of one that left with 143 by itself.
exec 3>&2 2>"$here/bascule.said.$task"
( exec {run} >>"$output" 2>>"$error" 3>&- )
code=$?
exec 2>&3 3>&-
if [ "$code" -gt 128 ] && [ -s "$here/bascule.said.$task" ]; then signal=$((code - 128)); else signal=0; fi
rm -f "$script" "$here/bascule.said.$task"{removed}
note result "${{LSB_JOBID:-0}} $(date +%s) $code $signal"
if [ "$signal" -gt 0 ]; then
    trap - HUP INT QUIT ALRM TERM USR1 USR2
    kill -s "$signal" $$
fi
exit "$code"
"""


def wrapped(
    script: str,
    arguments: Sequence[str],
    *,
    environment: Mapping[str, str],
    secrets: Mapping[str, str],
    folder: str,
    output: str,
    error: str,
    inputs: Mapping[str, int],
    is_array: bool,
    note: str = "bascule",
) -> str:
    """
    Return the wrapper of *script*.

    *folder* is where it runs, empty for the job's own; *inputs* are files, and their sizes,
    that must have come before it starts, *note* is for us to find it again by. A file with *secrets* is removed when it is over,
    unless other tasks of an array still need it.
    """
    body = base64.encodebytes(script.encode()).decode()
    return _TEXT.format(
        note=note,
        cannot=CANNOT,
        end=END,
        secrets=f'chmod go-rwx "$here/{NAME}"\n' if secrets else "",
        script=body,
        environment="".join(
            f"export {name}={shlex.quote(text)}\n" for name, text in {**environment, **secrets}.items()
        ),
        inputs="".join(_needed(name, size) for name, size in inputs.items()),
        folder=f'cd {shlex.quote(folder)} || cannot "the folder {_plain(folder)} is not there"\n' if folder else "",
        brought="".join(f'cp "$here/{name}" . || cannot "{name} could not be copied"\n' for name in inputs if folder),
        output=_file(output),
        error=_file(error),
        run=_run(script, arguments),
        removed=f' "$here/{NAME}"' if secrets and not is_array else "",
    )


def note_line(text: str) -> str:
    """Return the note in a wrapper; empty where there is none."""
    lines = text[:8192].split("\n", 2)
    return lines[1].removeprefix("# ") if len(lines) > 1 and lines[1].startswith("# ") else ""


def calling(words: Sequence[str]) -> str:
    """Return a script that becomes the program *words*."""
    return f"#!/bin/sh\nexec {' '.join(shlex.quote(word) for word in words)}\n"


def filled(name: str, *, job: str, index: int | None) -> str:
    """Return the name of an output file with LSF's patterns ``%J`` and ``%I`` filled in."""
    return name.replace("%J", job).replace("%I", str(index or 0))


def _file(name: str) -> str:
    """Return a file's name as sh reads it: patterns become variables, what is relative lies where the script runs."""
    parts = re.split(r"(%J|%I)", name)
    words = {"%J": '"${LSB_JOBID:-0}"', "%I": '"$task"'}
    return "".join(words.get(part) or shlex.quote(part) for part in parts if part)


def _needed(name: str, size: int) -> str:
    at = f'"$here/{name}"'
    return f'[ "$(wc -c <{at} 2>/dev/null || echo 0)" -eq {size} ] || cannot "the input {name} has not come whole"\n'


def _plain(text: str) -> str:
    return re.sub(r"[^\w/.,+@%-]", "?", text)


def _run(script: str, arguments: Sequence[str]) -> str:
    """Return the words that run the script as the kernel would, from a file that need not be executable."""
    found = SHEBANG.match(script)
    interpreter = [found[1], *([found[2]] if found[2] else [])] if found else ["/bin/sh"]
    return " ".join([*map(shlex.quote, interpreter), '"$script"', *map(shlex.quote, arguments)])
