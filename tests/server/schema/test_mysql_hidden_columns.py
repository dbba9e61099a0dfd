"""Logs of MySQL 8.0.13 to 8.0.17, whose rows hold the hidden columns of functional indexes: the error says so.

No such server is at hand: the log is one of today's, in which the version and the text of a CREATE TABLE are replaced.
"""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import pytest
from server.replay import PostgresPlace, SqlPlace, run
from server.source_log import copy_binlogs

FORMAT_DESCRIPTION = 15
HEADER = 19
LOGGED = "CREATE TABLE shop.t (id INT PRIMARY KEY, v INT, h INT NOT NULL         )"
INDEXED = "CREATE TABLE shop.t (id INT PRIMARY KEY, v INT, UNIQUE KEY k ((v + 1)) )"


def changed(log: bytes, version: str, texts: dict[str, str]) -> bytes:
    """Return a log with another version of its server and other texts of the same length, with the checksums that it has then."""
    made, at = [log[:4]], 4
    while at < len(log):
        size = struct.unpack_from("<I", log, at + 9)[0]
        event = log[at : at + size - 4]
        if event[4] == FORMAT_DESCRIPTION:
            event = event[: HEADER + 2] + version.encode().ljust(50, b"\0") + event[HEADER + 52 :]
        for text, other in texts.items():
            event = event.replace(text.encode(), other.encode())
        made.append(event + struct.pack("<I", zlib.crc32(event)))
        at += size
    return b"".join(made)


def hidden_log(place: SqlPlace, folder: Path, version: str) -> Path:
    """Return a log whose rows have a column more than the table that it makes."""
    assert len(LOGGED) == len(INDEXED)
    place.sql("CREATE DATABASE shop", LOGGED, "INSERT INTO shop.t VALUES (1, 5, 6)", "UPDATE shop.t SET v=7, h=8")
    log = copy_binlogs(place.url, folder)[0]
    log.write_bytes(changed(log.read_bytes(), version, {LOGGED: INDEXED}))
    place.empty()
    return log


@pytest.mark.parametrize("version", ["8.0.13", "8.0.17"])
def test_mysql_target_names_the_hidden_columns(mysql_place: SqlPlace, tmp_path: Path, version: str) -> None:
    outcome = run(hidden_log(mysql_place, tmp_path, version), mysql_place.url)
    error = outcome.report["error"]
    assert (outcome.code, error["class"]) == (1, "SchemaMismatch")
    assert "hidden columns of the table's functional indexes" in error["message"]
    assert "--via replication" in error["message"]
    assert "shop.t" in error["message"]
    assert error["gtid"]
    assert mysql_place.sql("SELECT COUNT(*) FROM shop.t") == [(0,)]


def test_mysql_log_into_postgresql_names_the_hidden_columns(mysql_place: SqlPlace, postgres_place: PostgresPlace, tmp_path: Path) -> None:
    postgres_place.empty()
    outcome = run(hidden_log(mysql_place, tmp_path, "8.0.17"), postgres_place.url)
    error = outcome.report["error"]
    assert (outcome.code, error["class"]) == (1, "SchemaMismatch")
    assert "row events of MySQL 8.0.13 to 8.0.17 also hold the hidden columns of functional indexes" in error["message"]
    assert postgres_place.rows("t") == []


def test_mysql_log_of_a_later_version_does_not(mysql_place: SqlPlace, postgres_place: PostgresPlace, tmp_path: Path) -> None:
    postgres_place.empty()
    outcome = run(hidden_log(mysql_place, tmp_path, "8.0.18"), postgres_place.url)
    assert outcome.code == 1
    assert "have 3 columns, the known definition has 2" in outcome.report["error"]["message"]
    assert "hidden" not in outcome.report["error"]["message"]
