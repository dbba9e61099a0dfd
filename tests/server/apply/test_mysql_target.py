# ruff: noqa: F811
"""The MySQL and MariaDB targets on real servers, with real logs."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from server.mysql_blocks import SOME, Log, apply, log_of, some_blocks
from server.mysql_fixtures import mariadb, mariadb_url, mysql, server  # noqa: F401
from server.native_blocks import Statement, StatementBlock, read_blocks, read_log
from server.waiting import wait_until

from paraply._native import Block, GtidSet
from paraply.errors import (
    ConfigurationMismatch,
    ConnectionFailed,
    ConnectionLost,
    DdlUndecided,
    LogNotUnderstood,
    RowNotFound,
    SchemaMismatch,
    TemporaryFailure,
    UsageError,
)
from paraply.targets.mysql.ddl.statement import StatementRunner
from paraply.targets.mysql.progress.store import PendingDdl
from paraply.targets.mysql.session import MySqlSession
from paraply.targets.mysql.sql import query_all
from paraply.targets.mysql.target import MySqlTarget
from paraply.targets.url import parse_url

if TYPE_CHECKING:
    from server.mysql_fixtures import Server

    from paraply._native import ResultSet
    from paraply.targets.mysql.sql import Connection


def expected(path: Path) -> dict[str, int]:
    lines = path.read_text().split("\n")
    return {name: int(value) for name, value in (line.split() for line in lines if line)}


@pytest.mark.parametrize("name", ["single-session", "minimal-image", "partial-json"])
def test_r31_a_mysql_log_gives_the_sources_tables(mysql: Server, truth: Log, name: str) -> None:
    path = truth(f"mysql-binlog/{name}.binlog")
    target = mysql.opened()
    apply(target, list(read_blocks(path, 32)))
    applied = GtidSet(",".join(t.gtid for t in read_log(path) if t.gtid))
    target.finish(applied)
    assert mysql.checksums() == expected(truth(f"mysql-binlog/{name}.checksums"))
    assert GtidSet(str(mysql.sql("SELECT @@GLOBAL.gtid_executed")[0][0])) == applied
    assert target.open(mysql.plan()).executed == applied


def test_r31_a_mariadb_log_gives_the_sources_tables(mariadb: Server, truth: Log) -> None:
    path = truth("mariadb-binlog/plain.binlog")
    target = mariadb.opened(has_gtids=False)
    apply(target, list(read_blocks(path, 32)))
    assert mariadb.checksums() == expected(truth("mariadb-binlog/plain.checksums"))


@pytest.mark.parametrize("mode", ["record", "preserve", "none"])
def test_r26_every_mode_knows_after_a_restart_what_is_applied(server: Server, truth: Log, mode: str) -> None:
    blocks = some_blocks(server, truth, count=40, merge=1)
    target = server.opened(gtid_mode=mode)
    assert target.merges == (mode != "preserve")
    apply(target, blocks)
    target.close()
    again = server.target()
    progress = again.open(server.plan(gtid_mode=mode))
    assert all(block.gtids <= progress.executed for block in blocks)
    following = next(b for b in read_blocks(log_of(server, truth), 1) if b.ordinal == 41)
    assert not following.gtids <= progress.executed
    assert all(again.committed(block) for block in blocks[-3:])
    assert not again.committed(following)


def test_r26_record_keeps_rows_and_progress_out_of_the_targets_log(mysql: Server, truth: Log) -> None:
    target = mysql.opened(gtid_mode="record")
    apply(target, some_blocks(mysql, truth, count=60))
    events = mysql.sql("SHOW BINLOG EVENTS")
    assert not [event for event in events if str(event[2]).endswith("rows") or "paraply" in str(event[5])]
    # A DDL is logged, because only then the server records it together with its GTID (R25b).
    assert [event for event in events if "CREATE TABLE customer" in str(event[5])]


def test_r25_what_was_not_committed_is_not_in_the_progress(server: Server, truth: Log) -> None:
    blocks = some_blocks(server, truth)
    target = server.opened()
    apply(target, blocks[:-1])
    session = target.session()
    session.apply(blocks[-1])
    session.rollback()
    assert not target.committed(blocks[-1])
    apply(target, blocks[-1:])
    assert target.committed(blocks[-1])


def test_r25_a_log_without_gtids_resumes_behind_the_last_transaction(server: Server, truth: Log) -> None:
    blocks = some_blocks(server, truth, count=60)
    target = server.opened(has_gtids=False)
    apply(target, blocks)
    progress = server.target().open(server.plan(has_gtids=False))
    assert (progress.ordinal, progress.offset, progress.resumed) == (blocks[-1].ordinal, blocks[-1].end_offset, True)


def test_r25_another_fingerprint_is_refused_and_harms_nothing(server: Server) -> None:
    server.opened()
    with pytest.raises(ConfigurationMismatch, match="--channel"):
        server.target().open(server.plan(fingerprint="other"))
    assert server.sql("SELECT epoch FROM paraply.channel") == [(1,)]


def test_r31_a_missing_row_stops_the_apply(server: Server, truth: Log) -> None:
    blocks = some_blocks(server, truth, count=2 * SOME)
    target = server.opened()
    half = len(blocks) // 2
    apply(target, blocks[:half])
    server.sql("DELETE FROM shop.counter; DELETE FROM shop.tag")
    with pytest.raises(RowNotFound) as raised:
        apply(target, blocks[half:])
    assert raised.value.gtid is not None
    assert raised.value.position is not None


def test_r31_tables_are_compared_before_their_first_row(server: Server, truth: Log) -> None:
    blocks = some_blocks(server, truth, count=60)
    rows = next(i for i, b in enumerate(blocks) if b.kind == "dml")
    target = server.opened()
    apply(target, blocks[:rows])
    session = target.session()
    for change, complaint in [
        ("ALTER TABLE shop.customer DROP COLUMN city", "columns"),
        ("ALTER TABLE shop.customer ADD COLUMN city VARCHAR(50) AFTER nick", "length"),
        ("ALTER TABLE shop.customer MODIFY city INT", "type"),
        ("ALTER TABLE shop.orders DROP FOREIGN KEY fk_c; DROP TABLE shop.customer", "lacks"),
    ]:
        server.sql(change)
        target.context.checker.forget()
        with pytest.raises(SchemaMismatch, match=complaint) as raised:
            session.apply(blocks[rows])
        assert raised.value.table == "shop.customer"


def test_r34_engines_without_transactions_are_refused(server: Server, truth: Log) -> None:
    blocks = some_blocks(server, truth, count=60)
    rows = next(i for i, b in enumerate(blocks) if b.kind == "dml")
    target = server.opened()
    apply(target, blocks[:rows])
    server.sql("SET foreign_key_checks=0; ALTER TABLE shop.orders DROP FOREIGN KEY fk_c; ALTER TABLE shop.customer ENGINE=MyISAM")
    with pytest.raises(SchemaMismatch, match="MyISAM"):
        target.session().apply(blocks[rows])


def test_r25b_an_applied_ddl_is_not_run_twice(mysql: Server, truth: Log) -> None:
    blocks = some_blocks(mysql, truth, count=10, merge=1)
    target = mysql.opened()
    apply(target, blocks[:3])
    # As after a crash between the statement and its progress: the server has the GTID, the progress table does not.
    mysql.sql("UPDATE paraply.progress SET executed='', ordinal=0")
    assert blocks[2].gtids <= mysql.target().open(mysql.plan()).executed


def test_r25b_a_crash_between_start_and_end_is_decided_by_the_catalog_or_the_user(mariadb: Server) -> None:
    target = mariadb.opened()
    store, epoch = target.context.store, target.context.epoch
    connection = mariadb.connection()
    mariadb.sql("CREATE DATABASE t; CREATE TABLE t.made (a INT)")
    for database, table, existed, done in [("t", "made", False, True), ("t", "unmade", False, False), ("t", None, True, False)]:
        store.begin_ddl(connection, PendingDdl(7, "0-1-7", "log", 700, database, table, existed), epoch)
        again = mariadb.target()
        progress = again.open(mariadb.plan())
        assert (progress.ordinal == 7) is done
        epoch = again.context.epoch
        mariadb.sql("UPDATE paraply.channel SET ordinal=0, executed=''")
    store.begin_ddl(connection, PendingDdl(7, "0-1-7", "log", 700), epoch)
    with pytest.raises(DdlUndecided, match="--ddl-done"):
        mariadb.target().open(mariadb.plan())
    assert "0-1-7" in mariadb.target().open(mariadb.plan(ddl_decision="done")).executed


@pytest.mark.parametrize("sql", ["CREATE TABLE IF NOT EXISTS t.a (b INT)", "DROP TABLE IF EXISTS t.a, t.c", "TRUNCATE TABLE t.old"])
def test_r25b_a_statement_that_may_run_again_asks_nothing(mariadb: Server, truth: Log, sql: str) -> None:
    blocks = some_blocks(mariadb, truth, count=1)
    target = mariadb.opened(has_gtids=False)
    session = target.session()
    mariadb.sql("CREATE DATABASE t; CREATE TABLE t.old (a INT)")
    for _ in range(2):
        execute(target, session, 1, blocks[0], sql)
        assert target.context.store.read(session.connection).pending_ddl is None


def execute(
    target: MySqlTarget, session: MySqlSession, number: int, block: Block, sql: str, database: str = "t", **context: object
) -> None:
    """Runs a statement that stands in a log like the block's, under variables of its own."""
    statement = Statement(sql.encode(), database, 1_700_000_000, 99, {"unknown": [], **context})
    session.send_format(block)
    StatementRunner(target.context, session.connection, 0).run(StatementBlock(number, statement, block.format))  # type: ignore[arg-type]


