"""Columns of a table in the lake, and the columns that identify its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from paraply.analysis.typed import TypedColumn, image_type, type_of
from paraply.errors import SchemaMismatch
from paraply.wording import table_option

if TYPE_CHECKING:
    import pyarrow as pa

    from paraply.schema.model import Table

__all__ = ["LakeColumns", "holds_type", "lake_columns"]

_NOT_IN_NAMES = frozenset(" ,;{}()\n\t=")
"""Characters that Delta does not take in names of columns."""


@dataclass(frozen=True, slots=True)
class LakeColumns:
    """Columns of a table in the lake.

    Attributes:
        columns: Names and types, in the table's order; generated columns are left out.
        key: Names of the columns that identify a row.
    """

    columns: tuple[TypedColumn, ...]
    key: tuple[str, ...]

    @property
    def schema(self) -> pa.Schema:
        """Arrow schema; every column may be null."""
        import pyarrow as pa

        return pa.schema(list(image_type(list(self.columns))))

    @property
    def wanted(self) -> list[tuple[str, bool]]:
        """Names, and True for bytes, as the decoder takes them."""
        return [(column.name, column.binary) for column in self.columns]


def lake_columns(table: Table) -> LakeColumns:
    """Return the columns of a table in the lake.

    The key is the primary key, or else the first unique key of columns that are NOT NULL.

    Raises:
        SchemaMismatch: The table has no such key, or a name that a lake cannot have.

    >>> from paraply.schema.model import Column, Key, KeyPart, Table
    >>> key = Key("PRIMARY", (KeyPart("id"),), unique=True)
    >>> lake_columns(Table("shop", "item", (Column("id", "int", nullable=False), Column("name", "varchar")), (key,))).key
    ('id',)
    """
    columns = tuple(TypedColumn(column.name, type_of(column)) for column in table.columns if column.generated is None)
    for column in columns:
        if _NOT_IN_NAMES & set(column.name):
            raise SchemaMismatch(
                f"the name of column {column.name!r} has a character that a lake cannot have in a name; rename the column on the source,"
                f" or leave the table out with {table_option('--exclude-table', (table.database, table.name))}",
                table=table.full_name,
            )
    return LakeColumns(columns, _key_of(table, {column.name.lower(): column.name for column in columns}))


def holds_type(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Return True if a column of one type holds every value of another one unchanged.

    >>> import pyarrow as pa
    >>> holds_type(pa.int64(), pa.int32()), holds_type(pa.int16(), pa.int32()), holds_type(pa.large_string(), pa.string())
    (True, False, True)
    """
    import pyarrow as pa

    for kinds in ((pa.string(), pa.large_string(), pa.string_view()), (pa.binary(), pa.large_binary(), pa.binary_view())):
        if wanted in kinds:
            return found in kinds
    if pa.types.is_signed_integer(found) and pa.types.is_signed_integer(wanted):
        return bool(found.bit_width >= wanted.bit_width)
    if pa.types.is_decimal(found) and pa.types.is_decimal(wanted):
        return bool(found.scale >= wanted.scale and found.precision - found.scale >= wanted.precision - wanted.scale)
    return bool(found == wanted or (pa.types.is_float32(wanted) and pa.types.is_float64(found)))


def _key_of(table: Table, names: dict[str, str]) -> tuple[str, ...]:
    """Return the columns of the key of a table."""
    required = {column.name.lower() for column in table.columns if not column.nullable}
    for key in sorted(table.keys, key=lambda key: not key.primary):
        parts = [(part.column or "").lower() for part in key.parts]
        if (key.primary or key.unique) and all(part in names for part in parts) and (key.primary or required.issuperset(parts)):
            return tuple(names[part] for part in parts)
    raise SchemaMismatch(
        f"table {table.full_name} has no primary key, and no unique key of stored columns that are NOT NULL, so its rows cannot be merged;"
        f" add a primary key on the source, or leave the table out with {table_option('--exclude-table', (table.database, table.name))}",
        table=table.full_name,
    )
