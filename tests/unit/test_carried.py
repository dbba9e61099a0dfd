"""Values through ALTER TABLE: what is known of the server's conversion and of its defaults."""

from __future__ import annotations

from dataclasses import replace

import pytest

from paraply.analysis.carried.conversion import Conversion, NotKnown, Statement, conversion
from paraply.analysis.carried.default import stored_default
from paraply.analysis.carried.plan import plan_of
from paraply.analysis.table_versions import Line, Version
from paraply.schema.ddl.change import AlterTable
from paraply.schema.model import Column, Default, Key, KeyPart, Table

UTF8 = {"charset": "utf8mb4", "collation": "utf8mb4_0900_ai_ci"}
TEXT = Column("c", "varchar", 10, **UTF8)


def carried(old: Column, new: Column, value: str, statement: Statement | None = None) -> str | None:
    """The value after a change of the type; None where it is not known."""
    steps = conversion(old, new, statement or Statement())
    if steps is None:
        return None
    try:
        for step in steps:
            value = step.apply(value)  # type: ignore[assignment]
    except NotKnown:
        return None
    return value


@pytest.mark.parametrize(
    ("old", "new", "value", "expected"),
    [
        (Column("c", "int"), Column("c", "decimal", 8, 2), "5", "5.00"),
        (Column("c", "decimal", 8, 2), Column("c", "decimal", 8, 1), "-2.25", "-2.3"),
        (Column("c", "decimal", 8, 2), Column("c", "int"), "-0.25", "0"),
        (Column("c", "int", unsigned=True, zerofill=True), TEXT, "7", None),
        (TEXT, Column("c", "int"), "007", "7"),
        (TEXT, Column("c", "int"), "7 apples", None),
        (TEXT, replace(TEXT, type="char"), "a  ", "a"),
        (Column("c", "date"), Column("c", "datetime", scale=3), "2024-02-29", "2024-02-29 00:00:00.000"),
        (Column("c", "datetime"), Column("c", "date"), "2024-02-29 23:59:59", "2024-02-29"),
        (Column("c", "datetime", scale=1), Column("c", "date"), "2024-02-29 23:59:59.9", None),
        (Column("c", "datetime", scale=2), Column("c", "datetime"), "2024-02-29 23:59:59.50", "2024-03-01 00:00:00"),
        (Column("c", "time", scale=2), Column("c", "time"), "-01:59:59.50", "-02:00:00"),
        (Column("c", "timestamp"), Column("c", "datetime"), "2024-02-29 00:00:00Z", None),
        (Column("c", "float"), Column("c", "double"), "0.1", "0.10000000149011612"),
        (Column("c", "enum", labels=("a", "b")), Column("c", "enum", labels=("b",)), "a", None),
        (Column("c", "set", labels=("a", "b")), Column("c", "set", labels=("b", "a")), "a,b", None),
        (Column("c", "json"), Column("c", "int"), "1", None),
    ],
)
def test_a_conversion_is_the_server_or_not_known(old: Column, new: Column, value: str, expected: str | None) -> None:
    assert carried(old, new, value) == expected


def test_digits_of_seconds_are_cut_off_by_mariadb_and_by_mode() -> None:
    old, new, value = Column("c", "datetime", scale=1), Column("c", "datetime"), "2024-01-01 00:00:00.9"
    assert carried(old, new, value, Statement(mariadb=True)) == "2024-01-01 00:00:00"
    assert carried(old, new, value, Statement(mariadb=True, sql_mode=1 << 34)) == "2024-01-01 00:00:01"
    assert carried(old, new, value, Statement(sql_mode=1 << 32)) == "2024-01-01 00:00:00"


