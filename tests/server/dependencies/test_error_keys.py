"""An error about a row names its table and its key, also where the server says neither (MySQL and MariaDB)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from server.apply.test_errors_mysql import Server, server

from paraply._native import Block, Catalog, LogReader, Planner
from paraply.errors import ApplyFailed, ParaplyError, RowNotFound
from paraply.targets.mysql.session import MySqlSession
from paraply.targets.mysql.target import MySqlTarget
from paraply.targets.protocol import ApplyPlan
from paraply.targets.url import parse_url

__all__ = ["server"]

pytestmark = pytest.mark.mariadb

TABLES = [
    "CREATE DATABASE errs",
    "CREATE TABLE errs.item (id INT PRIMARY KEY, name VARCHAR(20) CHARACTER SET latin1, UNIQUE KEY by_name (name))",
    "CREATE TABLE errs.part (item INT UNSIGNED, at DATETIME(3), kind ENUM('a','b'), size DECIMAL(6,2), PRIMARY KEY (item, at, kind, size))",
    "CREATE TABLE errs.moment (at TIMESTAMP(2) PRIMARY KEY, n INT)",
    "CREATE TABLE errs.raw (k BINARY(4) PRIMARY KEY, n INT)",
    "CREATE TABLE errs.line (id INT PRIMARY KEY, item INT, CONSTRAINT of_item FOREIGN KEY (item) REFERENCES errs.item (id))",
    "CREATE TABLE errs.heap (a INT, b VARCHAR(9))",
    "INSERT INTO errs.item VALUES (1,'one'), (2,'two'), (3,'tre'), (4,'Zo\xeb'), (5,NULL), (9,'none')",
    "SET time_zone='+00:00'",
    "INSERT INTO errs.part VALUES (4000000000, '2026-01-02 03:04:05.678', 'b', -1.50)",
    "INSERT INTO errs.moment VALUES ('2026-01-02 03:04:05.67', 1)",
    "INSERT INTO errs.raw VALUES (X'6100', 1)",
    "INSERT INTO errs.line VALUES (1,1), (2,2)",
    "INSERT INTO errs.heap VALUES (1,'x'), (1,'x'), (2,NULL)",
]
CHANGES = {
    "one row": "UPDATE errs.item SET name='eins' WHERE id=1",
    "many rows": "UPDATE errs.item SET name=CONCAT(name,'!') WHERE id>1",
    "composite": "DELETE FROM errs.part",
    "moment": "UPDATE errs.moment SET n=2",
    "binary": "UPDATE errs.raw SET n=2",
    "heap": "DELETE FROM errs.heap WHERE a=2",
    "insert": "INSERT INTO errs.item VALUES (6,'six'), (7,'seven'), (8,'eight')",
    "key again": "BEGIN; INSERT INTO errs.item VALUES (10,'ten'); DELETE FROM errs.item WHERE id=10;"
    " INSERT INTO errs.item VALUES (10,'ten'), (11,'eleven'); UPDATE errs.item SET id=12 WHERE id=11; UPDATE errs.item SET name=NULL"
    " WHERE id IN (9,12); COMMIT",
    "child": "INSERT INTO errs.line VALUES (3,3), (4,4), (5,NULL)",
    "parent": "BEGIN; DELETE FROM errs.line WHERE id=1; DELETE FROM errs.item WHERE id IN (1,6); COMMIT",
}


@dataclass
class Prepared:
    """A target with the tables' rows as the log had them before its changes, and the blocks of those changes."""

    server: Server
    session: MySqlSession
    blocks: dict[str, Block]

    def failure(self, change: str, *damage: str) -> ParaplyError:
        """Damages the target, applies one change, and gives the error; repairs nothing."""
        self.server.sql("SET foreign_key_checks=0", *damage)
        with pytest.raises(ApplyFailed) as raised:
            self.session.apply(self.blocks[change])
        self.session.rollback()
        return raised.value

    def applies(self, change: str) -> None:
        self.session.apply(self.blocks[change])
        self.session.commit()


@pytest.fixture
def prepared(server: Server, tmp_path: Path) -> Iterator[Prepared]:
    changes = [statement for change in CHANGES.values() for statement in change.split("; ")]
    log = server.record(TABLES + changes, tmp_path / "binlog.000001")
    server.sql(*TABLES)
    reader, planner, blocks = LogReader([str(log)]), Planner(), []
    while (batch := reader.next_batch()) is not None:
        blocks += planner.plan(batch, batch.write_sets(Catalog()), merge=1, max_bytes=1 << 20, committed=0)
    target = MySqlTarget(parse_url(server.url))
    target.open(ApplyPlan("keys", "f", 1, gtid_mode="none", mariadb=server.mariadb))
    session = target.session()
    yield Prepared(server, session, dict(zip(CHANGES, blocks[-len(CHANGES) :], strict=True)))
    session.close()
    target.close()


def test_r31_a_missing_row_is_named_by_its_key(prepared: Prepared) -> None:
    failure = prepared.failure("one row", "DELETE FROM errs.item WHERE id=1")
    assert isinstance(failure, RowNotFound)
    assert (failure.table, failure.key) == ("errs.item", "id=1")
    failure = prepared.failure("many rows", "DELETE FROM errs.item WHERE id=3")
    assert (failure.table, failure.key) == ("errs.item", "id=3")
    failure = prepared.failure("composite", "UPDATE errs.part SET size=-1.51")
    assert (failure.table, failure.key) == ("errs.part", "item=4000000000, at='2026-01-02 03:04:05.678', kind=2, size=-1.50")
    failure = prepared.failure("moment", "DELETE FROM errs.moment")
    assert failure.key == "at='2026-01-02 03:04:05.670000+00:00'"
    failure = prepared.failure("binary", "DELETE FROM errs.raw")
    assert failure.key == "k=0x61000000"
    failure = prepared.failure("heap", "DELETE FROM errs.heap WHERE a=2")
    assert failure.key == "a=2, b=NULL"
    failure = prepared.failure("key again", "DELETE FROM errs.item WHERE id=9")
    assert failure.key == "id=9"


def test_a_row_that_stands_already_is_named_by_its_key(prepared: Prepared) -> None:
    failure = prepared.failure("insert", "INSERT INTO errs.item VALUES (7,'other')")
    assert (failure.table, failure.key) == ("errs.item", "id=7")
    failure = prepared.failure("insert", "DELETE FROM errs.item WHERE id=7", "INSERT INTO errs.item VALUES (70,'Eight')")
    assert (failure.table, failure.key) == ("errs.item", "name='eight'")
    failure = prepared.failure("key again", "INSERT INTO errs.item VALUES (12,'other')")
    assert (failure.table, failure.key) == ("errs.item", "id=12")


def test_a_child_without_parent_and_a_parent_with_children_are_named(prepared: Prepared) -> None:
    failure = prepared.failure("child", "DELETE FROM errs.item WHERE id=4")
    assert (failure.table, failure.key) == ("errs.line", "id=4")
    prepared.applies("insert")
    failure = prepared.failure("parent", "INSERT INTO errs.line VALUES (60,6)")
    assert (failure.table, failure.key) == ("errs.item", "id=6")


def test_a_parent_table_that_the_target_lacks_is_named(prepared: Prepared) -> None:
    failure = prepared.failure("child", "DROP TABLE errs.item")
    assert (failure.table, failure.key) == ("errs.line", "id=3")
    assert "refers to errs.item, which is not in the target" in str(failure)
    assert "load that table too, or drop the foreign key" in str(failure)
