"""Foreign keys that are asked about at a block's end (MySQL 9.6 and later): what comes out is what the server's own checks give."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import pymysql
import pytest
from required import missing
from server.apply.test_errors_mysql import Server
from server.mysql_blocks import without_references
from server.native_blocks import read_blocks
from server.reference_load import ReferenceLoad
from servers import mysql_url, sql_connect

from paraply._native import Block, ReferenceCheck
from paraply.errors import ApplyFailed, ParaplyError
from paraply.targets.mysql.rows.foreign_keys import References
from paraply.targets.mysql.sql import Connection
from paraply.targets.mysql.target import MySqlTarget
from paraply.targets.protocol import ApplyPlan
from paraply.targets.url import parse_url

pytestmark = pytest.mark.mysql

PARENTS = """CREATE TABLE errs.parent (id INT PRIMARY KEY, code VARCHAR(9) COLLATE utf8mb4_0900_ai_ci, raw BINARY(4), n INT,
  UNIQUE KEY (code, raw))"""
CHILDREN = """CREATE TABLE errs.child (id INT PRIMARY KEY, parent INT, code VARCHAR(5) COLLATE utf8mb4_0900_ai_ci, raw BINARY(4),
  CONSTRAINT to_id FOREIGN KEY (parent) REFERENCES errs.parent (id),
  CONSTRAINT to_code FOREIGN KEY (code, raw) REFERENCES errs.parent (code, raw))"""
TABLES = ["CREATE DATABASE errs CHARACTER SET utf8mb4", PARENTS, CHILDREN]
ROWS = [f"INSERT INTO errs.parent VALUES ({n}, 'k{n}', X'0{n}00', 0)" for n in range(1, 7)]
MARK = "CREATE TABLE errs.mark (a INT)"


@dataclass
class Outcome:
    """Result of a block: the error if there was one, the content of the tables, and the numbers of queries asked and refused."""

    error: tuple[type[ParaplyError], str | None, str | None] | None
    tables: dict[str, list[tuple[object, ...]]]
    asked: int
    refused: int


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server(mysql_url())
    setting = made.sql("SHOW GLOBAL VARIABLES LIKE 'innodb_native_foreign_keys'")
    if not setting:
        pytest.skip("a MySQL before 9.6 leaves foreign keys to InnoDB")
    if setting[0][1] != "OFF":
        missing("MYSQL LEAVES FOREIGN KEYS TO INNODB: start it with innodb_native_foreign_keys=OFF")
    made.sql("SET GLOBAL innodb_flush_log_at_trx_commit=0", "SET GLOBAL sync_binlog=0")
    yield made
    made.sql("SET GLOBAL innodb_flush_log_at_trx_commit=1", "SET GLOBAL sync_binlog=1")
    made.empty()


class Asked(References):
    """Counts the questions."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = self.refused = 0

    def hold(self, connection: Connection, check: ReferenceCheck) -> bool:
        held = super().hold(connection, check)
        self.asked += len(check.questions)
        self.refused += not held
        return held


class Place:
    """A target with tables and rows, on which blocks are tried: each ends with a rollback, and damage is repaired.

    Args:
        server: The server.
        standing: Statements that make the tables and rows.
    """

    def __init__(self, server: Server, standing: Sequence[str]) -> None:
        self._server = server
        server.empty()
        server.sql(*standing)
        self._tables = [str(row[0]) for row in server.sql("SHOW TABLES FROM errs")]
        copies = [f"CREATE TABLE errs.kept_{table} SELECT * FROM errs.{table}" for table in self._tables]
        server.sql("SET sql_require_primary_key=OFF", *copies)
        self.target = MySqlTarget(parse_url(server.url))
        self.target.open(ApplyPlan("references", "f", 1, gtid_mode="record"))

    def outcome(self, block: Block, references: References | None) -> Outcome:
        """Applies a block, gives how that ended, and takes it back."""
        known = self.target.context.references
        assert known is not None
        without_references(self.target, references)
        session, error = self.target.session(), None
        try:
            session.apply(block)
        except ParaplyError as raised:
            session.rollback()
            error = (type(raised), raised.table, raised.key)
        read = session.connection.query
        tables = {table: sorted(read(f"SELECT * FROM errs.{table}")[0][1], key=repr) for table in self._tables}
        session.rollback()
        session.close()
        without_references(self.target, known)
        asked = references if isinstance(references, Asked) else None
        return Outcome(error, tables, asked.asked if asked else 0, asked.refused if asked else 0)

    def both(self, block: Block, *damage: str) -> Outcome:
        """Applies a block with questions and without, which must end alike; of several errors it may be another one."""
        changes = ((f"DELETE FROM errs.{table}", f"INSERT INTO errs.{table} SELECT * FROM errs.kept_{table}") for table in self._tables)
        self._server.sql("SET foreign_key_checks=0", "SET sql_mode=''", *(change for pair in changes for change in pair))
        with contextlib.suppress(pymysql.Error):
            self._server.sql("SET foreign_key_checks=0", *damage)
        asked, plain = self.outcome(block, Asked()), self.outcome(block, None)
        assert (asked.error is None, asked.tables) == (plain.error is None, plain.tables), (damage, asked.error, plain.error)
        return asked


