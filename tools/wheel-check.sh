#!/bin/sh
# Install the built wheel into an empty environment and use it outside of the checkout.
#   tools/wheel-check.sh PYTHON [FOLDER]
set -eu
python=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
wheel=$(ls "$PWD/${2:-target/wheels}"/paraply-*.whl)
log=$PWD/tests/data/demo.relay.xz
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$python" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check "$wheel"
"$folder/venv/bin/paraply" --version
"$folder/venv/bin/paraply" demo 2>&1 | grep -F "pip install 'paraply[embedded]'"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check "$wheel[embedded]"
cd "$folder"
xz --decompress --stdout "$log" > demo.relay
"$folder/venv/bin/paraply" verify demo.relay
"$folder/venv/bin/paraply" demo --workers 2
