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


def test_r13_a_column_that_comes_again_in_another_form_is_not_understood() -> None:
    catalog = SchemaCatalog(complete=True)
    advance(catalog, "create table t (a int, c int not null, unique u (c))", "d", {}, mariadb=True, version=(10, 11, 0))
    advance(catalog, "alter table t drop column c, add column c text", "d", {}, mariadb=True, version=(10, 11, 0))
    assert catalog.table("d", "t") is None


def keys_after(create: str, actions: str, *, mariadb: bool = True) -> dict[str, str]:
    catalog = SchemaCatalog(complete=True)
    for sql in (f"create table t ({create})", f"alter table t {actions}"):
        advance(catalog, sql, "d", {}, mariadb=mariadb, version=(10, 11, 0) if mariadb else (9, 7, 0))
    table = catalog.table("d", "t")
    assert table is not None
    return {key.name: ",".join(part.column or "" for part in key.parts) for key in table.keys if key.unique}


@pytest.mark.parametrize("mariadb", [False, True])
@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        ("rename index v to u, drop index u", {"u": "b"}),
        ("drop index u, rename index v to u", {"u": "b"}),
        ("rename index u to v, rename index v to u", {"u": "b", "v": "a"}),
        ("rename index u to w, rename index v to u", {"w": "a", "u": "b"}),
    ],
)
def test_r13_keys_are_dropped_and_renamed_by_their_names_before_the_statement(
    actions: str, expected: dict[str, str], *, mariadb: bool
) -> None:
    assert keys_after("a int, b int, unique u (a), unique v (b)", actions, mariadb=mariadb) == expected


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        ("add column if not exists b int unique", {"u": "a", "b": "b"}),
        ("add column if not exists b int primary key", {"u": "a", "PRIMARY": "b"}),
        ("add column if not exists c int unique", {"u": "a"}),
        ("modify if exists c int unique", {"u": "a"}),
        ("modify c int unique", {"u": "a", "c_2": "c"}),
        ("add unique if not exists (c)", {"u": "a"}),
        ("add unique if not exists (b), add unique if not exists b (a)", {"u": "a", "b": "b"}),
        ("add unique if not exists u (b), drop index u", {}),
        ("rename index u to v, add unique if not exists u (b)", {"v": "a"}),
    ],
)
def test_r13_keys_of_mariadb_with_if_not_exists_are_those_of_the_server(actions: str, expected: dict[str, str]) -> None:
    """As MariaDB 10.5 and 11.8 do: the keys of a column that is there are added, and a key without a name has its first column's."""
    assert keys_after("a int, b int, c int, unique u (a), key c (b)", actions) == expected


@pytest.mark.parametrize("mariadb", [False, True])
@pytest.mark.parametrize(
    ("actions", "stays"),
    [
        ("drop foreign key f, modify a bigint", False),
        ("drop constraint f", False),
        ("drop constraint f, modify a bigint", True),
        ("drop constraint if exists f, algorithm=copy", True),
    ],
)
def test_r15_a_foreign_key_that_mariadb_may_have_left_in_place_counts(actions: str, *, stays: bool, mariadb: bool) -> None:
    catalog = SchemaCatalog(complete=True)
    version = (10, 11, 0) if mariadb else (9, 7, 0)
    for sql in ("p (id int primary key)", "t (a int, b int, constraint f foreign key (b) references p(id) on delete cascade)"):
        advance(catalog, f"create table {sql}", "d", {}, mariadb=mariadb, version=version)
    advance(catalog, f"alter table t {actions}", "d", {}, mariadb=mariadb, version=version)
    table = catalog.table("d", "t")
    assert table is not None
    assert len(table.foreign_keys) == int(stays and mariadb)
