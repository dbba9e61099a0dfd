"""The order in which the server keeps a table's keys: it decides under which of the parent's keys a foreign key is hashed."""

from __future__ import annotations

import pytest

from paraply.schema.advance import advance
from paraply.schema.catalog import SchemaCatalog


def order(*statements: str) -> list[str]:
    catalog = SchemaCatalog(complete=True)
    for sql in statements:
        advance(catalog, sql, "d", {}, mariadb=False, version=(9, 7, 0))
    table = catalog.table("d", "t")
    assert table is not None
    return [key.name for key in sorted(table.keys, key=lambda key: key.position)]


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        # Each as SHOW CREATE TABLE of a MySQL 9.7 gives it.
        ("id int primary key, a int not null, b int, c int not null, unique z1(a,b), unique u2(a,c)", ["PRIMARY", "u2", "z1"]),
        ("id int primary key, a int, b varchar(20), unique z(a,b(3)), unique zz(a,b)", ["PRIMARY", "zz", "z"]),
        ("id int primary key, a int, b int, g int as (a+1) virtual, unique z(a,g), unique zz(a,b)", ["PRIMARY", "zz", "z"]),
        ("id int primary key, a int, b int, unique z(a,(b+1)), unique zz(a,b)", ["PRIMARY", "zz", "z"]),
        ("a int, key k(a), unique z(a), unique b(a), id int primary key", ["PRIMARY", "z", "b", "k"]),
    ],
)
def test_keys_stand_as_the_server_keeps_them(definition: str, expected: list[str]) -> None:
    assert order(f"create table t ({definition})") == expected


def test_an_added_key_comes_behind_its_equals() -> None:
    create = "create table t (id int primary key, a int, b int, unique z(a,b))"
    assert order(create, "alter table t add unique b(a)") == ["PRIMARY", "z", "b"]
    assert order(create, "alter table t add unique b(a)", "alter table t drop key z, add unique c(b)") == ["PRIMARY", "b", "c"]


@pytest.mark.parametrize("mariadb", [False, True])
@pytest.mark.parametrize("actions", ["drop column c, add column c int", "add column C int first, drop column c"])
def test_r13_keys_keep_a_column_that_is_dropped_and_added(actions: str, *, mariadb: bool) -> None:
    """As MySQL 9.7 and MariaDB 10.11 do: the rows of the new column are unique too."""
    catalog = SchemaCatalog(complete=True)
    advance(catalog, "create table t (a int, c int not null, unique u (c), key ac (a, c))", "d", {}, mariadb=mariadb, version=(10, 11, 0))
    advance(catalog, f"alter table t {actions}", "d", {}, mariadb=mariadb, version=(10, 11, 0))
    table = catalog.table("d", "t")
    assert table is not None
    assert {key.name: [(part.column or "").lower() for part in key.parts] for key in table.keys} == {"u": ["c"], "ac": ["a", "c"]}


@pytest.mark.parametrize("actions", ["drop column c, add column c text", "add column if not exists c int, drop column c"])
def test_r13_a_column_that_comes_again_in_another_form_is_not_understood(actions: str) -> None:
    catalog = SchemaCatalog(complete=True)
    advance(catalog, "create table t (a int, c int not null, unique u (c))", "d", {}, mariadb=True, version=(10, 11, 0))
    advance(catalog, f"alter table t {actions}", "d", {}, mariadb=True, version=(10, 11, 0))
    assert catalog.table("d", "t") is None
