"""Writer of ``docs/reference/spark-speed.md`` from the output of Spark's benches.

Run as ``python tools/spark_speed.py FILE...``: the files hold lines of ``benches/spark_dependencies.py`` and ``benches/spark_source.py``,
of any number of runs; of two lines with the same parameters the last counts.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "spark-speed.md"
HEAD = """# Speed on Spark

`tools/spark_speed.py` writes this page from the output of the benches below. Measured on 2026-11-22 with PySpark in `local[2]` on two
cores, with 4 GB for the JVM. Each job runs once on a small trace or log before the measurement. The figures of one row come from one
session on the same files. *Memory* is the maximum of the whole process tree with the JVM and Python's workers; most of it is heap that the
JVM does not return. Other machines give other seconds; compare the ratios.

```
python benches/spark_dependencies.py --transactions 1000000 --rounds 3 --barriers 0.001
python benches/spark_dependencies.py --transactions 1000000 --rounds 3 --barriers 0
python benches/spark_dependencies.py --transactions 1000000 2000000 4000000 8000000 16000000 --ways ours native
python benches/spark_source.py binlog.000001 --bytes 1000000000
python benches/spark_source.py binlog.000001 --peer
python benches/spark_source.py binlog.000001 --alone --bytes 200000000 --rounds 3
python tools/spark_speed.py FILE...
```
"""
WAYS = """
## Dependencies

Seconds for generated traces with 6 keys a transaction, three tenths of them hot, with one barrier in 1,000 transactions or none. All gave
the same numbers.

| column | meaning |
|---|---|
| ours | `paraply.spark.dependencies` |
| SQL | Spark SQL alone: `lag` over each key, the newest for each transaction, and a running maximum over barriers |
| native | the certifier in one process, with the time to read the files |
| numpy | a sort of all keys in one process, with the time to read the files |
| mixed | `dependencies` on a trace whose positions are mixed over all partitions, with the time to mix them |

| transactions | barriers | ours | SQL | SQL to ours | native | numpy | mixed | memory of ours |
|---:|---|---:|---:|---:|---:|---:|---:|---:|
"""
CURVE = """
### With size

| transactions | ours | microseconds a transaction | native | memory of ours |
|---:|---:|---:|---:|---:|
"""
SOURCE = """
## The data source

Seconds to read a log of 1 GB in parts of 32 MB (`--split 32m`) from the page cache, without writing it. *One core* binds the JVM and
Python's workers to one core, with the same garbage collector as on two. The scan of the files on the driver is included. In mode `rows`, a
third of the time is reading; the rest converts maps from Arrow to Spark's rows: name the `columns` that you need.

| mode | rows | one core | two cores | ratio | memory on two |
|---|---:|---:|---:|---:|---:|
"""
PEER = """
## Row changes beside another decoder

CPU seconds of `paraply.rows` in one process, all columns, and of the decoder of python-mysql-replication on the same file (a MySQL log with
full row metadata), without imports.

| rows | paraply | python-mysql-replication | ratio |
|---:|---:|---:|---:|
"""

ALONE = """
## Row changes beside one process

CPU seconds of all processes in mode `rows`, all columns, on Spark, and of `paraply.rows` in one process, on the same log in turn. The
difference is the conversion of maps from Arrow to Spark's rows, the tasks, and the JVM itself: use Spark for logs that one machine does not
read fast enough.

| rows | on Spark | in one process | ratio |
|---:|---:|---:|---:|
"""


def main(paths: list[str]) -> int:
    """Write the page."""
    lines = [json.loads(line) for path in paths for line in Path(path).read_text(encoding="utf-8").splitlines() if line.startswith("{")]
    wrong = [line for line in lines if line.get("equal") is False or not same_rows(line)]
    if wrong:
        raise SystemExit(f"two variants gave different results: {wrong[0]}")
    compared = {(line["transactions"], line["barriers"]): line for line in lines if "sql" in line.get("seconds", {})}
    curve = {line["transactions"]: line for line in lines if "transactions" in line and "sql" not in line["seconds"]}
    modes = {line["mode"]: line for line in lines if "mode" in line}
    alone = [line for line in lines if line.get("alone")][-1:]
    peers = [line for line in lines if "peer_rows" in line][-1:]
    text = HEAD + WAYS + "".join(compared_row(compared[key]) for key in sorted(compared, key=lambda key: (-key[1], key[0])))
    text += CURVE + "".join(curve_row(curve[size]) for size in sorted(curve))
    text += SOURCE + "".join(source_row(line) for line in modes.values()) if modes else ""
    text += PEER + "".join(peer_row(line) for line in peers) if peers else ""
    text += ALONE + "".join(alone_row(line) for line in alone) if alone else ""
    PAGE.write_text(text, encoding="utf-8")
    return 0


def same_rows(line: dict[str, Any]) -> bool:
    """Return True unless two variants found different numbers of rows."""
    return all(line[name] == line["rows"] for name in ("peer_rows", "spark_rows") if name in line)


def compared_row(line: dict[str, Any]) -> str:
    """Return the row of one trace in all variants."""
    seconds = line["seconds"]
    shown = [seconds.get(name) for name in ("native", "numpy", "ours, positions mixed")]
    others = " | ".join("" if each is None else f"{each:.1f}" for each in shown)
    barriers = f"{line['barriers']:.1%}" if line["barriers"] else "none"
    own, sql = seconds["ours"], seconds["sql"]
    return f"| {line['transactions']:,} | {barriers} | {own:.1f} | {sql:.1f} | {sql / own:.1f} | {others} | {memory(line)} |\n"


def curve_row(line: dict[str, Any]) -> str:
    """Return the row of one size."""
    own = line["seconds"]["ours"]
    native = line["seconds"].get("native")
    each = own / line["transactions"] * 1e6
    return f"| {line['transactions']:,} | {own:.1f} | {each:.1f} | {'' if native is None else f'{native:.1f}'} | {memory(line)} |\n"


def memory(line: dict[str, Any]) -> str:
    """Return the peak memory of paraply's variant."""
    return f"{line['peak_megabytes']['ours'] / 1000:.1f} GB"


def source_row(line: dict[str, Any]) -> str:
    """Return the row of one mode."""
    one, two = line["seconds"]["1"], line["seconds"]["2"]
    rows, held = max(line["rows"]), line["peak_megabytes"]["2"] / 1000
    return f"| `{line['mode']}` | {rows:,} | {one:.1f} | {two:.1f} | {one / two:.2f} | {held:.1f} GB |\n"


def alone_row(line: dict[str, Any]) -> str:
    """Return the row of Spark beside one process."""
    spark, process = line["processor_seconds"]
    return f"| {line['rows']:,} | {spark:.1f} | {process:.1f} | {line['ratio']:.1f} |\n"


def peer_row(line: dict[str, Any]) -> str:
    """Return the row of both decoders."""
    own, other = line["processor_seconds"]
    return f"| {line['rows']:,} | {own:.2f} | {other:.1f} | {line['ratio']:.0f} |\n"


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
