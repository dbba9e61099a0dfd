"""Hashes of one row, shown key by key."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pytest

from paraply import Explanation, explain_write_set, write_set_hash
from paraply.errors import UsageError
from paraply.schema.advance import advance
from paraply.schema.catalog import SchemaCatalog
from paraply.schema.model import Table

SCHEMA = (
    "create database d charset utf8mb4",
    "create table p (id int primary key, code varchar(9) not null unique)",
    (
        "create table t (id int, name varchar(20) collate utf8mb4_0900_ai_ci, price decimal(8,2), at datetime(3), p int, bits bit(9),"
        " kind enum('x','y'), primary key (id), unique u (name, price), unique w (at), unique b (bits), unique k (kind),"
        " foreign key (p) references p (id))"
    ),
    "create table nokey (a int null, unique (a))",
)


@pytest.fixture(scope="module")
def catalog() -> SchemaCatalog:
    made = SchemaCatalog(complete=True)
    for sql in SCHEMA:
        advance(made, sql, "d", {"default_collation_for_utf8mb4": 255, "charset": (255, 255, 255)}, mariadb=False, version=(9, 7, 0))
    return made


def table(catalog: SchemaCatalog, name: str) -> Table:
    found = catalog.table("d", name)
    assert found is not None
    return found


def explained(catalog: SchemaCatalog, **after: Any) -> Explanation:
    row: dict[str, Any] = dict.fromkeys(("id", "name", "price", "at", "p", "bits", "kind")) | after
    return explain_write_set(table(catalog, "t"), after=row, tables=[table(catalog, "p")])


def test_r11_a_key_shows_its_bytes_and_its_hash(catalog: SchemaCatalog) -> None:
    primary = explained(catalog, id=7).keys[0]
    assert (primary.name, primary.table, primary.columns, primary.values) == ("PRIMARY", "d.t", ("id",), (b"7",))
    assert primary.hashed == "PRIMARY½d½1t½17½1".encode()
    assert (primary.hash, primary.mode) == (write_set_hash("PRIMARY", "d", "t", 7), "exclusive")


def test_r12_equal_values_have_equal_bytes(catalog: SchemaCatalog) -> None:
    rows = [explained(catalog, id=1, name=name, price=price) for name, price in (("É", Decimal("1.5")), ("e", Decimal("1.50")), ("f", 1))]
    keys = [next(key for key in row.keys if key.name == "u") for row in rows]
    assert keys[0].values == keys[1].values
    assert keys[0].hash == keys[1].hash != keys[2].hash
    assert keys[0].values[1] == b"1.50"


def test_null_parts_make_no_key(catalog: SchemaCatalog) -> None:
    key = next(key for key in explained(catalog, id=1, name="a").keys if key.name == "u")
    assert (key.hash, key.mode, key.reason) == (None, None, "a part is NULL")


def test_r15_a_reference_is_shared_under_the_parents_name(catalog: SchemaCatalog) -> None:
    key = next(key for key in explained(catalog, id=1, p=3).keys if key.table == "d.p")
    assert (key.name, key.columns, key.mode) == ("PRIMARY", ("p",), "shared")
    assert key.hash == write_set_hash("PRIMARY", "d", "p", 3)


def test_temporal_bit_and_enum_values(catalog: SchemaCatalog) -> None:
    moment = datetime.datetime(2024, 1, 31, 4, 5, 6, 7000)
    values = {key.name: key.values for key in explained(catalog, id=1, at=moment, bits=257, kind="y").keys if key.hash is not None}
    assert values["w"] == (b"2024-01-31 04:05:06.7000",)
    assert (values["b"], values["k"]) == ((b"257",), (b"2",))


def test_r14_a_row_without_a_full_key_takes_its_table(catalog: SchemaCatalog) -> None:
    whole = explain_write_set(table(catalog, "nokey"), after=[None]).keys[-1]
    assert (whole.name, whole.table, whole.mode) == ("", "d.nokey", "exclusive")
    assert "whole table of d.nokey" in str(whole)


def test_it_prints_a_line_for_each_key(catalog: SchemaCatalog) -> None:
    lines = str(explained(catalog, id=1, p=3)).splitlines()
    assert lines[0] == "row of d.t"
    assert any(line.startswith("  PRIMARY of d.p (p '3'):") and line.endswith("shared") for line in lines)


@pytest.mark.parametrize("after", [{"nope": 1}, {"id": "x"}, [1, 2], {"kind": "z"}])
def test_values_that_do_not_fit_are_refused(catalog: SchemaCatalog, after: Any) -> None:
    with pytest.raises(UsageError):
        explain_write_set(table(catalog, "t"), after=after)