def last_block(server: Server, statements: Sequence[str], log: Path) -> Block:
    """The last transactions of a log as one block."""
    return list(read_blocks(server.record(list(statements), log), merge=1000))[-1]


def both(server: Server, folder: Path, changes: Sequence[str], *damage: str) -> Outcome:
    """Applies changes as one block with questions and without, which must end alike."""
    standing = [*TABLES, *ROWS, MARK]
    block = last_block(server, [*standing, *changes], folder / "binlog.000001")
    assert block.transaction_count == len(changes)
    place = Place(server, standing)
    try:
        return place.both(block, *damage)
    finally:
        place.target.close()


def child(number: int, parent: int | str = "NULL", code: str = "NULL", raw: str = "NULL") -> str:
    return f"INSERT INTO errs.child VALUES ({number}, {parent}, {code}, {raw})"


FIVE = [child(n, n) for n in range(1, 6)]
FIVE_MORE = [child(10 + n, n + 1) for n in range(1, 6)]


def test_what_rows_refer_to_is_asked_once(server: Server, tmp_path: Path) -> None:
    changes = [*FIVE, "UPDATE errs.parent SET n=n+1 WHERE id<4", *(child(10 + n, "NULL", f"'K{n}'", f"X'0{n}'") for n in range(1, 4))]
    done = both(server, tmp_path, changes)
    assert (done.error, done.asked, done.refused) == (None, 2, 0)
    assert len(done.tables["child"]) == 8


def test_a_missing_parent_is_found_and_nothing_of_the_block_stays(server: Server, tmp_path: Path) -> None:
    done = both(server, tmp_path, FIVE, "DELETE FROM errs.parent WHERE id=3")
    assert done.refused == 1
    assert done.error is not None
    assert done.error[0] is ApplyFailed
    assert done.error[1] == "errs.child"
    assert done.tables["child"] == []


def test_a_parent_that_the_block_makes_itself_is_not_asked_about(server: Server, tmp_path: Path) -> None:
    made = [f"INSERT INTO errs.parent VALUES ({n}, 'n', X'{n}', 0)" for n in (70, 71)]
    done = both(server, tmp_path, [*made, *(child(n, n) for n in (70, 71)), child(72, 70), child(73, 71)])
    assert (done.error, done.asked) == (None, 0)


def test_a_parent_that_goes_again_is_left_to_the_server(server: Server, tmp_path: Path) -> None:
    gone = ["DELETE FROM errs.child WHERE id=2", "DELETE FROM errs.parent WHERE id=2"]
    done = both(server, tmp_path, [*FIVE, *gone])
    assert (done.error, done.asked, done.refused) == (None, 1, 0)
    done = both(server, tmp_path, [*FIVE, *gone], child(99, 2))
    assert done.error is not None, "a child that the log does not know keeps its parent from going"
    moved = ["UPDATE errs.child SET parent=1 WHERE id=2", "UPDATE errs.parent SET id=60 WHERE id=2", child(61, 60)]
    assert both(server, tmp_path, [*FIVE, *moved]).error is None


def test_a_parent_that_only_the_targets_cascade_takes_away_is_asked_about(server: Server, tmp_path: Path) -> None:
    tables = [TABLES[0], "CREATE TABLE errs.top (id INT PRIMARY KEY)", "CREATE TABLE errs.mid (id INT PRIMARY KEY, top INT, KEY (top))"]
    tables += ["CREATE TABLE errs.low (id INT PRIMARY KEY, mid INT, FOREIGN KEY (mid) REFERENCES errs.mid (id))", MARK]
    tops = ["INSERT INTO errs.top VALUES (1), (2)"]
    low = [f"INSERT INTO errs.low VALUES ({n}, 7)" for n in range(6)]
    changes = ["INSERT INTO errs.mid VALUES (7, 1)", "DELETE FROM errs.top WHERE id=1", *low]
    block = last_block(server, [*tables[:-1], *tops, MARK, *changes], tmp_path / "binlog.000001")
    cascade = "ALTER TABLE errs.mid ADD FOREIGN KEY (top) REFERENCES errs.top (id) ON DELETE CASCADE"
    place = Place(server, [*tables[:-1], *tops, cascade])
    done = place.both(block)
    place.target.close()
    assert done.error is not None
    assert (done.asked, done.refused) == (1, 1)


def test_keys_that_only_the_collation_makes_equal_are_found(server: Server, tmp_path: Path) -> None:
    changes = [child(n, "NULL", code, "X'01'") for n, code in enumerate(["'k1'", "'K1'", "'k1'", "'K1'", "'k1'"])]
    done = both(server, tmp_path, changes)
    assert (done.error, done.asked, done.refused) == (None, 1, 0)


def test_few_rows_are_left_to_the_server(server: Server, tmp_path: Path) -> None:
    assert both(server, tmp_path, FIVE[:2]).asked == 0


