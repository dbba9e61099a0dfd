"""Columns after an ALTER TABLE that moves, drops and adds several of them."""

from __future__ import annotations

from typing import Any

import pytest

from paraply.schema.advance import advance as advance_catalog
from paraply.schema.catalog import SchemaCatalog
from paraply.schema.ddl.change import Unknown
from paraply.schema.model import Default

FAMILIES = [(False, (9, 7, 0)), (True, (11, 8, 2))]


def advance(catalog: SchemaCatalog, sql: str, *, mariadb: bool, version: tuple[int, int, int]) -> list[Any]:
    return advance_catalog(catalog, sql, "d", {"charset": (45, 45, 45)}, mariadb=mariadb, version=version)


def altered(sql: str, *, mariadb: bool = True, version: tuple[int, int, int] = (11, 8, 2), keys: str = "") -> SchemaCatalog:
    """Return the catalog after an ALTER of a table with the columns id, a, b and c."""
    catalog = SchemaCatalog(complete=True)
    advance(catalog, f"create table t (id int, a int, b int, c int{keys})", mariadb=mariadb, version=version)
    changes = advance(catalog, f"alter table t {sql}", mariadb=mariadb, version=version)
    assert isinstance(changes[0], Unknown) == (catalog.table("d", "t") is None)
    return catalog


def columns(catalog: SchemaCatalog) -> str | None:
    """Return the names of the columns in their order; None if the table is not known."""
    table = catalog.table("d", "t")
    return None if table is None else " ".join(column.name for column in table.columns)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("modify a int after b, modify b int first", "b id a c"),
        ("modify a int after c, modify c int after id", "id c b a"),
        ("add x int default 7 after c, modify c int after x", "id a b x c"),
        ("modify a int after b, modify b int after a", "id a b c"),
        ("modify b int first, modify a int after b", "b a id c"),
        ("modify a int after b, modify b int", "id b a c"),
        ("modify A int after B, modify B int first", "B id A c"),
        ("modify a int after c, modify b int after a, modify c int first", "c id a b"),
        ("modify c int after id, modify b int after c, modify a int after b", "id c b a"),
        ("modify id int after a, modify a int after b, modify b int after c", "id a c b"),
        ("modify a int after c, modify c int after b, modify b int first", "b id c a"),
        ("modify c int after a, modify a int after c, modify b int after id", "id b c a"),
        ("change a z int after y, change b y int first", "y id z c"),
        ("change a b int after c, change b a int first", "a id c b"),
        ("change a b int after a, change b a int after c", "id b c a"),
        ("add x int after a, add y int after x, modify a int first", "a id x y b c"),
        ("add x int first, modify a int after x, add y int after a", "x a y id b c"),
        ("add a int after c, drop a, modify c int first", "c id b a"),
        ("add x int after z, change a z int first", "z id x b c"),
        ("modify a int after y, rename column b to y", "id y a c"),
    ],
)
@pytest.mark.parametrize(("mariadb", "version"), FAMILIES)
def test_after_names_a_column_where_it_stands_until_its_own_move(
    sql: str, expected: str, mariadb: bool, version: tuple[int, int, int]
) -> None:
    """Orders of MySQL 9.7, MariaDB 10.11 and 11.8."""
    assert columns(altered(sql, mariadb=mariadb, version=version)) == expected


