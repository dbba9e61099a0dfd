#!/bin/sh
# Installs the built wheel into an empty environment and uses it where no checkout is in sight.
set -eu
python=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
wheel=$(ls "$PWD"/target/wheels/paraply-*.whl)
log=$PWD/tests/data/demo.relay.xz
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check "$wheel"
cd "$folder"
xz --decompress --stdout "$log" > demo.relay
"$folder/venv/bin/paraply" --version
"$folder/venv/bin/paraply" verify demo.relay
"$folder/venv/bin/paraply" demo --workers 2
