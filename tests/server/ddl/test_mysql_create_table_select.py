"""CREATE TABLE ... SELECT, which MySQL 8.0.21 and later log as one transaction of table and rows (R25b)."""

from __future__ import annotations

from pathlib import Path

import pytest
from server.history_source import with_other_uuid
from server.replay import SqlPlace, applied
from server.source_log import copy_binlogs

pytestmark = pytest.mark.mysql

MADE = (
    "CREATE DATABASE shop",
    "CREATE TABLE shop.first (id INT PRIMARY KEY, name VARCHAR(9))",
    "INSERT INTO shop.first VALUES (1, 'a'), (2, 'b')",
    "CREATE TABLE shop.copy AS SELECT * FROM shop.first",
    "CREATE TABLE shop.nothing AS SELECT * FROM shop.first WHERE id > 9",
    "CREATE TABLE IF NOT EXISTS shop.none AS SELECT * FROM shop.first WHERE id > 9",
    "INSERT INTO shop.copy VALUES (3, 'c')",
    "CREATE TABLE shop.said (t VARCHAR(40)) COMMENT='START TRANSACTION'",
)


@pytest.fixture
def log(mysql_place: SqlPlace, tmp_path: Path) -> Path:
    """The log of the statements; the server is empty afterwards."""
    mysql_place.sql(*MADE)
    (log,) = copy_binlogs(mysql_place.url, tmp_path)
    mysql_place.empty()
    return with_other_uuid(log, log)


@pytest.mark.parametrize("workers", ["0", "2"])
@pytest.mark.parametrize("mode", ["none", "record", "preserve"])
def test_r25b_table_and_rows_come_together_in_every_gtid_mode(mysql_place: SqlPlace, log: Path, mode: str, workers: str) -> None:
    report = applied(log, mysql_place.url, "--gtid", mode, "--workers", workers, "--merge", "off")
    assert (report["transactions"], report["retries"]) == (len(MADE), 0)
    assert mysql_place.sql("SELECT id, name FROM shop.copy ORDER BY id") == [(1, "a"), (2, "b"), (3, "c")]
    assert mysql_place.sql("SELECT COUNT(*) FROM shop.nothing") == [(0,)]
    again = applied(log, mysql_place.url, "--gtid", mode, "--workers", workers, "--merge", "off")
    assert again["transactions"] == 0
