"""A source that has purged what a replica lacks: the archive has it, and the replication goes on after it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import paraply
from server.archive.test_archive import is_mariadb, purge, server_of

pytestmark = pytest.mark.mysql


def run(*arguments: object) -> dict[str, Any]:
    """Run a command that may warn, and return its report."""
    report: dict[str, Any] = json.loads(paraply(*arguments, "--json").stdout)
    return report


@pytest.mark.by_turns
@pytest.mark.parametrize("kind", ["mysql", "10.11"])
def test_a_replication_goes_on_after_the_archive_was_applied(kind: str, tmp_path: Path) -> None:
    with server_of(kind) as source, server_of(kind, "--server-id=42") as target:
        if is_mariadb(target):
            target.sql("RESET MASTER")
        name = "gtid_binlog_pos" if is_mariadb(source) else "gtid_executed"

        def replicate() -> dict[str, Any]:
            executed = str(source.sql(f"SELECT @@GLOBAL.{name}")[0][0])
            last = executed if is_mariadb(source) else f"{executed.partition(':')[0]}:{executed.rpartition('-')[2]}"
            return run("replicate", "--from", source.url, "--to", target.url, "--relay-log", tmp_path / "relay", "--until", last)

        source.sql("CREATE DATABASE shop", "CREATE TABLE shop.t (id INT PRIMARY KEY)", "INSERT INTO shop.t VALUES (1)")
        assert replicate()["error"] is None
        source.sql("INSERT INTO shop.t VALUES (2)", "INSERT INTO shop.t VALUES (3)", "FLUSH BINARY LOGS")
        assert run("archive", "--from", source.url, "--into", tmp_path / "archive", "--once")["error"] is None
        source.sql("INSERT INTO shop.t VALUES (4)", "FLUSH BINARY LOGS")
        assert run("archive", "--from", source.url, "--into", tmp_path / "archive", "--once")["error"] is None
        purge(source)
        source.sql("INSERT INTO shop.t VALUES (5)")
        refused = replicate()["error"]
        assert refused["class"] == "ReceiveFailed"
        assert "paraply apply ARCHIVE" in refused["message"]
        filled = run("apply", tmp_path / "archive", "--to", target.url, "--gtid", "preserve")
        assert filled["error"] is None
        assert target.sql("SELECT COUNT(*) FROM shop.t") == [(4,)]
        assert replicate()["error"] is None
        assert target.sql("SELECT COUNT(*) FROM shop.t") == [(5,)]
        executed = str(source.sql(f"SELECT @@GLOBAL.{name}")[0][0])
        assert executed in str(target.sql(f"SELECT @@GLOBAL.{name}")[0][0]), "no transaction of the archive lost its GTID"
        (mode,) = {str(row[0]) for row in target.sql("SELECT gtid_mode FROM paraply.channel")}
        assert mode == "preserve"
