"""The certifier's numbers on Spark beside Spark SQL alone and the native certifier in one process, on one generated trace.

python benches/spark_dependencies.py --transactions 1000000 2000000 --keys 6 --barriers 0.001
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from process_tree import PeakMemory
from spark.oracles import in_sql

from paraply import Certifier
from paraply.spark import dependencies, session

FILES = 8


def main() -> None:
    """Generates traces, computes their numbers in each way, compares the sums and prints the seconds as JSON, one line a size."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--transactions", type=int, nargs="+", default=[1_000_000])
    options.add_argument("--keys", type=int, default=6)
    options.add_argument("--barriers", type=float, default=0.001)
    options.add_argument("--ways", nargs="+", default=list(WAYS), choices=WAYS)
    options.add_argument("--memory", default="4g", help="of Spark's driver")
    given = options.parse_args()
    with PeakMemory() as memory:
        spark = session("bench", where="local[2]", spark__driver__memory=given.memory, spark__ui__enabled="false")
        spark.conf.set("spark.sql.shuffle.partitions", "8")
        for transactions in given.transactions:
            with tempfile.TemporaryDirectory() as folder:
                write(Path(folder), transactions, given.keys, given.barriers)
                measure(spark.read.parquet(folder), Path(folder), given, transactions)
            print(json.dumps({"peak_megabytes_so_far": round(memory.peak / 1e6)}), flush=True)
        spark.stop()


def measure(trace: Any, folder: Path, given: argparse.Namespace, transactions: int) -> None:
    """Each way once, after a small job that wakes Spark up."""
    trace.limit(10).collect()
    seconds, answers = {}, {}
    for name in given.ways:
        started = time.monotonic()
        answers[name] = WAYS[name](trace, folder)
        seconds[name] = round(time.monotonic() - started, 2)
    result: dict[str, Any] = {"transactions": transactions, "keys": given.keys, "barriers": given.barriers}
    result |= {"equal": len(set(answers.values())) == 1, "seconds": seconds}
    if "sql" in seconds and "ours" in seconds:
        result["ours_to_sql"] = round(seconds["sql"] / seconds["ours"], 2)
    print(json.dumps(result), flush=True)


def write(folder: Path, transactions: int, keys: int, barriers: float) -> None:
    """Writes the trace: keys of which few are hot."""
    choose = np.random.default_rng(1)
    size = transactions // FILES
    for place in range(FILES):
        hot = choose.zipf(1.2, size * keys) % (1 << 20)
        cold = choose.integers(1 << 21, 1 << 60, size * keys)
        hashes = np.where(choose.random(size * keys) < 0.3, hot, cold)
        offsets = np.arange(0, size * keys + 1, keys, dtype=np.int32)
        lists = pa.ListArray.from_arrays(pa.array(offsets), pa.array(hashes, pa.int64()))
        empty = pa.ListArray.from_arrays(pa.array(np.zeros(size + 1, dtype=np.int32)), pa.array([], pa.int64()))
        columns = {
            "position": pa.array(np.arange(place * size + 1, (place + 1) * size + 1)),
            "kind": pa.array(["dml"] * size),
            "write_set": lists,
            "reads": empty,
            "barrier": pa.array(choose.random(size) < barriers),
        }
        pq.write_table(pa.table(columns), folder / f"{place}.parquet", compression="zstd", row_group_size=65_536)


def sums(numbers: Any) -> tuple[int, int]:
    """Both columns added up: two ways that differ anywhere hardly agree here."""
    row = numbers.selectExpr(
        "sum(computed_last_committed * (position % 1009))", "sum(computed_sequence_number * (position % 1013))"
    ).first()
    return int(row[0]), int(row[1])


def native(folder: Path) -> tuple[int, int]:
    """The native certifier over all files in order."""
    certifier = Certifier()
    last = sequence = position = 0
    for place in range(FILES):
        answer = certifier.certify_batch(pq.read_table(folder / f"{place}.parquet", columns=["write_set", "barrier"]).combine_chunks())
        places = np.arange(position + 1, position + answer.num_rows + 1)
        last += int((answer["last_committed"].to_numpy() * (places % 1009)).sum())
        sequence += int((answer["sequence_number"].to_numpy() * (places % 1013)).sum())
        position += answer.num_rows
    return last, sequence


def sorted_by_numpy(folder: Path) -> tuple[int, int]:
    """All touches sorted by key and position, in one process: the touch before each, and the newest of these for each transaction."""
    tables = [pq.read_table(folder / f"{place}.parquet", columns=["position", "write_set", "barrier"]) for place in range(FILES)]
    table = pa.concat_tables(tables).combine_chunks()
    lists = table["write_set"].chunk(0)
    counts = np.diff(lists.offsets.to_numpy())
    positions = table["position"].to_numpy()
    barriers = table["barrier"].to_numpy(zero_copy_only=False)
    keys, owners = lists.values.to_numpy(), np.repeat(positions, counts)
    order = np.argsort(keys, kind="stable")
    keys, owners = keys[order], owners[order]
    before = np.zeros(len(keys), dtype=np.int64)
    before[1:] = np.where(keys[1:] == keys[:-1], owners[:-1], 0)
    own = before == owners  # a key that a transaction names twice: its first touch knows who was before
    before[own] = 0
    newest = np.zeros(len(positions) + 1, dtype=np.int64)
    np.maximum.at(newest, owners, before)
    floor = np.zeros(len(positions) + 1, dtype=np.int64)
    floor[1:] = np.maximum.accumulate(np.where(barriers, positions, 0))
    last = np.where(barriers, positions, np.maximum.reduce([newest[positions] + 1, floor[positions - 1] + 1, np.ones_like(positions)]))
    sequence = positions + 1
    last[0] = sequence[0] = 0
    return int((last * (positions % 1009)).sum()), int((sequence * (positions % 1013)).sum())


WAYS: dict[str, Callable[[Any, Path], tuple[int, int]]] = {
    "ours": lambda trace, _: sums(dependencies(trace, scheme="group")),
    "ours, positions mixed": lambda trace, _: sums(dependencies(trace.repartition(8), scheme="group")),
    "native": lambda _, folder: native(folder),
    "numpy": lambda _, folder: sorted_by_numpy(folder),
    "sql": lambda trace, _: sums(in_sql(trace)),
}

if __name__ == "__main__":
    main()
