"""ALTER TABLE: values that the lake can carry over, and those that only the source knows."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from paraply.errors import SchemaMismatch, TypeNotMapped
from paraply.lake.columns import lake_columns
from paraply.lake.convert import converter, only_adds_nulls
from paraply.schema.advance import advance
from paraply.schema.catalog import SchemaCatalog
from paraply.schema.ddl.change import AlterTable

STRICT = {"sql_mode": 1 << 22}  # STRICT_TRANS_TABLES


def altered(columns: str, statement: str, context: dict[str, Any] | None = None) -> AlterTable:
    """Return the change by ALTER TABLE of a table ``d.t`` with these columns."""
    catalog = SchemaCatalog(complete=True)
    for text in (f"CREATE TABLE t (id INT PRIMARY KEY, {columns}) CHARSET utf8mb4", f"ALTER TABLE t {statement}"):
        changes = advance(catalog, text, "d", STRICT if context is None else context, mariadb=False, version=(9, 7, 0))
    (change,) = changes
    assert isinstance(change, AlterTable), change
    return change


def carried(columns: str, statement: str, value: Any, context: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return a row with a value in its second column, after ALTER TABLE."""
    change = altered(columns, statement, context)
    batch = pa.RecordBatch.from_pylist([], schema=lake_columns(change.old).schema)
    names = batch.schema.names
    batch = pa.RecordBatch.from_pylist([dict(zip(names, (1, value), strict=True))], schema=batch.schema)
    (row,) = converter(change)(batch).to_pylist()
    return dict(row)


@pytest.mark.parametrize(
    ("columns", "statement", "before", "after"),
    [
        ("v TINYINT UNSIGNED", "MODIFY v BIGINT UNSIGNED", 255, {"v": Decimal(255)}),
        ("v INT", "MODIFY v SMALLINT", 7, {"v": 7}),
        ("v INT", "MODIFY v DECIMAL(12,2)", 7, {"v": Decimal("7.00")}),
        ("v INT", "MODIFY v VARCHAR(20)", -7, {"v": "-7"}),
        ("v DECIMAL(8,2)", "MODIFY v DECIMAL(10,4)", Decimal("1.25"), {"v": Decimal("1.2500")}),
        ("v VARCHAR(10)", "MODIFY v VARCHAR(5)", "short", {"v": "short"}),
        ("v ENUM('a','b')", "MODIFY v ENUM('a','b','c')", "b", {"v": "b"}),
        ("v INT", "CHANGE v w INT", 7, {"w": 7}),
        ("v INT", "DROP COLUMN v", 7, {}),
        ("v INT", "ADD n INT", 7, {"v": 7, "n": None}),
        ("v INT", "ADD n INT NOT NULL", 7, {"v": 7, "n": 0}),
        ("v INT", "ADD n VARCHAR(9) DEFAULT 'new' FIRST", 7, {"n": "new", "v": 7}),
        ("v INT", "ADD n DECIMAL(5,2) NOT NULL DEFAULT '1.5'", 7, {"v": 7, "n": Decimal("1.50")}),
        ("v INT", "ADD n CHAR(4) DEFAULT 'é  '", 1, {"v": 1, "n": "é"}),
        ("v INT", "ADD n CHAR(4) NOT NULL FIRST", 1, {"v": 1, "n": ""}),
        ("v INT", "ADD n SET('a','b') DEFAULT 'b,a'", 1, {"v": 1, "n": "a,b"}),
        ("v INT", "ADD n TIME(1) DEFAULT '10:00:00'", 1, {"v": 1, "n": "10:00:00.0"}),
        ("v INT", "ADD n VARBINARY(4) DEFAULT 'ab'", 1, {"v": 1, "n": b"ab"}),
        ("v INT", "ADD n BINARY(2) NOT NULL", 1, {"v": 1, "n": bytes(2)}),
        ("v INT", "ADD n VARCHAR(9) DEFAULT 12", 1, {"v": 1, "n": "12"}),
        ("v INT", "ADD n YEAR DEFAULT 2024", 1, {"v": 1, "n": 2024}),
        ("v INT", "ADD n DECIMAL(50,2) DEFAULT 1.5", 1, {"v": 1, "n": "1.50"}),
        ("v INT", "ADD n DATE DEFAULT '0000-00-00'", 1, {"v": 1, "n": None}),
        ("v INT", "ADD n DATETIME NOT NULL DEFAULT '0000-01-01'", 1, {"v": 1, "n": None}),
    ],
)
def test_values_that_are_carried_over(columns: str, statement: str, before: Any, after: dict[str, Any]) -> None:
    assert carried(columns, statement, before) == {"id": 1, **after}


