# ruff: noqa: F811
"""``paraply replicate``: a live source under load, with kills of the replication, of the source and of the target (R25, R28).

``PARAPLY_SOAK`` says for how many seconds each test loads its source; a few by default. For MySQL, ``PARAPLY_TEST_MYSQL`` is the
source, ``PARAPLY_TEST_MYSQL_TARGET`` another server that may be emptied, and ``PARAPLY_TEST_MYSQL_RESTART`` a shell command that kills
the source and starts it again.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from required import missing
from server.live import Load, Replica, connect, is_equal_under_load, mysql_rows, replicating
from server.mysql_fixtures import Server, mysql  # noqa: F401
from server.replay import PostgresPlace
from servers import MariaDbServer, mysql_url, running_mariadb

from paraply import open_log

SECONDS = float(os.environ.get("PARAPLY_SOAK", "6"))
EVERY = 2.0 if SECONDS < 60 else 20.0
DURABLE = ["--log-bin=binlog", "--binlog-format=ROW", "--sync-binlog=1", "--innodb-flush-log-at-trx-commit=1"]

pytestmark = [
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.timeout(600 + 2 * SECONDS),
]


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="paraply-replicate-") as name:
        yield Path(name)


@pytest.fixture
def maria_source() -> Iterator[MariaDbServer]:
    with running_mariadb([*DURABLE, "--server-id=1"]) as server:
        yield server


@pytest.fixture
def maria_target() -> Iterator[MariaDbServer]:
    with running_mariadb([*DURABLE, "--server-id=2"]) as server:
        yield server


@pytest.fixture
def mysql_target() -> Iterator[Server]:
    """Empty before and after: the same server may be another test's source, which has to have its logs from the first GTID on."""
    url = os.environ.get("PARAPLY_TEST_MYSQL_TARGET")
    if not url:
        missing("NO SECOND MYSQL SERVER: set PARAPLY_TEST_MYSQL_TARGET=mysql://user:password@host:port to run this test")
    server = Server(url)
    server.empty()
    yield server
    server.empty()


def counted(place: PostgresPlace, rows: str) -> int:
    with psycopg.connect(place.url, autocommit=True) as connection:
        found = connection.execute(f"SELECT count(*) FROM {rows}".encode()).fetchone()
        return int(found[0]) if found else 0


def restarted(server: MariaDbServer) -> Callable[[Replica], None]:
    def restart(replica: Replica) -> None:
        replica.wait_for_begin()
        server.kill()
        time.sleep(0.5)
        server.start()

    return restart


def run_command(replica: Replica) -> None:
    replica.wait_for_begin()
    subprocess.run(os.environ["PARAPLY_TEST_MYSQL_RESTART"], shell=True, check=True, capture_output=True, timeout=120)


@pytest.mark.mariadb
def test_r25_mariadb_into_mariadb_with_kills_of_all_three(maria_source: MariaDbServer, maria_target: MariaDbServer, folder: Path) -> None:
    disturb = [Replica.kill, restarted(maria_source), restarted(maria_target)]
    assert is_equal_under_load(maria_source.url, maria_target.url, folder, disturb, SECONDS, EVERY) > 50


@pytest.mark.mariadb
@pytest.mark.postgres
def test_r25_mariadb_into_postgresql_with_kills(maria_source: MariaDbServer, postgres_place: PostgresPlace, folder: Path) -> None:
    disturb = [Replica.kill, restarted(maria_source)]
    assert is_equal_under_load(maria_source.url, postgres_place.url, folder, disturb, SECONDS, EVERY) > 50


@pytest.mark.mysql
def test_r25_mysql_into_mysql_with_kills(mysql: Server, mysql_target: Server, folder: Path) -> None:
    disturb = [Replica.kill] + ([run_command] if "PARAPLY_TEST_MYSQL_RESTART" in os.environ else [])
    assert is_equal_under_load(mysql_url(), os.environ["PARAPLY_TEST_MYSQL_TARGET"], folder, disturb, SECONDS, EVERY) > 50


@pytest.mark.mysql
@pytest.mark.postgres
def test_r25_mysql_into_postgresql_with_kills(mysql: Server, postgres_place: PostgresPlace, folder: Path) -> None:
    disturb = [Replica.kill] + ([run_command] if "PARAPLY_TEST_MYSQL_RESTART" in os.environ else [])
    assert is_equal_under_load(mysql_url(), postgres_place.url, folder, disturb, SECONDS, EVERY) > 50


@pytest.mark.mysql
@pytest.mark.postgres
def test_a_mysql_source_by_file_and_position(mysql: Server, postgres_place: PostgresPlace, folder: Path) -> None:
    load = Load(mysql_url(), sessions=2)
    file = str(mysql.sql("SHOW BINARY LOGS")[0][0])
    with replicating(mysql_url(), postgres_place.url, folder, "--start-at", f"{file}:4") as replica:
        time.sleep(1)
        load.end()
        expected = mysql_rows(mysql_url())
        replica.wait_until(lambda: counted(postgres_place, "shop.entry") == len(expected["shop.entry"]), "all rows")
        replica.kill()
        with connect(mysql_url()) as connection, connection.cursor() as cursor:
            cursor.execute("INSERT INTO shop.account VALUES (1000, 'the last', 7)")
            connection.commit()
        replica.wait_until(lambda: counted(postgres_place, "shop.account WHERE id = 1000") == 1, "the last row")
        assert replica.stop()["exit_code"] == 4


