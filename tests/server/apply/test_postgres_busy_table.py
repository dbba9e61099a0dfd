"""A statement of the log that looks into a table of PostgreSQL, while somebody else holds the table (R24)."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest
from pg_databases import Database
from server.replay import end, start
from servers import MariaDbServer

from paraply import open_log

pytestmark = [pytest.mark.postgres, pytest.mark.mariadb]


def test_r24_a_table_that_is_held_is_waited_for(database: Database, mariadb_server: MariaDbServer, tmp_path: Path) -> None:
    """The new column gets numbers that only the source knows, so that the table must be empty."""
    mariadb_server.sql("DROP DATABASE IF EXISTS shop", "RESET MASTER", "CREATE DATABASE shop", "CREATE TABLE shop.item (n INT)")
    mariadb_server.sql("ALTER TABLE shop.item ADD id INT AUTO_INCREMENT PRIMARY KEY", "INSERT INTO shop.item (n) VALUES (7)")
    mariadb_server.sql("FLUSH BINARY LOGS")
    whole = (mariadb_server.data / "binlog.000001").read_bytes()
    log = tmp_path / "binlog.000001"
    log.write_bytes(whole)
    log.write_bytes(whole[: list(open_log(log))[2].offset])
    assert end(start(log, database.url)).code == 0
    log.write_bytes(whole)
    with psycopg.connect(database.url) as holder:
        holder.execute("LOCK TABLE shop.item IN ACCESS EXCLUSIVE MODE")
        process = start(log, database.url)
        with psycopg.connect(database.url, autocommit=True) as other:
            while not other.execute("SELECT 1 FROM pg_locks WHERE NOT granted").fetchone():
                assert process.poll() is None
            while other.execute("SELECT 1 FROM pg_locks WHERE NOT granted").fetchone():  # up to the time limit of one attempt
                assert process.poll() is None
        holder.rollback()
        outcome = end(process)
    assert outcome.code == 0, outcome.report.get("error")
    assert database.sql("SELECT id, n FROM shop.item") == [(1, 7)]