@pytest.mark.parametrize(
    ("columns", "statement"),
    [
        ("v DECIMAL(8,2)", "MODIFY v DECIMAL(8,1)"),
        ("v INT AS (id + 1) STORED", "MODIFY v INT"),
        ("v VARCHAR(10)", "MODIFY v INT"),
        ("v DATETIME", "MODIFY v DATE"),
        ("v DATETIME", "MODIFY v TIMESTAMP"),
        ("v VARCHAR(9)", "MODIFY v CHAR(9)"),
        ("v ENUM('a','b')", "MODIFY v ENUM('b','a')"),
        ("v TIME", "MODIFY v TIME(3)"),
        ("v INT ZEROFILL", "MODIFY v VARCHAR(20)"),
        ("v INT", "ADD n DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP"),
        ("v INT", "ADD n BINARY(4) DEFAULT 'a'"),
        ("v INT", "ADD n CHAR(4) CHARACTER SET binary DEFAULT 'a'"),
        ("v INT", "ADD n CHAR(40) DEFAULT (UUID())"),
        ("v INT", "ADD n DATETIME DEFAULT '2024-01-01 00:00:00.6'"),
        ("v INT", "ADD n ENUM('a','b') DEFAULT 'A'"),
        ("v INT", "ADD n FLOAT(5,2) DEFAULT 1.239"),
        ("v INT", "ADD n YEAR DEFAULT 24"),
        ("v INT", "ADD n VARCHAR(9) DEFAULT 1e2"),
        ("v INT", "ADD n VARCHAR(9) DEFAULT _latin1'é'"),
    ],
)
def test_values_that_only_the_source_knows_are_refused(columns: str, statement: str) -> None:
    with pytest.raises(TypeNotMapped, match=r"--exclude-table d\.t"):
        converter(altered(columns, statement))


@pytest.mark.parametrize(
    "definition", ["BLOB", "VARBINARY(9)", "DECIMAL(40,3)", "CHAR(3)", "TEXT", "ENUM('a','b')", "FLOAT(7,2)", "JSON", "BIT(3)"]
)
@pytest.mark.parametrize("statement", ["ADD n INT NOT NULL", "CHANGE v w {}", "MODIFY v {} FIRST"])
def test_a_column_that_keeps_its_definition_keeps_its_values(definition: str, statement: str) -> None:
    for context in (STRICT, {}):
        converter(altered(f"v {definition}", statement.format(definition), context))


def test_without_strict_mode_a_narrower_type_is_refused() -> None:
    change = altered("v INT", "MODIFY v SMALLINT", {})
    with pytest.raises(TypeNotMapped):
        converter(change)


def test_only_new_columns_that_are_null_at_the_end_need_no_new_rows() -> None:
    assert only_adds_nulls(altered("v INT", "ADD n INT"))
    assert not only_adds_nulls(altered("v INT", "ADD n INT FIRST"))
    assert not only_adds_nulls(altered("v INT", "ADD n INT DEFAULT 1"))
    assert not only_adds_nulls(altered("v INT", "ADD n INT, DROP v"))


def test_the_key_is_the_primary_key_or_a_unique_key_that_is_not_null() -> None:
    table = altered("v INT NOT NULL, w INT, UNIQUE KEY u (v), UNIQUE KEY n (w)", "COMMENT 'same'").new
    assert lake_columns(table).key == ("id",)
    others = tuple(key for key in table.keys if not key.primary)
    assert lake_columns(replace(table, keys=others)).key == ("v",)
    with pytest.raises(SchemaMismatch, match="add a primary key"):
        lake_columns(replace(table, keys=tuple(key for key in others if key.name == "n")))


def test_generated_columns_are_left_out() -> None:
    table = altered("v INT, g INT AS (v + 1)", "COMMENT 'same'").new
    assert lake_columns(table).schema.names == ["id", "v"]