def test_r33_a_statement_runs_under_its_own_variables_and_the_session_gets_its_own_back(server: Server, truth: Log) -> None:
    blocks = some_blocks(server, truth, count=1)
    target = server.opened(has_gtids=False)
    session = target.session()
    server.sql("CREATE DATABASE t CHARACTER SET utf8mb4")
    before = session.connection.query("SELECT @@sql_mode, @@foreign_key_checks, @@time_zone, @@character_set_client")[0][1]
    ansi_quotes = 4
    sql = "CREATE TABLE \"a b\" (at DATETIME(6) DEFAULT CURRENT_TIMESTAMP(6), text VARCHAR(9)) COMMENT 'x'"
    execute(target, session, 1, blocks[0], sql, sql_mode=ansi_quotes, flags2=1 << 26, time_zone="+03:00", charset=(8, 8, 8))
    made = "CREATE TABLE stamped AS SELECT NOW(6) AS at"
    execute(target, session, 2, blocks[0], made, time_zone="+00:00", microseconds=123456)
    assert server.sql("SELECT CAST(at AS CHAR) FROM t.stamped") == [("2023-11-14 22:13:20.123456",)]
    assert server.sql("SHOW TABLES FROM t LIKE 'a b'") == [("a b",)]
    assert session.connection.query("SELECT @@sql_mode, @@foreign_key_checks, @@time_zone, @@character_set_client")[0][1] == before


