"""KILL QUERY at any moment: nothing hangs, nothing is lost, nothing comes twice (R24, R25)."""

from __future__ import annotations

import contextlib
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pymysql
import pytest
from server.mysql_fixtures import Server, mariadb, mariadb_url, mysql, server
from server.replay import SqlPlace, answer_to, end, expected_checksums, start
from server.waiting import wait_until
from servers import sql_connect

from paraply._native import ResultSet
from paraply.applier import Applier
from paraply.errors import ConnectionLost, ServerError, TemporaryFailure
from paraply.targets.mysql.sql import Connection
from paraply.targets.mysql.target import MySqlTarget, connect
from paraply.targets.url import DatabaseUrl, parse_url

__all__ = ["mariadb", "mariadb_url", "mysql", "server"]

Log = Callable[[str], Path]
KILLS = 100
OWN_STATEMENTS = (
    "START",
    "BINLOG",
    "COMMIT",
    "CREATE",
    "ALTER",
    "DROP",
    "ROLLBACK",
    "SELECT",
    "SHOW",
    "SET",
    "USE",
    "INSERT",
    "UPDATE",
    "DELETE",
    "KILL",
)


class Swallower:
    """Stands between a client and a server; what the server answers is thrown away once ``swallow`` is set."""

    def __init__(self, host: str, port: int) -> None:
        self._server = (host, port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.swallow = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                upstream = socket.create_connection(self._server)
                for ends in ((client, upstream, False), (upstream, client, True)):
                    threading.Thread(target=self._pass, args=ends, daemon=True).start()

    def _pass(self, source: socket.socket, sink: socket.socket, answers: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if not (answers and self.swallow.is_set()):
                    sink.sendall(data)
            sink.shutdown(socket.SHUT_RDWR)
        source.close()

    def close(self) -> None:
        self._listener.close()


@pytest.fixture
def swallower(mysql: Server) -> Iterator[Swallower]:
    proxy = Swallower(mysql.url.host or "127.0.0.1", mysql.url.port or 3306)
    yield proxy
    proxy.close()


@pytest.mark.mysql
def test_r24_a_mysql_session_whose_answer_will_not_come_is_ended(mysql: Server, swallower: Swallower) -> None:
    """As after a KILL QUERY between two statements of one text, which MySQL 9.7 answers only in part."""
    url = parse_url(f"mysql://{mysql.url.user}:{mysql.url.password}@127.0.0.1:{swallower.port}?tls=disabled")
    target = MySqlTarget(url)
    target.open(mysql.plan())
    session = target.session()
    raised: list[Exception] = []

    def wait() -> None:
        try:
            session.connection.query("SELECT 1")
        except ConnectionLost as error:
            raised.append(error)

    swallower.swallow.set()
    waiter = threading.Thread(target=wait)
    waiter.start()
    wait_until(lambda: session.connection.overdue > 0, "the statement on its way")
    session.rescue()
    assert waiter.is_alive(), "ended although the answer is not late yet"
    time.sleep(2)
    swallower.swallow.clear()
    session.rescue()
    waiter.join(10)
    assert len(raised) == 1
    assert session.connection.overdue == 0


def test_r24_a_long_statement_is_no_reason_to_end_its_session(server: Server) -> None:
    target = server.opened()
    session = target.session()
    answers: list[object] = []
    waiter = threading.Thread(target=lambda: answers.append(session.connection.query("SELECT SLEEP(4)")))
    waiter.start()
    while waiter.is_alive():
        time.sleep(0.5)
        session.rescue()
    assert len(answers) == 1


def test_r24_an_interrupted_wait_for_the_lock_of_statements_is_not_taken_for_another_apply(server: Server) -> None:
    target = server.opened()
    holder, waiter = (target.session().connection for _ in range(2))
    assert target.context.store.lock_statements(holder, 0)
    raised: list[ServerError] = []

    def wait() -> None:
        try:
            target.context.store.lock_statements(waiter, 60)
        except ServerError as error:
            raised.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    waiting = f"SELECT 1 FROM information_schema.processlist WHERE id={waiter.connection_id} AND state='User lock'"
    while not server.sql(waiting):
        assert thread.is_alive()
        time.sleep(0.05)
    server.sql(f"KILL QUERY {waiter.connection_id}")
    thread.join(30)
    assert [error.code for error in raised] == [1317]
    target.context.store.unlock_statements(holder)
    assert target.context.store.lock_statements(waiter, 5)


class Interrupted:
    """A connection on which the next so many queries are killed."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.kills = 0

    def query(self, sql: bytes | str) -> list[ResultSet]:
        if self.kills:
            self.kills -= 1
            raise ServerError("Query execution was interrupted", 1317, "70100")
        return self._connection.query(sql)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def test_r24_what_is_read_of_the_target_is_read_again(server: Server) -> None:
    made: list[Interrupted] = []

    def connector(url: DatabaseUrl) -> Connection:
        made.append(Interrupted(connect(url)))
        return made[-1]

    target = MySqlTarget(server.url, connector)
    target.open(server.plan())
    expected = target.seed_tables()
    made[0].kills = 2
    assert target.seed_tables() == expected
    made[0].kills = 2
    assert target.left_prepared() == []
    made[0].kills = 100
    with pytest.raises(TemporaryFailure, match="interrupted"):
        target.seed_tables()


class Overheard:
    """A connection that keeps what it is asked, with the number of answers."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.asked: list[tuple[str, int]] = []

    def query(self, sql: bytes | str) -> list[ResultSet]:
        results = self._connection.query(sql)
        self.asked.append((sql if isinstance(sql, str) else sql.decode("utf-8", "replace"), len(results)))
        return results

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


@pytest.mark.truth
@pytest.mark.parametrize("policy", ["dependency", "row"])
def test_r24_nothing_is_asked_so_that_a_kill_query_could_silence_or_falsify_the_answer(server: Server, truth: Log, policy: str) -> None:
    """Only a worker's session is watched: elsewhere MySQL 9.7 may leave a text of several statements unanswered for ever.

    And MariaDB 10.11 may answer a query of information_schema that it sorts with no row.
    """
    made: list[Overheard] = []

    def connector(url: DatabaseUrl) -> Connection:
        made.append(Overheard(connect(url)))
        return made[-1]

    log = truth("mariadb-binlog/plain.binlog" if server.mariadb else "mysql-binlog/single-session.binlog")
    rows = policy == "row"
    options = {"policy": policy, "consistency": "eventual" if rows else "any-time", "gtid": "none" if rows else "record"}
    with Applier([str(log)], MySqlTarget(server.url, connector), workers=2, **options) as applier:
        applier.run()
    sessions = [one for one in made if any(text.startswith("BINLOG") for text, _ in one.asked)]
    others = [one for one in made if one not in sessions]
    assert sessions
    assert any(text.startswith("CREATE TABLE") for one in others for text, _ in one.asked)
    assert [text for one in others for text, answers in one.asked if answers > 1] == []
    everything = [text.lower() for one in made for text, _ in one.asked]
    assert [text for text in everything if "information_schema" in text and "order by" in text] == []


def kill_queries(place: SqlPlace, ended: threading.Event, most: int) -> int:
    """Ends statements of the replay's sessions, one at a time, until told to stop; says how many."""
    parts = parse_url(place.url)
    connection = sql_connect(host=parts.host, port=parts.port or 3306, user=parts.user, password=parts.password or "", autocommit=True)
    begins = " OR ".join(f"info LIKE '{word}%'" for word in OWN_STATEMENTS)
    kills = 0
    with connection, connection.cursor() as cursor:
        while kills < most and not ended.is_set():
            cursor.execute(f"SELECT id FROM information_schema.processlist WHERE id<>CONNECTION_ID() AND ({begins})")
            found = [number for (number,) in cursor.fetchall()]
            if found:
                with contextlib.suppress(pymysql.MySQLError):
                    cursor.execute(f"KILL QUERY {random.choice(found)}")
                    kills += 1
            time.sleep(random.uniform(0, 0.02))
    return kills


def apply_under_kills(place: SqlPlace, log: Path, *options: str) -> int:
    """Applies a log while its statements are killed; a command that gave up is started again."""
    kills: list[int] = []
    ended = threading.Event()
    killer = threading.Thread(target=lambda: kills.append(kill_queries(place, ended, KILLS)))
    killer.start()
    try:
        answer: tuple[str, ...] = ()
        for _ in range(KILLS):
            outcome = end(start(log, place.url, *options, *answer))
            if outcome.code == 0:
                break
            answer = answer_to(log, outcome)
            if answer:
                continue
            error = outcome.report["error"]
            assert error["class"] in ("TemporaryFailure", "ApplyFailed"), outcome
            assert "interrupted" in error["message"] or "given up" in error["message"], outcome
        assert outcome.code == 0, outcome
    finally:
        ended.set()
        killer.join()
    return sum(kills)


def unchanged_under_kills(place: SqlPlace, log: Path, checksums: Path, mode: str, merge: str, workers: int) -> None:
    """Applies a real log under kills, merged where the mode merges, and compares the tables with its source's."""
    merge = "auto" if mode == "preserve" else merge
    assert apply_under_kills(place, log, "--workers", str(workers), "--gtid", mode, "--merge", merge) > 0
    assert place.state() == expected_checksums(checksums)


ONE_AT_A_TIME = pytest.param("record", 0, marks=pytest.mark.slow)


@pytest.mark.by_turns
@pytest.mark.mysql
@pytest.mark.truth
@pytest.mark.parametrize(("mode", "workers"), [("record", 4), ("preserve", 4), ONE_AT_A_TIME])
def test_r25_kill_query_at_any_moment_changes_nothing_on_mysql(mysql_place: SqlPlace, truth: Log, mode: str, workers: int) -> None:
    log, checksums = (truth(f"mysql-binlog/single-session.{kind}") for kind in ("binlog", "checksums"))
    unchanged_under_kills(mysql_place, log, checksums, mode, "2", workers)


@pytest.mark.by_turns
@pytest.mark.mariadb
@pytest.mark.truth
@pytest.mark.parametrize(("mode", "workers"), [("record", 4), ("preserve", 4), ONE_AT_A_TIME])
def test_r25_kill_query_at_any_moment_changes_nothing_on_mariadb(mariadb_place: SqlPlace, truth: Log, mode: str, workers: int) -> None:
    log, checksums = (truth(f"mariadb-binlog/plain.{kind}") for kind in ("binlog", "checksums"))
    unchanged_under_kills(mariadb_place, log, checksums, mode, "4", workers)