@pytest.mark.mariadb
@pytest.mark.postgres
def test_until_a_gtid_and_until_a_time_end_with_exit_code_0(
    maria_source: MariaDbServer, postgres_place: PostgresPlace, folder: Path
) -> None:
    with maria_source.connect() as connection, connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE shop")
        cursor.execute("CREATE TABLE shop.t (id INT PRIMARY KEY)")
        for number in range(10):
            cursor.execute("INSERT INTO shop.t VALUES (%s)", (number,))
        cursor.execute("SELECT @@gtid_binlog_pos")
        domain, server, last = str((cursor.fetchone() or ("",))[0]).split("-")
    middle = f"{domain}-{server}-{int(last) - 5}"
    with replicating(maria_source.url, postgres_place.url, folder, "--until", middle) as replica:
        report = replica.report()
    assert (report["exit_code"], report["executed"]) == (0, middle), replica.messages()
    assert counted(postgres_place, "shop.t") == 5
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 1))
    with replicating(maria_source.url, postgres_place.url, folder, "--until", now) as replica:
        report = replica.report()
    assert report["exit_code"] == 0, replica.messages()
    assert counted(postgres_place, "shop.t") == 10


@pytest.mark.mariadb
@pytest.mark.postgres
def test_a_source_that_is_down_ends_the_first_start_and_is_waited_for_later(
    maria_source: MariaDbServer, postgres_place: PostgresPlace, folder: Path
) -> None:
    maria_source.kill()
    with replicating(maria_source.url, postgres_place.url, folder) as replica:
        assert replica.report()["error"]["class"] == "ConnectionFailed"
    maria_source.start()
    with maria_source.connect() as connection, connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE shop")
        cursor.execute("CREATE TABLE shop.t (id INT PRIMARY KEY)")
    with replicating(maria_source.url, postgres_place.url, folder) as replica:
        replica.wait_until(lambda: counted(postgres_place, "shop.t") == 0, "the table")
        maria_source.kill()
        replica.kill()
        replica.wait_until(lambda: "the source is tried again" in replica.messages(), "a second try")
        maria_source.start()
        with maria_source.connect() as connection, connection.cursor() as cursor:
            cursor.execute("INSERT INTO shop.t VALUES (1)")
            connection.commit()
        replica.wait_until(lambda: counted(postgres_place, "shop.t") == 1, "the row")
        assert replica.stop()["exit_code"] == 4


@pytest.mark.mariadb
@pytest.mark.postgres
def test_what_a_source_refuses_is_said(maria_source: MariaDbServer, postgres_place: PostgresPlace, folder: Path) -> None:
    with maria_source.connect() as connection, connection.cursor() as cursor:
        cursor.execute("CREATE USER poor@'%' IDENTIFIED BY 'poor'")
    poor = maria_source.url.replace("app:app", "poor:poor")
    with replicating(poor, postgres_place.url, folder) as replica:
        report = replica.report()
    assert report["error"]["class"] == "ReceiveFailed"
    assert "GRANT REPLICATION SLAVE" in report["error"]["message"]
    with maria_source.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SET GLOBAL binlog_format=STATEMENT")
    with replicating(maria_source.url, postgres_place.url, folder) as replica:
        report = replica.report()
    assert "binlog_format=STATEMENT" in report["error"]["message"]


@pytest.mark.mysql
def test_purged_transactions_of_a_mysql_are_said(mysql: Server, postgres_place: PostgresPlace, folder: Path) -> None:
    mysql.sql("CREATE DATABASE shop; CREATE TABLE shop.t (id INT PRIMARY KEY); FLUSH BINARY LOGS")
    mysql.sql("INSERT INTO shop.t VALUES (1); FLUSH BINARY LOGS; PURGE BINARY LOGS BEFORE NOW() + INTERVAL 1 DAY")
    with replicating(mysql_url(), postgres_place.url, folder) as replica:
        report = replica.report()
    assert report["error"]["class"] == "ReceiveFailed"
    assert "--start-after" in report["error"]["message"]


@pytest.mark.mysql
def test_the_relay_log_holds_the_transactions_of_a_mysql_s_log(
    mysql: Server, postgres_place: PostgresPlace, folder: Path, tmp_path: Path
) -> None:
    logs = os.environ.get("PARAPLY_TEST_MYSQL_DATA")
    if not logs:
        missing("NO MYSQL LOGS: set PARAPLY_TEST_MYSQL_DATA, the folder with the binary logs of PARAPLY_TEST_MYSQL")
    is_equal_under_load(mysql_url(), postgres_place.url, folder, [Replica.kill], 3.0, 1.0)
    names = [str(row[0]) for row in mysql.sql("SHOW BINARY LOGS")]

    def logged(paths: list[Path]) -> list[tuple[object, ...]]:
        return [(t.gtid, t.kind, t.rows, t.tables, t.committed_at, t.last_committed, t.sequence_number) for t in open_log(paths)]

    relay = sorted(path for path in (folder / "relay").iterdir() if path.suffix[1:].isdecimal())
    source = logged([Path(logs) / name for name in names])
    received = logged(relay)
    assert received == source[len(source) - len(received) :]
    assert len(received) > 20
