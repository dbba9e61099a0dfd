"""Rows of a table after ALTER TABLE: the values that the server has then, where that is certain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paraply.analysis.carried.conversion import NotKnown
from paraply.analysis.carried.default import stored_default
from paraply.errors import TypeNotMapped
from paraply.lake.columns import lake_columns
from paraply.schema.types import CHARACTER, INTEGERS
from paraply.wording import table_option

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from paraply.schema.ddl.change import AlterTable
    from paraply.schema.model import Column, Table

__all__ = ["converter", "keeps_values", "only_adds_nulls"]

_VARIABLE_TEXT = {"varchar", "tinytext", "text", "mediumtext", "longtext"}
_VARIABLE_BYTES = {"varbinary", "tinyblob", "blob", "mediumblob", "longblob"}


def converter(change: AlterTable) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
    """Return a function that turns rows before ALTER TABLE into rows after it.

    Raises:
        TypeNotMapped: The values of a column after the statement are not certain.
    """
    import pyarrow as pa

    schema = lake_columns(change.new).schema
    old_types = {field.name.lower(): field for field in lake_columns(change.old).schema}
    sources: list[tuple[str | None, Any]] = []
    renames = {new.lower(): old for new, old in change.column_renames.items()}
    added = {name.lower() for name in change.added}
    for field in schema:
        column = _column(change.new, field.name)
        if field.name.lower() in added:
            sources.append((None, _first_value(column, field.type, change.new)))
            continue
        name = renames.get(field.name.lower(), field.name)
        old = _column(change.old, name)
        if old.generated is not None:  # the lake has no such column
            raise _refusal(change.new, f"column {old.name}, whose values were generated until then")
        if not keeps_values(old, column, change):
            raise _refusal(change.new, f"column {old.name} from {_words(old)} to {_words(column)}")
        sources.append((old_types[name.lower()].name, None))

    def convert(batch: pa.RecordBatch) -> pa.RecordBatch:
        columns = []
        for (name, value), field in zip(sources, schema, strict=True):
            if name is None:
                columns.append(pa.repeat(value, batch.num_rows))
            else:
                columns.append(batch.column(batch.schema.names.index(name)).cast(field.type))
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    return convert


def only_adds_nulls(change: AlterTable) -> bool:
    """Return True if the statement keeps all columns as they are, in order, and adds columns that are NULL in every row at the end."""
    old, new = lake_columns(change.old), lake_columns(change.new)
    if change.column_renames or new.columns[: len(old.columns)] != old.columns:
        return False
    further = [_column(change.new, column.name) for column in new.columns[len(old.columns) :]]
    return {column.name for column in further} == set(change.added) and all(_is_null(column) for column in further)


def keeps_values(old: Column, new: Column, change: AlterTable) -> bool:
    """Return True if every value of a column is the same after ALTER TABLE, in the type that it has in the lake."""
    if old.nullable and not new.nullable and not change.strict:
        return False
    if _definition(old) == _definition(new):
        return True
    if old.type in INTEGERS | {"bit"} and new.type in INTEGERS:
        return _wider(old, new) or change.strict
    if old.type in INTEGERS and new.type == "decimal":
        return change.strict and (new.length or 10) <= 38
    if old.type in INTEGERS and new.type in _VARIABLE_TEXT:
        return change.strict and not old.zerofill
    if old.type == "decimal" == new.type:
        grows = (new.scale or 0) >= (old.scale or 0)
        return grows and max(new.length or 10, old.length or 10) <= 38 and (change.strict or _whole_digits(new) >= _whole_digits(old))
    if (old.type, new.type) in (("float", "double"), ("date", "datetime")):
        return old.length is None and new.length is None
    if old.type in CHARACTER and new.type in CHARACTER and "binary" not in (old.charset, new.charset):
        return _keeps_text(old, new, change)
    if old.type in _VARIABLE_BYTES and new.type in _VARIABLE_BYTES:
        return change.strict
    return old.type == new.type and old.type in ("datetime", "timestamp") and (new.scale or 0) >= (old.scale or 0)


def _definition(column: Column) -> tuple[object, ...]:
    """Return the parts of a column's definition that decide how a value is stored."""
    return column.type, column.length, column.scale, column.unsigned, column.charset, column.labels


def _keeps_text(old: Column, new: Column, change: AlterTable) -> bool:
    """Return True if every text is the same in the column's new type."""
    if new.type in ("enum", "set"):
        return old.type == new.type and new.labels[: len(old.labels)] == old.labels
    if new.type == "char" and old.type not in ("char", "enum"):  # the server cuts off the spaces at the end
        return False
    if old.type == "char" and new.type != "char" and change.pads_char:
        return False
    return change.strict or (old.type == new.type and (new.length or 0) >= (old.length or 0) and old.charset == new.charset)


def _wider(old: Column, new: Column) -> bool:
    sizes = ("tinyint", "smallint", "mediumint", "int", "bigint")
    if old.type == "bit":
        return False
    larger = sizes.index(new.type) - sizes.index(old.type)
    return (larger > 0 and (old.unsigned or not new.unsigned)) or (larger == 0 and old.unsigned == new.unsigned)


def _whole_digits(column: Column) -> int:
    return (column.length or 10) - (column.scale or 0)


def _is_null(column: Column) -> bool:
    default = column.default
    return column.nullable and default is not None and (default.kind == "none" or (default.kind == "literal" and default.text is None))


def _first_value(column: Column, kind: pa.DataType, table: Table) -> Any:
    """Return the value of a new column in the rows that exist already."""
    import pyarrow as pa

    try:
        return pa.array([stored_default(column)]).cast(kind)[0]
    except (NotKnown, pa.ArrowInvalid):
        raise _refusal(table, f"the new column {column.name}, whose value in older rows is not known") from None


def _column(table: Table, name: str) -> Column:
    return next(column for column in table.columns if column.name.lower() == name.lower())


def _words(column: Column) -> str:
    size = "" if column.length is None else f"({column.length}{'' if column.scale is None else f',{column.scale}'})"
    return f"{column.type}{size}{' unsigned' if column.unsigned else ''}"


def _refusal(table: Table, what: str) -> TypeNotMapped:
    return TypeNotMapped(
        f"ALTER TABLE {table.full_name} changes {what}: what its rows hold then is only known to the source; leave the table out with"
        f" {table_option('--exclude-table', (table.database, table.name))}, or start a new lake after the statement with --start-after",
        table=table.full_name,
    )
