#!/bin/sh
# Pin and hash what pyproject.toml asks for, for every platform and every supported
# Python, without any index address. Run by `make lock`.
#
# usage: tools/lock.sh PYTHON
set -eu

cd "$(dirname "$0")/.."
bin=$("$1" tools/environment.py lock)

compile() { # compile OUTPUT [OPTION...]
    output=$1
    shift
    echo "lock: $output"
    "$bin/uv" pip compile "$@" --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
        --no-annotate --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" \
        --output-file "$output"
}

# First what users get; the others must agree with it.
compile requirements/run.txt pyproject.toml
compile requirements/build.txt --group build --constraint requirements/run.txt
compile requirements/test.txt pyproject.toml --constraint requirements/run.txt \
    --group tests --group lint --group typing --group docs --group build
compile requirements/lock.txt --group lock
compile requirements/ray.txt --group ray
# An environment of its own: the gateway with its simulator, and the official client that the tests point at it.
compile requirements/quantum.txt pyproject.toml --constraint requirements/run.txt --extra quantum --group quantum
