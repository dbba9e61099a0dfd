"""Growth: whether time and memory of an apply stay the same for long logs, large transactions, many files, tables and ALTERs.

Run as ``python benches/growth.py [--to URL] [--cases NAME,...] [--scale SHARE] [-o FILE.json]``. Logs of MySQL are made without a server
and applied to a MySQL, or to an embedded PostgreSQL in a temporary folder. Each case has a database and a channel of its own, which are
dropped afterwards; name only servers whose data may be deleted. ``--scale 0.01`` makes everything a hundredth as large.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from made_binlog import MadeBinlog

DATABASE = "paraply_growth"
LONG = (25_000, 250_000, 2_500_000)
MOST_MEMORY_MB = 300


@dataclass(frozen=True)
class Growth:
    """One apply.

    Attributes:
        case: Name of the case.
        transactions: Transactions of the log.
        rows: Row changes of the log.
        megabytes: Size of the log.
        files: Files of the log.
        seconds: Time of the replay, without the start of the process.
        memory_mb: Highest resident memory of the process.
        unit: What the time is divided by: ``transaction``, ``row``, ``file``, ``table`` or ``ALTER``.
        units: Number of these.
    """

    case: str
    transactions: int
    rows: int
    megabytes: float
    files: int
    seconds: float
    memory_mb: float
    unit: str
    units: int

    @property
    def microseconds(self) -> float:
        """Time for one unit."""
        return self.seconds / self.units * 1e6 if self.units else 0.0


@dataclass(frozen=True)
class Case:
    """A log to make.

    Attributes:
        name: Name in the table.
        group: Name in ``--cases``.
        unit: What the time is divided by.
        units: Number of these at full size.
        make: Makes the log of so many units in a folder.
    """

    name: str
    group: str
    unit: str
    units: int
    make: Callable[[Path, int], None]


def long_log(folder: Path, transactions: int) -> None:
    """Make a log of transactions that change one of 10,000 rows each."""
    rows = min(10_000, transactions)
    with MadeBinlog(folder, DATABASE) as log:
        log.statement("CREATE TABLE t (id INT PRIMARY KEY, v INT NOT NULL, note VARCHAR(40) NOT NULL)")
        log.rows([("t", None, {"id": n, "v": 0, "note": "new"}) for n in range(rows)])
        state = [0] * rows
        for turn in range(transactions):
            number = turn * 7919 % rows
            before, after = ({"id": number, "v": v, "note": "changed" if v else "new"} for v in (state[number], state[number] + 1))
            state[number] += 1
            log.rows([("t", before, after)])


def wide_transaction(folder: Path, megabytes: int) -> None:
    """Make one transaction of so many megabytes, in rows of 100 kB."""
    text = "x" * 100_000
    with MadeBinlog(folder, DATABASE) as log:
        log.statement("CREATE TABLE wide (id INT PRIMARY KEY, note MEDIUMTEXT NOT NULL)")
        log.portions([("wide", None, {"id": 10 * n + place, "note": text}) for place in range(10)] for n in range(megabytes))


def many_rows(folder: Path, rows: int) -> None:
    """Make one transaction of so many small rows."""
    portion = 10_000
    with MadeBinlog(folder, DATABASE) as log:
        log.statement("CREATE TABLE many (id INT PRIMARY KEY, v INT NOT NULL)")
        starts = range(0, rows, portion)
        log.portions([("many", None, {"id": n, "v": n}) for n in range(start, min(rows, start + portion))] for start in starts)


def many_files(folder: Path, files: int) -> None:
    """Make a folder of so many files with three transactions each."""
    with MadeBinlog(folder, DATABASE) as log:
        log.statement("CREATE TABLE t (id INT PRIMARY KEY, v INT NOT NULL)")
        for number in range(files):
            if number:
                log.rotate()
            for place in range(3):
                log.rows([("t", None, {"id": 3 * number + place, "v": number})])


def many_tables(folder: Path, tables: int) -> None:
    """Make so many tables, and a row in each."""
    with MadeBinlog(folder, DATABASE) as log:
        for number in range(tables):
            log.statement(f"CREATE TABLE t{number} (id INT PRIMARY KEY, v INT NOT NULL)")
        for number in range(tables):
            log.rows([(f"t{number}", None, {"id": 1, "v": number})])


def many_alters(folder: Path, alters: int) -> None:
    """Add and drop a column in turns, with ten rows after each ALTER."""
    with MadeBinlog(folder, DATABASE) as log:
        log.statement("CREATE TABLE t (id INT PRIMARY KEY, v INT NOT NULL)")
        for number in range(alters):
            added = number % 2 == 0
            log.statement("ALTER TABLE t ADD COLUMN more INT NULL" if added else "ALTER TABLE t DROP COLUMN more")
            for place in range(10):
                log.rows([("t", None, {"id": 10 * number + place, "v": number} | ({"more": 1} if added else {}))])


CASES = (
    *(Case(f"{count:,} transactions", "log", "transaction", count, long_log) for count in LONG),
    Case("one transaction of 1 GB", "bytes", "MB", 1000, wide_transaction),
    Case("one transaction of 10 million rows", "rows", "row", 10_000_000, many_rows),
    Case("1,000 files", "files", "file", 1000, many_files),
    Case("10,000 files", "files", "file", 10_000, many_files),
    Case("2,000 tables", "tables", "table", 2000, many_tables),
    Case("20,000 tables", "tables", "table", 20_000, many_tables),
    Case("50 ALTERs", "alters", "ALTER", 50, many_alters),
    Case("500 ALTERs", "alters", "ALTER", 500, many_alters),
)


@contextmanager
def target(url: str | None, folder: Path) -> Iterator[str]:
    """Yield the URL of the target: the given one, or that of an embedded PostgreSQL in a folder."""
    if url is not None:
        yield url
        return
    from paraply.targets.postgres.embedded import EmbeddedPostgres

    with EmbeddedPostgres(folder / "postgres") as server:
        yield server.uri


def drop(url: str) -> None:
    """Drop what a case has made on the target."""
    if url.startswith("postgresql"):
        from paraply.targets.postgres.connection import PgConnection

        with closing(PgConnection(url)) as postgres:
            for statement in (f"DROP SCHEMA IF EXISTS {DATABASE} CASCADE", "DROP SCHEMA IF EXISTS paraply CASCADE", "CHECKPOINT"):
                postgres.run([statement.encode()])
        return
    from paraply.bench.server import connect
    from paraply.targets.url import parse_url

    with closing(connect(parse_url(url))) as connection:
        for database in (DATABASE, "paraply"):
            connection.query(f"DROP DATABASE IF EXISTS {database}")
        connection.query("RESET MASTER" if url.startswith("mariadb") else "RESET BINARY LOGS AND GTIDS")


def made(case: Case, logs: Path, units: int) -> list[Path]:
    """Make the log of a case in a process of its own, because a new process begins with the highest memory of the one that starts it.

    Raises:
        SystemExit: It could not be made.
    """
    process = multiprocessing.get_context("spawn").Process(target=case.make, args=(logs, units))
    process.start()
    process.join()
    if process.exitcode:
        raise SystemExit(f"{case.name}: the log could not be made")
    return sorted(logs.iterdir())


def measure(case: Case, scale: float, url: str, folder: Path, workers: int) -> Growth:
    """Make the log of a case, and apply it in a process of its own.

    Raises:
        SystemExit: The apply failed.
    """
    units = max(1, round(case.units * scale))
    logs = folder / "logs"
    logs.mkdir()
    try:
        files = made(case, logs, units)
        megabytes = sum(file.stat().st_size for file in files) / 1e6
        drop(url)
        named = [str(logs)] if len(files) > 1 else [str(files[0])]
        command = [sys.executable, "-m", "paraply", "apply", *named, "--to", url, "--workers", str(workers), "--json"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        output = process.stdout.read() if process.stdout is not None else ""
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{case.name}: {output.strip()[-1000:]}")
        report = json.loads(output)
        drop(url)
    finally:
        shutil.rmtree(logs)
    done = (report["transactions"], report["rows"], round(megabytes, 1), len(files), report["apply_seconds"])
    return Growth(case.name, *done, round(usage.ru_maxrss / 1024, 1), case.unit, units)


def show(found: list[Growth]) -> None:
    """Print the table; each time is compared with the first one of the same unit."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"Growth of an apply; memory should stay below {MOST_MEMORY_MB} MB")
    for name in ("case", "transactions", "rows", "MB", "files", "seconds", "microseconds", "of the first", "memory, MB"):
        table.add_column(name, justify="left" if name == "case" else "right")
    first: dict[str, float] = {}
    for one in found:
        base = first.setdefault(one.unit, one.microseconds)
        counts = (f"{one.transactions:,}", f"{one.rows:,}", f"{one.megabytes:,.1f}", f"{one.files:,}", f"{one.seconds:.2f}")
        ratio = f"{one.microseconds / base:.2f}" if base else ""
        table.add_row(one.case, *counts, f"{one.microseconds:,.1f} / {one.unit}", ratio, f"{one.memory_mb:.0f}")
    Console(width=150).print(table)