def test_a_block_with_very_many_keys_is_left_to_the_server(server: Server, tmp_path: Path) -> None:
    numbers = "SELECT ROW_NUMBER() OVER () AS r FROM " + ", ".join(f"errs.parent {alias}" for alias in "abcdef")
    many = f"INSERT INTO errs.parent SELECT 100+r, CONCAT('m', r), X'00', 0 FROM ({numbers} LIMIT 33000) t"
    changes = [many, *FIVE]
    done = both(server, tmp_path, changes)
    assert (done.error, done.asked) == (None, 0)
    assert both(server, tmp_path, changes, "DELETE FROM errs.parent WHERE id=3").error is not None


def test_rows_that_the_source_did_not_check_are_not_asked_about(server: Server, tmp_path: Path) -> None:
    orphans = [child(n, 1000 + n) for n in range(6)]
    block = last_block(server, [*TABLES, MARK, "SET foreign_key_checks=0", *orphans, *ROWS], tmp_path / "binlog.000001")
    place = Place(server, [*TABLES, MARK])
    done = place.both(block)
    place.target.close()
    assert (done.error, done.refused, len(done.tables["child"])) == (None, 0, 6)


@pytest.mark.parametrize("seed", [*range(8), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(8, 60))])
def test_any_foreign_keys_end_as_the_servers_own_checks(server: Server, tmp_path: Path, seed: int) -> None:
    load = ReferenceLoad(seed)
    standing = [*run(server, load.tables, load.parents(40) + load.changes(30)), MARK]
    changes = run(server, standing, load.changes(60))[len(standing) :]
    block = last_block(server, [*standing, *changes], tmp_path / "binlog.000001")
    place = Place(server, standing)
    for _ in range(6):
        place.both(block, *load.damage())
    place.target.close()


def run(server: Server, tables: Sequence[str], changes: Sequence[str]) -> list[str]:
    """Runs statements on an empty server, those of the tables and those of the changes that succeed: gives these."""
    server.empty()
    url, done = parse_url(server.url), list(tables)
    with (
        sql_connect(host=url.host, port=url.port, user=url.user, password=url.password or "", autocommit=True) as connection,
        connection.cursor() as cursor,
    ):
        for statement in tables:
            cursor.execute(statement)
        for statement in changes:
            with contextlib.suppress(pymysql.Error):
                cursor.execute(statement)
                done.append(statement)
    return done


def test_a_foreign_key_that_a_ddl_adds_is_known_afterwards(server: Server, tmp_path: Path) -> None:
    late = CHILDREN.replace("CONSTRAINT to_id FOREIGN KEY (parent) REFERENCES errs.parent (id),", "")
    both_keys = [child(n, n, f"'k{n}'", f"X'0{n}'") for n in range(1, 6)]
    block = last_block(server, [*TABLES[:2], late, *ROWS, MARK, *both_keys, *FIVE_MORE], tmp_path / "binlog.000001")
    server.sql(*TABLES[:2], late)
    target = MySqlTarget(parse_url(server.url))
    target.open(ApplyPlan("references", "f", 1, gtid_mode="record"))
    references = target.context.references
    assert references is not None
    first = references.check(target.connect, block)
    server.sql("ALTER TABLE errs.child ADD FOREIGN KEY (parent) REFERENCES errs.parent (id)")
    target.context.forget_tables()
    at_once = references.check(target.connect, block)
    references._next_read = 0.0
    later = references.check(target.connect, block)
    target.close()
    assert first is not None
    assert later is not None
    assert at_once is None, "the tables are not read again after each of many DDL statements"
    assert [expected for _, expected in first.questions] == [5]
    assert sorted(expected for _, expected in later.questions) == [5, 6]


def test_a_user_who_does_not_see_all_tables_asks_nothing(server: Server) -> None:
    make = [
        "DROP USER IF EXISTS less",
        "CREATE USER less IDENTIFIED BY 'less'",
        "GRANT ALL ON *.* TO less",
        "GRANT SELECT ON performance_schema.* TO less",
        "GRANT SELECT ON paraply.* TO less",
    ]
    server.sql(*make)
    url = parse_url(server.url)
    try:
        for grant, asks in (("GRANT SELECT ON *.* TO less", True), ("REVOKE SELECT ON *.* FROM less", False)):
            server.sql(grant)
            target = MySqlTarget(replace(url, user="less", password="less"))
            target.open(ApplyPlan("references", "f", 1, gtid_mode="record"))
            target.close()
            assert (target.context.references is not None) == asks
    finally:
        server.sql("DROP USER less")


def test_a_replay_that_is_logged_is_checked_by_the_server(server: Server) -> None:
    server.empty()
    target = MySqlTarget(parse_url(server.url))
    modes: tuple[Literal["none", "preserve"], ...] = ("none", "preserve")
    for mode in modes:
        target.open(ApplyPlan("references", "f", 1, gtid_mode=mode))
        target.close()
        assert target.context.references is None
