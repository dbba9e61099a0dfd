"""Decodes every row of logs by ``paraply rows`` and by the tool of the server that wrote them, and compares value by value."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from second_decoder.comparison import Comparison, Tools, compare, logs_below
from second_decoder.generate import generate
from truth_logs import UNPACKED, unpack_all


def main() -> int:
    """Run the command; 1 if a value differs, or none was compared."""
    parser = argparse.ArgumentParser(prog="python -m second_decoder", description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+", help="folders with logs, plain or packed by xz")
    parser.add_argument("--mysqlbinlog", default=os.environ.get("PARAPLY_TEST_MYSQLBINLOG", "mysqlbinlog"), help="MySQL's tool")
    parser.add_argument("--mariadb-binlog", default="mariadb-binlog", help="MariaDB's tool")
    parser.add_argument("--seconds", type=float, help="begin no other log after this time")
    parser.add_argument("--rows", type=int, help="let each server that the tests know make a log of this many rows in the first folder")
    options = parser.parse_args()
    if options.rows is not None:
        generate(options.folders[0], options.rows)
    begin, found = time.monotonic(), Comparison()
    for folder in options.folders:
        for path in logs_below(_unpacked(folder)):
            if options.seconds is not None and time.monotonic() - begin > options.seconds:
                break
            before = found.values, found.differences
            compare(path, Tools(options.mysqlbinlog, options.mariadb_binlog), found)
            print(f"{path.name}: {found.values - before[0]:,} values, {found.differences - before[1]} different", flush=True)
    print(*found.table(), sep="\n")
    for name, why in found.refused.items():
        print(f"not read to the end: {name}: {why}")
    for text in found.different:
        print(text, file=sys.stderr)
    return bool(found.differences or not found.values)


def _unpacked(folder: Path) -> Path:
    """Return a folder with the plain files: the folder itself if none is packed."""
    if not any(folder.rglob("*.xz")):
        return folder
    into = UNPACKED.parent / f"unpacked-{folder.resolve().name}"
    unpack_all(folder, into)
    return into


raise SystemExit(main())
