"""``paraply replicate --until view-change`` from a live MySQL whose log holds a view change (R30).

MySQL 9.7 logs none any more, but serves one that stands in its log: a file is put behind its logs while it is down.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from own_mysql import OwnMySql, running_mysql
from required import missing
from server.live import replicating
from server.mysql_fixtures import Server
from server.replay import PostgresPlace
from server.replication.test_replicate import mysql_target
from server.view_change_log import log_a_view_change

from paraply import GtidSet
from paraply.replication import Receiver, RelayLog, parse_source
from paraply.replication.source import look

__all__ = ["mysql_target"]

pytestmark = [pytest.mark.mysql, pytest.mark.timeout(300)]
GROUP = "aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa"
VIEW = "14724817264259180:1"
ALL = list(range(1, 31))


@pytest.fixture(scope="module")
def stopped() -> Iterator[OwnMySql]:
    """Whose log holds ten rows, a view change under the group's UUID, ten rows, one under its own, and ten rows."""
    with running_mysql() as server:
        server.sql("CREATE DATABASE shop", "CREATE TABLE shop.t (id INT PRIMARY KEY)", *inserts(ALL[:10]))
        for gtid, rows in ((f"{GROUP}:1", ALL[10:20]), (f"{own_uuid(server)}:23", ALL[20:])):
            server.stop()
            log_a_view_change(server, gtid, VIEW)
            server.start()
            server.sql(*inserts(rows))
        yield server


def own_uuid(server: OwnMySql) -> str:
    return str(server.sql("SELECT @@server_uuid")[0][0])


def inserts(rows: list[int]) -> list[str]:
    return [f"INSERT INTO shop.t VALUES ({row})" for row in rows]


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="paraply-view-") as name:
        yield Path(name)


@pytest.fixture
def postgres_url(postgres_place: PostgresPlace) -> str:
    return postgres_place.url


@pytest.fixture
def mysql_target_url(mysql_target: Server) -> str:
    return os.environ["PARAPLY_TEST_MYSQL_TARGET"]


@pytest.fixture(params=["postgres_url", "mysql_target_url"])
def target(request: pytest.FixtureRequest) -> str:
    """The URL of an empty target."""
    return str(request.getfixturevalue(request.param))


def rows_of(target: str) -> list[int]:
    if target.startswith("mysql"):
        return [int(str(row)) for (row,) in Server(target).sql("SELECT id FROM shop.t ORDER BY id")]
    with psycopg.connect(target, autocommit=True) as connection:
        return [int(row) for (row,) in connection.execute("SELECT id FROM shop.t ORDER BY id").fetchall()]


def test_r30_it_stops_behind_the_view_s_transaction_and_goes_on_from_there(stopped: OwnMySql, target: str, folder: Path) -> None:
    uuid = own_uuid(stopped)
    expected = [
        (ALL[:10], f"{uuid}:1-12", f"{GROUP}:1"),  # two DDLs, ten rows and the view
        (ALL[:20], f"{uuid}:1-22", f"{uuid}:23"),
    ]
    before = GtidSet()
    for rows, transactions, view in expected:
        with replicating(stopped.url, target, folder, "--until", "view-change") as replica:
            report = replica.report()
        assert report["exit_code"] == 0, (report, replica.messages())
        assert (report["stop"]["gtid"], report["stop"]["included"], report["stop"]["asked"]) == (view, True, "--until view-change")
        assert rows_of(target) == rows
        before |= GtidSet(f"{transactions},{view}")
        assert GtidSet(report["executed"]) == before
        if target.startswith("mysql"):
            assert GtidSet(str(Server(target).sql("SELECT @@gtid_executed")[0][0])) == before
    with replicating(stopped.url, target, folder) as replica:
        replica.wait_until(lambda: rows_of(target) == ALL, "the rows behind the views")
        report = replica.stop()
    assert report["exit_code"] == 4, report
    assert report["transactions"] == 10
    everything = GtidSet(str(stopped.sql("SELECT @@gtid_executed")[0][0]))
    assert GtidSet(report["executed"]) == everything == GtidSet(f"{GROUP}:1,{uuid}:1-33")


def test_r30_where_no_view_change_comes_it_goes_on(stopped: OwnMySql, postgres_url: str, folder: Path) -> None:
    held = f"{GROUP}:1,{own_uuid(stopped)}:1-23"
    with replicating(stopped.url, postgres_url, folder, "--until", f"{own_uuid(stopped)}:23") as replica:
        assert replica.report()["exit_code"] == 0, replica.messages()
    with replicating(stopped.url, postgres_url, folder, "--until", "view-change") as replica:
        replica.wait_until(lambda: rows_of(postgres_url) == ALL, "the rows behind the views")
        assert replica.process.poll() is None
        report = replica.stop()
    assert (report["exit_code"], report["stop"]) == (4, None), report
    assert GtidSet(held) <= GtidSet(report["executed"])


def test_r30_people_are_told_why_it_stopped(stopped: OwnMySql, postgres_url: str, folder: Path) -> None:
    command = ["replicate", "--from", stopped.url, "--to", postgres_url, "--relay-log", str(folder), "--until", "view-change", "--quiet"]
    done = subprocess.run([sys.executable, "-m", "paraply", *command], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert f"stopped after {GROUP}:1 (" in done.stdout
    assert "as --until view-change asked" in done.stdout


def test_the_server_s_own_words_for_the_view_change(stopped: OwnMySql) -> None:
    events = stopped.sql("SHOW BINLOG EVENTS IN 'binlog.000002'")
    assert [str(row[2]) for row in events] == ["Format_desc", "Previous_gtids", "Gtid", "Query", "View_change", "Query", "Stop"]
    assert f"view_id={VIEW}" in str(events[4][5])


def test_r28_mysqlbinlog_prints_the_same_view_changes_of_the_source_s_log_and_of_the_relay_log(stopped: OwnMySql, folder: Path) -> None:
    command = os.environ.get("PARAPLY_TEST_MYSQLBINLOG")
    if command is None:
        missing("NO MYSQLBINLOG: set PARAPLY_TEST_MYSQLBINLOG to a command that prints the log file that is appended to it")
    relay = RelayLog(folder)
    receiver = Receiver(look(parse_source(stopped.url)), relay)
    receiver.start()
    deadline = time.monotonic() + 30
    while not GtidSet(f"{own_uuid(stopped)}:1-33") <= relay.status().received:
        assert time.monotonic() < deadline, receiver.last_error
        time.sleep(0.05)
    receiver.stop()
    relay.close()
    printed = view_changes(command, [stopped.data / f"binlog.{number:06}" for number in range(1, 6)])
    assert len(printed) == 2
    assert view_changes(command, [folder / Path(name).name for name in relay.files]) == printed


def view_changes(command: str, files: list[Path]) -> list[str]:
    """The lines about view changes: headers, positions, checksums and views."""
    answers = [
        subprocess.run([*shlex.split(command), str(file)], capture_output=True, check=True, text=True, errors="replace").stdout
        for file in files
    ]
    return [line for text in answers for line in text.splitlines() if "View_change_log_event" in line]
