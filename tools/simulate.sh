#!/bin/sh
# Simulate whole lives of jobs, each from a seed, on all cores; docs/reliability.md says what that shows.
# Stopped and started again, it goes on where it was. Run by `make simulate SEEDS=100000`.
#
# usage: tools/simulate.sh PYTHON FOLDER SEEDS [FROM [ONE]]
set -eu

cd "$(dirname "$0")/.."
python=$1
folder=$2
seeds=$3
first=${4:-0}
one=${5:-}

bin=$("$python" tools/environment.py test)
if [ -n "$one" ]; then
    PYTHONPATH=src:. exec "$bin/python" -m tests.simulation --seed "$one"
fi
mkdir -p "$folder"
# What was found with other code says nothing about this one.
code=$(cat $(git ls-files src tests/simulation tests/fakes) | cksum | tr ' ' -)
PYTHONPATH=src:. exec "$bin/python" -m tests.simulation \
    --seeds "$seeds" --from "$first" --state "$folder/simulation-$first-$code.json"
