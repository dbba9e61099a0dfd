"""MariaDB's unique keys that are too long for an index: its logs hold a hash of each behind the table's columns (R13, R31)."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from server.replay import PostgresPlace, SqlPlace, applied
from servers import MariaDbServer

from paraply.analysis.rows import rows

MADE = (
    "CREATE DATABASE shop CHARACTER SET utf8mb4",
    "CREATE TABLE shop.long_keys (t TEXT, u VARCHAR(3000), UNIQUE (t), UNIQUE (u))",
    "CREATE TABLE shop.declared (a INT NOT NULL, b BIGINT UNSIGNED, UNIQUE (a) USING HASH)",
    "CREATE TABLE shop.mixed (id INT PRIMARY KEY, t BLOB NOT NULL, UNIQUE (t), UNIQUE (id, t))",
    "INSERT INTO shop.long_keys VALUES ('x', 'y'), ('z', NULL)",
    "INSERT INTO shop.declared VALUES (1, 2), (3, NULL)",
    "INSERT INTO shop.mixed VALUES (1, 'q'), (2, 'r')",
    "UPDATE shop.long_keys SET u='k' WHERE t='z'",
    "UPDATE shop.mixed SET t='rr' WHERE id=2",
    "DELETE FROM shop.long_keys WHERE t='x'",
    "INSERT INTO shop.long_keys VALUES ('x', 'k2')",
    "ALTER TABLE shop.mixed ADD COLUMN c BIGINT UNSIGNED DEFAULT 4",
    "INSERT INTO shop.mixed VALUES (3, 's', NULL)",
    "ALTER TABLE shop.mixed DROP INDEX t",
    "INSERT INTO shop.mixed VALUES (4, 's', 7)",
)
LEFT = {
    "long_keys": [("x", "k2"), ("z", "k")],
    "declared": [(1, 2), (3, None)],
    "mixed": [(1, b"q", 4), (2, b"rr", 4), (3, b"s", None), (4, b"s", 7)],
}


@pytest.fixture(params=["NO_LOG", "FULL"])
def log(mariadb_place: SqlPlace, durable_mariadb: MariaDbServer, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """The log of the statements; the server is empty afterwards."""
    mariadb_place.sql("FLUSH BINARY LOGS")
    name = str(mariadb_place.sql("SHOW BINARY LOGS")[-1][0])
    mariadb_place.sql(f"SET GLOBAL binlog_row_metadata={request.param}", *MADE)
    mariadb_place.sql("SET GLOBAL binlog_row_metadata=NO_LOG", "FLUSH BINARY LOGS")
    log = Path(shutil.copyfile(durable_mariadb.data / name, tmp_path / name))
    mariadb_place.empty()
    return log


@pytest.mark.parametrize("workers", ["0", "4"])
def test_r31_what_stands_behind_the_columns_is_none_of_them(mariadb_place: SqlPlace, log: Path, workers: str) -> None:
    report = applied(log, mariadb_place.url, "--workers", workers)
    assert report["transactions"] == len(MADE)
    assert not [reason for reason in report["fallback_reasons"] if "definition" in reason["reason"]]
    for table, left in LEFT.items():
        assert sorted(mariadb_place.sql(f"SELECT * FROM shop.{table}"), key=repr) == left, table


def test_r31_such_a_table_goes_into_postgresql(postgres_place: PostgresPlace, log: Path) -> None:
    report = applied(log, postgres_place.url, "--workers", "4")
    assert report["transactions"] == len(MADE)
    for table, left in LEFT.items():
        assert sorted(postgres_place.rows(table), key=repr) == left, table


def test_r31_the_rows_of_a_log_have_the_tables_columns_only(log: Path) -> None:
    names = {name for change in rows(log).read_all().to_pylist() for name, _ in change["after"] or []}
    assert names == {"id", "a", "b", "c", "t", "u"}
