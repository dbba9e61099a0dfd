"""``paraply replicate`` that fails: its privileges for ``--skip``, and the error that ``paraply status`` shows afterwards."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from command_line import Outcome, paraply, run_json
from own_mysql import OwnMySql, running_mysql
from server.archive.test_archive import purge
from server.live import replicating
from server.replay import PostgresPlace
from servers import LocalServer

pytestmark = [pytest.mark.mysql, pytest.mark.timeout(300)]

QUICK = ["--sync-binlog=0", "--innodb-flush-log-at-trx-commit=2"]
PRIVILEGES = (
    "GRANT REPLICATION_APPLIER, SYSTEM_VARIABLES_ADMIN ON *.* TO least@'%'",
    "GRANT SELECT ON performance_schema.* TO least@'%'",
    "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE ON paraply.* TO least@'%'",
    "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, DROP, INDEX, REFERENCES ON shop.* TO least@'%'",
)
"""Privileges that docs/how-to/privileges.md asks for."""


@pytest.fixture(scope="module")
def source() -> Iterator[OwnMySql]:
    with running_mysql(["--server-id=51", "--gtid-mode=ON", "--enforce-gtid-consistency=ON", *QUICK]) as server:
        yield server


@pytest.fixture(scope="module")
def target() -> Iterator[OwnMySql]:
    with running_mysql(["--server-id=52", "--gtid-mode=ON", "--enforce-gtid-consistency=ON", *QUICK]) as server:
        server.sql("CREATE USER least@'%' IDENTIFIED BY 'app'", *PRIVILEGES)
        yield server


def url(server: LocalServer, user: str = "app") -> str:
    return f"mysql://{user}:app@127.0.0.1:{server.port}"


def emptied(*servers: LocalServer) -> None:
    """Forget all rows, progress and logs."""
    for server in servers:
        server.sql("DROP DATABASE IF EXISTS shop", "DROP DATABASE IF EXISTS paraply")
        server.sql("RESET BINARY LOGS AND GTIDS")


def filled(source: LocalServer, rows: int = 3) -> str:
    """Fill the source; return the UUID of its GTIDs: two statements, then a transaction for each row."""
    source.sql("CREATE DATABASE shop", "CREATE TABLE shop.t (id INT PRIMARY KEY)")
    source.sql(*(f"INSERT INTO shop.t VALUES ({number})" for number in range(1, rows + 1)))
    return str(source.sql("SELECT @@server_uuid")[0][0])


def purged(source: LocalServer) -> None:
    """Write a transaction and purge the log that has it, which no relay log can have received; write one more."""
    source.sql("INSERT INTO shop.t VALUES (98)", "FLUSH BINARY LOGS")
    purge(source)
    source.sql("INSERT INTO shop.t VALUES (99)")


def replicated(source: LocalServer, to: str, relay: Path, *options: str) -> Outcome:
    """Replicate; standard error may have remarks besides the error."""
    done = paraply("replicate", "--from", url(source), "--to", to, "--relay-log", relay, "--quiet", "--json", *options)
    return Outcome(done.returncode, json.loads(done.stdout), done.stderr)


def channel_of(to: str, code: int, name: str = "default") -> dict[str, Any]:
    """Return a channel of ``paraply status``, which must end with a certain exit code."""
    outcome = run_json("status", "--to", to, "--channel", name)
    assert outcome.code == code, outcome.line
    (channel,) = outcome.report["channels"]
    return dict(channel)


def test_skip_needs_no_privilege_for_xa_where_the_log_has_none(source: OwnMySql, target: OwnMySql, tmp_path: Path) -> None:
    emptied(source, target)
    uuid = filled(source)
    done = replicated(source, url(target, "least"), tmp_path / "relay", "--skip", f"{uuid}:4", "--until", f"{uuid}:5")
    assert done.code == 0, done.line
    assert target.sql("SELECT id FROM shop.t ORDER BY id") == [(1,), (3,)]
    source.sql("INSERT INTO shop.t VALUES (6)")
    again = paraply("replicate", "--from", url(source), "--to", url(target, "least"), "--relay-log", tmp_path / "relay",
                    "--skip", f"{uuid}:4", "--until", f"{uuid}:6")  # fmt: skip
    assert again.returncode == 0, again.stderr
    assert f"the target counts {uuid}:4 as executed already" in again.stdout
    assert "left out by --skip" not in again.stdout, "nothing was, in this run"


def test_a_replication_whose_source_purged_its_logs_is_not_complete(source: OwnMySql, target: OwnMySql, tmp_path: Path) -> None:
    emptied(source, target)
    uuid, to = filled(source), url(target, "least")
    assert replicated(source, to, tmp_path / "relay", "--until", f"{uuid}:3").code == 0
    assert channel_of(to, 0)["state"] == "complete"
    purged(source)
    for _ in range(2):  # with and without received transactions that are not applied
        failed = replicated(source, to, tmp_path / "relay")
        assert (failed.code, failed.error["class"]) == (1, "ReceiveFailed"), failed.line
        channel = channel_of(to, 1)
        assert (channel["state"], channel["run"]["error"]["class"]) == ("failed", "ReceiveFailed")
        assert "purged" in channel["trouble"]
    refused = replicated(source, to, tmp_path / "relay", "--table", "shop.other")
    assert refused.code == 2
    assert "belongs to an apply with other filters" in channel_of(to, 1)["trouble"], "not the error of the process before"


def test_a_first_start_that_fails_is_shown_and_binds_to_no_arguments(source: OwnMySql, target: OwnMySql, tmp_path: Path) -> None:
    emptied(source, target)
    uuid, to = filled(source), url(target, "least")
    purged(source)
    failed = replicated(source, to, tmp_path / "relay")
    assert (failed.code, failed.error["class"]) == (1, "ReceiveFailed"), failed.line
    channel = channel_of(to, 1)
    assert (channel["state"], channel["epoch"], channel["executed"]) == ("failed", 0, "")
    shown = paraply("status", "--to", to)
    assert "error 1236" in shown.stdout
    assert shown.stderr == "error: channel default: failed; its error is in the status\n", "the long error is not printed twice"
    # The advice of the error: a restored backup, and what it holds.
    target.sql("CREATE DATABASE shop", "CREATE TABLE shop.t (id INT PRIMARY KEY)", "RESET BINARY LOGS AND GTIDS")
    mended = replicated(source, to, tmp_path / "new", "--start-after", f"{uuid}:1-6", "--until", f"{uuid}:7", "--gtid", "none")
    assert mended.code == 0, mended.line
    assert channel_of(to, 0)["state"] == "complete"


def test_a_first_start_that_fails_is_forgotten_again(source: OwnMySql, target: OwnMySql, tmp_path: Path) -> None:
    emptied(source, target)
    filled(source)
    purged(source)
    assert replicated(source, url(target, "least"), tmp_path / "relay").code == 1
    done = paraply("forget", "--to", url(target, "least"), "--channel", "default", "--yes")
    assert done.returncode == 0, done.stderr
    assert run_json("status", "--to", url(target)).report["channels"] == []


def test_a_first_start_into_postgresql_that_fails_is_shown(source: OwnMySql, postgres_place: PostgresPlace, tmp_path: Path) -> None:
    emptied(source)
    uuid = filled(source)
    purged(source)
    postgres_place.empty()
    with psycopg.connect(postgres_place.url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS paraply CASCADE")
    failed = replicated(source, postgres_place.url, tmp_path / "relay")
    assert (failed.code, failed.error["class"]) == (1, "ReceiveFailed"), failed.line
    assert channel_of(postgres_place.url, 1)["state"] == "failed"
    mended = replicated(source, postgres_place.url, tmp_path / "new", "--start-after", f"{uuid}:1-6", "--table", "shop.other",
                        "--until", f"{uuid}:7")  # fmt: skip
    assert mended.code == 0, mended.line
    assert channel_of(postgres_place.url, 0)["state"] == "complete"
    forgotten = paraply("forget", "--to", postgres_place.url, "--channel", "default", "--yes")
    assert forgotten.returncode == 0, forgotten.stderr


def test_r35_skip_of_an_end_sees_the_transaction_that_the_target_holds_prepared(source: OwnMySql, target: OwnMySql, tmp_path: Path) -> None:
    emptied(source, target)
    uuid, relay = filled(source, 1), tmp_path / "relay"
    source.sql("XA START 'x'", "INSERT INTO shop.t VALUES (7)", "XA END 'x'", "XA PREPARE 'x'")
    assert replicated(source, url(target), relay, "--until", f"{uuid}:4").code == 0
    source.sql("XA COMMIT 'x'")
    denied = replicated(source, url(target, "least"), relay, "--skip", f"{uuid}:5", "--until", f"{uuid}:5")
    assert denied.code == 2
    assert "grant the user XA_RECOVER_ADMIN" in denied.error["message"]
    half = replicated(source, url(target), relay, "--skip", f"{uuid}:5", "--until", f"{uuid}:5")
    assert half.code == 2
    assert "its end" in half.error["message"]
    assert "would stay prepared" in half.error["message"]
    assert replicated(source, url(target), relay, "--until", f"{uuid}:5").code == 0
    assert target.sql("SELECT id FROM shop.t ORDER BY id") == [(1,), (7,)]


def test_r26_until_a_gtid_that_the_target_holds_completes_its_gtids(source: OwnMySql, target: OwnMySql, tmp_path: Path) -> None:
    emptied(source, target)
    uuid = filled(source, 400)
    with replicating(url(source), url(target), tmp_path) as replica:
        replica.wait_until(lambda: target.sql("SELECT COUNT(*) FROM shop.t WHERE id=400") == [(1,)], "the last row")
        replica.process.kill()
    held = replicated(source, url(target), tmp_path / "relay", "--until", f"{uuid}:402")
    assert held.code == 0, held.line
    assert str(target.sql("SELECT @@GLOBAL.gtid_executed")[0][0]).replace("\n", "") == f"{uuid}:1-402"
    assert channel_of(url(target), 0)["state"] == "complete"