def main(arguments: list[str]) -> int:
    """Measure the chosen cases, and print the table."""
    groups = list(dict.fromkeys(case.group for case in CASES))
    parser = argparse.ArgumentParser(description="Measure the growth of an apply with its log.")
    parser.add_argument("--to", metavar="URL", help="an empty MySQL or PostgreSQL; by default an embedded PostgreSQL")
    parser.add_argument("--cases", default=",".join(groups), help=f"some of {', '.join(groups)}")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the full size")
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("-o", "--output", type=Path, help="write the results as JSON to this file")
    options = parser.parse_args(arguments)
    chosen = {name.strip() for name in options.cases.split(",")}
    if unknown := chosen - set(groups):
        parser.error(f"unknown case {', '.join(sorted(unknown))}: choose from {', '.join(groups)}")
    found: list[Growth] = []
    with tempfile.TemporaryDirectory(prefix="paraply-growth-") as folder, target(options.to, Path(folder)) as url:
        for case in CASES:
            if case.group in chosen:
                found.append(measure(case, options.scale, url, Path(folder), options.workers))
                print(f"{case.name}: {found[-1].seconds:.2f} s, {found[-1].memory_mb:.0f} MB", flush=True)
    show(found)
    if options.output is not None:
        rows = [asdict(one) | {"microseconds": round(one.microseconds, 2)} for one in found]
        options.output.write_text(json.dumps({"growth": rows}, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
