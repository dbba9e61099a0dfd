"""The certifier's numbers on Spark beside Spark SQL alone and the native certifier in one process, on one generated trace.

python benches/spark_dependencies.py --transactions 1000000 --keys 6 --barriers 0.001
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

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from spark.oracles import in_sql

from paraply import Certifier
from paraply.spark import dependencies, session

FILES = 8


def main() -> None:
    """Generates a trace, computes its numbers in each way, compares the sums and prints the seconds as JSON."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--transactions", type=int, default=1_000_000)
    options.add_argument("--keys", type=int, default=6)
    options.add_argument("--barriers", type=float, default=0.001)
    options.add_argument("--skip-sql", action="store_true")
    given = options.parse_args()
    spark = session("bench", where="local[2]", spark__driver__memory="6g", spark__ui__enabled="false")
    spark.conf.set("spark.sql.shuffle.partitions", "8")
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), given.transactions, given.keys, given.barriers)
        trace = spark.read.parquet(folder)
        trace.limit(10).collect()
        ways: dict[str, Callable[[], Any]] = {
            "ours": lambda: sums(dependencies(trace, scheme="group")),
            "ours, positions mixed": lambda: sums(dependencies(trace.repartition(8), scheme="group")),
            "native certifier, one process": lambda: native(Path(folder)),
        }
        if not given.skip_sql:
            ways["Spark SQL alone"] = lambda: sums(in_sql(trace))
        seconds, answers = {}, {}
        for name, way in ways.items():
            started = time.monotonic()
            answers[name] = way()
            seconds[name] = round(time.monotonic() - started, 2)
    equal = len(set(answers.values())) == 1
    print(
        json.dumps({"transactions": given.transactions, "keys": given.keys, "barriers": given.barriers, "equal": equal, "seconds": seconds})
    )
    spark.stop()


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


if __name__ == "__main__":
    main()
