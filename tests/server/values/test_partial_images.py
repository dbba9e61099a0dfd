"""Rules R13 and R14 on real servers' logs: what partial images and missing keys leave out never hides a conflict, and is counted.

MySQL: ``PARAPLY_TEST_MYSQL`` names the server, ``PARAPLY_TEST_MYSQL_DATA`` the folder with its binary logs.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest
from tests.server.schema.test_schema_from_log import Logged, mariadb, mysql
from tests.servers import mariadb_server

from paraply.analysis.verify import hashed_log

__all__ = ["mariadb", "mariadb_server", "mysql"]

WriteSet = tuple[set[int], set[int], bool]

SCHEMA = (
    "create table one (id int primary key, a int, note text)",
    "create table two (id int primary key, a int not null, b int not null, note text, unique ab (a, b))",
    "create table pair (x int not null, y int not null, n int, note blob, primary key (x, y), unique n (n))",
    "create table parent (id int primary key, code varchar(9) not null unique)",
    "create table child (id int primary key, p int, note text, foreign key (p) references parent (id))",
    "create table loose (code int unique, n int, note text)",
    "create table bare (n int, note text)",
)
CHANGES = (
    "insert into one values (1, 1, 'x'), (2, 2, 'y'), (3, 3, 'z')",
    "insert into two values (1, 1, 1, 'x'), (2, 1, 2, 'y'), (3, 2, 1, 'z')",
    "insert into pair values (1, 1, 1, 'x'), (1, 2, 2, 'y'), (2, 1, null, 'z')",
    "insert into parent values (1, 'a'), (2, 'b'), (3, 'c')",
    "insert into child values (1, 1, 'x'), (2, null, 'y')",
    "insert into loose values (1, 1, 'x'), (2, 2, 'y'), (null, 3, 'z')",
    "insert into bare values (1, 'x'), (2, 'y')",
    "update one set a = 9 where id = 1",
    "update one set note = 'n' where id = 2",
    "update one set id = 8 where id = 1",
    "update two set a = 5 where id = 1",
    "update two set a = 1, b = 1 where id = 3",
    "update two set note = 'w' where id = 2",
    "delete from two where id = 2",
    "insert into two values (4, 1, 2, 'q')",
    "update pair set n = 3 where x = 1 and y = 1",
    "update pair set n = 1 where x = 2 and y = 1",
    "update pair set note = 'p' where x = 1 and y = 2",
    "update child set p = 2 where id = 1",
    "update child set note = 'k' where id = 2",
    "delete from parent where id = 1",
    "update parent set code = 'z' where id = 2",
    "update loose set n = 5 where code = 1",
    "update loose set code = null where code = 2",
    "update loose set code = 2 where n = 3",
    "delete from loose where code = 1",
    "update bare set note = 'v' where n = 1",
    "delete from bare where n = 2",
)
"""Each line a transaction. Some touch keys that an image need not hold, some rows that nothing tells apart."""


@pytest.fixture(params=["mariadb", "mysql"])
def server(request: pytest.FixtureRequest) -> Iterator[Logged]:
    found: Logged = request.getfixturevalue(request.param)
    found.run("create database ws_a")
    found.run("use ws_a")
    yield found
    found.run("set session binlog_row_image = 'FULL'")


def history(server: Logged, image: str) -> Path:
    """Runs the schema and the changes in a log of their own."""
    log = server.log()
    server.run(f"set session binlog_row_image = '{image}'")
    for sql in (*SCHEMA, *CHANGES):
        server.run(sql)
    server.log()
    return log


def hashed(log: Path, scheme: str = "fine") -> tuple[dict[str, WriteSet], dict[tuple[str, str], int]]:
    """The write sets of the changes, and the reasons of coarser ones by reason and table."""
    feed = hashed_log([str(log)], scheme, None, bytewise=False)
    sets: list[WriteSet] = []
    for item in feed:
        for index, transaction in enumerate(item.batch):
            if transaction.kind == "dml" and transaction.tables[0].startswith("ws_a."):
                keys = item.write_sets.items(index)
                sets.append((set(keys.exclusive), set(keys.shared), keys.barrier))
    assert len(sets) == len(CHANGES)
    return dict(zip(CHANGES, sets, strict=True)), {(reason, table): count for reason, table, count in feed.fallbacks}


def meet(one: WriteSet, other: WriteSet) -> bool:
    return one[2] or other[2] or bool(one[0] & (other[0] | other[1])) or bool(other[0] & one[1])


def meetings(sets: dict[str, WriteSet]) -> set[tuple[str, str]]:
    """Pairs of changes that keep their order, in the order of the log."""
    return {(one, other) for one, other in combinations(sets, 2) if meet(sets[one], sets[other])}


def kept_in_order(sets: dict[str, WriteSet]) -> set[tuple[str, str]]:
    """The same with pairs that others between them keep in order."""
    behind: dict[str, set[str]] = {}
    met = meetings(sets)
    for one in reversed(sets):
        direct = {other for other in sets if (one, other) in met}
        behind[one] = direct.union(*(behind[other] for other in direct))
    return {(one, other) for one in sets for other in behind[one]}


@pytest.mark.parametrize("image", ["MINIMAL", "NOBLOB"])
def test_r13_a_partial_image_hides_no_conflict(server: Logged, image: str) -> None:
    full, full_reasons = hashed(history(server, "FULL"))
    for sql in SCHEMA[::-1]:
        server.run("drop table " + sql.split()[2])
    partial, reasons = hashed(history(server, image))
    assert meetings(full) <= kept_in_order(partial)
    missing = {table: count for (reason, table), count in reasons.items() if reason.startswith("key column missing")}
    assert not any(reason.startswith("key column missing") for reason, _ in full_reasons)
    # ab, n, the child's reference, code and the table without a key: what an update changes without telling what it was before.
    assert set(missing) == ({"ws_a.two", "ws_a.pair", "ws_a.child", "ws_a.parent"} if image == "MINIMAL" else set())
    if image == "MINIMAL":
        exclusive, _, barrier = partial["update two set a = 5 where id = 1"]
        assert (len(exclusive), barrier) == (2, False), "its primary key, and the table as a whole"


def test_r14_tables_without_a_key(server: Logged) -> None:
    sets, reasons = hashed(history(server, "FULL"))
    assert {table for reason, table in reasons if reason == "no unique key"} == {"ws_a.loose", "ws_a.bare"}
    met = meetings(sets)
    bare = [sql for sql in CHANGES if " bare " in sql]
    assert set(combinations(bare, 2)) <= met
    # A row with its key meets another one only through a row without a key.
    by_code = ("update loose set n = 5 where code = 1", "delete from loose where code = 1")
    to_null, from_null = "update loose set code = null where code = 2", "update loose set code = 2 where n = 3"
    assert by_code in met
    assert (to_null, from_null) in met
    assert all((by_code[0], other) in met for other in (to_null, from_null))


@pytest.mark.parametrize("metadata", ["MINIMAL", "FULL"])
def test_r13_tables_first_seen_in_the_middle_of_a_log_are_barriers(server: Logged, metadata: str) -> None:
    history(server, "FULL")
    kept = server.run("select @@global.binlog_row_metadata")[0][0]
    server.run(f"set global binlog_row_metadata = '{metadata}'")
    try:
        log = server.log()
        server.run("insert into one values (20, 1, 'x')")
        server.run("insert into two values (20, 20, 20, 'x')")
        server.run("insert into bare values (20, 'x')")
        server.log()
    finally:
        server.run(f"set global binlog_row_metadata = '{kept}'")
    for scheme in ("fine", "group"):
        feed = hashed_log([str(log)], scheme, None, bytewise=False)
        sets = [item.write_sets.items(n) for item in feed for n, change in enumerate(item.batch) if change.kind == "dml"]
        assert [keys.barrier for keys in sets] == [True] * 3
        assert sorted(feed.fallbacks) == [("unknown table", f"ws_a.{table}", 1) for table in ("bare", "one", "two")]
