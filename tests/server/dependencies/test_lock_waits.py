"""R24: who holds a row, a table's definition or the whole server, and what it runs, is said while an apply waits, which then goes on."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pymysql
import pytest
from pg_databases import Database
from server.apply.test_errors_mysql import BEFORE, FOUR, STATEMENTS, THREE, Server, server
from server.apply.test_errors_postgres import PLAIN
from server.replay import end, interrupt, run, start
from servers import sql_connect

from paraply import Applier, open_log
from paraply.applier.execute.lock_watchdog import Patience
from paraply.targets import make_target

__all__ = ["server"]

Execute = Callable[[str], Any]
Somebody = Callable[[], Execute]


class Run:
    """An apply in a thread; ``warning`` waits for what it says of a wait.

    Args:
        log: The log, its first transactions applied before.
        url: The target.
        caplog: Where warnings arrive.
    """

    def __init__(self, log: Path, url: str, caplog: pytest.LogCaptureFixture, **options: Any) -> None:
        caplog.set_level(logging.WARNING, "paraply")
        self._caplog = caplog
        self._applier = Applier([log], make_target(url), patience=Patience(foreign=0.5), **{"workers": 4} | options)
        self._errors: list[BaseException] = []
        self._thread = threading.Thread(target=self._body, daemon=True)
        self._thread.start()

    def _body(self) -> None:
        try:
            with self._applier as applier:
                applier.run()
        except BaseException as error:
            self._errors.append(error)

    def warning(self) -> str:
        until = time.monotonic() + 20
        while time.monotonic() < until and not self._errors:
            for message in self._caplog.messages:
                if " waits for " in message:
                    return message
            time.sleep(0.05)
        raise AssertionError(f"nothing was said: {self._errors}")

    def end(self) -> list[str]:
        """Waits for its end; gives the notes of the report."""
        self._thread.join(60)
        assert not self._thread.is_alive(), "the apply hangs"
        assert not self._errors, self._errors
        return self._applier.report.notes


def begun(log: Path, url: str, **options: Any) -> Path:
    """The log, whose first transactions are applied."""
    content = log.read_bytes()
    log.write_bytes(content[: list(open_log(log))[BEFORE].offset])
    with Applier([log], make_target(url), **options) as applier:
        applier.run()
    log.write_bytes(content)
    return log


@pytest.fixture
def log(server: Server, tmp_path: Path) -> Path:
    """A log whose first transactions stand on the server."""
    return begun(server.record(STATEMENTS, tmp_path / "binlog.000001"), server.url, gtid="preserve")


@pytest.fixture
def somebody(server: Server) -> Iterator[Somebody]:
    """Opens connections of others to the server; each runs statements."""
    url = urlsplit(server.url)
    with ExitStack() as stack:

        def opened() -> Execute:
            connection = stack.enter_context(
                closing(
                    sql_connect(host=url.hostname, port=url.port or 3306, user=url.username, password=url.password or "", autocommit=True)
                )
            )
            cursor = connection.cursor()
            cursor.execute("SET SESSION sql_log_bin=0")
            return cursor.execute

        yield opened


def waiting(server: Server, execute: Execute, statement: str) -> threading.Thread:
    """Runs a statement in a thread; it waits for a lock on a table when this returns."""
    thread = threading.Thread(target=execute, args=(statement,), daemon=True)
    thread.start()
    until = time.monotonic() + 10
    while not server.sql("SELECT id FROM information_schema.processlist WHERE state='Waiting for table metadata lock'"):
        assert time.monotonic() < until, "it waits for nothing"
        time.sleep(0.05)
    return thread


@pytest.mark.by_turns(2)
@pytest.mark.parametrize("workers", [4, 0])
def test_r24_a_row_of_an_idle_transaction(
    server: Server, log: Path, somebody: Somebody, caplog: pytest.LogCaptureFixture, workers: int
) -> None:
    execute = somebody()
    execute("BEGIN")
    execute("UPDATE errs.item SET stock=5 WHERE id=1")
    run = Run(log, server.url, caplog, gtid="preserve", workers=workers)
    warning = run.warning()
    assert "waits for locks of other connections: " in warning
    assert "in a transaction since 20" in warning
    assert "idle" in warning
    assert server.mariadb or "UPDATE errs.item SET stock=5" in warning, "MariaDB keeps no finished statement without its performance_schema"
    time.sleep(3)  # longer than the server lets a statement wait for a row
    execute("ROLLBACK")
    assert warning in run.end()
    assert server.items() == [(1, "one", 11), THREE, FOUR]


def test_r24_a_prepared_transaction_whose_client_is_gone(
    server: Server, log: Path, somebody: Somebody, caplog: pytest.LogCaptureFixture
) -> None:
    server.sql("XA START 'left'", "UPDATE errs.item SET stock=5 WHERE id=1", "XA END 'left'", "XA PREPARE 'left'")
    execute = somebody()
    try:
        run = Run(log, server.url, caplog, gtid="preserve")
        warning = run.warning()
    finally:
        execute("XA ROLLBACK 'left'")
    assert "a prepared transaction that no connection has (XA RECOVER lists them)" in warning
    run.end()
    assert server.items() == [(1, "one", 11), THREE, FOUR]


@pytest.mark.parametrize(
    ("statement", "who", "of_mariadb"),
    [
        (
            "LOCK TABLES errs.item READ",
            "the oldest transaction",
            "the server does not report its holder: INSTALL SONAME 'metadata_lock_info'",
        ),
        ("FLUSH TABLES WITH READ LOCK", "the start", ""),  # a backup's: it stops the very first write, before there are workers
    ],
    ids=["table", "server"],
)
def test_r24_a_table_or_the_whole_server_that_somebody_has_locked(
    server: Server, log: Path, somebody: Somebody, caplog: pytest.LogCaptureFixture, statement: str, who: str, of_mariadb: str
) -> None:
    execute = somebody()
    execute(statement)
    run = Run(log, server.url, caplog, gtid="preserve")
    warning = run.warning()
    execute("UNLOCK TABLES")
    assert warning.startswith(f"{who} waits for ")
    assert (of_mariadb if server.mariadb else f"idle after: {statement}") in warning
    assert warning in run.end()
    assert server.items() == [(1, "one", 11), THREE, FOUR]


@pytest.mark.parametrize("workers", [4, 0])
def test_r24_a_second_ctrl_c_ends_a_wait_for_a_table(server: Server, log: Path, somebody: Somebody, workers: int) -> None:
    execute = somebody()
    execute("LOCK TABLES errs.item READ")
    process = start(log, server.url, "--gtid", "preserve", "--workers", str(workers))
    waits = "SELECT id FROM information_schema.processlist WHERE state='Waiting for table metadata lock'"
    while not server.sql(waits):
        assert process.poll() is None
        time.sleep(0.05)
    for _ in range(2):
        interrupt(process)
    try:
        stopped = end(process, 20)
    finally:
        execute("UNLOCK TABLES")
    assert (stopped.code, stopped.report["error"]["class"]) == (4, "Stopped")
    run(log, server.url, "--gtid", "preserve")
    assert server.items() == [(1, "one", 11), THREE, FOUR]


def test_r24_a_statement_that_waits_for_a_reader(server: Server, log: Path, somebody: Somebody, caplog: pytest.LogCaptureFixture) -> None:
    """Rows queue behind the ALTER TABLE, and that waits for a transaction that has read: both are named."""
    reader, changer = somebody(), somebody()
    reader("BEGIN")
    reader("SELECT * FROM errs.item")
    altering = waiting(server, changer, "ALTER TABLE errs.item ADD INDEX by_name (name), ALGORITHM=COPY")
    run = Run(log, server.url, caplog, gtid="preserve")
    warning = run.warning()
    reader("COMMIT")
    altering.join(30)
    assert "runs: ALTER TABLE errs.item ADD INDEX" in warning
    assert server.mariadb or "idle after: SELECT * FROM errs.item" in warning
    run.end()
    assert server.items() == [(1, "one", 11), THREE, FOUR]


@pytest.mark.mariadb
def test_r24_mariadb_with_its_plugin_names_holders_of_tables(mariadb_server: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    server = Server(mariadb_server.url, mariadb_server.data)
    try:
        server.sql("INSTALL SONAME 'metadata_lock_info'")
    except pymysql.err.OperationalError as error:
        pytest.skip(f"this MariaDB has no such plugin: {error}")
    try:
        log = begun(server.record(STATEMENTS, tmp_path / "binlog.000001"), server.url, gtid="preserve")
        url = urlsplit(server.url)
        with closing(sql_connect(host=url.hostname, port=url.port or 3306, user=url.username, password=url.password or "")) as connection:
            connection.cursor().execute("LOCK TABLES errs.item READ")
            run = Run(log, server.url, caplog, gtid="preserve")
            warning = run.warning()
            number = connection.thread_id()
        assert f"waits for locks of other connections: {number} (" in warning
        run.end()
        assert server.items() == [(1, "one", 11), THREE, FOUR]
    finally:
        server.empty()
        server.sql("UNINSTALL SONAME 'metadata_lock_info'")


@pytest.mark.postgres
@pytest.mark.parametrize("statement", ["UPDATE errs.item SET stock=5 WHERE id=1", "LOCK TABLE errs.item IN EXCLUSIVE MODE"])
def test_r24_rows_and_tables_of_postgresql(statement: str, database: Database, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    log = tmp_path / "binlog.000001"
    log.write_bytes(PLAIN.read_bytes())
    begun(log, database.url)
    with psycopg.connect(database.url) as other:
        other.execute(statement.encode())
        run = Run(log, database.url, caplog)
        warning = run.warning()
        number = other.info.backend_pid
        other.rollback()
    assert f"waits for locks of other connections: {number} (" in warning
    assert f"idle after: {statement}" in warning
    run.end()
    assert database.items() == [(1, "one", 11), THREE, FOUR]


@pytest.mark.postgres
@pytest.mark.parametrize("table", ["channel", "progress"])
def test_r24_a_start_into_postgresql_waits_for_a_lock_on_the_progress(
    table: str, database: Database, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As MySQL's does: it says who is in the way, and goes on when that is over."""
    log = tmp_path / "binlog.000001"
    log.write_bytes(PLAIN.read_bytes())
    begun(log, database.url)
    statement = f"LOCK TABLE paraply.{table}"
    with psycopg.connect(database.url) as other:
        other.execute(statement.encode())
        run = Run(log, database.url, caplog)
        warning = run.warning()
        number = other.info.backend_pid
        other.rollback()
    assert warning.startswith(f"the start waits for locks of other connections: {number} (")
    assert f"idle after: {statement}" in warning
    run.end()
    assert database.items() == [(1, "one", 11), THREE, FOUR]


