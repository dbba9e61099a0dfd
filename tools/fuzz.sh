#!/bin/sh
# Runs a fuzz target of rust/fuzz under libFuzzer: fuzz.sh TARGET SECONDS. Logs begin with the fixtures; what it finds stays in
# target/fuzz. PARAPLY_FUZZ_CORPUS names a folder with further logs.
set -eu
target=$1 seconds=$2
root=$(cd "$(dirname "$0")/.." && pwd)
corpus=$root/target/fuzz/$target/corpus found=$root/target/fuzz/$target/found/
mkdir -p "$corpus" "$found"
set -- "$corpus"
if [ "$target" = read_log ]; then set -- "$@" "$root/rust/binlog/tests/data" "$root/tests/data/errors"; fi
# One crate a folder: cargo-fuzz reads the manifest of the folder that it is called in.
cd "$root/rust/fuzz"
exec cargo +nightly fuzz run "$target" "$@" ${PARAPLY_FUZZ_CORPUS:+"$PARAPLY_FUZZ_CORPUS"} -- \
  -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -malloc_limit_mb=512 -max_len=200000 -artifact_prefix="$found"
