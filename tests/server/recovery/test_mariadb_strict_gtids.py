"""Transactions under their own GTIDs on MariaDB with gtid_strict_mode, which checks each number as it is set (R25)."""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from pathlib import Path

import pytest
from mariadb_versions import MARIADB_VERSIONS, mariadb_of_version
from server.replay import applied

pytestmark = pytest.mark.mariadb
OPTIONS = ["--log-bin=binlog", "--binlog-format=ROW"]


def history() -> list[str]:
    """Return statements of three GTID domains and two server ids in turns; later domains have lower numbers."""
    statements = ["CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, v INT)", "INSERT INTO d.t VALUES (0, 0), (1, 1)"]
    for number in range(2, 40):
        domain, server = number % 3, 1 + number % 2
        statements.append(f"SET gtid_domain_id={domain}")
        statements.append(f"SET server_id={server}")
        statements.append(f"INSERT INTO d.t (id, v) VALUES ({number}, {domain})")
        if number % 7 == 0:
            statements.append(f"ALTER TABLE d.t ADD c{number} INT")
    return statements


@pytest.mark.parametrize("version", MARIADB_VERSIONS)
def test_r25_strict_numbers_of_several_domains_are_kept(tmp_path: Path, version: str) -> None:
    with ExitStack() as stack:
        source, target = (
            stack.enter_context(mariadb_of_version(version, [*OPTIONS, f"--server-id={number}", "--gtid-strict-mode=ON"]))
            for number in (1, 2)
        )
        source.sql(*history(), "FLUSH BINARY LOGS")
        log = Path(shutil.copy(source.data / "binlog.000001", tmp_path))
        expected = source.sql("SELECT id, v FROM d.t ORDER BY id")
        gtids = source.sql("SELECT @@GLOBAL.gtid_binlog_state")
        for workers in ("0", "1", "4"):
            target.sql("DROP DATABASE IF EXISTS d", "DROP DATABASE IF EXISTS paraply", "RESET MASTER", "SET GLOBAL gtid_slave_pos=''")
            applied(log, target.url, "--gtid", "preserve", "--workers", workers)
            assert target.sql("SELECT id, v FROM d.t ORDER BY id") == expected
            assert sorted(str(target.sql("SELECT @@GLOBAL.gtid_binlog_pos")[0][0]).split(",")) == sorted(
                str(source.sql("SELECT @@GLOBAL.gtid_binlog_pos")[0][0]).split(",")
            )
            assert target.sql("SELECT @@GLOBAL.gtid_binlog_state") == gtids
