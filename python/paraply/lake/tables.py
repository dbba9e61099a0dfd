"""The tables of a lake while it is written: changes that are held, and the schema that the log's statements make."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from paraply.errors import LogNotUnderstood, SchemaMismatch, TypeNotMapped, UsageError
from paraply.lake.collapse import collapse
from paraply.lake.columns import LakeColumns, holds_type, lake_columns
from paraply.lake.convert import converter, only_adds_nulls
from paraply.lake.published import Published, PublishedTable
from paraply.schema.ddl.change import AlterTable, CreateTable, DropDatabase, DropTable, RenameTable, TruncateTable
from paraply.wording import table_option

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pyarrow as pa

    from paraply.applier.selection.filters import Filters
    from paraply.lake.store import Store
    from paraply.schema.ddl.change import SchemaChange
    from paraply.schema.model import Table

__all__ = ["LakeTables"]

Name = tuple[str, str]


@dataclass(slots=True, eq=False)
class LiveTable:
    """One table of the lake.

    Attributes:
        definition: The source's definition.
        columns: Its columns in the lake.
        location: Its location.
        version: Its newest version; None before it is first written.
        held: Changes that are not written yet.
    """

    definition: Table
    columns: LakeColumns
    location: str
    version: int | None = None
    held: list[pa.Table] = field(default_factory=list)


class LakeTables:
    """The tables of a lake.

    Args:
        store: The lake.
        before: The published state; None for a new lake.
    """

    def __init__(self, store: Store, before: Published | None) -> None:
        self._store = store
        self._tables: dict[Name, LiveTable] = {}
        self.bytes = 0
        """Bytes of the changes that are held."""
        self.before_write: Callable[[], None] = lambda: None
        """Called before each change of a table."""
        self.definition: Callable[[str, str], Table | None] = lambda _database, _name: None
        """Definition of a table after the transactions that were read."""
        for key, table in (before.tables if before is not None else {}).items():
            self._tables[key] = LiveTable(table.definition, lake_columns(table.definition), table.location, table.version)

    def recover(self) -> None:
        """Undo what an interrupted run has written after the published state."""
        for table in self._tables.values():
            if table.version is not None:
                table.version = self._store.recover(table.location, table.version)

    def adopt(self, definitions: Sequence[Table], filters: Filters) -> None:
        """Take over the tables of these definitions that the lake holds already.

        Raises:
            UsageError: A table has other columns in the lake, or a column of a type that is too narrow.
        """
        for definition in definitions:
            location = self._store.location(definition.database, definition.name, 1)
            if not filters.chooses(definition.database, definition.name) or not self._store.exists(location):
                continue
            if self._store.owned(location):  # a changed table of a lake always has a published state
                raise UsageError(
                    f"the lake's table {location} was made by a run that has published no state: delete it, and load it again",
                    table=definition.full_name,
                )
            columns, version = lake_columns(definition), self._store.current(location)
            found = self._store.schema(location, version)
            if found.names != columns.schema.names:
                raise UsageError(
                    f"the lake's table {location} has the columns {', '.join(found.names)}, the source's has"
                    f" {', '.join(columns.schema.names)}; load it again",
                    table=definition.full_name,
                )
            for column, wanted in zip(found, columns.schema, strict=True):
                if not holds_type(column.type, wanted.type):
                    raise UsageError(
                        f"column {column.name} of the lake's table {location} is of the type {column.type}, which does not hold every"
                        f" value of the source's column; load it as {wanted.type}",
                        table=definition.full_name,
                    )
            self._tables[definition.database, definition.name] = LiveTable(definition, columns, location, version)

    def add(self, definition: Table, columns: LakeColumns, changes: pa.Table) -> None:
        """Hold changes of a table."""
        key = (definition.database, definition.name)
        table = self._tables.get(key)
        if table is None:
            raise LogNotUnderstood(
                f"the logs do not have the CREATE TABLE of {definition.full_name}, so its older rows are not known; load them into a"
                " new lake, and name the transactions that they hold with --start-after, with --schema; or leave the table out with"
                f" {table_option('--exclude-table', key)}",
                table=definition.full_name,
            )
        if columns.columns != table.columns.columns:
            if table.version is not None or table.held:
                raise SchemaMismatch(
                    f"the columns of {definition.full_name} are not those that its statements have made; start a new lake",
                    table=definition.full_name,
                )
            table.columns = columns
        table.definition, table.columns = definition, columns
        table.held.append(changes)
        self.bytes += changes.nbytes

    def flush(self, properties: Mapping[str, str]) -> int:
        """Write all changes that are held, and return their number after keeping the last one of each key."""
        return sum(self._flush(table, properties) for table in self._tables.values())

    def published(self) -> dict[Name, PublishedTable]:
        """Return the tables as they are written; call ``flush`` before."""
        return {
            key: PublishedTable(*key, table.location, table.version, self.definition(*key) or table.definition)
            for key, table in self._tables.items()
            if table.version is not None
        }

    def follow(self, change: SchemaChange, filters: Filters, properties: Mapping[str, str]) -> None:
        """Change tables as a statement of the log does.

        Raises:
            TypeNotMapped: The values of a column after the statement are not certain.
        """
        match change:
            case CreateTable(table=table) if filters.chooses(table.database, table.name):
                self._drop((table.database, table.name))
                self._tables[table.database, table.name] = self._made(table)
            case DropTable(database=database, name=name):
                self._drop((database, name))
            case DropDatabase(database=database):
                for key in [key for key in self._tables if key[0] == database]:
                    self._drop(key)
            case TruncateTable(database=database, name=name):
                self._truncate((database, name), properties)
            case RenameTable(old_database=database, old_name=name, table=table):
                self._rename((database, name), table)
            case AlterTable(old=old) if (old.database, old.name) in self._tables:
                self._alter(change, properties)
            case _:
                pass

    def _made(self, definition: Table) -> LiveTable:
        """Return a new table, without rows, at a location that no other one has."""
        used = {table.location for table in self._tables.values()}
        number = 1
        while (location := self._store.location(definition.database, definition.name, number)) in used:
            number += 1
        if self._store.exists(location) and not self._store.owned(location):
            raise UsageError(
                f"the lake has a table {location} that paraply has not written; give another --into, or name what it holds with"
                " --start-after",
                table=definition.full_name,
            )
        return LiveTable(definition, lake_columns(definition), location)

    def _flush(self, table: LiveTable, properties: Mapping[str, str]) -> int:
        import pyarrow as pa

        if not table.held and table.version is not None:
            return 0
        self.before_write()
        held, table.held = table.held, []
        size = sum(part.nbytes for part in held)
        if table.version is None:
            empty = pa.RecordBatchReader.from_batches(table.columns.schema, [])
            table.version = self._store.replace(table.location, empty, properties)
        if not held:
            return 0
        changes = collapse(pa.concat_tables(held), table.columns.key, table.definition.full_name)
        del held
        if changes.rows:
            table.version = self._store.merge(table.location, table.version, changes, table.columns.key, properties)
        self.bytes -= size
        return changes.rows

    def _drop(self, key: Name) -> None:
        table = self._tables.pop(key, None)
        if table is not None:
            self.bytes -= sum(part.nbytes for part in table.held)

    def _truncate(self, key: Name, properties: Mapping[str, str]) -> None:
        import pyarrow as pa

        table = self._tables.get(key)
        if table is None:
            return
        self.bytes -= sum(part.nbytes for part in table.held)
        table.held = []
        if table.version is not None:
            self.before_write()
            empty = pa.RecordBatchReader.from_batches(table.columns.schema, [])
            table.version = self._store.replace(table.location, empty, properties)

    def _rename(self, old: Name, definition: Table) -> None:
        table = self._tables.pop(old, None)
        if table is not None:
            self._drop((definition.database, definition.name))
            table.definition = definition
            self._tables[definition.database, definition.name] = table

    def _alter(self, change: AlterTable, properties: Mapping[str, str]) -> None:
        key = (change.old.database, change.old.name)
        table = self._tables[key]
        columns = lake_columns(change.new)
        self._flush_before_alter(table, properties)
        if table.version is not None and (change.column_renames or change.added or columns.columns != table.columns.columns):
            table.version = self._rewritten(table, table.version, change, columns, properties)
        elif table.version is not None and change.old.columns != change.new.columns:
            converter(change)  # refuses what changes values and no type
        table.columns = columns
        self._rename(key, change.new)

    def _rewritten(self, table: LiveTable, version: int, change: AlterTable, columns: LakeColumns, properties: Mapping[str, str]) -> int:
        """Write the rows of a table with other columns, and return the new version."""
        import pyarrow as pa

        self.before_write()
        if only_adds_nulls(change):
            return self._store.widen(table.location, version, columns.schema, properties)
        names = table.columns.schema.names
        try:
            convert = converter(change)
        except TypeNotMapped:
            with self._store.read(table.location, version, names[:1]) as rows:
                if any(batch.num_rows for batch in rows):
                    raise
            return self._store.replace(table.location, pa.RecordBatchReader.from_batches(columns.schema, ()), properties)
        # A reader that is left open reads on beside the end of the process, which then ends with SIGABRT (seen with pyarrow 26).
        with self._store.read(table.location, version, names) as rows:
            converted = pa.RecordBatchReader.from_batches(columns.schema, map(convert, rows))
            return self._store.replace(table.location, converted, properties)

    def _flush_before_alter(self, table: LiveTable, properties: Mapping[str, str]) -> None:
        """Write changes under the old definition; a table without any stays unwritten."""
        if table.held:
            self._flush(table, properties)
