"""A target that is killed and does not force each commit to disk: it forgets the last ones, and the running apply must not go on (R25)."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from server.live import replicating
from server.replay import PostgresPlace, SqlPlace, end, start
from servers import MariaDbServer, running_mariadb

from paraply.targets.postgres.embedded import EmbeddedPostgres

ROWS = 600
OPTIONS = ("--workers", "4", "--merge", "off", "--max-rate", "100")
FORGETFUL = ("--log-bin=binlog", "--binlog-format=ROW", "--server-id=1", "--sync-binlog=0",
             "--innodb-flush-log-at-trx-commit=0", "--innodb-flush-log-at-timeout=600")  # fmt: skip


class Target:
    """A server that forgets commits when it is killed."""

    def __init__(self, place: SqlPlace | PostgresPlace, again: Callable[[], None], forget: Callable[[], None] = lambda: None) -> None:
        self.place = place
        self.forget = forget
        """Lets the server keep further commits in memory."""
        self.kill_and_start = again
        """Kills the server and starts it again."""


@pytest.fixture(scope="module")
def source() -> Iterator[MariaDbServer]:
    with running_mariadb(["--log-bin=binlog", "--binlog-format=ROW", "--server-id=7"]) as server:
        yield server


@pytest.fixture
def log(source: MariaDbServer, tmp_path: Path) -> Path:
    """A log of single inserts: without a check, nothing shows that some are missing."""
    source.sql("DROP DATABASE IF EXISTS shop", "RESET MASTER", "CREATE DATABASE shop", "CREATE TABLE shop.orders (id INT PRIMARY KEY)")
    source.sql(*(f"INSERT INTO shop.orders VALUES ({number})" for number in range(ROWS)), "FLUSH BINARY LOGS")
    log = tmp_path / "binlog.000001"
    log.write_bytes((source.data / "binlog.000001").read_bytes())
    return log


@contextlib.contextmanager
def forgetful_mariadb() -> Iterator[Target]:
    with running_mariadb(FORGETFUL) as server:

        def again() -> None:
            server.kill()
            server.start()

        yield Target(SqlPlace(server.url), again)


@contextlib.contextmanager
def forgetful_postgres() -> Iterator[Target]:
    with tempfile.TemporaryDirectory(prefix="paraply-") as folder:
        data = Path(folder) / "data"
        with EmbeddedPostgres(data) as server:
            with psycopg.connect(server.uri, autocommit=True) as connection:
                for setting in ("synchronous_commit = off", "wal_writer_delay = '10s'", "wal_writer_flush_after = '1GB'"):
                    connection.execute(f"ALTER SYSTEM SET {setting}".encode())
                connection.execute("SELECT pg_reload_conf()")
            place = PostgresPlace(server.uri)
            stopped: list[int] = []

            def forget() -> None:
                """Stop the process that writes the log of commits."""
                with psycopg.connect(place.url, autocommit=True) as connection:
                    connection.execute("CHECKPOINT")
                    row = connection.execute("SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'").fetchone()
                    assert row is not None
                    stopped.append(int(row[0]))
                    os.kill(stopped[0], signal.SIGSTOP)

            def again() -> None:
                postmaster = int((data / "postmaster.pid").read_text().split("\n")[0])
                os.kill(postmaster, signal.SIGSTOP)
                children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(postmaster)], capture_output=True, text=True, check=True)
                for process in (*map(int, children.stdout.split()), postmaster):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(process, signal.SIGKILL)
                deadline = time.monotonic() + 60
                while time.monotonic() < deadline:
                    # Until the killed server's processes have seen that it is gone, it cannot be started.
                    with contextlib.suppress(subprocess.SubprocessError, AssertionError, OSError):
                        server._server.ensure_postgres_running()  # the package has no public way to start it anew
                    with contextlib.suppress(psycopg.Error), psycopg.connect(place.url):
                        return
                    time.sleep(0.2)

            place.empty()
            yield Target(place, again, forget)


def rows(place: SqlPlace | PostgresPlace) -> int:
    return place.rows_of("orders")


@pytest.mark.by_turns
@pytest.mark.mariadb
@pytest.mark.parametrize(
    ("target", "more"),
    [
        pytest.param(forgetful_mariadb, ("--gtid", "record"), id="mariadb"),
        pytest.param(forgetful_mariadb, ("--gtid", "record", "--consistency", "eventual"), id="mariadb-eventual"),
        pytest.param(forgetful_postgres, (), id="postgresql", marks=pytest.mark.postgres),
    ],
)
def test_r25_an_apply_ends_where_the_target_forgot_commits(
    target: Callable[[], contextlib.AbstractContextManager[Target]], more: tuple[str, ...], log: Path
) -> None:
    with target() as forgetful:
        place = forgetful.place
        process = start(log, place.url, *OPTIONS, *more)
        wait_for(place, 20)
        forgetful.forget()
        wait_for(place, 250)
        seen = rows(place)
        forgetful.kill_and_start()
        outcome = end(process)
        left = rows(place)
        assert outcome.code == 1, (seen, left, outcome.report["status"])
        assert outcome.report["error"]["class"] == "CommitsLost", outcome.report["error"]
        assert left < seen
        again = end(start(log, place.url, "--workers", "4", *more))
        assert again.code == 0, again.report.get("error")
        assert rows(place) == ROWS


@pytest.mark.mariadb
def test_r25_replicate_continues_with_what_the_target_holds(source: MariaDbServer, log: Path, tmp_path: Path) -> None:
    options = ("--gtid", "record", "--merge", "off", "--max-rate", "100")
    with forgetful_mariadb() as forgetful, replicating(source.url, forgetful.place.url, tmp_path, *options) as replica:
        place = forgetful.place
        wait_for(place, 250)
        forgetful.kill_and_start()
        assert rows(place) < 250
        wait_for(place, ROWS)
        assert "does not hold transactions any more that it had committed" in replica.messages()
        assert replica.stop()["status"] == "stopped"
        assert rows(place) == ROWS


def wait_for(place: SqlPlace | PostgresPlace, count: int) -> None:
    deadline = time.monotonic() + 60
    while rows(place) < count:
        assert time.monotonic() < deadline
        time.sleep(0.05)
