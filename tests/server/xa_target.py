"""XA transactions on a real server: a log of them, what they leave, and applies that end at a chosen statement."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pymysql
from server.histories import DATABASE
from server.history_source import HistoryPlace, Source

from paraply._native import ResultSet
from paraply.applier import Applier, ApplyReport, parse_filters
from paraply.targets.mysql.sql import Connection
from paraply.targets.mysql.target import MySqlTarget, connect
from paraply.targets.mysql.xa.store import prepared_xids
from paraply.targets.url import DatabaseUrl, parse_url

__all__ = ["LEFT", "ODD", "XaTarget", "killing_server", "losing_connections", "make_log"]

#: A XID with quotes, a backslash, a zero byte and the largest format number.
ODD = "X'00ff27225c0a',X'c0a8',2147483647"
LEFT = "X'6c656674',X'6f766572',1"
State = dict[str, Any]


class XaTarget(HistoryPlace):
    """A MySQL or MariaDB that logs with XA transactions are applied to."""

    def prepared(self) -> frozenset[str]:
        """Return the XIDs of the server's prepared transactions."""
        connection = connect(parse_url(self.url))
        try:
            return prepared_xids(connection)
        finally:
            connection.close()

    def empty(self) -> None:
        """Throws everything away; a prepared transaction would keep its tables."""
        for (number,) in self.sql("SELECT id FROM information_schema.processlist WHERE user=SUBSTRING_INDEX(USER(),'@',1)"
                                  " AND id<>CONNECTION_ID() AND command NOT LIKE 'Binlog Dump%'"):  # fmt: skip
            with contextlib.suppress(pymysql.MySQLError):
                self.kill(number)
        self.end_all("ROLLBACK")
        super().empty()

    def end_all(self, how: str) -> None:
        """Ends what is prepared."""
        deadline = time.monotonic() + 20
        while (xids := self.prepared()) and time.monotonic() < deadline:
            for xid in xids:
                with contextlib.suppress(pymysql.MySQLError):  # its connection has not ended yet
                    self.sql(f"XA {how} {xid}")

    def all_state(self) -> State:
        """Rows, and what is prepared."""
        return {**self.state(), "prepared": self.prepared()}

    def apply(self, log: Path, connector: Callable[[DatabaseUrl], Connection] = connect, **options: Any) -> ApplyReport:
        """Applies a log; ``table`` and ``exclude`` are filters."""
        table, exclude = options.pop("table", ()), options.pop("exclude", ())
        filters = parse_filters((), [table] if table else (), (), [exclude] if exclude else ())
        target = MySqlTarget(parse_url(self.url), connector)
        with Applier([log], target, filters=filters, **{"workers": 0, **options}) as applier:
            return applier.run()

    def killed_at(self, log: Path, step: int, *, in_progress: bool, **options: Any) -> bool:
        """Applies in a process that is killed at one of the statements of XA parts; false if there are not so many.

        Args:
            log: The log.
            step: Number of the statement, from 0.
            in_progress: Kill it when the statement was just sent; else before.
            options: Of ``apply``.
        """

        def run() -> None:
            def die(query: Callable[[], list[ResultSet]]) -> None:
                if in_progress:
                    threading.Thread(target=query, daemon=True).start()
                    time.sleep(0.0007)
                os.kill(os.getpid(), signal.SIGKILL)

            self.apply(log, disturbed(step, die), **options)

        process = multiprocessing.get_context("fork").Process(target=run)
        process.start()
        process.join(60)
        assert process.exitcode in (0, -signal.SIGKILL), process.exitcode
        return process.exitcode != 0


class _Disturbed:
    """A connection that something happens to before one of the statements of XA parts."""

    def __init__(self, connection: Connection, count: list[int], at: int, happen: Callable[[Callable[[], list[ResultSet]]], None]) -> None:
        self._connection, self._count, self._at, self._happen = connection, count, at, happen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def query(self, sql: bytes | str) -> list[ResultSet]:
        text = sql if isinstance(sql, bytes) else sql.encode()
        if b"GET_LOCK" in text and self._count[1]:
            self._count[2] = 1
        if b"RELEASE_LOCK" in text:
            self._count[1] = 1  # the one of the start is through
            self._count[2] = 0
        if self._count[2]:
            self._count[0] += 1
            if self._count[0] == self._at + 1:
                self._happen(lambda: self._connection.query(sql))
        return self._connection.query(sql)


def disturbed(at: int, happen: Callable[[Callable[[], list[ResultSet]]], None]) -> Callable[[DatabaseUrl], Connection]:
    """Makes connections; something happens before the n-th statement that is run under the lock of statements."""
    count = [0, 0, 0]
    return lambda url: _Disturbed(connect(url), count, at, happen)


