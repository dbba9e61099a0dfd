"""The catalog under the log's own DDL."""

from __future__ import annotations

from typing import Any

import pytest

from paraply.schema.advance import advance as advance_catalog
from paraply.schema.catalog import SchemaCatalog
from paraply.schema.ddl.change import AlterTable, CreateTable, DropTable, Irrelevant, RenameTable, TruncateTable, Unknown
from paraply.schema.ddl.rules import MODE_ANSI_QUOTES
from paraply.schema.model import Default, Table

CONTEXT: dict[str, Any] = {"charset": (255, 255, 255), "default_collation_for_utf8mb4": 255}


def advance(catalog: SchemaCatalog, sql: str, *, mariadb: bool = False, **context: Any) -> list[Any]:
    version = (10, 11, 6) if mariadb else (9, 7, 0)
    return advance_catalog(catalog, sql, "d", CONTEXT | context, mariadb=mariadb, version=version)


def known(catalog: SchemaCatalog, name: str) -> Table:
    table = catalog.table("d", name)
    assert table is not None
    return table


@pytest.fixture
def catalog() -> SchemaCatalog:
    made = SchemaCatalog()
    advance(made, "create database d")
    advance(made, "create table t (id int primary key, a varchar(20) unique, b int)")
    advance(made, "create table child (id int primary key, t int, foreign key (t) references t (id) on delete cascade)")
    return made


@pytest.mark.parametrize(
    "sql",
    [
        "alter table t frobnicate (a)",
        "alter table t add column c wondertype",
        "alter table t drop column nope",
        "alter table t add unique (nope)",
        "alter table t modify a varchar(30) wonderful",
        "create table t (a int) with system versioning",
        "create or replace table t (a int, period for p (a, b))",
        "alter table t add c int, exchange nothing",
    ],
)
def test_r13_a_statement_not_understood_makes_its_table_unknown(catalog: SchemaCatalog, sql: str) -> None:
    changes = advance(catalog, sql, mariadb=True)
    assert isinstance(changes[0], Unknown)
    assert catalog.table("d", "t") is None
    assert catalog.is_unknown("d", "t")


@pytest.mark.parametrize(
    "sql", ["alter table t rename wonder to q r", "wonder all tables", "create wonder x", "call p()", "alter table t convert table c to"]
)
def test_r13_a_statement_that_may_touch_anything_makes_everything_unknown(catalog: SchemaCatalog, sql: str) -> None:
    assert advance(catalog, sql) == [Unknown(advance(catalog.copy(), sql)[0].reason, everything=True)]
    assert len(catalog) == 0
    assert catalog.is_unknown("d", "child")


def test_r13_a_half_done_statement_leaves_nothing_behind(catalog: SchemaCatalog) -> None:
    before = known(catalog, "child")
    advance(catalog, "rename table child to kid, t")
    assert catalog.table("d", "kid") is None
    assert catalog.table("d", "child") is None
    advance(catalog, "create table kid (id int)")
    assert known(catalog, "kid") != before


def test_r13_if_not_exists_is_decided_only_where_all_tables_are_known() -> None:
    open_catalog = SchemaCatalog()
    assert isinstance(advance(open_catalog, "create table if not exists x (a int)")[0], Unknown)
    advance(open_catalog, "drop table if exists x")
    assert isinstance(advance(open_catalog, "create table if not exists x (a int)")[0], CreateTable)
    closed = SchemaCatalog(complete=True)
    assert isinstance(advance(closed, "create table if not exists x (a int)")[0], CreateTable)
    assert isinstance(advance(closed, "create table if not exists x (b int)")[0], Irrelevant)
    assert known(closed, "x").columns[0].name == "a"


def test_r13_create_select_is_unknown_until_it_is_made_again(catalog: SchemaCatalog) -> None:
    for sql in ("create table s select * from t", "create table s (a int) as select 1 a", "create table s (select 1)"):
        assert isinstance(advance(catalog, sql)[0], Unknown)
        assert catalog.is_unknown("d", "s")
    assert isinstance(advance(catalog, "create table s (a int) start transaction")[0], CreateTable)
    assert not catalog.is_unknown("d", "s")


def test_like_an_unknown_table_and_alter_of_an_unheard_one_are_unknown(catalog: SchemaCatalog) -> None:
    assert isinstance(advance(catalog, "create table s like other.t")[0], Unknown)
    assert isinstance(advance(catalog, "alter table other.u add a int")[0], Unknown)


