"""Writes ``docs/reference/spark-speed.md`` out of what the benches of Spark printed.

Run as ``python tools/spark_speed.py FILE...``: the lines of ``benches/spark_dependencies.py`` and ``benches/spark_source.py``, of as many
runs as there are; of two lines about the same the last counts.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "spark-speed.md"
HEAD = """# How fast on Spark

What the benches printed, put together by `tools/spark_speed.py`: PySpark in `local[2]` on two cores, with 4 GB for the JVM. Every way runs
once on a small trace or log before the clock starts, and those that stand in one row ran in one session on the same files. Memory is the
most that the whole process tree held, the JVM and Python's workers included, of which most is the heap that the JVM does not give back.
Other machines give other seconds; the ratios are what to look at.

```
python benches/spark_dependencies.py --transactions 1000000 --rounds 3 --barriers 0.001
python benches/spark_dependencies.py --transactions 1000000 --rounds 3 --barriers 0
python benches/spark_dependencies.py --transactions 1000000 2000000 4000000 8000000 16000000 --ways ours native
python benches/spark_source.py binlog.000001 --bytes 1000000000
python benches/spark_source.py binlog.000001 --peer
python tools/spark_speed.py FILE...
```
"""
WAYS = """
## Dependencies

Generated traces of 6 keys a transaction, three tenths of them hot, with a barrier in every 1,000 transactions or none. `ours` is
`dependencies`; `SQL` is Spark SQL alone: `lag` over each key, the newest for each transaction, and, where there are barriers, a running
maximum of these. *Native* is the certifier in one process, *numpy* a sort of all touches in one process, both with the time to read the
files. *Mixed* is `dependencies` where the positions lie mixed over all partitions, so that the trace is brought in order first, with the
time that mixing them takes. All gave the same numbers.

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

A log of 1 GB, read into nothing in parts of 32 MB (`--split 32m`), from the page cache. On one core means that the JVM and Python's
workers are all bound to it, with the same collector as on two; the files are looked through on the driver first, which is in the
seconds. Of what rows take, reading is about a third; the rest carries their maps from Arrow into Spark's rows: name the
`columns` that you need.

| mode | rows | one core | two cores | ratio | memory on two |
|---|---:|---:|---:|---:|---:|
"""
PEER = """
## Row changes beside another decoder

`paraply.rows` in one process, every column, beside the decoder of python-mysql-replication on the same file (a MySQL log with full row
metadata): seconds of the processor, without those of importing either.

| rows | paraply | python-mysql-replication | ratio |
|---:|---:|---:|---:|
"""


def main(paths: list[str]) -> int:
    """Writes the page."""
    lines = [json.loads(line) for path in paths for line in Path(path).read_text(encoding="utf-8").splitlines() if line.startswith("{")]
    wrong = [line for line in lines if line.get("equal") is False or line.get("rows") != line.get("peer_rows", line.get("rows"))]
    if wrong:
        raise SystemExit(f"two ways did not give the same: {wrong[0]}")
    compared = {(line["transactions"], line["barriers"]): line for line in lines if "sql" in line.get("seconds", {})}
    curve = {line["transactions"]: line for line in lines if "transactions" in line and "sql" not in line["seconds"]}
    modes = {line["mode"]: line for line in lines if "mode" in line}
    peers = [line for line in lines if "peer_rows" in line][-1:]
    text = HEAD + WAYS + "".join(compared_row(compared[key]) for key in sorted(compared, key=lambda key: (-key[1], key[0])))
    text += CURVE + "".join(curve_row(curve[size]) for size in sorted(curve))
    text += SOURCE + "".join(source_row(line) for line in modes.values()) if modes else ""
    text += PEER + "".join(peer_row(line) for line in peers) if peers else ""
    PAGE.write_text(text, encoding="utf-8")
    return 0


def compared_row(line: dict[str, Any]) -> str:
    """One trace in all ways."""
    seconds = line["seconds"]
    shown = [seconds.get(name) for name in ("native", "numpy", "ours, positions mixed")]
    others = " | ".join("" if each is None else f"{each:.1f}" for each in shown)
    barriers = f"{line['barriers']:.1%}" if line["barriers"] else "none"
    ours, sql = seconds["ours"], seconds["sql"]
    return f"| {line['transactions']:,} | {barriers} | {ours:.1f} | {sql:.1f} | {sql / ours:.1f} | {others} | {memory(line)} |\n"


def curve_row(line: dict[str, Any]) -> str:
    """One size."""
    ours = line["seconds"]["ours"]
    native = line["seconds"].get("native")
    each = ours / line["transactions"] * 1e6
    return f"| {line['transactions']:,} | {ours:.1f} | {each:.1f} | {'' if native is None else f'{native:.1f}'} | {memory(line)} |\n"


def memory(line: dict[str, Any]) -> str:
    """The most memory of our way."""
    return f"{line['peak_megabytes']['ours'] / 1000:.1f} GB"


def source_row(line: dict[str, Any]) -> str:
    """One mode."""
    one, two = line["seconds"]["1"], line["seconds"]["2"]
    rows, held = max(line["rows"]), line["peak_megabytes"]["2"] / 1000
    return f"| `{line['mode']}` | {rows:,} | {one:.1f} | {two:.1f} | {one / two:.2f} | {held:.1f} GB |\n"


def peer_row(line: dict[str, Any]) -> str:
    """Both decoders."""
    ours, theirs = line["processor_seconds"]
    return f"| {line['rows']:,} | {ours:.2f} | {theirs:.1f} | {line['ratio']:.0f} |\n"


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