def test_r33_a_variable_that_is_not_understood_stops_before_the_statement(server: Server, truth: Log) -> None:
    blocks = some_blocks(server, truth, count=1)
    target = server.opened(has_gtids=False)
    session = target.session()
    for context in ({"unknown": [77]}, {"sql_mode": 1 << 60}, {"time_zone": "x' OR '1"}, {"error_code": 1317}, {"flags2": 1 << 3}):
        with pytest.raises(LogNotUnderstood):
            execute(target, session, 1, blocks[0], "CREATE DATABASE t", "", **context)
    assert server.sql("SHOW DATABASES LIKE 't'") == []


def test_r24_a_waiting_session_shows_who_blocks_it_and_a_timeout_is_temporary(server: Server, truth: Log) -> None:
    blocks = some_blocks(server, truth, count=SOME, merge=1)
    target = server.opened()
    last = next(b for b in reversed(blocks) if b.kind == "dml")
    apply(target, [b for b in blocks if b.id < last.id])
    holder, waiter = target.session(), target.session()
    holder.apply(last)
    raised: list[Exception] = []

    def wait() -> None:
        try:
            waiter.apply(last)
        except TemporaryFailure as error:
            raised.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    wait_until(lambda: target.blockers(waiter.connection_id) == [holder.connection_id], "the wait for the other one's row")
    waiter.interrupt()
    thread.join(10)
    assert len(raised) == 1
    waiter.rollback()
    holder.rollback()


