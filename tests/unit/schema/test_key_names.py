"""Names of keys before USING and TYPE."""

from __future__ import annotations

import pytest

from paraply.schema.advance import advance as advance_catalog
from paraply.schema.catalog import SchemaCatalog


def advance(catalog: SchemaCatalog, sql: str) -> None:
    advance_catalog(catalog, sql, "d", {"charset": (255, 255, 255)}, mariadb=False, version=(9, 7, 0))


def key_names(catalog: SchemaCatalog, table: str) -> list[str]:
    found = catalog.table("d", table)
    assert found is not None
    return [key.name for key in found.keys]


@pytest.mark.parametrize(
    "written",
    ["key type using btree (type)", "index type type btree (type)", "key `type` type btree (type)", "unique type using hash (type)",
     "unique key type using btree (type)", "constraint c unique type using btree (type)", "constraint type unique using btree (type)",
     "constraint unique type using btree (type)", "key using btree (type)", "key type (type) type btree",
     "key type using btree (type) type hash", "key type using btree (type) comment 'x'"],
)  # fmt: skip
def test_a_key_has_the_name_type_before_its_kind(written: str) -> None:
    """Keys as MySQL 9.7, MariaDB 10.11 and 11.8 name them: TYPE is no reserved word, and USING is one."""
    catalog = SchemaCatalog(complete=True)
    advance(catalog, f"create table x (id int primary key, type int, {written})")
    assert key_names(catalog, "x") == ["PRIMARY", "type"]
    advance(catalog, "create table y (id int primary key, type int)")
    advance(catalog, f"alter table y add {written}")
    assert key_names(catalog, "y") == ["PRIMARY", "type"]


@pytest.mark.parametrize("name", ["type", "btree", "visible", "comment", "action"])
@pytest.mark.parametrize("kind", ["using", "type"])
def test_a_key_may_have_a_word_that_is_not_reserved_as_its_name(name: str, kind: str) -> None:
    catalog = SchemaCatalog(complete=True)
    advance(catalog, f"create table x (id int primary key, a int, key {name} {kind} btree (a))")
    advance(catalog, f"alter table x drop key {name}")
    advance(catalog, f"create index {name} {kind} btree on x (a)")
    assert key_names(catalog, "x") == ["PRIMARY", name]
