#!/bin/sh
# Install Bascule into a folder of its own and run a job on this machine, with its output
# as it appears. Nothing outside the folder is touched. Run by `make demo`.
#
# usage: tools/demo.sh PYTHON FOLDER
set -eu

cd "$(dirname "$0")/.."
tree=$PWD
python=$1
folder=$2

say_that_it_works() { # until it is ended
    seconds=0
    while sleep 4 >/dev/null 2>&1; do
        seconds=$((seconds + 4))
        echo "demo: installing, for $seconds s so far" >&2
    done
}

say_that_it_works &
saying=$!
trap 'kill "$saying" 2>/dev/null || true' EXIT
bin=$("$python" tools/environment.py run build --into "$folder/venv")
"$bin/python" -m pip --quiet --no-input --disable-pip-version-check install \
    --no-deps --no-build-isolation --no-index --force-reinstall .
kill "$saying" 2>/dev/null || true
trap - EXIT

cd "$folder" # the job's output files belong here, not into the tree
BASCULE_HOME=$PWD/home
export BASCULE_HOME
name=demo-$(date +%s) # a new job each time: under the same name, `run` attaches to the old one

show() { # show COMMAND...: as a person would type it
    printf '\n$ %s\n' "$*"
    "$@"
}

PATH=$bin:$PATH
show bascule run "$tree/examples/hello.sh" --name "$name"
show bascule get jobs
show bascule describe job "$name"

cat <<END

That was a job on this machine. To type the command yourself, in this shell:

    export PATH="$bin:\$PATH"

and go on with docs/start.md: five minutes, slowly.
END