def test_rename_swaps_and_foreign_keys_follow(catalog: SchemaCatalog) -> None:
    advance(catalog, "create table u (x int)")
    changes = advance(catalog, "rename table t to tmp, u to t, tmp to u")
    assert [type(change) for change in changes] == [RenameTable, AlterTable, RenameTable, RenameTable, AlterTable]
    assert known(catalog, "t").columns[0].name == "x"
    assert known(catalog, "child").foreign_keys[0].parent_table == "u"


def test_a_renamed_view_leaves_the_tables_as_they_are(catalog: SchemaCatalog) -> None:
    """Servers rename a view by RENAME TABLE too; a name that no table has is a view's."""
    advance(catalog, "create view v as select * from t")
    changes = advance(catalog, "rename table v to w, t to v, w to t")
    assert [type(change) for change in changes] == [Irrelevant, RenameTable, AlterTable, Irrelevant]
    assert [column.name for column in known(catalog, "v").columns] == ["id", "a", "b"]
    assert catalog.is_absent("d", "t")
    advance(catalog, "create database e")
    assert advance(catalog, "rename table e.v to d.x") == [Irrelevant("rename of a view")]


@pytest.mark.parametrize(
    "made", ["create view v as select 1", "create or replace algorithm=merge definer=`view`@`%` sql security invoker view d.v as select 1"]
)
def test_a_view_has_its_name_where_a_table_is_made_if_there_is_none(catalog: SchemaCatalog, made: str) -> None:
    statement = "create table if not exists {} (a int)"
    advance(catalog, made)
    before = list(catalog)
    assert advance(catalog, statement.format("v")) == [Irrelevant("a view has the name")]
    advance(catalog, "alter view v as select 2")
    advance(catalog, "rename table v to w")
    assert advance(catalog.copy(), statement.format("w")) == [Irrelevant("a view has the name")]
    assert list(catalog) == before
    assert [type(change) for change in advance(catalog, statement.format("v"))] == [CreateTable]
    advance(catalog, "drop view if exists x, d.w")
    assert [type(change) for change in advance(catalog, statement.format("w"))] == [CreateTable]


@pytest.mark.parametrize(
    "statement", ["create role view", "create definer=`view` procedure view() select 1", "drop trigger view", "create user view"]
)
def test_other_objects_may_have_the_name_view(catalog: SchemaCatalog, statement: str) -> None:
    before = list(catalog)
    assert [type(change) for change in advance(catalog, statement)] == [Irrelevant]
    assert list(catalog) == before


@pytest.mark.parametrize("statement", ["rename table t to u", "rename table t to tmp, t to w", "rename table t to w, u to w"])
def test_r13_a_rename_that_only_a_temporary_table_explains_is_unknown(catalog: SchemaCatalog, statement: str) -> None:
    """MariaDB logs it, and nothing else of such a table."""
    advance(catalog, "create table u (x int)", mariadb=True)
    assert [type(change) for change in advance(catalog, statement, mariadb=True)] == [Unknown]
    assert not catalog.is_absent("d", "t")
    assert catalog.table("d", "u") is None


def test_a_rename_of_what_is_no_table_to_the_name_of_one_leaves_the_tables_as_they_are(catalog: SchemaCatalog) -> None:
    before = list(catalog)
    assert [type(change) for change in advance(catalog, "rename table x to t", mariadb=True)] == [Irrelevant]
    assert list(catalog) == before


def test_r13_a_renamed_name_that_may_be_a_tables_is_unknown() -> None:
    changes = advance(SchemaCatalog(), "rename table v to w")
    assert [type(change) for change in changes] == [Unknown]


def test_a_renamed_parent_column_reaches_the_child(catalog: SchemaCatalog) -> None:
    changes = advance(catalog, "alter table t change id identity bigint")
    assert changes[0].column_renames == {"identity": "id"}
    assert known(catalog, "child").foreign_keys[0].parent_columns == ("identity",)
    assert known(catalog, "t").keys[0].parts[0].column == "identity"


def test_drop_truncate_and_databases(catalog: SchemaCatalog) -> None:
    assert advance(catalog, "truncate table t") == [TruncateTable("d", "t")]
    assert advance(catalog, "DROP TABLE IF EXISTS `child`,`t` /* generated by server */") == [DropTable("d", "child"), DropTable("d", "t")]
    advance(catalog, "create table t (a int)")
    advance(catalog, "drop database d")
    assert len(catalog) == 0
    assert catalog.is_absent("d", "t")


