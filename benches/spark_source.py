"""Reading a large log with the data source on one core and on two, and row changes beside another decoder.

python benches/spark_source.py LOG --bytes 1000000000
python benches/spark_source.py LOG --peer   (needs `pip install mysql-replication`)
python benches/spark_source.py LOG --alone --bytes 200000000

The log is repeated: its transactions follow one another again with other GTIDs and positions until the file is large enough. A number of
cores means that all processes of Spark, the JVM and Python's workers, are bound to them. The JVM has the same collector on one core, where
it would choose a simpler one, as on two. Every session reads the original log once before the clock starts; seconds are those of reading
the large log into nothing, medians of --rounds sessions taken in turn.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from process_tree import PeakMemory, processor_seconds
from repeated_log import repeat

import paraply
from paraply.spark import session

SETTINGS = {"spark__driver__memory": "4g", "spark__ui__enabled": "false", "spark__driver__defaultJavaOptions": "-XX:+UseG1GC"}


def main() -> None:
    """Print the seconds of each variant as JSON, one line for each."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("log", type=Path)
    options.add_argument("--bytes", type=int, default=1_000_000_000)
    options.add_argument("--split", default="32m")
    options.add_argument("--cores", type=int, nargs="+", default=[1, 2])
    options.add_argument("--modes", nargs="+", default=["transactions", "rows"])
    options.add_argument("--rounds", type=int, default=1)
    options.add_argument("--large", type=Path, help="the large log, kept between runs")
    options.add_argument("--peer", action="store_true", help="compare with python-mysql-replication, on the log itself")
    options.add_argument("--alone", action="store_true", help="compare mode rows with paraply.rows in one process, in CPU seconds")
    options.add_argument("--only", nargs=2, metavar=("MODE", "CORES"), help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.peer:
        beside_the_peer(given.log, given.rounds)
    elif given.only is not None:
        print(json.dumps(read(given.log, given.large, given.only[0], int(given.only[1]), given.split)))
    else:
        with tempfile.TemporaryDirectory() as folder:
            large = given.large or Path(folder) / "binlog.000001"
            if not large.exists():
                repeat(given.log, large, given.bytes)
            if given.alone:
                print(json.dumps(beside_one_process(given, large)), flush=True)
                return
            for mode in given.modes:
                print(json.dumps(compare(given, large, mode)), flush=True)


def compare(given: argparse.Namespace, large: Path, mode: str) -> dict[str, Any]:
    """Measure one mode on each number of cores, each in a process of its own."""
    seconds: dict[int, list[float]] = {cores: [] for cores in given.cores}
    peaks, rows = dict.fromkeys(given.cores, 0), set()
    for _ in range(given.rounds):
        for cores in given.cores:
            command = [sys.executable, __file__, str(given.log), "--large", str(large), "--split", given.split, "--only", mode, str(cores)]
            found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            seconds[cores].append(found["seconds"])
            peaks[cores] = max(peaks[cores], found["peak_megabytes"])
            rows.add(found["rows"])
    medians = {cores: round(statistics.median(each), 2) for cores, each in seconds.items()}
    result: dict[str, Any] = {"mode": mode, "bytes": large.stat().st_size, "rows": sorted(rows), "seconds": medians}
    if 1 in medians and 2 in medians:
        result["two_to_one"] = round(medians[1] / medians[2], 2)
    return result | {"peak_megabytes": peaks}


def read(log: Path, large: Path, mode: str, cores: int, split: str) -> dict[str, Any]:
    """Return the seconds of reading a log in a session of so many cores, and the number of rows."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    with PeakMemory() as memory:
        spark = session("bench", where=f"local[{cores}]", **SETTINGS)
        source = spark.read.format("binlog").options(mode=mode, split=split)
        source.option("split", "2m").load(str(log)).write.format("noop").mode("overwrite").save()
        rows = source.option("split", split).option("columns", "position").load(str(large))
        frame = spark.read.format("binlog").options(mode=mode, split=split).load(str(large))
        memory.restart()
        started, used = time.monotonic(), processor_seconds()
        frame.write.format("noop").mode("overwrite").save()
        seconds, used = time.monotonic() - started, processor_seconds() - used
        found = {"seconds": seconds, "processor_seconds": used, "rows": rows.count(), "peak_megabytes": round(memory.peak / 1e6)}
        spark.stop()
    return found


def beside_one_process(given: argparse.Namespace, large: Path) -> dict[str, Any]:
    """Measure mode rows on Spark, and ``paraply.rows`` in one process, on the same log in turn, in CPU seconds of all processes."""
    sum(batch.num_rows for batch in paraply.rows(given.log))
    alone, spark = [], []
    for _ in range(given.rounds):
        command = [sys.executable, __file__, str(given.log), "--large", str(large), "--split", given.split, "--only", "rows", "2"]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        spark.append(found["processor_seconds"])
        started = time.process_time()
        rows = sum(batch.num_rows for batch in paraply.rows(large))
        alone.append(time.process_time() - started)
    ratio = round(statistics.median(one / other for one, other in zip(spark, alone, strict=True)), 2)
    seconds = [round(statistics.median(each), 2) for each in (spark, alone)]
    return {"alone": True, "rows": rows, "spark_rows": found["rows"], "processor_seconds": seconds, "ratio": ratio}


def beside_the_peer(log: Path, rounds: int) -> None:
    """Measure row changes of one log, by paraply in one process and by python-mysql-replication, in turn; both use one core.

    The figures are CPU times of this process, without the imports of either.
    """
    import pyarrow as pa
    from peer_rows import count_rows

    pa.array([1])
    sum(batch.num_rows for batch in paraply.rows(log))
    own_seconds, other_seconds = [], []
    for _ in range(rounds):
        started = time.process_time()
        rows = sum(batch.num_rows for batch in paraply.rows(log))
        own_seconds.append(time.process_time() - started)
        started = time.process_time()
        others = count_rows(log)
        other_seconds.append(time.process_time() - started)
    seconds = [round(statistics.median(own_seconds), 3), round(statistics.median(other_seconds), 2)]
    ratio = statistics.median(other / own for own, other in zip(own_seconds, other_seconds, strict=True))
    print(json.dumps({"rows": rows, "peer_rows": others, "processor_seconds": seconds, "ratio": round(ratio, 1)}))


if __name__ == "__main__":
    main()
