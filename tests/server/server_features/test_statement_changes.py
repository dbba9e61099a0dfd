"""Row changes in statement format: the plan counts and names them before anything is written (R27)."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest
from mariadb_versions import MARIADB_VERSIONS, mariadb_of_version
from own_mysql import running_mysql
from server.point_in_time import apply
from server.replay import PostgresPlace, SqlPlace
from server.source_log import copy_binlogs
from servers import mysql_url, sql_connect

TABLES = [
    "CREATE DATABASE mixed",
    "CREATE TABLE mixed.item (id INT PRIMARY KEY, n INT)",
    "CREATE TABLE mixed.log (id INT PRIMARY KEY, t TEXT)",
]
ROWS = ["SET SESSION binlog_format=ROW", "INSERT INTO mixed.item VALUES (1,1)"]
STATEMENTS = [
    "INSERT INTO mixed.item VALUES (2,2),(3,3)",
    "USE mixed",
    "UPDATE item SET n=n+1 WHERE id=2",
    "INSERT INTO `log` (id, t) SELECT id, 'into nowhere' FROM item",
    "DELETE FROM log WHERE id=2",
    "ALTER TABLE item ADD COLUMN m INT",
    "TRUNCATE TABLE mixed.log",
]
COUNTED = {"mixed.item": 2, "mixed.log": 2}


def changes_in(outcome_plan: dict[str, Any]) -> dict[str, Any]:
    changes = outcome_plan["statement_changes"]
    assert {entry["table"]: entry["count"] for entry in changes["tables"]} == COUNTED
    assert changes["count"] == 4
    return dict(changes)


def empty(place: PostgresPlace | SqlPlace) -> None:
    if isinstance(place, SqlPlace):
        place.sql("DROP DATABASE IF EXISTS mixed")
    place.empty()


def items_of(place: PostgresPlace | SqlPlace) -> list[tuple[Any, ...]]:
    if isinstance(place, SqlPlace):
        return place.sql("SELECT id, n FROM mixed.item")
    with psycopg.connect(place.url) as connection:
        return connection.execute("SELECT id, n FROM mixed.item").fetchall()


def check_plans(logs: list[Path], place: PostgresPlace | SqlPlace) -> None:
    """Check the dry run, its text and the apply."""
    empty(place)
    dry = apply(logs, place.url, "--dry-run")
    assert dry.code == 0, dry.report.get("error")
    first = changes_in(dry.report["plan"])["first"]
    assert [statement["table"] for statement in first] == ["mixed.item", "mixed.item", "mixed.log", "mixed.log"]
    assert first[0]["sql"] == STATEMENTS[0]
    assert dry.report["before_stop"] == 4, "what stands before the first of them"
    command = [sys.executable, "-m", "paraply", "apply", *map(str, logs), "--to", place.url]
    run = subprocess.run(command, check=False, capture_output=True, text=True)
    assert run.returncode == 3
    messages = run.stderr
    assert "STOP     4 row changes are in statement format" in messages
    assert f"{first[0]['file']}:{first[0]['position']}  {STATEMENTS[0]}" in messages
    assert messages.index("STOP ") < messages.index("error")
    assert items_of(place) == [(1, 1)], "all before the first of them is applied"
    failed = apply(logs, place.url)
    assert failed.code == 3
    assert failed.report["error"]["position"] == first[0]["position"]
    assert any("statement format" in note for note in failed.report["notes"])
    origin, separator, number = first[0]["gtid"].rpartition(":" if ":" in first[0]["gtid"] else "-")
    empty(place)
    stopped = apply(logs, place.url, "--stop-at", f"{origin}{separator}{int(number) - 1}")
    assert stopped.code == 0, stopped.report.get("error")
    assert not any("statement format" in note for note in stopped.report["notes"])


@pytest.mark.mariadb
@pytest.mark.parametrize("times", [1, 15])
def test_r27_json_lists_what_the_text_only_counts(postgres_place: PostgresPlace, tmp_path: Path, times: int) -> None:
    data = tmp_path / "rows.txt"
    data.write_text("70\tseventy\n")
    changes = [
        "INSERT INTO mixed.item VALUES (2,2)", "UPDATE mixed.item SET n=3 WHERE id=2", "DELETE FROM mixed.item WHERE id=2",
        "UPDATE mixed.item, mixed.log SET item.n=7, log.t='x' WHERE item.id=log.id", "CALL mixed.fill()",
        "REPLACE INTO mixed.log VALUES (9,'y')",
        f"LOAD DATA LOCAL INFILE '{data}' REPLACE INTO TABLE mixed.log", "DELETE FROM mixed.log",
    ]  # fmt: skip
    routine = "CREATE PROCEDURE mixed.fill() REPLACE INTO mixed.log VALUES (8,'from a procedure')"
    with mariadb_of_version(MARIADB_VERSIONS[-1], ["--log-bin=binlog", "--server-id=1", "--local-infile=1"]) as server:
        connection = sql_connect(unix_socket=str(server.socket), user="root", autocommit=True, local_infile=True)
        with connection, connection.cursor() as cursor:
            for sql in (*TABLES, routine, *ROWS, "SET SESSION binlog_format=STATEMENT", *changes * times, "FLUSH BINARY LOGS"):
                cursor.execute(sql)
        log = Path(shutil.copy(server.data / "binlog.000001", tmp_path))
    empty(postgres_place)
    found = apply([log], postgres_place.url, "--dry-run").report["plan"]["statement_changes"]
    count = len(changes) * times
    assert found["count"] == sum(table["count"] for table in found["tables"]) == count
    listed = found["first"]
    assert len(listed) == min(count, 100)
    assert [one["sql"][:11] for one in listed[:5]] == [sql[:11] for sql in (*changes[:4], "REPLACE INTO mixed")]
    assert listed[6]["sql"].startswith("LOAD DATA")
    assert [one["table"] for one in listed[:8]] == ["mixed.item"] * 4 + ["mixed.log"] * 4
    assert [one["position"] for one in listed] == sorted({one["position"] for one in listed})
    command = [sys.executable, "-m", "paraply", "apply", str(log), "--to", postgres_place.url, "--dry-run"]
    text = subprocess.run(command, check=False, capture_output=True, text=True).stdout
    assert f"and {count - 5} more; --json lists {'them' if times == 1 else 'the first 100'}\n" in text
    assert [f":{one['position']}  " in text for one in listed[:7]] == [True] * 5 + [False] * 2


@pytest.mark.parametrize("version", MARIADB_VERSIONS)
def test_r27_a_mixed_log_of_mariadb_is_announced(version: str, postgres_place: PostgresPlace, tmp_path: Path) -> None:
    with mariadb_of_version(version, ["--log-bin=binlog", "--binlog-format=MIXED", "--server-id=1"]) as server:
        server.sql(*TABLES, *ROWS, "SET SESSION binlog_format=MIXED", *STATEMENTS, "FLUSH BINARY LOGS")
        logs = [Path(shutil.copy(server.data / "binlog.000001", tmp_path))]
    check_plans(logs, postgres_place)
    with mariadb_of_version(version) as target:
        check_plans(logs, SqlPlace(target.url))


def test_r27_statement_format_of_mysql_is_announced(postgres_place: PostgresPlace, tmp_path: Path) -> None:
    place = SqlPlace(mysql_url())
    place.sql("DROP DATABASE IF EXISTS mixed")
    place.empty()
    try:
        place.sql(*TABLES, *ROWS, "SET SESSION binlog_format=STATEMENT", *STATEMENTS)
        logs = copy_binlogs(place.url, tmp_path)
    finally:
        place.sql("DROP DATABASE IF EXISTS mixed")
        place.empty()
    check_plans(logs, postgres_place)
    with running_mysql() as target:
        check_plans(logs, SqlPlace(target.url))
