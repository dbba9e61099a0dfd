"""Statements of the log that a filter lets through."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from unit.applier.fakes import Format, Statement

from paraply.applier.selection.filters import Filters, consequences, parse_filters
from paraply.errors import LogNotUnderstood, UsageError
from paraply.schema.model import Column, ForeignKey, Table

SHOP = parse_filters(databases=["shop"])
ITEM = parse_filters(tables=["shop.item"])
NO_LOGS = parse_filters(exclude_tables=["shop.log"])


@dataclass
class Logged:
    """A transaction with one statement."""

    sql: str
    database: str = "shop"
    context: dict[str, Any] = field(default_factory=dict)
    file: str = "binlog.000001"
    offset: int = 4
    gtid: str | None = None
    format: Format = field(default_factory=Format)
    kind: str = "ddl"

    @property
    def statements(self) -> list[Statement]:
        return [Statement(self.sql.encode(), self.database, context=self.context)]


def wants(filters: Filters, sql: str, database: str = "shop", **context: Any) -> bool:
    return filters.wants(Logged(sql, database, context))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("filters", "sql", "database", "expected"),
    [
        (SHOP, "ALTER TABLE item ADD x INT", "shop", True),
        (SHOP, "ALTER TABLE shop.item ADD x INT", "other", True),
        (SHOP, "ALTER TABLE other.item ADD x INT", "shop", False),
        (SHOP, "CREATE TABLE `item` (a INT PRIMARY KEY)", "other", False),
        (SHOP, "DROP TABLE IF EXISTS other.a, other.b", "shop", False),
        (SHOP, "CREATE DATABASE shop", "", True),
        (SHOP, "DROP DATABASE other", "shop", False),
        (SHOP, "DROP DATABASE shop", "", True),
        (SHOP, "CREATE VIEW v AS SELECT 1", "shop", True),
        (SHOP, "CREATE DEFINER=`a`@`b` VIEW other.v AS SELECT 1", "shop", False),
        (SHOP, "CREATE DEFINER=`a`@`b` TRIGGER g BEFORE INSERT ON item FOR EACH ROW SET @a=1", "shop", True),
        (SHOP, "CREATE USER u", "shop", False),
        (SHOP, "GRANT ALL ON *.* TO u", "", False),
        (NO_LOGS, "CREATE USER u", "", True),
        (ITEM, "CREATE TABLE item (a INT PRIMARY KEY)", "shop", True),
        (ITEM, "CREATE TABLE other (a INT PRIMARY KEY)", "shop", False),
        (ITEM, "CREATE DATABASE shop", "", True),
        (ITEM, "CREATE PROCEDURE p() SELECT 1", "shop", False),
        (ITEM, "TRUNCATE TABLE shop.item", "", True),
        (NO_LOGS, "TRUNCATE TABLE log", "shop", False),
        (NO_LOGS, "TRUNCATE TABLE log", "other", True),
        (SHOP, "RENAME TABLE item TO goods", "shop", True),
        (SHOP, "RENAME TABLE a TO b", "other", False),
    ],
)
def test_a_statement_goes_with_its_tables(filters: Filters, sql: str, database: str, expected: bool) -> None:
    assert wants(filters, sql, database) is expected


@pytest.mark.parametrize(
    ("filters", "sql"),
    [
        (SHOP, "RENAME TABLE shop.item TO other.item"),
        (SHOP, "DROP TABLE item, other.item"),
        (ITEM, "DROP DATABASE shop"),
        (NO_LOGS, "DROP DATABASE shop"),
        (ITEM, "RENAME TABLE item TO item_old, item_new TO item"),
        (SHOP, "CREATE TABLE item LIKE other.item"),
        (SHOP, "FROBNICATE EVERYTHING"),
        # A server that stores names in lower case writes what was typed.
        (ITEM, "ALTER TABLE Item ADD x INT"),
        (SHOP, "ALTER TABLE Shop.item ADD x INT"),
    ],
)
def test_r13_what_cannot_be_decided_stops(filters: Filters, sql: str) -> None:
    with pytest.raises(LogNotUnderstood, match="filters"):
        wants(filters, sql)


def test_the_message_ends_with_the_statement_and_says_where_it_was_cut() -> None:
    columns = ", ".join(f"c{n} VARCHAR(10) DEFAULT 'open'" for n in range(9))
    with pytest.raises(LogNotUnderstood) as error:
        wants(SHOP, f"DROP TABLE shop.item, other.item /* {columns} */")
    advice, statement = error.value.message.split("; the statement is: ")
    assert "DROP" not in advice
    assert statement.startswith("DROP TABLE shop.item, other.item")
    assert statement.endswith(" ...")


def test_a_statement_that_is_not_understood_goes_with_the_databases_that_the_source_names() -> None:
    assert wants(SHOP, "FROBNICATE EVERYTHING", updated_databases=["shop"])
    assert not wants(SHOP, "FROBNICATE EVERYTHING", updated_databases=["other"])
    assert not wants(SHOP, "ALTER TABLE other.item FROBNICATE")
    with pytest.raises(LogNotUnderstood):
        wants(SHOP, "FROBNICATE EVERYTHING", updated_databases=["shop", "other"])


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({"tables": ["item"]}, "DATABASE.TABLE"),
        ({"tables": ["back`tick.item"]}, "a backtick within them is doubled"),
        ({"databases": ["a"], "exclude_databases": ["a"]}, "never"),
        ({"tables": ["a.b"], "exclude_tables": ["a.b"]}, "never"),
        ({"databases": [""]}, "name"),
        ({"tables": ["shop.*"]}, "no patterns"),
        ({"exclude_tables": ["shop.%_old"]}, "no patterns"),
        ({"exclude_databases": ["*"]}, "no patterns"),
        ({"databases": ["shop_*"]}, "no patterns"),
    ],
)
def test_filters_that_say_nothing_are_refused(options: dict[str, list[str]], wanted: str) -> None:
    with pytest.raises(UsageError, match=wanted):
        parse_filters(**options)


def test_names_with_dots_stand_between_backticks() -> None:
    assert parse_filters(tables=["`a.b`.`c``d`", "e.f"]).tables == (("a.b", "c`d"), ("e", "f"))
    percent = parse_filters(tables=["shop.`50%`"])
    assert percent.tables == (("shop", "50%"),)
    assert str(percent) == "--table 'shop.`50%`'"


def test_r25_the_progress_belongs_to_the_filters() -> None:
    assert parse_filters().identity() == {}
    assert parse_filters(databases=["b", "a"]).identity() == parse_filters(databases=["a", "b"]).identity()
    assert ITEM.identity() != SHOP.identity()


def table(name: str, *keys: ForeignKey) -> Table:
    return Table("shop", name, (Column("a", "int"),), foreign_keys=keys)


def test_consequences_for_foreign_keys_are_said() -> None:
    refuses = ForeignKey("f1", ("a",), "shop", "item", ("a",))
    cascades = ForeignKey("f2", ("a",), "shop", "item", ("a",), on_delete="cascade")
    child, other = table("line", refuses), table("note", cascades)
    (inside,) = consequences(parse_filters(tables=["shop.line"]), [child, table("item")], logged=True)
    assert "shop.line refers to shop.item" in inside
    assert "fails" in inside
    outside = consequences(ITEM, [child, other, table("item")], logged=True)
    assert len(outside) == 2
    assert "cannot be deleted" in outside[0]
    assert "carry" in outside[1]
    assert consequences(SHOP, [child, other], logged=True) == []


def test_r15a_a_cascade_that_no_log_holds_is_said_aloud() -> None:
    for cascades in (ForeignKey("f", ("a",), "shop", "item", ("a",), on_delete="cascade"),
                     ForeignKey("f", ("a",), "shop", "item", ("a",), on_update="set null")):  # fmt: skip
        child, chosen = table("note", cascades), parse_filters(tables=["shop.note"])
        aloud = consequences(chosen, [child], logged=False)[1]
        assert aloud.startswith("ROWS OF shop.note MAY DIFFER")
        assert "select shop.item too" in aloud
        assert len(consequences(chosen, [child], logged=True)) == 1
    refuses = table("line", ForeignKey("f", ("a",), "shop", "item", ("a",)))
    assert len(consequences(parse_filters(tables=["shop.line"]), [refuses], logged=False)) == 1


def test_r35_the_end_of_an_xa_transaction_is_no_statement_of_a_table() -> None:
    ended = Logged("XA COMMIT X'61',X'',1", kind="xa_end")
    assert parse_filters(["shop"]).wants(ended)  # type: ignore[arg-type]


def test_what_is_not_understood_is_a_question_of_filters_only_where_the_user_set_one() -> None:
    sql = "SET STATEMENT sql_mode='PIPES_AS_CONCAT' FOR CREATE TABLE t (id INT)"
    assert wants(parse_filters().without_system_databases(), sql)
    with pytest.raises(LogNotUnderstood, match="widen the filters"):
        wants(parse_filters(exclude_databases=["other"]).without_system_databases(), sql)
