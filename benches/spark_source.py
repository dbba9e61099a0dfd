"""Reading a large log with the data source on one core and on two, and row changes beside another decoder.

python benches/spark_source.py LOG --bytes 1000000000
python benches/spark_source.py LOG --peer   (needs `pip install mysql-replication`)

The log is repeated: its transactions follow one another again under other GTIDs and positions until the file is large enough.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from process_tree import PeakMemory
from repeated_log import repeat

import paraply
from paraply.spark import session


def main() -> None:
    """Prints the seconds of each way as JSON, one line a way."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("log", type=Path)
    options.add_argument("--bytes", type=int, default=1_000_000_000)
    options.add_argument("--split", default="64m")
    options.add_argument("--cores", type=int, nargs="+", default=[1, 2])
    options.add_argument("--modes", nargs="+", default=["transactions", "rows"])
    options.add_argument("--peer", action="store_true", help="beside python-mysql-replication, on the log itself")
    given = options.parse_args()
    if given.peer:
        beside_the_peer(given.log)
        return
    with tempfile.TemporaryDirectory() as folder, PeakMemory() as memory:
        large = Path(folder) / "binlog.000001"
        repeat(given.log, large, given.bytes)
        for mode in given.modes:
            seconds = {}
            for cores in given.cores:
                seconds[cores], rows = read(large, mode, cores, given.split)
            result: dict[str, Any] = {"mode": mode, "bytes": large.stat().st_size, "rows": rows, "seconds": seconds}
            if 1 in seconds and 2 in seconds:
                result["two_to_one"] = round(seconds[1] / seconds[2], 2)
            result["peak_megabytes_so_far"] = round(memory.peak / 1e6)
            print(json.dumps(result), flush=True)


def read(log: Path, mode: str, cores: int, split: str) -> tuple[float, int]:
    """Seconds of reading a log in a session of so many cores, and rows."""
    spark = session("bench", where=f"local[{cores}]", spark__driver__memory="4g", spark__ui__enabled="false")
    frame = spark.read.format("binlog").options(mode=mode, split=split).load(str(log))
    spark.range(100).mapInArrow(lambda batches: batches, "id bigint").count()  # Python is up
    started = time.monotonic()
    frame.write.format("noop").mode("overwrite").save()
    seconds = round(time.monotonic() - started, 2)
    rows = frame.count()
    spark.stop()
    return seconds, rows


def beside_the_peer(log: Path) -> None:
    """Row changes of one log, by paraply in one process and by python-mysql-replication; both use one core, so its seconds are compared."""
    started = time.process_time()
    rows = sum(batch.num_rows for batch in paraply.rows(log))
    ours = time.process_time() - started
    from peer_rows import count_rows

    started = time.process_time()
    others = count_rows(log)
    theirs = time.process_time() - started
    result = {"rows": rows, "peer_rows": others, "processor_seconds": [round(ours, 3), round(theirs, 2)], "ratio": round(theirs / ours, 1)}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
