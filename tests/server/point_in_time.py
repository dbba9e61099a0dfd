"""A small history on a source, for the tests of point-in-time recovery: what it holds, and how often."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from server.replay import Outcome, SqlPlace, end

from paraply import open_log
from paraply.logs.stop_point import moment_text

__all__ = ["History", "apply", "clear", "marks", "read_history", "write_history"]

DATABASES = ("pitr_shop", "pitr_other")
SCHEMA = [
    "CREATE DATABASE pitr_shop",
    "CREATE DATABASE pitr_other",
    "CREATE TABLE pitr_shop.item (id INT PRIMARY KEY, mark INT NOT NULL)",
    "CREATE TABLE pitr_shop.line (id INT PRIMARY KEY, item INT NOT NULL, CONSTRAINT to_item FOREIGN KEY (item) REFERENCES item (id))",
    "CREATE TABLE pitr_other.log (id INT PRIMARY KEY)",
]


@dataclass(frozen=True)
class History:
    """The source's binlogs, and the transactions that set ``mark`` 1, 2, 3, ... in ``pitr_shop.item``."""

    files: list[Path]
    gtids: list[str]
    times: list[int]

    def time(self, mark: int) -> str:
        """Return the commit time of the transaction that set this mark."""
        return moment_text(self.times[mark - 1])


def write_history(place: SqlPlace, marks: int, *, pause: float = 0.0) -> None:
    """Every third mark in a new file; each transaction writes to both databases."""
    place.sql(*SCHEMA)
    for mark in range(1, marks + 1):
        statements = [
            "BEGIN",
            f"INSERT INTO pitr_shop.item VALUES ({mark}, {mark})",
            f"INSERT INTO pitr_other.log VALUES ({mark})",
            f"INSERT INTO pitr_shop.line VALUES ({mark}, {mark})",
            "COMMIT",
            f"INSERT INTO pitr_other.log VALUES ({1000 + mark})",
        ]
        place.sql(*statements)
        time.sleep(pause)
        if mark % 3 == 0:
            place.sql("FLUSH BINARY LOGS")


def read_history(files: list[Path]) -> History:
    """Finds the transactions that set the marks."""
    gtids, times = [], []
    for transaction in open_log(files):
        if "pitr_shop.item" in transaction.tables:
            gtids.append(transaction.gtid or "")
            times.append(transaction.committed_us or 0)
    return History(files, gtids, times)


def clear(place: SqlPlace) -> None:
    """Drops what the tests have made."""
    place.sql(*(f"DROP DATABASE IF EXISTS {database}" for database in DATABASES))


def apply(files: list[Path], url: str, *options: str) -> Outcome:
    """Runs ``paraply apply``."""
    command = [sys.executable, "-m", "paraply", "apply", *map(str, files), "--to", url, "--json", *options]
    return end(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))


def marks(place: SqlPlace, table: str = "pitr_shop.item") -> list[Any]:
    """The keys of a table; nothing where it does not exist."""
    database, name = table.split(".")
    there = place.sql(f"SELECT COUNT(*) FROM information_schema.tables WHERE table_schema='{database}' AND table_name='{name}'")[0][0]
    return [row[0] for row in place.sql(f"SELECT id FROM {table} ORDER BY id")] if there else []
