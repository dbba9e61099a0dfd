"""Types of a table's columns outside the server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from paraply.schema.types import BINARY, SPATIAL

if TYPE_CHECKING:
    import pyarrow as pa

    from paraply.schema.model import Column, Table

__all__ = ["TypedColumn", "image_type", "typed_columns"]

# Signed, unsigned: unsigned values need the next wider type.
INTEGERS = {
    "tinyint": ("tinyint", "smallint"),
    "smallint": ("smallint", "int"),
    "mediumint": ("int", "int"),
    "int": ("int", "bigint"),
    "bigint": ("bigint", "decimal(20,0)"),
}
PLAIN = {"float": "float", "double": "double", "date": "date", "datetime": "timestamp_ntz", "timestamp": "timestamp", "year": "int"}
MOST_DIGITS = 38


@dataclass(frozen=True, slots=True)
class TypedColumn:
    """Column with its type.

    Attributes:
        name: Name as declared.
        type: Type in Spark SQL.
    """

    name: str
    type: str

    @property
    def binary(self) -> bool:
        """True if its values are bytes."""
        return self.type == "binary"


def typed_columns(table: Table) -> list[TypedColumn]:
    """Return the columns of a table with their types.

    >>> from paraply.schema.model import Column, Table
    >>> columns = (Column("id", "bigint", unsigned=True), Column("price", "decimal", length=8, scale=2), Column("at", "time"))
    >>> [column.type for column in typed_columns(Table("shop", "item", columns))]
    ['decimal(20,0)', 'decimal(8,2)', 'string']
    """
    return [TypedColumn(column.name, type_of(column)) for column in table.columns]


def type_of(column: Column) -> str:
    """Return the narrowest type for all values of a column; text if there is none, for example for TIME, JSON, ENUM and SET."""
    if column.type in INTEGERS:
        return INTEGERS[column.type][column.unsigned]
    if column.type == "decimal" and (column.length or 10) <= MOST_DIGITS:
        return f"decimal({column.length or 10},{column.scale or 0})"
    if column.type == "bit":
        return "bigint" if (column.length or 1) < 64 else "decimal(20,0)"
    if column.type in BINARY or column.type in SPATIAL or column.type == "vector" or column.collation == "binary":
        return "binary"
    return PLAIN.get(column.type, "string")


def image_type(columns: list[TypedColumn]) -> pa.StructType:
    """Return the Arrow type of an image."""
    import pyarrow as pa

    kinds = {
        "tinyint": pa.int8(), "smallint": pa.int16(), "int": pa.int32(), "bigint": pa.int64(), "float": pa.float32(),
        "double": pa.float64(), "date": pa.date32(), "timestamp_ntz": pa.timestamp("us"), "timestamp": pa.timestamp("us", "UTC"),
        "string": pa.string(), "binary": pa.binary(),
    }  # fmt: skip

    def kind(name: str) -> pa.DataType:
        if name not in kinds:
            digits, scale = name.removeprefix("decimal(").removesuffix(")").split(",")
            return pa.decimal128(int(digits), int(scale))
        return kinds[name]

    return pa.struct([(column.name, kind(column.type)) for column in columns])