def test_without_a_strict_mode_only_what_fits_is_known() -> None:
    lax = Statement(strict=False)
    assert carried(Column("c", "int"), Column("c", "smallint"), "70000", lax) is None
    assert carried(Column("c", "int"), Column("c", "bigint"), "70000", lax) == "70000"
    assert carried(Column("c", "int"), Column("c", "int", nullable=False), "7", lax) is None


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (Column("c", "decimal", 6, 2, default=Default("literal", "2.255", "string")), "2.26"),
        (Column("c", "set", labels=("x", "y"), default=Default("literal", "y,x")), "x,y"),
        (Column("c", "varbinary", 9, charset="binary", collation="binary", default=Default("literal", "41", "bits")), b"A"),
        (Column("c", "timestamp", scale=2, default=Default("literal", "2024-01-01 10:00:00", "utc")), "2024-01-01 10:00:00.00Z"),
        (Column("c", "int", default=Default()), None),
        (replace(TEXT, nullable=False, default=Default()), ""),
        (replace(TEXT, default=Default("literal", "-12", "number")), "-12"),
        (replace(TEXT, default=Default("literal", "1.50", "number")), "1.50"),
        (Column("c", "decimal", 50, 2, default=Default("literal", "-0.001", "number")), "0.00"),
        (Column("c", "decimal", 40, 9, default=Default("literal", "1" * 31, "number")), "1" * 31 + ".000000000"),
        (Column("c", "year", default=Default("literal", "2024", "string")), "2024"),
        (Column("c", "year", nullable=False, default=Default()), "0"),
        (Column("c", "datetime", scale=1, default=Default("literal", "2024-01-01")), "2024-01-01 00:00:00.0"),
        (Column("c", "date", default=Default("literal", "0000-01-01")), None),
        (Column("c", "datetime", default=Default("literal", "2024-02-31 10:00:00")), None),
        (Column("c", "date", nullable=False, default=Default()), None),
    ],
)
def test_a_default_is_stored_as_the_server_does(column: Column, expected: str | bytes | None) -> None:
    assert stored_default(column) == expected


@pytest.mark.parametrize("default", [None, Default("expression"), Default("automatic"), Default("literal", "2024-1-1")])
def test_a_default_that_is_not_known_is_none(default: Default | None) -> None:
    with pytest.raises(NotKnown):
        stored_default(Column("c", "date", default=default))


@pytest.mark.parametrize(
    "column",
    [
        Column("c", "year", default=Default("literal", "24", "number")),
        Column("c", "year", default=Default("literal", "0")),
        Column("c", "float", 5, scale=2, default=Default("literal", "1.239", "number")),
        Column("c", "datetime", default=Default("literal", "2024-01-01 00:00:00.6")),
        Column("c", "enum", labels=("a", "b"), default=Default("literal", "A")),
        Column("c", "varbinary", 9, charset="binary", collation="binary", default=Default("literal", "é")),
        replace(TEXT, default=Default("literal", "1e2", "number")),
        replace(TEXT, default=Default("literal", "007", "number")),
        replace(TEXT, default=Default("literal", ".5", "number")),
        replace(TEXT, default=Default("literal", "é", introduced=True)),
    ],
)
def test_a_default_that_the_server_stores_in_another_form_is_not_known(column: Column) -> None:
    with pytest.raises(NotKnown):
        stored_default(column)


def test_a_plan_follows_renames_and_defaults() -> None:
    key = (Key("PRIMARY", (KeyPart("id"),), unique=True),)
    first = Table("d", "t", (Column("id", "int", nullable=False), Column("de", "int")), key)
    added = Column("extra", "varchar", 10, default=Default("literal", "q"), **UTF8)
    second = replace(first, columns=(first.columns[0], Column("amount", "decimal", 20, 2), added))
    change = AlterTable(first, second, {"amount": "de"}, ("extra",))
    line = Line([Version((-1, 0), ("d", "s"), first, "start"), Version((0, 500), ("d", "t"), second, "alter", change)])
    plan = plan_of(line, [], ("d", "t"))
    (old, new) = plan.forms
    assert (old.name, old.end, new.start) == (("d", "s"), (0, 500), (0, 500))
    assert [source.column for source in old.sources] == ["id", "de", None]
    assert old.sources[1].conversions == (Conversion("decimal", 2),)
    assert old.sources[2].constant == "q"
    assert (plan.key, plan.steady_key) == (("id",), True)


def test_a_key_that_changed_is_not_steady() -> None:
    columns = (Column("id", "int", nullable=False), Column("code", "int", nullable=False))
    first = Table("d", "t", columns, (Key("PRIMARY", (KeyPart("id"),), unique=True),))
    second = replace(first, keys=(Key("PRIMARY", (KeyPart("code"),), unique=True),))
    line = Line([Version((-1, 0), ("d", "t"), first, "start"), Version((0, 9), ("d", "t"), second, "alter", AlterTable(first, second))])
    assert not plan_of(line, [], ("d", "t")).steady_key