@pytest.mark.parametrize(
    "sql",
    [
        "modify a int after a",
        "change a z int after a",
        "change a z int after z",
        "change a z int after b, change b a int after c",
        "change a z int after b, change b y int first",
        "add x int after y, add y int first",
        "add x int after b, drop b",
        "add x int after a, change a z int first",
        "modify a int after b, rename column b to y",
    ],
)
@pytest.mark.parametrize(("mariadb", "version"), FAMILIES)
def test_r13_after_a_name_that_no_column_has_yet_or_any_more_is_unknown(sql: str, mariadb: bool, version: tuple[int, int, int]) -> None:
    """The servers refuse these statements with error 1054."""
    assert columns(altered(sql, mariadb=mariadb, version=version)) is None


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("drop column a, add column if not exists a varchar(4) default 'x'", "id b c"),
        ("add column if not exists a varchar(4), drop column a", "id b c"),
        ("drop column if exists a, add column if not exists a text", "id b c"),
        ("drop column a, add column if not exists (a int, n int)", "id b c n"),
        ("drop column if exists a, add column a int", "id b c a"),
        ("drop column if exists n, add column n int", "id a b c n"),
        ("add column if not exists n int, drop column if exists n", "id a b c n"),
        ("change a z int, add column if not exists a int", "id z b c"),
        ("rename column a to z, add column if not exists a int", "id z b c"),
        ("rename column a to n, drop column if exists n", "id n b c"),
        ("rename column a to n, modify column if exists n text", "id n b c"),
        ("add column n int, modify column if exists n text", "id a b c n"),
        ("drop column a, drop column if exists a", "id b c"),
    ],
)
@pytest.mark.parametrize("keys", ["", ", key ka (a), key kb (b)"])
def test_if_exists_looks_at_the_table_before_the_statement(sql: str, expected: str, keys: str) -> None:
    """Columns of MariaDB 10.11 and 11.8."""
    assert columns(altered(sql, keys=keys)) == expected


def test_a_key_goes_with_a_column_that_is_dropped_and_not_added_again() -> None:
    for again, expected in (("if not exists a int", ["kb"]), ("a int", ["ka", "kb"])):
        table = altered(f"drop column a, add column {again}", keys=", key ka (a), key kb (b)").table("d", "t")
        assert table is not None
        assert [key.name for key in table.keys] == expected


@pytest.mark.parametrize("more", ["", ", add column if not exists a int"])
def test_r13_a_text_in_the_place_of_a_column_with_a_key_is_unknown(more: str) -> None:
    sql = f"drop column a, add column a text{more}"
    assert columns(altered(sql, keys=", key ka (a)")) is None
    assert columns(altered(sql)) == "id b c a"


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("add column b int first, rename column b to m", ["b", "a"]),
        ("change b m int, add column b int after a", ["b", "a"]),
        ("change b m int, add column b int", ["m", "a"]),
        ("change b m int first, add column b int after id", ["m", "a"]),
    ],
)
@pytest.mark.parametrize(("mariadb", "version"), FAMILIES)
def test_a_key_keeps_the_first_column_of_a_renamed_and_an_added_one(
    sql: str, expected: list[str], mariadb: bool, version: tuple[int, int, int]
) -> None:
    """Keys of MySQL 9.7, MariaDB 10.11 and 11.8."""
    table = altered(sql, keys=", unique kb (b, a)", mariadb=mariadb, version=version).table("d", "t")
    assert table is not None
    assert [part.column for key in table.keys for part in key.parts] == expected


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("add column n int first, modify column n bigint", "id a b c n"),
        ("add column n int, modify column N bigint first", "N id a b c"),
        ("add column if not exists n int, modify column if exists n bigint", "id a b c n"),
        ("add column n int, modify column n bigint after a", "id a n b c"),
        ("add column n int, change column z n bigint first", "n id a b c"),
        ("drop column a, add column a text, modify column a int", "id b c a"),
        ("change a m int, add column a int, modify column a bigint first", "a id m b c"),
        ("modify column if exists n int, add column if not exists n int", "id a b c"),
        ("change column if exists z n int, add column if not exists n int", "id a b c"),
        ("modify column n bigint, add column n int", None),
        ("add column n int, modify column n bigint after n", None),
    ],
)
def test_modify_replaces_a_column_that_the_statement_adds(sql: str, expected: str | None) -> None:
    """Columns of MariaDB 10.11 and 11.8; None for an error of the server."""
    assert columns(altered(sql)) == expected
    assert columns(altered(sql, mariadb=False, version=(9, 7, 0))) in {None, expected}


def test_a_replaced_column_has_the_type_and_default_of_modify() -> None:
    table = altered("add column n int default 5, modify column n bigint").table("d", "t")
    assert table is not None
    assert (table.columns[-1].type, table.columns[-1].default) == ("bigint", Default())
