"""A dry run that judges the whole log: after statement-format changes, refused XA transactions and up to damage."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mariadb_versions import ROW_LOG, mariadb_of_version
from pg_databases import Database
from servers import running_mariadb

pytestmark = [pytest.mark.mariadb, pytest.mark.postgres]

MADE = ("CREATE DATABASE w", "CREATE TABLE w.t (id INT PRIMARY KEY)", "INSERT INTO w.t VALUES (1)")
LATER = ("CREATE TABLE w.p (id INT PRIMARY KEY, at POINT)", "INSERT INTO w.p VALUES (1, POINT(1, 1))", "CREATE SEQUENCE w.s")


def log_of(folder: Path, *statements: str) -> Path:
    """Return the log of a new server that ran these statements."""
    with running_mariadb(ROW_LOG) as server:
        server.sql(*statements, "FLUSH BINARY LOGS")
        return Path(shutil.copy(server.data / "binlog.000001", folder))


def dry_run(logs: list[Path], url: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    arguments = ["paraply", "apply", *map(str, logs), "--to", url, "--dry-run", *options]
    return subprocess.run([sys.executable, "-m", *arguments], capture_output=True, text=True, check=False)


def judged(logs: list[Path], url: str, *options: str) -> tuple[int, dict[str, Any]]:
    """Return exit code and JSON object of a dry run."""
    done = dry_run(logs, url, "--json", *options)
    return done.returncode, json.loads(done.stdout)


def test_stops_after_a_change_in_statement_format(database: Database, tmp_path: Path) -> None:
    changes = ("SET SESSION binlog_format=STATEMENT", "INSERT INTO w.t VALUES (2)", "SET SESSION binlog_format=ROW")
    log = log_of(tmp_path, *MADE, *changes, *LATER)
    code, found = judged([log], database.url)
    assert code == 0
    assert [statement["sql"] for statement in found["statements"] if statement["problem"]] == [LATER[0], LATER[2]]
    assert [stop["sql"] for stop in found["stops"]] == ["rows of w.p"]
    assert (found["transactions"], found["before_stop"]) == (7, 3)
    text = dry_run([log], database.url).stdout
    assert "would apply 7 transactions" in text
    assert "STOP: it would end after 3 of them" in text
    assert text.count("not checked: values of rows") == 1


def test_the_plan_and_all_stops_of_a_log_with_an_xa_transaction(database: Database, tmp_path: Path) -> None:
    branch = ("XA START 'x'", "INSERT INTO w.t VALUES (2)", "XA END 'x'", "XA PREPARE 'x'", "XA COMMIT 'x'")
    log = log_of(tmp_path, *MADE, *branch, *LATER)
    code, found = judged([log], database.url)
    assert code == 3
    assert found["error"]["class"] == "LogNotUnderstood"
    assert [statement["sql"] for statement in found["statements"] if statement["problem"]] == [LATER[0], LATER[2]]
    assert [stop["sql"] for stop in found["stops"]] == ["XA transaction X'78',X'',1", "rows of w.p"]
    assert (found["transactions"], found["before_stop"]) == (8, 0)
    done = dry_run([log], database.url)
    assert "STOP: the apply is refused before its first write: the log has the XA transaction" in done.stdout
    assert "log      " in done.stdout


def test_what_is_before_the_damage_of_a_log(database: Database, tmp_path: Path) -> None:
    log = log_of(tmp_path, *MADE, *LATER)
    whole = log.read_bytes()
    code, found = judged([log], database.url)
    assert (code, found["complete"]) == (0, True)
    log.write_bytes(whole[: found["last"]["position"] + 30])
    code, found = judged([log], database.url)
    assert (code, found["transactions"], found["complete"]) == (3, 5, False)
    text = dry_run([log], database.url).stdout
    assert "would apply 5 transactions" in text
    assert "STOP: the log cannot be read after them: " in text


def test_statements_without_counterpart_in_postgresql(database: Database, tmp_path: Path) -> None:
    others = (
        "CREATE VIEW w.v AS SELECT 1", "CREATE USER u@localhost IDENTIFIED BY 'secret'", "GRANT SELECT ON w.* TO u@localhost",
        "CREATE TRIGGER w.g BEFORE INSERT ON w.t FOR EACH ROW SET NEW.id = '\x18\x7f'",
    )  # fmt: skip
    log = log_of(tmp_path, *MADE, *others)
    _, found = judged([log], database.url)
    assert [statement["skipped"] for statement in found["statements"]] == [False, False, True, True, True, True]
    assert all(statement["runs"] for statement in found["statements"])
    text = dry_run([log], database.url).stdout
    assert "2 statements would be run, 4 skipped" in text
    assert text.count("\n  skip  ") == 4
    assert "'***'" in text
    assert "secret" not in text + json.dumps(found)
    assert "'\\x18\\x7f'" in text


def test_a_table_in_memory_that_a_restart_emptied_is_no_change_in_statement_format(tmp_path: Path) -> None:
    with mariadb_of_version("10.5") as server:
        server.sql("CREATE DATABASE w", "CREATE TABLE w.m (id INT) ENGINE=MEMORY", "CREATE TABLE w.t (id INT)")
        server.stop()
        server.start()
        server.sql("INSERT INTO w.m VALUES (1)", "INSERT INTO w.t VALUES (1)", "FLUSH BINARY LOGS")
        logs = [Path(shutil.copy(server.data / f"binlog.{number:06}", tmp_path)) for number in (1, 2)]
    assert b"DELETE FROM `w`.`m`" in logs[1].read_bytes()
    with running_mariadb(ROW_LOG) as target:
        url = f"mariadb://app:app@127.0.0.1:{target.port}"
        code, found = judged(logs, url, "--allow-nontransactional")
        assert (code, found["before_stop"], found["plan"]["statement_changes"]) == (0, None, None)
        done = subprocess.run(
            [sys.executable, "-m", "paraply", "apply", *map(str, logs), "--to", url, "--allow-nontransactional"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (done.returncode, "cannot be replayed" in done.stdout + done.stderr) == (0, False)
        assert target.sql("SELECT COUNT(*) FROM w.m") == [(1,)]
