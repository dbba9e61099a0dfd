#!/bin/bash -eu
# Builds the targets of rust/fuzz, each with the seeds that tools/fuzz.sh gives it.
cd "$SRC/paraply/rust/fuzz"
cargo fuzz build -O --debug-assertions
for target in fuzz_targets/*.rs; do
  name=$(basename "$target" .rs)
  cp "target/x86_64-unknown-linux-gnu/release/$name" "$OUT/"
done
zip -q -j "$OUT/read_log_seed_corpus.zip" ../binlog/tests/data/*.0* ../binlog/tests/data/*.binlog ../../tests/data/errors/*.binlog
cp read_log.dict "$OUT/"