@pytest.mark.parametrize(
    "sql",
    [
        "create definer=`root`@`%` trigger tr before insert on t for each row begin delete from x; end",
        "create algorithm=undefined view v as select 1",
        "grant all on *.* to app",
        "analyze table t",
        "create temporary table t (a int)",
        "drop temporary table if exists t",
        "drop user u",
        "alter user u identified by 'x'",
        "/* only a comment */",
        "/*!99999 drop table t */",
    ],
)
def test_statements_without_meaning_change_nothing(catalog: SchemaCatalog, sql: str) -> None:
    assert [type(change) for change in advance(catalog, sql)] == [Irrelevant]
    assert len(catalog) == 2


def test_default_collations_come_down_from_server_database_and_table() -> None:
    catalog = SchemaCatalog(complete=True)
    latin, general = (8, 8, 8), 45
    advance(catalog, "create database d", charset=latin)
    advance(catalog, "create table a (x varchar(3), y varchar(3) charset utf8mb4)", default_collation_for_utf8mb4=general)
    assert [c.collation for c in known(catalog, "a").columns] == ["latin1_swedish_ci", "utf8mb4_general_ci"]
    advance(catalog, "alter database d character set utf8mb4")
    advance(catalog, "create table b (x varchar(3)) ")
    assert known(catalog, "b").collation == "utf8mb4_0900_ai_ci"
    assert known(catalog, "a").collation == "latin1_swedish_ci"


@pytest.mark.parametrize("listed", [False, True])
def test_if_not_exists_is_decided_where_all_tables_are_listed(listed: bool) -> None:
    catalog = SchemaCatalog(lists_tables=listed).copy()
    advance(catalog, "create database if not exists d")
    changes = [type(change) for sql in ("create table if not exists n (i int)",) * 2 for change in advance(catalog, sql)]
    assert changes == ([CreateTable, Irrelevant] if listed else [Unknown, Unknown])
    catalog.forget_everything()
    assert [type(change) for change in advance(catalog, "create table if not exists m (i int)")] == [Unknown]


def test_a_compressed_column_is_read_as_mariadb_shows_it() -> None:
    catalog = SchemaCatalog(complete=True)
    first = "a varchar(9) /*M!100301 COMPRESSED*/ character set latin1 default null"
    advance(catalog, f"create table p ({first}, b text compressed=zlib not null, c blob not null compressed)", mariadb=True)
    assert known(catalog, "p").columns[0].collation == "latin1_swedish_ci"
    assert len(known(catalog, "p").columns) == 3


def test_sql_mode_decides_what_quotes_and_backslashes_mean() -> None:
    catalog = SchemaCatalog(complete=True)
    advance(catalog, 'create table "q" ("a b" int, e enum(\'x\\\'))', sql_mode=4 | 1048576)
    assert known(catalog, "q").columns[0].name == "a b"
    assert known(catalog, "q").columns[1].labels == ("x\\",)


def test_mysql_names_have_a_question_mark_for_a_character_that_utf8mb3_lacks() -> None:
    made = SchemaCatalog()
    advance(made, "create database `d😀`")
    advance(
        made, "create table d😁.`t😀` (`a😀😁` int primary key, 漢\uffff int, e enum('😀') default '😀' comment '😀', key k𝒳 (漢\uffff))"
    )
    table = made.table("d?", "t?")
    assert table is not None
    assert [column.name for column in table.columns] == ["a??", "漢\uffff", "e"]
    assert [key.name for key in table.keys] == ["PRIMARY", "k?"]
    assert (table.columns[2].labels, table.columns[2].default) == (("😀",), Default("literal", "😀"))
    advance(made, "create table `d?`.u (a int, foreign key f😀 (a) references `t😂` (`a😂😂`)) /* 😀 */")
    advance(made, 'alter table d😁.t😁 drop column "a😁😁", rename to d😁.x😁', sql_mode=MODE_ANSI_QUOTES)
    parent = made.table("d?", "x?")
    child = made.table("d?", "u")
    assert parent is not None
    assert child is not None
    assert [column.name for column in parent.columns] == ["漢\uffff", "e"]
    assert [(key.parent_table, key.parent_columns) for key in child.foreign_keys] == [("x?", ("a??",))]
    advance(made, "drop database d😂")
    assert made.table("d?", "x?") is None


def test_mariadb_names_keep_every_character() -> None:
    made = SchemaCatalog()
    advance(made, "create table `t😀` (`a😀` int)", mariadb=True)
    assert [column.name for column in known(made, "t😀").columns] == ["a😀"]


