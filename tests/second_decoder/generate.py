"""Logs with values of every type, made by servers for the comparison."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from mariadb_versions import MARIADB_VERSIONS, mariadb_of_version
from own_mysql import running_mysql
from server.value_columns import MARIADB, MYSQL, Kind, log_of

__all__ = ["generate", "statements_for"]

FIRST_ROWS = 97
"""Rows with the values of ``value_columns``, in ever other combinations; a prime number."""
RANDOM = (
    ("BIGINT", "FLOOR((RAND() - 0.5) * 18000000000000000000)"),
    ("INT UNSIGNED", "FLOOR(RAND() * 4294967295)"),
    ("SMALLINT", "FLOOR((RAND() - 0.5) * 65535)"),
    ("DECIMAL(30,10)", "(RAND() - 0.5) * 1e15"),
    ("DECIMAL(9,9)", "RAND() - 0.5"),
    ("DOUBLE", "(RAND() - 0.5) * POW(10, FLOOR(RAND() * 40) - 20)"),
    ("FLOAT", "(RAND() - 0.5) * POW(10, FLOOR(RAND() * 20) - 10)"),
    ("BIT(17)", "FLOOR(RAND() * 131071)"),
    ("DATE", "FROM_DAYS(FLOOR(1 + RAND() * 3650000))"),
    ("TIME(3)", "SEC_TO_TIME((RAND() - 0.5) * 6000000)"),
    ("DATETIME(6)", "FROM_UNIXTIME(RAND() * 2000000000)"),
    ("TIMESTAMP(2) NULL", "FROM_UNIXTIME(1 + RAND() * 2000000000)"),
    ("YEAR", "1901 + FLOOR(RAND() * 254)"),
    ("VARCHAR(300)", "REPEAT(CHAR(32 + FLOOR(RAND() * 95), 0xC3A4 USING utf8mb4), FLOOR(RAND() * 20))"),
    ("VARCHAR(20) CHARACTER SET latin1", "LEFT(HEX(FLOOR(RAND() * 1e15)), FLOOR(RAND() * 20))"),
    ("VARBINARY(40)", "LEFT(UNHEX(SHA2(RAND(), 224)), FLOOR(RAND() * 21))"),
    ("BLOB", "UNHEX(SHA2(RAND(), 224))"),
    ("JSON", "JSON_OBJECT('a', RAND(), 'b', JSON_ARRAY(FLOOR(RAND() * 9), HEX(FLOOR(RAND() * 1e15)), NULL))"),
)
"""Types with an expression that is another value in each row."""


UNKNOWN_TO_TOOL = ("VECTOR", "GEOMETRY", "POINT")
"""Types of MySQL at which its tool stops."""


def statements_for(kinds: Sequence[Kind], rows: int) -> list[str]:
    """Return statements that insert this many rows of all types, update all of them and delete half."""
    types = [kind.type for kind in kinds] + [kind for kind, _ in RANDOM]
    columns = ", ".join(f"c{number} {kind}" for number, kind in enumerate(types))
    fixed, moving = [f"c{number}" for number in range(len(kinds))], [f"c{len(kinds) + number}" for number in range(len(RANDOM))]
    names, drawn = ", ".join(fixed + moving), [expression for _, expression in RANDOM]
    made = ["SET NAMES utf8mb4", "SET sql_mode=''", "SET time_zone='+00:00'", "CREATE DATABASE g CHARACTER SET utf8mb4"]
    made.append(f"CREATE TABLE g.t (id INT AUTO_INCREMENT PRIMARY KEY, {columns})")
    for row in range(FIRST_ROWS):
        values = [_value(kind, row * (number + 1) + row // 7) for number, kind in enumerate(kinds)]
        made.append(f"INSERT INTO g.t ({names}) VALUES ({', '.join(values + drawn)})")
    there = FIRST_ROWS
    while there < rows:
        more = min(there, rows - there)
        made.append(f"INSERT INTO g.t ({names}) SELECT {', '.join(fixed + drawn)} FROM g.t ORDER BY id LIMIT {more}")
        there += more
    made.append("UPDATE g.t SET " + ", ".join(f"{name}={expression}" for name, expression in zip(moving, drawn, strict=True)))
    made.append("DELETE FROM g.t WHERE id % 2")
    return made


def _value(kind: Kind, number: int) -> str:
    values = (*kind.values, "NULL")
    return values[number % len(values)].replace("70000", "70").replace("REPEAT(x'ff', 999)", "REPEAT(x'ff', 99)")


def generate(folder: Path, rows: int) -> None:
    """Write a log of each server that there is into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, kinds, server in _servers():
        with server as started:
            log = log_of(started.sql, started.data, folder, statements_for(kinds, rows))
        log.rename(folder / f"{name}.binlog")


def _servers() -> Iterator[tuple[str, Sequence[Kind], AbstractContextManager[Any]]]:
    if os.environ.get("PARAPLY_TEST_MYSQLD") or os.environ.get("PARAPLY_TEST_MYSQL_DATA"):
        mysql = [kind for kind in MYSQL if not kind.type.startswith(UNKNOWN_TO_TOOL)]
        for metadata in ("FULL", "MINIMAL"):
            yield f"mysql-{metadata.lower()}", mysql, running_mysql([f"--binlog-row-metadata={metadata}"])
        yield "mysql-compressed", mysql, running_mysql(["--binlog-transaction-compression=ON"])
    options = ("--log-bin=binlog", "--binlog-format=ROW", "--server-id=1", "--binlog-row-metadata=FULL")
    for version in MARIADB_VERSIONS:
        if version == "10.11" or os.environ.get(f"PARAPLY_TEST_MARIADB_{version.replace('.', '_')}"):
            kinds = [kind for kind in MARIADB[version] if not kind.type.startswith("VECTOR")]
            yield f"mariadb-{version}", kinds, mariadb_of_version(version, options)
