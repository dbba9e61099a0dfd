"""Ways out of a stop, as docs/how-to/point-in-time.md states them: what the target holds does not stop the next run (R25, R27)."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from mariadb_versions import mariadb_of_version
from server.point_in_time import apply
from server.replay import Outcome, PostgresPlace, SqlPlace
from server.source_log import copy_binlogs
from servers import mysql_url

BY_HAND = [
    "UPDATE shop.item SET n=n+10 WHERE id=1",
    "INSERT INTO shop.item (n) VALUES (100)",
]
"""The changes in statement format; the second one has its number in an event before it."""

BEFORE = [
    "CREATE DATABASE shop",
    "CREATE TABLE shop.item (id INT PRIMARY KEY AUTO_INCREMENT, old INT, n INT)",
    "CREATE TABLE shop.gone (id INT PRIMARY KEY)",
    "FLUSH BINARY LOGS",
    "SET SESSION binlog_format=ROW",
    "INSERT INTO shop.item (id, n) VALUES (1,1)",
    "ALTER TABLE shop.item DROP COLUMN old",
    "INSERT INTO shop.item VALUES (2,2)",
    "DROP TABLE shop.gone",
]
AFTER = [
    "SET SESSION binlog_format=ROW",
    "INSERT INTO shop.item VALUES (4,4)",
    "ALTER TABLE shop.item ADD COLUMN m INT",
    "INSERT INTO shop.item VALUES (5,5,5)",
]
FINAL = [(1, 11, None), (2, 2, None), (3, 100, None), (4, 4, None), (5, 5, 5)]
ROWS = "SELECT id, n, m FROM shop.item ORDER BY id"


@dataclass(frozen=True)
class Stopped:
    """Two files of a log, changes in statement format in the second one, and the definitions at the first of them."""

    logs: list[Path]
    definitions: Path


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Stopped:
    folder = tmp_path_factory.mktemp("stopped")
    with mariadb_of_version("10.11", ["--log-bin=binlog", "--binlog-format=MIXED", "--server-id=1"]) as server:
        place = SqlPlace(server.url)
        place.sql(*BEFORE, "SET SESSION binlog_format=STATEMENT", *BY_HAND)
        dump = ["mariadb-dump", "--no-data", f"--socket={server.socket}", "--databases", "shop"]
        definitions = subprocess.run(dump, check=True, capture_output=True).stdout
        place.sql(*AFTER, "FLUSH BINARY LOGS")
        assert place.sql(ROWS) == [*FINAL]
        logs = [Path(shutil.copy(server.data / f"binlog.00000{number}", folder)) for number in (1, 2)]
    (folder / "definitions.sql").write_bytes(definitions)
    return Stopped(logs, folder / "definitions.sql")


def number_added(executed: str, more: int) -> str:
    """Return a position of MariaDB with some more transactions."""
    origin, _, number = executed.rpartition("-")
    return f"{origin}-{int(number) + more}"


def stops_as_planned(logs: list[Path], url: str, *options: str) -> Outcome:
    """Check that dry run and run name the same event, which ends the run."""
    planned = apply(logs, url, "--dry-run", *options)
    assert planned.code == 0, planned.report.get("error")
    first = planned.report["plan"]["statement_changes"]["first"][0]
    outcome = apply(logs, url, *options)
    assert outcome.code == 3
    error = outcome.report["error"]
    assert (error["file"], error["position"], error["gtid"]) == (first["file"], first["position"], first["gtid"])
    return outcome


def go_on(logs: list[Path], url: str, executed: str, *options: str) -> dict[str, Any]:
    """Check the recipe of the message and the docs."""
    refused = apply(logs, url, "--start-after", executed, *options)
    assert refused.code == 2
    for word in ("--channel NEW", "--start-after", "Go on after a stop"):
        assert word in refused.report["error"]["message"]
    recipe = ["--channel", "after", "--start-after", executed, *options]
    planned = apply(logs, url, "--dry-run", *recipe)
    assert planned.code == 0, planned.report.get("error")
    assert planned.report["plan"]["statement_changes"] is None
    assert planned.report["transactions"] == 3
    assert not [entry for entry in planned.report["statements"] if entry["problem"]]
    done = apply(logs, url, *recipe)
    assert done.code == 0, done.report.get("error")
    return done.report


def test_r27_statements_run_by_hand_do_not_stop_postgresql(stopped: Stopped, postgres_place: PostgresPlace) -> None:
    first = stops_as_planned(stopped.logs, postgres_place.url)
    with psycopg.connect(postgres_place.url, autocommit=True) as connection:
        connection.execute(BY_HAND[0].encode())
        connection.execute(b"INSERT INTO shop.item VALUES (3, 100)")
    second = ["--channel", "second", "--schema", str(stopped.definitions)]
    stops_as_planned(stopped.logs[1:], postgres_place.url, *second, "--start-after", number_added(first.report["executed"], 1))
    executed = number_added(first.report["executed"], 2)
    report = go_on(stopped.logs[1:], postgres_place.url, executed, "--schema", str(stopped.definitions))
    assert report["fallback_reasons"] == [], "the definitions are those of the moment, not changed once more by the DDL before it"
    with psycopg.connect(postgres_place.url) as connection:
        assert connection.execute(ROWS.encode()).fetchall() == FINAL


def test_r27_statements_run_by_hand_do_not_stop_mariadb(stopped: Stopped) -> None:
    with mariadb_of_version("10.11") as server:
        target = SqlPlace(server.url)
        first = stops_as_planned(stopped.logs, target.url)
        target.sql(*BY_HAND)
        go_on(stopped.logs[1:], target.url, number_added(first.report["executed"], 2))
        assert target.sql(ROWS) == FINAL


def test_r27_a_log_may_begin_with_a_change_that_the_target_holds(postgres_place: PostgresPlace, tmp_path: Path) -> None:
    with mariadb_of_version("10.11", ["--log-bin=binlog", "--binlog-format=STATEMENT", "--server-id=1"]) as server:
        SqlPlace(server.url).sql(
            *BEFORE[:2], "FLUSH BINARY LOGS", "INSERT INTO shop.item VALUES (1,1,1)", "SET SESSION binlog_format=ROW",
            "INSERT INTO shop.item VALUES (2,2,2)", "FLUSH BINARY LOGS",
        )  # fmt: skip
        whole = [Path(shutil.copy(server.data / f"binlog.00000{number}", tmp_path)) for number in (1, 2)]
    assert apply(whole[:1], postgres_place.url).code == 0
    with psycopg.connect(postgres_place.url, autocommit=True) as connection:
        connection.execute(b"INSERT INTO shop.item VALUES (1, 1, 1)")
    (tmp_path / "dump.sql").write_text(";".join(["USE shop", *BEFORE[1:2], ""]).replace("shop.item", "item"))
    done = apply(whole[1:], postgres_place.url, "--channel", "after", "--start-after", "0-1-3", "--schema", str(tmp_path / "dump.sql"))
    assert done.code == 0, done.report["error"]
    with psycopg.connect(postgres_place.url) as connection:
        assert connection.execute(b"SELECT id FROM shop.item ORDER BY id").fetchall() == [(1,), (2,)]


def test_r27_mysql_names_the_databases_of_a_statement_that_a_filter_leaves_out(postgres_place: PostgresPlace, tmp_path: Path) -> None:
    place = SqlPlace(mysql_url())
    both = "DROP DATABASE IF EXISTS left_out"
    place.sql(both)
    place.empty()
    try:
        place.sql(
            "CREATE DATABASE shop", "CREATE DATABASE left_out", "CREATE TABLE shop.item (id INT PRIMARY KEY)",
            "CREATE TABLE left_out.plain (id INT PRIMARY KEY AUTO_INCREMENT, n INT)", "CREATE TABLE left_out.noted (id INT PRIMARY KEY)",
            "CREATE TRIGGER left_out.note AFTER INSERT ON left_out.noted FOR EACH ROW INSERT INTO shop.item VALUES (NEW.id)",
            "SET SESSION binlog_format=STATEMENT", "INSERT INTO left_out.plain (n) VALUES (1)", "SET SESSION binlog_format=ROW",
            "INSERT INTO shop.item VALUES (1)", "SET SESSION binlog_format=STATEMENT", "INSERT INTO left_out.noted VALUES (2)",
        )  # fmt: skip
        log = copy_binlogs(place.url, tmp_path)[-1]
    finally:
        place.sql(both)
        place.empty()
    outcome = stops_as_planned([log], postgres_place.url, "--exclude-database", "left_out")
    assert outcome.report["filtered"] >= 1
    with psycopg.connect(postgres_place.url) as connection:
        assert connection.execute(b"SELECT id FROM shop.item").fetchall() == [(1,)], "the trigger's statement stops, as it uses shop"