@pytest.mark.parametrize(
    ("written", "name"),
    [("[q r]", "q r"), ("[a]]b]", "a]b"), ("[]]]", "]"), ("[a[b]", "a[b"), ("[a``b]", "a``b"), ("[a'b]", "a'b"), ('[a""b]', 'a""b'),
     ("[a/*x*/b]", "a/*x*/b"), ("[a#b]", "a#b"), ("`a[b]`", "a[b]"), ('"c]"', "c]")],
)  # fmt: skip
def test_brackets_quote_names_in_mariadbs_mode_mssql(written: str, name: str) -> None:
    """Names as MariaDB 10.11 and 11.8 read them."""
    mode = 4 | 1024
    catalog = SchemaCatalog(complete=True)
    advance(catalog, f"create table [d].{written} ({written} int, [key] int, key [k] ({written}, [key]))", mariadb=True, sql_mode=mode)
    advance(catalog, f"alter table {written} add {written[0]}b{written[1:]} int default 3", mariadb=True, sql_mode=mode)
    assert [column.name for column in known(catalog, name).columns] == [name, "key", f"b{name}"]
    assert [part.column for key in known(catalog, name).keys for part in key.parts] == [name, "key"]


@pytest.mark.parametrize(("mariadb", "mode"), [(True, 4), (True, 512), (False, 1024)])
def test_r13_brackets_quote_nothing_elsewhere(mariadb: bool, mode: int) -> None:
    assert isinstance(advance(SchemaCatalog(complete=True), "create table [q] (a int)", mariadb=mariadb, sql_mode=mode)[0], Unknown)


def test_lower_case_table_names_fold_names() -> None:
    catalog = SchemaCatalog(lower_case_table_names=1, complete=True)
    advance(catalog, "create table MixedCase (a int primary key)")
    advance(catalog, "create table kid (a int, foreign key (a) references MIXEDcase (a))")
    assert known(catalog, "MIXEDCASE").name == "mixedcase"
    assert len(catalog.children("d", "mixedCase")) == 1
    sensitive = SchemaCatalog(complete=True)
    advance(sensitive, "create table T (a int)")
    assert sensitive.table("d", "t") is None


def test_inline_references_count_only_where_the_server_keeps_them() -> None:
    for version, mariadb, expected in (((8, 4, 0), False, 0), ((9, 7, 0), False, 1), ((10, 11, 6), True, 1)):
        catalog = SchemaCatalog(complete=True)
        for sql in ("create table p (id int primary key)", "create table c (a int references p (id))"):
            advance_catalog(catalog, sql, "d", CONTEXT, mariadb=mariadb, version=version)
        assert len(known(catalog, "c").foreign_keys) == expected


def test_a_copy_stays_as_it_was(catalog: SchemaCatalog) -> None:
    copy = catalog.copy()
    advance(catalog, "drop table t")
    assert copy.table("d", "t") is not None


def expressions(catalog: SchemaCatalog) -> dict[str, str | None]:
    return {column.name: column.expression for column in known(catalog, "g").columns}


def test_expressions_of_generated_columns_are_kept(catalog: SchemaCatalog) -> None:
    advance(catalog, "create table g (id int primary key, a int, x int as (a * (2 + 1)) stored, y int generated always as (`a`) virtual)")
    assert expressions(catalog) == {"id": None, "a": None, "x": "a * (2 + 1)", "y": "`a`"}
    advance(catalog, "alter table g modify x int as (a - 1) stored, add z int as (id) virtual, modify a bigint")
    assert expressions(catalog) == {"id": None, "a": None, "x": "a - 1", "y": "`a`", "z": "id"}
    advance(catalog, "alter table g rename to h")
    advance(catalog, "create table g like h")
    assert expressions(catalog)["x"] == "a - 1"


@pytest.mark.parametrize("sql", ["rename column a to b", "change a b int", "change a b int, modify x int as (b * 2) stored"])
def test_r13_no_expression_is_known_behind_a_renamed_column(catalog: SchemaCatalog, sql: str) -> None:
    """MariaDB rewrites the others; a name may mean another column from then on."""
    advance(catalog, "create table g (id int primary key, a int, x int as (a * 2) stored)", mariadb=True)
    advance(catalog, f"alter table g {sql}", mariadb=True)
    assert expressions(catalog) == {"id": None, "b": None, "x": None}
    assert known(catalog, "g").columns[2].generated == "stored"
