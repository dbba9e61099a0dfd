"""MariaDB's COMPRESSED columns: their values come to every target as they were before they were compressed (R31)."""

from __future__ import annotations

import shutil
from pathlib import Path

import psycopg
import pytest
from server.replay import PostgresPlace, SqlPlace, applied
from servers import MariaDbServer

import paraply

STATEMENTS = (
    "CREATE DATABASE shop CHARACTER SET utf8mb4",
    (
        "CREATE TABLE shop.packed (id INT PRIMARY KEY, v VARCHAR(3000) COMPRESSED CHARACTER SET latin1, "
        "t LONGTEXT COMPRESSED=zlib NOT NULL, b BLOB COMPRESSED)"
    ),
    "INSERT INTO shop.packed VALUES (1, REPEAT('ä', 2000), REPEAT('日本', 9000), REPEAT(x'00ff', 500))",
    "INSERT INTO shop.packed VALUES (2, 'ß', '', x'00'), (3, NULL, 'x', '')",
    "SET GLOBAL column_compression_zlib_wrap=ON",
    "INSERT INTO shop.packed VALUES (4, REPEAT('é', 150), REPEAT('ø', 150), REPEAT('b', 150))",
    "UPDATE shop.packed SET v=CONCAT(v, '!'), t=CONCAT(t, 'ende') WHERE id IN (1, 2)",
    "DELETE FROM shop.packed WHERE id=3",
)
ROWS = [
    (1, "ä" * 2000 + "!", "日本" * 9000 + "ende", b"\x00\xff" * 500),
    (2, "ß!", "ende", b"\x00"),
    (4, "é" * 150, "ø" * 150, b"b" * 150),
]


@pytest.fixture(params=["NO_LOG", "FULL"])
def log(mariadb_place: SqlPlace, durable_mariadb: MariaDbServer, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """The log of such a table; the server is empty."""
    mariadb_place.sql("FLUSH BINARY LOGS")
    name = str(mariadb_place.sql("SHOW BINARY LOGS")[-1][0])
    mariadb_place.sql(f"SET GLOBAL binlog_row_metadata={request.param}", *STATEMENTS)
    mariadb_place.sql("SET GLOBAL binlog_row_metadata=NO_LOG", "SET GLOBAL column_compression_zlib_wrap=OFF", "FLUSH BINARY LOGS")
    log = Path(shutil.copyfile(durable_mariadb.data / name, tmp_path / name))
    mariadb_place.empty()
    return log


@pytest.mark.parametrize("options", [("--workers", "0"), ("--workers", "8"), ("--merge", "off", "--consistency", "eventual")])
def test_r31_values_are_unpacked_into_postgresql(postgres_place: PostgresPlace, log: Path, options: tuple[str, ...]) -> None:
    applied(log, postgres_place.url, *options)
    with psycopg.connect(postgres_place.url) as connection:
        assert connection.execute("SELECT id, v, t, b FROM shop.packed ORDER BY id").fetchall() == ROWS


def test_r31_values_stay_packed_into_mariadb(mariadb_place: SqlPlace, log: Path) -> None:
    applied(log, mariadb_place.url)
    assert [tuple(row) for row in mariadb_place.sql("SELECT id, v, t, b FROM shop.packed ORDER BY id")] == ROWS


def test_rows_of_a_log_have_the_values(log: Path) -> None:
    left: dict[str, dict[str, str]] = {}
    for change in paraply.rows(log).read_all().to_pylist():
        if change["operation"] == "delete":
            del left[dict(change["before"])["id"]]
        else:
            row = dict(change["after"])
            left[row["id"]] = row
    expected = [{"id": str(number), "v": v, "t": t, "b": b.hex().upper()} for number, v, t, b in ROWS]
    assert list(left.values()) == expected
