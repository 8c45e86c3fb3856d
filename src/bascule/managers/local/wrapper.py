"""
The wrapper: a few lines of POSIX sh around a job's program.

It leads the job's session, starts the program as its only child, and leaves behind
what became of it; no process of Bascule needs to live meanwhile. It uses nothing but
what is built into the shell, so that a job's PATH or a full process table cannot break
it. Its files end their line with a dot: a line without one is torn.

``begun.N``    who the wrapper of launch N is; made exclusively, so it is also the fence
``start.N``    who the program is; written by the very process that becomes the program
``outside.N``  which cgroups could not be entered
``failed.N``   the program could not be executed
``shell.N``    what the shell says of its child: "Terminated" and the like
``result.N``   exit status as the shell sees it, and whether the shell said something
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

TEXT = r"""# Runs one job and leaves behind what became of it:
#   sh wrapper FOLDER LAUNCH BOOT [CGROUP.PROCS...] -- PROGRAM [ARGUMENT...]
folder=$1 n=$2 boot=$3
shift 3

# Whatever is sent to the whole session is for the job: a trap keeps the wrapper, and its child gets the default back.
trap : HUP INT QUIT PIPE ALRM TERM USR1 USR2

birth() {
    read -r stat </proc/self/stat
    pid=${stat%% *}
    set -- ${stat##*) }
    echo "$pid ${20} $boot ."
}

# Noclobber creates files exclusively: of all who try to begin a launch, one gets past this line.
set -C
{ birth >"$folder/begun.$n"; } 2>/dev/null || exit 1

# The shell's own words go to a file of its own, apart from the job's.
exec 3>&2 2>|"$folder/shell.$n"
(
    birth >"$folder/start.$n" || exit 1
    while [ "$1" != -- ]; do
        { echo 0 >|"$1"; } 2>/dev/null || echo "$1" >>"$folder/outside.$n"
        shift
    done
    shift
    # A shell that cannot execute it leaves, and runs the trap. Only bash drops the trap, and must not be a subshell.
    trap 'echo "$? ." >"$folder/failed.$n"' EXIT
    if command -v shopt >/dev/null; then
        set -- "$BASH" -c 'shopt -s execfail; exec "$@"; set -- "$?"; echo "$1 ." >"$0"; exit "$1"' "$folder/failed.$n" "$@"
    fi
    exec "$@"
) 2>&3 3>&-
code=$?

# $? is 143 for `exit 143` and for SIGTERM; only for a signal the shell says something.
[ -s "$folder/shell.$n" ] && said=1 || said=0
until echo "$code $said ." >|"$folder/result.$n"; do
    /bin/sleep 1 || exit 1
done
"""


def install(place: Path) -> Path:
    """Make sure that the wrapper lies in *place*; its name changes with its text, as running shells read on in it."""
    digest = hashlib.sha256(TEXT.encode()).hexdigest()[:8]
    path = place / f"wrapper-{digest}.sh"
    if not path.exists():
        torn = path.with_suffix(f".{os.getpid()}")
        torn.write_text(TEXT)
        torn.rename(path)
    return path
