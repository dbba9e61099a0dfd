"""R26 where the target's user does not see who reads from the target: no raw error, and never the mode that passes replicas by."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from command_line import apply
from mariadb_versions import ROW_LOG
from server.apply.test_errors_mysql import Server, server
from server.replay import applied
from servers import running_mariadb

from paraply import open_log
from paraply.errors import UsageError
from paraply.targets.mysql.target import MySqlTarget
from paraply.targets.protocol import ApplyPlan
from paraply.targets.url import parse_url

__all__ = ["server"]

pytestmark = pytest.mark.mariadb

MYSQL = "REPLICATION_APPLIER, SYSTEM_VARIABLES_ADMIN"
MARIADB = "BINLOG REPLAY, BINLOG ADMIN, REPLICATION SLAVE ADMIN"


@pytest.fixture
def blind(server: Server) -> Iterator[MySqlTarget]:
    """The target as a user without a sight of others' connections."""
    server.sql(
        "DROP USER IF EXISTS blind@'%'",
        "CREATE USER blind@'%' IDENTIFIED BY 'blind'",
        f"GRANT {MARIADB if server.mariadb else MYSQL} ON *.* TO blind@'%'",
        "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE ON paraply.* TO blind@'%'",
    )
    url = parse_url(server.url)
    yield MySqlTarget(parse_url(f"{url.family}://blind:blind@{url.host}:{url.port}"))
    server.sql("DROP USER blind@'%'", "DROP DATABASE IF EXISTS paraply")


def wait_until_nobody_reads(server: Server) -> None:
    """Wait for the end of dump threads whose replicas, of earlier tests, have gone."""
    deadline = time.monotonic() + 60
    dumps = "SELECT COUNT(*) FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'"
    while int(str(server.sql(dumps)[0][0])):
        assert time.monotonic() < deadline, "somebody still reads the binlog"
        time.sleep(0.1)


def test_r26_auto_is_preserve_where_replicas_cannot_be_seen(server: Server, blind: MySqlTarget) -> None:
    needed = "PROCESS ON *.*" if server.mariadb else "SELECT ON performance_schema.*"
    progress = blind.open(ApplyPlan("sight", "f", 1, mariadb=server.mariadb))
    assert blind.context.mode.name == "preserve"
    assert "cannot see" in progress.notes[0]
    assert f"GRANT {needed}" in progress.notes[0]
    blind.close()
    with pytest.raises(UsageError, match="use --gtid preserve") as raised:
        blind.open(ApplyPlan("sight", "f", 1, mariadb=server.mariadb, gtid_mode="record"))
    assert f"GRANT {needed}" in raised.value.message
    server.sql(f"GRANT {needed} TO blind@'%'")
    wait_until_nobody_reads(server)
    assert blind.open(ApplyPlan("sight", "f", 1, mariadb=server.mariadb)).notes[0] == "GTID mode record"
    blind.close()


def test_r26_what_a_mariadb_wrote_itself_is_no_progress(truth: Callable[[str], Path]) -> None:
    log = truth("mariadb-binlog/plain.binlog")
    first = next(iter(open_log(log))).gtid
    assert first is not None
    domain = first.split("-")[0]
    with running_mariadb([*ROW_LOG, "--server-id=99"]) as target:
        with target.connect() as connection, connection.cursor() as cursor:
            cursor.execute("RESET MASTER")
            for name in ("own", "own2", "own3"):
                cursor.execute(f"CREATE DATABASE {name}")
        refused = apply(log, target.url, "--gtid", "preserve")
        assert (refused.code, f"{domain}-99-3" in refused.line) == (2, True), refused.line
        applied(log, target.url, "--gtid", "record")
