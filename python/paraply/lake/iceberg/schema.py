"""Columns of Iceberg tables: their change in a commit, and types that Iceberg lacks."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyiceberg.io.pyarrow import _pyarrow_to_schema_without_ids
from pyiceberg.schema import Schema, assign_fresh_schema_ids
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.update import AddSchemaUpdate, SetCurrentSchemaUpdate
from pyiceberg.types import NestedField

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyiceberg.table.snapshots import Snapshot

__all__ = ["described", "evolve", "go_back", "storable"]


def go_back(table: Table, snapshot: Snapshot) -> None:
    """Make an earlier snapshot the current one, with its columns."""
    with table.transaction() as change:
        updates, requirements = change._set_ref_snapshot(snapshot.snapshot_id, MAIN_BRANCH, "branch")  # noqa: SLF001 - PyIceberg has no public way for both
        apply(change, *updates, requirements=requirements)
        if snapshot.schema_id is not None and table.schema().schema_id != snapshot.schema_id:
            apply(change, set_current(snapshot.schema_id))


def apply(change: Any, *updates: Any, requirements: tuple[Any, ...] = ()) -> None:
    """Add updates of the metadata to a transaction."""
    change._apply(updates, requirements)  # noqa: SLF001 - the public methods have neither of these updates


def set_current(schema_id: int) -> Any:
    """Return the update that makes a schema the current one; -1 for the one that was just added."""
    update: Any = SetCurrentSchemaUpdate  # its field has an alias that is no name in Python
    return update(schema_id=schema_id)


def evolve(change: Any, table: Table, schema: pa.Schema) -> None:
    """Give a table other columns; one of the same name and type keeps its identifier."""
    old = {field.name: field for field in table.schema().fields}
    fresh = assign_fresh_schema_ids(_pyarrow_to_schema_without_ids(schema))
    numbers = itertools.count(table.metadata.last_column_id + 1)
    fields = []
    for field in fresh.fields:
        known = old.get(field.name)
        number = known.field_id if known is not None and known.field_type == field.field_type else next(numbers)
        fields.append(NestedField(number, field.name, field.field_type, required=False))
    known_schema = next((found for found in table.schemas().values() if found.fields == tuple(fields)), None)
    if known_schema is not None:
        apply(change, set_current(known_schema.schema_id))
        return
    number = max(table.schemas()) + 1
    apply(change, AddSchemaUpdate(schema=Schema(*fields, schema_id=number)), set_current(-1))


def storable(schema: pa.Schema) -> pa.Schema:
    """Return the columns with the types of Iceberg, which has no integers of 8 and 16 bits."""
    small = (pa.int8(), pa.int16())
    return pa.schema([pa.field(field.name, pa.int32() if field.type in small else field.type) for field in schema])


def described(schema: pa.Schema) -> list[str]:
    """Return names and types of columns as text, by which two schemas are compared."""
    plain = {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}
    return [*schema.names, *(str(plain.get(kind, kind)) for kind in schema.types)]
