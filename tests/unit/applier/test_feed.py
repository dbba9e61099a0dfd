from __future__ import annotations

import threading

import pytest
from unit.applier.fake_database import Target
from unit.applier.fakes import Catalog, LogReader, Statement, make
from unit.applier.harness import apply, make_applier, run_within

from paraply.applier.preflight.fingerprint import plan_fingerprint
from paraply.errors import ApplyFailed, LogDamaged, LogNotUnderstood
from paraply.logs.bounded_queue import BoundedQueue
from paraply.logs.feed import Feed, FeedLimits, FeedRules
from paraply.logs.statement_text import decode_statement
from paraply.schema.catalog import SchemaCatalog
from paraply.schema.ddl.change import CreateTable, Unknown
from paraply.schema.model import Column, Key, KeyPart, Table

CREATE = b"create table t (a int primary key)"


def table(name: str, database: str = "d") -> Table:
    return Table(database, name, (Column("a", "int", nullable=False),), (Key("PRIMARY", (KeyPart("a"),), unique=True),))


def ddl(number: int, sql: bytes):
    return make(number, kind="ddl", statements=[Statement(sql)])


def feed_of(log, *, threaded=True, tables=(), **options) -> tuple[Feed, Catalog, SchemaCatalog]:
    LogReader.logs = {"x": log}
    catalog, schema = Catalog(), SchemaCatalog(complete=True)
    feed = Feed(LogReader(["x"]), schema, catalog, FeedRules(**options), threaded=threaded, limits=FeedLimits(batch_transactions=10))
    feed.seed(tables)
    return feed, catalog, schema


@pytest.mark.parametrize("threaded", [True, False])
def test_items_come_in_order_and_the_error_behind_them(threaded):
    feed, _, _ = feed_of([*[make(n) for n in range(1, 36)], LogDamaged("checksum")], threaded=threaded)
    seen = []

    def consume() -> None:
        for item in feed:
            seen.extend(t.ordinal for t in item.batch)

    with pytest.raises(LogDamaged):
        consume()
    assert seen == list(range(1, 36))
    assert feed.read == 35
    assert feed.read_bytes == 3500
    assert feed.backlog == 0
    assert not feed.exhausted
    feed.stop()
    feed.join()


def test_the_first_batches_are_small(monkeypatch):
    asked = []
    read = LogReader.next_batch

    def next_batch(self, most_transactions, most_bytes):
        asked.append((most_transactions, most_bytes))
        return read(self, most_transactions, most_bytes)

    monkeypatch.setattr(LogReader, "next_batch", next_batch)
    feed, _, _ = feed_of([make(n) for n in range(1, 61)], threaded=False)
    assert sum(item.transactions for item in feed) == 60
    assert asked == [(10, n * 1024 * 1024) for n in (1, 2, 4, 8, 16, 16, 16)]


@pytest.mark.parametrize("threaded", [True, False])
def test_ddl_advances_the_definitions_behind_its_batch(threaded):
    feed, catalog, _ = feed_of([make(1), ddl(2, CREATE), make(3), ddl(4, b"drop table t"), make(5)], threaded=threaded)
    items = list(feed)
    assert [item.transactions for item in items] == [2, 2, 1]
    assert isinstance(items[0].changes[0], CreateTable)
    assert items[0].schema.table("d", "t") is not None
    assert items[1].schema.table("d", "t") is None
    assert items[2].schema is None
    assert not catalog.tables
    assert feed.exhausted


def test_renamed_altered_and_dropped_tables_follow():
    feed, catalog, _ = feed_of(
        [ddl(1, b"rename table t to u"), ddl(2, b"alter table u add b int"), ddl(3, b"drop database e")],
        tables=[table("t"), table("v", "e")],
    )
    assert list(catalog.tables) == [("d", "t"), ("e", "v")]
    list(feed)
    assert list(catalog.tables) == [("d", "u")]
    assert [column.name for column in catalog.tables["d", "u"].columns] == ["a", "b"]


def test_r13_what_is_not_understood_makes_its_tables_unknown():
    feed, catalog, _ = feed_of([ddl(1, b"alter table t frobnicate harder (("), make(2)], tables=[table("t"), table("u")])
    items = list(feed)
    assert any(isinstance(change, Unknown) for change in items[0].changes)
    assert ("d", "t") not in catalog.tables
    assert not items[0].reread


def test_the_target_is_read_again_where_it_can_be():
    feed, catalog, schema = feed_of(
        [ddl(1, b"alter table t frobnicate harder (("), make(2)], tables=[table("t"), table("gone")], rereads=True
    )
    items = iter(feed)
    assert next(items).reread
    following = []
    waiter = threading.Thread(target=lambda: following.append(next(items)), daemon=True)
    waiter.start()
    waiter.join(0.05)
    assert not following
    feed.resume([table("t"), table("new")])
    waiter.join(5)
    assert following[0].transactions == 1
    assert set(catalog.tables) == {("d", "t"), ("d", "new")}
    assert schema.table("d", "gone") is None


