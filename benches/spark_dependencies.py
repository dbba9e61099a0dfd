"""The certifier's numbers on Spark, beside Spark SQL, a numpy sort and the native certifier in one process, on one generated trace.

python benches/spark_dependencies.py --transactions 1000000 2000000 --keys 6 --barriers 0.001

Every variant runs once on a small trace first, so that none pays for the start of Python's workers or of compiled plans, and then --rounds
times in turn; seconds are medians. Without barriers Spark SQL runs its shorter query.
"""

from __future__ import annotations

import argparse
import json
import statistics
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
from spark.oracles import in_sql, in_sql_without_barriers

from paraply import Certifier
from paraply.spark import dependencies, session

FILES = 8
WARM = 40_000 * FILES


def main() -> None:
    """Generate traces, compute their numbers in each variant, compare the sums, and print the seconds as JSON, one line for each size."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--transactions", type=int, nargs="+", default=[1_000_000])
    options.add_argument("--keys", type=int, default=6)
    options.add_argument("--barriers", type=float, default=0.001)
    options.add_argument("--ways", nargs="+", default=list(WAYS), choices=WAYS)
    options.add_argument("--rounds", type=int, default=1)
    options.add_argument("--partitions", type=int, default=8, help="partitions of a shuffle of Spark SQL")
    options.add_argument("--folder", type=Path, help="folder that keeps the traces between runs")
    options.add_argument("--memory", default="4g", help="memory of Spark's driver")
    given = options.parse_args()
    with PeakMemory() as memory:
        spark = session("bench", where="local[2]", spark__driver__memory=given.memory, spark__ui__enabled="false")
        spark.conf.set("spark.sql.shuffle.partitions", str(given.partitions))
        with tempfile.TemporaryDirectory() as temporary:
            for transactions in [WARM, *given.transactions]:
                folder = made(given.folder or Path(temporary), transactions, given.keys, given.barriers)
                result = measure(spark.read.parquet(str(folder)), folder, given, memory)
                if transactions != WARM:
                    print(json.dumps({"transactions": transactions, "keys": given.keys, "barriers": given.barriers} | result), flush=True)
        spark.stop()


def made(parent: Path, transactions: int, keys: int, barriers: float) -> Path:
    """Return the folder of a trace, which is written unless it exists."""
    folder = parent / f"trace-{transactions}-{keys}-{barriers}"
    if not folder.exists():
        unfinished = folder.with_suffix(".unfinished")
        unfinished.mkdir()
        write(unfinished, transactions, keys, barriers)
        unfinished.rename(folder)
    return folder


def measure(trace: Any, folder: Path, given: argparse.Namespace, memory: PeakMemory) -> dict[str, Any]:
    """Measure each variant in turn: equality of the results, median seconds, and peak memory."""
    seconds: dict[str, list[float]] = {name: [] for name in given.ways}
    peaks, answers = dict.fromkeys(given.ways, 0), set()
    for _ in range(given.rounds):
        for name in given.ways:
            memory.restart()
            started = time.monotonic()
            answers.add(WAYS[name](trace, folder, given.barriers))
            seconds[name].append(time.monotonic() - started)
            peaks[name] = max(peaks[name], memory.peak)
    medians = {name: round(statistics.median(each), 2) for name, each in seconds.items()}
    result: dict[str, Any] = {"equal": len(answers) == 1, "seconds": medians}
    if "sql" in medians and "ours" in medians:
        result["ours_to_sql"] = round(medians["sql"] / medians["ours"], 2)
    return result | {"peak_megabytes": {name: round(peak / 1e6) for name, peak in peaks.items()}}


def write(folder: Path, transactions: int, keys: int, barriers: float) -> None:
    """Write the trace: keys of which few are hot."""
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
    """Return checksums of both columns: two variants with any difference hardly agree here."""
    row = numbers.selectExpr(
        "sum(computed_last_committed * (position % 1009))", "sum(computed_sequence_number * (position % 1013))"
    ).first()
    return int(row[0]), int(row[1])


def native(folder: Path) -> tuple[int, int]:
    """Run the native certifier over all files in order."""
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
    """Sort all uses of keys by key and position in one process, and find the newest earlier use for each transaction."""
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
    own = before == owners  # a key used twice by a transaction: only its first use counts
    before[own] = 0
    newest = np.zeros(len(positions) + 1, dtype=np.int64)
    np.maximum.at(newest, owners, before)
    floor = np.zeros(len(positions) + 1, dtype=np.int64)
    floor[1:] = np.maximum.accumulate(np.where(barriers, positions, 0))
    last = np.where(barriers, positions, np.maximum.reduce([newest[positions] + 1, floor[positions - 1] + 1, np.ones_like(positions)]))
    sequence = positions + 1
    last[0] = sequence[0] = 0
    return int((last * (positions % 1009)).sum()), int((sequence * (positions % 1013)).sum())


def by_sql(trace: Any, _: Path, barriers: float) -> tuple[int, int]:
    """Run the query that the trace needs."""
    return sums(in_sql(trace) if barriers else in_sql_without_barriers(trace))


WAYS: dict[str, Callable[[Any, Path, float], tuple[int, int]]] = {
    "ours": lambda trace, _, __: sums(dependencies(trace, scheme="group")),
    "ours, positions mixed": lambda trace, _, __: sums(dependencies(trace.repartition(8), scheme="group")),
    "native": lambda _, folder, __: native(folder),
    "numpy": lambda _, folder, __: sorted_by_numpy(folder),
    "sql": by_sql,
}

if __name__ == "__main__":
    main()