def test_r24_a_start_waits_for_a_lock_on_the_progress(
    server: Server, log: Path, somebody: Somebody, caplog: pytest.LogCaptureFixture
) -> None:
    execute = somebody()
    execute("LOCK TABLES paraply.channel WRITE, paraply.progress WRITE")
    run = Run(log, server.url, caplog, gtid="preserve")
    warning = run.warning()
    execute("UNLOCK TABLES")
    assert warning.startswith("the start waits for ")
    assert server.mariadb or "idle after: LOCK TABLES paraply.channel WRITE" in warning
    run.end()
    assert server.items() == [(1, "one", 11), THREE, FOUR]


LONGER_THAN_A_WAIT = 3.0
"""Seconds; the sessions' own limit is two on MySQL and MariaDB, one on PostgreSQL."""


def held_while_it_is_tried_again(log: Path, url: str, waits: Callable[[], bool], release: Callable[[], object], *options: str) -> int:
    """Apply a log while a row is held for longer than a statement waits; return the retries in the report that no older
    transaction asked for."""
    process = start(log, url, "--workers", "4", "--merge", "off", *options)
    until = time.monotonic() + 60
    while not waits():
        assert process.poll() is None, "it has ended before it waited"
        assert time.monotonic() < until, "it waits for nothing"
        time.sleep(0.25)  # MariaDB keeps a table of waits for 0.1 s after each look
    time.sleep(LONGER_THAN_A_WAIT)
    assert process.poll() is None, "it has ended although the row is held"
    release()
    outcome = end(process, 60)
    assert outcome.code == 0, outcome
    return int(outcome.report["retries"]) - int(outcome.report["younger_rolled_back"])