def losing_connections(at: int, target: XaTarget) -> Callable[[DatabaseUrl], Connection]:
    """Makes connections that are ended by the server before the n-th statement."""

    def happen(_query: Callable[[], list[ResultSet]]) -> None:
        for number in target.connections():
            with contextlib.suppress(pymysql.MySQLError):
                target.kill(number)

    return disturbed(at, happen)


def killing_server(at: int, restart: Callable[[], None]) -> Callable[[DatabaseUrl], Connection]:
    """Makes connections to a server that is killed before the n-th statement, and started again."""
    return disturbed(at, lambda _query: restart())


@contextlib.contextmanager
def sessions(target: HistoryPlace, count: int) -> Iterator[list[pymysql.cursors.Cursor]]:
    """Some sessions on the server."""
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(stack.enter_context(target.connect()).cursor()) for _ in range(count)]


def prepare(cursor: pymysql.cursors.Cursor, xid: str, *statements: str) -> None:
    """An XA transaction up to its XA PREPARE."""
    for text in (f"XA START {xid}", *statements, f"XA END {xid}", f"XA PREPARE {xid}"):
        cursor.execute(text)


def make_log(source: Source, into: Path, *, short: bool = False) -> Path:
    """A log with XA transactions among others; one of them is left prepared.

    Args:
        source: Where it is made; emptied before and afterwards.
        into: The folder that gets it.
        short: Only the tables, one that is committed and one that is rolled back.
    """
    target = XaTarget(source.place.url)
    target.empty()
    target.sql(f"CREATE DATABASE {DATABASE}", f"CREATE TABLE {DATABASE}.t (id INT PRIMARY KEY, v VARCHAR(200) NOT NULL)",
              f"CREATE TABLE {DATABASE}.u (id INT PRIMARY KEY, v INT NOT NULL)",
              f"INSERT INTO {DATABASE}.t VALUES (1,'a'),(2,'b'),(3,'c')")  # fmt: skip
    if short:
        _short(target)
    else:
        with sessions(target, 5) as (*others, last):
            _long(target, others, last)
    name = target.sql("SHOW BINARY LOGS")[-1][0]
    target.sql("FLUSH BINARY LOGS")
    copy = Path(shutil.copy(source.binlogs / name, into / name))
    target.empty()
    return copy


def _short(target: HistoryPlace) -> None:
    with sessions(target, 1) as (cursor,):
        prepare(cursor, ODD, f"INSERT INTO {DATABASE}.t VALUES (10,'xa')", f"UPDATE {DATABASE}.t SET v='y' WHERE id=1")
        cursor.execute(f"XA COMMIT {ODD}")
        prepare(cursor, ODD, f"DELETE FROM {DATABASE}.t WHERE id=2")
        cursor.execute(f"XA ROLLBACK {ODD}")
    target.sql(f"UPDATE {DATABASE}.t SET v='z' WHERE id=2")


def _long(target: HistoryPlace, others: list[pymysql.cursors.Cursor], last: pymysql.cursors.Cursor) -> None:
    names = ["'one'", "'two','b',7", ODD, "'four'"]
    for number, (cursor, xid) in enumerate(zip(others, names, strict=True)):
        prepare(cursor, xid, f"INSERT INTO {DATABASE}.t VALUES ({10 + number},'xa')", f"INSERT INTO {DATABASE}.u VALUES ({number},0)")
        target.sql(f"INSERT INTO {DATABASE}.t VALUES ({100 + number},'between')")
    others[2].execute(f"XA COMMIT {names[2]}")
    target.sql(f"UPDATE {DATABASE}.t SET v='x' WHERE id IN (1,12)")
    others[0].execute(f"XA ROLLBACK {names[0]}")
    for text in ("XA START 'phase'", f"INSERT INTO {DATABASE}.t VALUES (50,'phase')", "XA END 'phase'", "XA COMMIT 'phase' ONE PHASE"):
        last.execute(text)
    target.sql(f"CREATE TABLE {DATABASE}.w (id INT PRIMARY KEY)")
    others[1].execute(f"XA COMMIT {names[1]}")
    others[3].execute(f"XA COMMIT {names[3]}")
    # A name is used again, and an XA transaction is about one table only.
    prepare(others[0], "'one'", f"INSERT INTO {DATABASE}.u VALUES (70,1)")
    target.sql(f"INSERT INTO {DATABASE}.t VALUES (70,'end')")
    others[0].execute("XA COMMIT 'one'")
    prepare(last, LEFT, f"INSERT INTO {DATABASE}.t VALUES (60,'left')")
    target.sql(f"DELETE FROM {DATABASE}.t WHERE id=3")