def test_a_killed_connection_is_lost_and_nothing_of_it_stays(server: Server, truth: Log) -> None:
    blocks = some_blocks(server, truth)
    target = server.opened()
    apply(target, blocks[:-1])
    session = target.session()
    session.apply(blocks[-1])
    server.sql(f"KILL {session.connection_id}")
    with pytest.raises(ConnectionLost):
        session.commit()
    session.rollback()
    assert not target.committed(blocks[-1])


def test_a_log_of_the_other_family_and_a_lax_target_are_refused(server: Server) -> None:
    with pytest.raises(UsageError, match="family"):
        server.target().open(server.plan(mariadb=not server.mariadb))
    name = "slave_exec_mode" if server.mariadb else "replica_exec_mode"
    server.sql(f"SET GLOBAL {name}='IDEMPOTENT'")
    try:
        with pytest.raises(UsageError, match=name):
            server.target().open(server.plan())
    finally:
        server.sql(f"SET GLOBAL {name}='STRICT'")


def test_a_user_without_the_privilege_is_told_which(server: Server) -> None:
    # Both hosts: an anonymous user of localhost would otherwise go before weak@'%' over the socket.
    for host in ("%", "localhost"):
        user = f"weak@'{host}'"
        server.sql(f"DROP USER IF EXISTS {user}; CREATE USER {user} IDENTIFIED BY 'weak'; GRANT ALL ON shop.* TO {user}")
    url = parse_url(f"{server.url.family}://weak:weak@{server.url.host}:{server.url.port}" +
                    (f"?socket={server.url.socket}" if server.url.socket else ""))  # fmt: skip
    with pytest.raises(UsageError, match=r"lacks .*: run there GRANT .* TO 'weak'@"):
        MySqlTarget(url).open(server.plan())
    wrong = MySqlTarget(parse_url(f"{server.url.family}://weak:wrong@{server.url.host}:{server.url.port}" +
                                  (f"?socket={server.url.socket}" if server.url.socket else "")))  # fmt: skip
    with pytest.raises(ConnectionFailed, match="password is wrong") as raised:
        wrong.open(server.plan())
    assert ":wrong@" not in str(raised.value)
    server.sql("DROP USER weak@'%', weak@localhost")


def test_an_update_tells_what_it_finds_and_a_text_what_is_missing(server: Server) -> None:
    connection = server.connection()
    connection.query("CREATE DATABASE t; CREATE TABLE t.t (n INT PRIMARY KEY); INSERT INTO t.t VALUES (1)")
    changes = ["UPDATE t.t SET n=1 WHERE n=1", "UPDATE t.t SET n=2 WHERE n=7", "UPDATE t.t SET n=2 WHERE n=1"]
    assert [found for _, _, found in query_all(connection, changes)] == [1, 0, 1]
    with pytest.raises(TemporaryFailure, match="2 of 3"):
        query_all(_Short(connection), ["SELECT 7"] * 3)
    connection.close()


class _Short:
    """A connection on which a KILL QUERY comes behind the second statement of a text."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def query(self, sql: bytes | str) -> list[ResultSet]:
        assert isinstance(sql, bytes)
        return self._connection.query(b"; ".join(sql.split(b"; ")[:2]))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)