def test_statements_that_the_seed_contains_are_not_followed_again():
    feed, catalog, _ = feed_of(
        [ddl(1, b"drop table t"), ddl(2, b"drop table u")], tables=[table("t"), table("u")], passed=lambda t: t.ordinal < 2
    )
    items = list(feed)
    assert items[0].changes == []
    assert list(catalog.tables) == [("d", "t")]


def test_a_feed_that_is_stopped_ends_its_thread():
    feed, _, _ = feed_of([make(n) for n in range(1, 1001)])
    items = iter(feed)
    next(items)
    feed.stop()
    feed.join()
    assert list(items) == []
    assert not feed.exhausted


@pytest.mark.parametrize("family", ["mysql", "postgresql"])
@pytest.mark.parametrize("workers", [0, 4])
def test_r19_the_target_hears_of_a_change_after_what_is_older_and_before_the_statement(family, workers):
    log = [make(1, "a"), make(2, "b"), ddl(3, CREATE), make(4, "c"), ddl(5, b"drop table t"), make(6, "d")]
    target = Target()
    target.family = family
    apply(log, target, workers=workers)
    assert target.applied_at_change == [2, 4]
    assert target.database.applied == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("workers", [0, 4])
def test_a_statement_that_is_not_understood_is_applied_and_the_target_read_again(workers):
    log = [make(1, "a"), ddl(2, b"alter table t frobnicate harder (("), make(3, "c")]
    target = Target()
    target.family = "mysql"
    target.tables = [table("t")]
    apply(log, target, workers=workers)
    assert target.database.applied == [1, 2, 3]


@pytest.mark.parametrize("workers", [0, 4])
def test_a_target_that_refuses_a_change_stops_before_the_statement(workers):
    log = [make(1, "a"), make(2, "b"), ddl(3, CREATE), make(4, "c")]
    target = Target()

    def refuse(*_):
        raise ApplyFailed("no such type")

    target.schema_changed = refuse
    error = run_within(make_applier(log, target, workers=workers))
    assert isinstance(error, ApplyFailed)
    assert (error.gtid, error.position) == ("u:00003", 300)
    assert target.database.applied == [1, 2]


def test_text_is_decoded_by_the_clients_character_set():
    def text(sql: bytes, number: int | None) -> str:
        context = {} if number is None else {"charset": (number, number, number)}
        return decode_statement(Statement(sql, offset=77, context=context), mariadb=False, file="f")

    assert text("täble".encode(), 255) == "täble"
    assert text("täble".encode("latin-1"), 8) == "täble"
    assert text("表".encode("gbk"), 28) == "表"
    assert text(b"plain", 99999) == "plain"
    assert text("täble".encode(), None) == "täble"
    with pytest.raises(LogNotUnderstood, match="77"):
        text("ä".encode(), 9999)
    with pytest.raises(LogNotUnderstood, match="not valid"):
        text(b"\xff\xff", 255)


def test_the_queue_is_bounded_by_bytes_and_passes_a_giant_alone():
    queue = BoundedQueue[int](items=100, size=10)
    assert queue.put(1, 1000)
    blocked = threading.Thread(target=lambda: queue.put(2, 1), daemon=True)
    blocked.start()
    blocked.join(0.05)
    assert blocked.is_alive()
    assert queue.get() == 1
    blocked.join(5)
    assert queue.get() == 2
    queue.end(ValueError("x"))
    with pytest.raises(ValueError):
        queue.get()


def test_r25_the_fingerprint_holds_through_rotation_and_tells_sources_apart():
    base = plan_fingerprint(make(1), None)
    assert base == plan_fingerprint(make(900, file="binlog.000009"), None) == plan_fingerprint(make(1, file="copy.000001"), "")
    assert base != plan_fingerprint(make(1), "u:1")
    assert base != plan_fingerprint(make(1), None, {"database": ["d"]})
    other = make(1)
    other.format.server_id = 8
    assert base != plan_fingerprint(other, None)
    anonymous = plan_fingerprint(make(1, gtid=False), None)
    assert anonymous == plan_fingerprint(make(7, gtid=False, file="binlog.000002"), None)
    assert anonymous != plan_fingerprint(make(7, gtid=False, file="other.000002"), None)


@pytest.mark.parametrize("threaded", [True, False])
def test_r13_kept_definitions_take_over_with_the_first_one_that_is_not_applied(threaded):
    log = [make(1), ddl(2, CREATE), make(3), ddl(4, b"create table later (a int primary key)"), make(5)]
    kept = [table("t"), table("u")]
    feed, catalog, schema = feed_of(log, threaded=threaded, kept=(kept, lambda transaction: transaction.ordinal <= 3))
    known = [sorted(table.name for table in schema) for _ in feed]
    assert sorted(table.name for table in schema) == ["later", "t", "u"]
    assert threaded or known == [["t"], ["later", "t", "u"], ["later", "t", "u"]]
    assert all(catalog.tables.get(("d", name)) for name in ("t", "u", "later"))
