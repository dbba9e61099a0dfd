"""MariaDB's tables that keep the versions of their rows: a replay gives the source's versions, with the source's times (R31)."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from server.replay import PostgresPlace, SqlPlace, applied, run
from servers import MariaDbServer

STANDING = (
    "CREATE DATABASE shop CHARACTER SET utf8mb4",
    "CREATE TABLE shop.plain (id INT PRIMARY KEY, v INT) WITH SYSTEM VERSIONING",
    "CREATE TABLE shop.keyless (id INT, v INT) WITH SYSTEM VERSIONING",
    "CREATE TABLE shop.hashed (id INT PRIMARY KEY, t TEXT, UNIQUE (t), w INT WITHOUT SYSTEM VERSIONING) WITH SYSTEM VERSIONING",
    (
        "CREATE TABLE shop.named (id INT PRIMARY KEY, v INT, b TIMESTAMP(6) GENERATED ALWAYS AS ROW START, "
        "e TIMESTAMP(6) GENERATED ALWAYS AS ROW END, PERIOD FOR SYSTEM_TIME (b, e)) WITH SYSTEM VERSIONING"
    ),
    "CREATE TABLE shop.later (id INT PRIMARY KEY, v TIMESTAMP(6) NULL, w TIMESTAMP(6) NULL)",
)
CHANGES = (
    *(f"INSERT INTO shop.{table} (id, v) VALUES (1, 1), (2, 2), (3, 3)" for table in ("plain", "keyless", "named")),
    *(f"UPDATE shop.{table} SET v=v+10 WHERE id<3" for table in ("plain", "keyless", "named")),
    *(f"DELETE FROM shop.{table} WHERE id=2" for table in ("plain", "keyless", "named")),
    *(f"UPDATE shop.plain SET v=v+1 WHERE id={number % 2 * 2 + 1}" for number in range(20)),
    "INSERT INTO shop.hashed VALUES (1, 'a', 1), (2, 'b', 2)",
    "UPDATE shop.hashed SET t='c' WHERE id=1",
    "UPDATE shop.hashed SET w=9",
    "INSERT INTO shop.hashed VALUES (3, 'a', 3)",
    "INSERT INTO shop.later VALUES (1, NULL, NULL)",
    "ALTER TABLE shop.later ADD SYSTEM VERSIONING",
    "UPDATE shop.later SET v='2001-01-01 00:00:00'",
    "ALTER TABLE shop.later DROP SYSTEM VERSIONING",
    "INSERT INTO shop.later VALUES (2, NULL, '2001-01-01 00:00:00')",
    "DELETE HISTORY FROM shop.hashed BEFORE SYSTEM_TIME '2001-01-01 00:00:00'",
)
TIMES = {"plain": ", row_start, row_end", "keyless": ", row_start, row_end", "hashed": ", row_start, row_end", "named": ""}


def versions(place: SqlPlace) -> dict[str, list[Any]]:
    """All versions of all rows, with their times."""
    of_all = "FOR SYSTEM_TIME ALL ORDER BY 1, 2, 3, 4"
    kept = {table: place.sql(f"SELECT *{times} FROM shop.{table} {of_all}") for table, times in TIMES.items()}
    return kept | {"later": place.sql("SELECT * FROM shop.later ORDER BY 1")}


@pytest.fixture(params=["NO_LOG", "FULL"])
def source(
    mariadb_place: SqlPlace, durable_mariadb: MariaDbServer, tmp_path: Path, request: pytest.FixtureRequest
) -> tuple[list[Path], dict[str, list[Any]]]:
    """The log of the tables, that of their changes, and what they hold afterwards; the server is empty."""
    files = []
    place = mariadb_place
    for statements in (STANDING, CHANGES):
        place.sql("FLUSH BINARY LOGS")
        name = str(place.sql("SHOW BINARY LOGS")[-1][0])
        place.sql(f"SET GLOBAL binlog_row_metadata={request.param}", *statements)
        place.sql("SET GLOBAL binlog_row_metadata=NO_LOG", "FLUSH BINARY LOGS")
        files.append(Path(shutil.copyfile(durable_mariadb.data / name, tmp_path / name)))
    left = versions(place)
    place.empty()
    return files, left


@pytest.mark.parametrize("workers", ["0", "8"])
@pytest.mark.parametrize("merge", ["off", "auto"])
def test_r31_all_versions_of_the_rows_come_with_their_times(
    mariadb_place: SqlPlace, source: tuple[list[Path], dict[str, list[Any]]], workers: str, merge: str
) -> None:
    files, left = source
    assert [len(rows) for rows in left.values()] == [25, 5, 4, 5, 2]
    for file in files:  # the second one alone: the tables stand there already, as in a backup
        applied(file, mariadb_place.url, "--workers", workers, "--merge", merge, "--channel", file.name)
    assert versions(mariadb_place) == left


def test_r31_a_table_that_keeps_no_versions_is_not_taken_for_one_that_does(
    mariadb_place: SqlPlace, source: tuple[list[Path], dict[str, list[Any]]]
) -> None:
    (tables, changes), _ = source
    applied(tables, mariadb_place.url)
    mariadb_place.sql("SET GLOBAL system_versioning_alter_history=KEEP")
    mariadb_place.sql("ALTER TABLE shop.plain DROP SYSTEM VERSIONING")
    outcome = run(changes, mariadb_place.url, "--channel", "changes")
    assert outcome.code == 1
    assert "the table has 4 columns in the log and 2 on the target" in outcome.report["error"]["message"]


def test_r31_postgresql_refuses_such_a_table_before_its_rows(
    postgres_place: PostgresPlace, source: tuple[list[Path], dict[str, list[Any]]]
) -> None:
    outcome = run(source[0][0], postgres_place.url)
    assert outcome.code == 3
    assert "system versioning" in outcome.report["error"]["message"]