def test_r24_a_statement_that_waited_too_long_is_tried_again_and_counted(server: Server, log: Path, somebody: Somebody) -> None:
    execute = somebody()
    execute("BEGIN")
    execute("UPDATE errs.item SET stock=5 WHERE id=1")

    def waits() -> bool:
        return bool(server.sql("SELECT trx_id FROM information_schema.innodb_trx WHERE trx_state='LOCK WAIT'"))

    retries = held_while_it_is_tried_again(log, server.url, waits, lambda: execute("ROLLBACK"), "--gtid", "preserve")
    assert retries in range(1, 11)
    assert server.items() == [(1, "one", 11), THREE, FOUR]


@pytest.mark.postgres
def test_r24_a_statement_that_waited_too_long_is_tried_again_on_postgresql(database: Database, tmp_path: Path) -> None:
    log = tmp_path / "binlog.000001"
    log.write_bytes(PLAIN.read_bytes())
    begun(log, database.url)
    with psycopg.connect(database.url) as other:
        other.execute("UPDATE errs.item SET stock=5 WHERE id=1")

        def waits() -> bool:
            return bool(database.sql("SELECT 1 FROM pg_locks WHERE NOT granted"))

        retries = held_while_it_is_tried_again(log, database.url, waits, other.rollback)
    assert retries in range(1, 11)
    assert database.items() == [(1, "one", 11), THREE, FOUR]
