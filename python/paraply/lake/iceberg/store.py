"""A lake of Iceberg tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException, NoSuchTableError
from pyiceberg.schema import sanitize_column_names

from paraply.errors import ApplyFailed, UsageError
from paraply.lake.files import ParquetFiles
from paraply.lake.iceberg.files import Files, Rewriting
from paraply.lake.iceberg.schema import described, evolve, go_back, storable
from paraply.lake.locking import local_folder, locked
from paraply.lake.published import MARKER, Published, marker_rows, marker_schema, published_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    import pyarrow as pa
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table

    from paraply.lake.collapse import Collapsed

__all__ = ["IcebergStore"]

CATALOG = "catalog.db"
"""File of the SQLite catalog in the lake's folder."""
NAMED = "catalog:"
MARKER_NAMESPACE = "paraply"
_OWNED = "paraply.lake"
_SETTINGS = {_OWNED: "1", "commit.retry.num-retries": "0", "write.target-file-size-bytes": str(64 << 20)}


class IcebergStore:
    """A catalog with an Iceberg table ``database.table`` for each table.

    Args:
        into: A folder, whose file ``catalog.db`` is a SQLite catalog, or ``catalog:NAME``.
    """

    def __init__(self, into: str) -> None:
        self._folder = None if into.startswith(NAMED) else local_folder(into)
        if self._folder is None and not into.startswith(NAMED):
            raise UsageError(
                f"--into {into}: an Iceberg lake is a folder, whose catalog.db is its SQLite catalog, or catalog:NAME, a catalog of"
                " PyIceberg's configuration, which may have its tables at any URL"
            )
        self._name = into.removeprefix(NAMED)
        self._opened: Catalog | None = None
        self._marker: int | None = None

    @property
    def catalog(self) -> Catalog:
        """The catalog."""
        if self._opened is None:
            if self._folder is None:
                self._opened = load_catalog(self._name)
            else:
                folder = self._folder.absolute()
                folder.mkdir(parents=True, exist_ok=True)
                self._opened = SqlCatalog("paraply", uri=f"sqlite:///{folder / CATALOG}", warehouse=folder.as_uri())
        return self._opened

    def locked(self) -> AbstractContextManager[None]:
        """Keep other writers on this machine out during a ``with`` block."""
        return locked(self._folder)

    def published(self, number: int | None = None) -> Published | None:
        """Return the published state, or an earlier one by its number."""
        import pyarrow as pa

        if not self._has_marker():
            return None
        table = self._table(f"{MARKER_NAMESPACE}.{MARKER}")
        snapshot = table.current_snapshot()
        if number is None:
            self._marker = None if snapshot is None else snapshot.snapshot_id
        else:
            snapshot = next((found for found in table.snapshots() if _publication(found) == number), None)
        if snapshot is None:
            return None
        rows = table.scan(snapshot_id=snapshot.snapshot_id).to_arrow()
        known = [field for field in marker_schema() if field.name in rows.schema.names]  # an older version wrote fewer columns
        return published_of(rows.select([field.name for field in known]).cast(pa.schema(known)))

    def numbers(self) -> list[int]:
        """Return the numbers of all states that the marker's history holds, in order."""
        if not self._has_marker():
            return []
        found = (_publication(snapshot) for snapshot in self._table(f"{MARKER_NAMESPACE}.{MARKER}").snapshots())
        return sorted({number for number in found if number is not None})

    def publish(self, state: Published) -> None:
        """Replace the published state in one commit, on top of the one that was read."""
        location = f"{MARKER_NAMESPACE}.{MARKER}"
        if not self.exists(location):
            self._create(location, marker_schema())
        table = self._table(location)
        snapshot = table.current_snapshot()
        if (None if snapshot is None else snapshot.snapshot_id) != self._marker:
            raise ApplyFailed("the published state could not be replaced, as another writer changed it; run the same command again")
        self._write(table, [marker_rows(state)], state.properties, marker_schema())
        self._marker = self.current(location)

    def _has_marker(self) -> bool:
        """Return True if there is a published state; make no catalog to find out."""
        if self._folder is not None and not (self._folder / CATALOG).exists():
            return False
        return self.exists(f"{MARKER_NAMESPACE}.{MARKER}")

    def location(self, database: str, table: str, number: int) -> str:
        """Return a location for a table."""
        name = f"{_plain(database)}.{_plain(table)}"
        return name if number == 1 else f"{name}_{number}"

    def exists(self, location: str) -> bool:
        """Return True if there is a table."""
        return bool(self.catalog.table_exists(location))

    def owned(self, location: str) -> bool:
        """Return True if paraply has made a table."""
        return _OWNED in self._table(location).properties

    def current(self, location: str) -> int:
        """Return the newest snapshot of a table; 0 without any."""
        snapshot = self._table(location).current_snapshot()
        return 0 if snapshot is None else snapshot.snapshot_id

    def schema(self, location: str, version: int) -> pa.Schema:
        """Return the columns of a table at a snapshot."""
        return self._schema(self._table(location), version).as_arrow()

    def recover(self, location: str, version: int) -> int:
        """Undo the snapshots after one that were never published, and return the newest one then."""
        table = self._table(location)
        snapshot = table.current_snapshot()
        while snapshot is not None and snapshot.snapshot_id != version:
            replaced = snapshot.summary is not None and snapshot.summary.operation.value == "replace"
            if _publication(snapshot) is None and not replaced:
                raise ApplyFailed(
                    f"the lake's table {location} was changed by another program in snapshot {snapshot.snapshot_id}, after the published"
                    f" snapshot {version}; roll back to that one with the lake's tools",
                    table=location,
                )
            snapshot = None if snapshot.parent_snapshot_id is None else table.snapshot_by_id(snapshot.parent_snapshot_id)
        now = table.current_snapshot()
        wanted = table.snapshot_by_id(version)
        if now is None or wanted is None:
            raise ApplyFailed(f"the lake's table {location} lacks its published snapshot {version}; start a new lake", table=location)
        if now.snapshot_id != version or table.schema().schema_id != wanted.schema_id:
            go_back(table, wanted)
        return version

    def replace(self, location: str, rows: pa.RecordBatchReader, properties: Mapping[str, str]) -> int:
        """Replace columns and rows of a table, which need not exist, in one commit, and return its snapshot."""
        if not self.exists(location):
            self._create(location, storable(rows.schema))
        self._write(self._table(location), rows, properties, storable(rows.schema))
        return self.current(location)

    def widen(self, location: str, version: int, schema: pa.Schema, properties: Mapping[str, str]) -> int:
        """Add columns at the end, which are null in all rows, in one commit, and return its snapshot."""
        table = self._at(location, version)
        with table.transaction() as change:
            evolve(change, table, storable(schema))
            with change.update_snapshot(snapshot_properties=dict(properties)).overwrite():
                pass  # a snapshot that has the new columns
        return self.current(location)

    def merge(self, location: str, version: int, changes: Collapsed, key: Sequence[str], properties: Mapping[str, str]) -> int:
        """Change rows of a table in one commit on top of a snapshot, and return the new one."""
        table = self._at(location, version)
        try:
            with table.transaction() as change, change.update_snapshot(snapshot_properties=dict(properties)).overwrite() as snapshot:
                rewriting = Rewriting(table, snapshot, changes, list(key))
                rewriting.run()
        except CommitFailedException as error:
            raise ApplyFailed(f"the lake's table {location} was changed by another program: {error}", table=location) from error
        return self.current(location)

    def read(self, location: str, version: int, columns: Sequence[str] | None = None) -> pa.RecordBatchReader:
        """Return the rows of a table at a snapshot."""
        fields = ("*",) if columns is None else tuple(columns)
        return self._table(location).scan(snapshot_id=version, selected_fields=fields).to_arrow_batch_reader()

    def files(self, location: str, version: int) -> ParquetFiles:
        """Return the Parquet files that hold exactly the rows of a table at a snapshot."""
        table = self._table(location)
        tasks = list(table.scan(snapshot_id=version).plan_files())
        if any(task.delete_files for task in tasks):
            raise UsageError(f"the lake's table {location} has delete files of another program: read it with Iceberg's own reader")
        schema = self._schema(table, version)
        stored = sanitize_column_names(schema)
        names = {column.name: kept.name for column, kept in zip(schema.fields, stored.fields, strict=True)}
        return ParquetFiles(tuple(task.file.file_path for task in tasks), names)

    def _at(self, location: str, version: int) -> Table:
        """Return a table whose newest snapshot is the expected one."""
        table = self._table(location)
        snapshot = table.current_snapshot()
        if (0 if snapshot is None else snapshot.snapshot_id) != version:
            raise ApplyFailed(
                f"the lake's table {location} was changed by another program; stop that program and run the same command again",
                table=location,
            )
        return table

    def _table(self, location: str) -> Table:
        try:
            return self.catalog.load_table(location)
        except NoSuchTableError as error:
            raise ApplyFailed(f"the catalog lacks the table {location}; start a new lake", table=location) from error

    @staticmethod
    def _schema(table: Table, version: int) -> Schema:
        """Return the columns of a table at a snapshot."""
        snapshot = table.snapshot_by_id(version)
        if snapshot is None or snapshot.schema_id is None:
            return table.schema()
        return table.schemas()[snapshot.schema_id]

    def _create(self, location: str, schema: pa.Schema) -> None:
        self.catalog.create_namespace_if_not_exists(location.partition(".")[0])
        self.catalog.create_table(location, schema, properties=_SETTINGS)

    @staticmethod
    def _write(table: Table, rows: Any, properties: Mapping[str, str], schema: pa.Schema | None = None) -> None:
        """Replace all rows, and the columns too if some are given, in one commit."""
        import pyarrow as pa

        with table.transaction() as change:
            if schema is not None and schema.names + list(map(str, schema.types)) != described(table.schema().as_arrow()):
                evolve(change, table, schema)
            old = list(table.scan().plan_files()) if table.current_snapshot() is not None else []
            with change.update_snapshot(snapshot_properties=dict(properties)).overwrite() as snapshot:
                for task in old:
                    snapshot.delete_data_file(task.file)
                files = Files(table, change.table_metadata, snapshot)
                for batch in rows:
                    files.add(pa.Table.from_batches([batch]) if isinstance(batch, pa.RecordBatch) else batch)
                files.flush()


def _plain(name: str) -> str:
    """Return a name as a part of an identifier.

    >>> _plain("orders"), _plain("a.b")
    ('orders', 'a@2eb')
    """
    return "".join(sign if sign.isalnum() or sign in "_-" else "".join(f"@{byte:02x}" for byte in sign.encode()) for sign in name)


def _publication(snapshot: Any) -> int | None:
    """Return the number of the publication that a snapshot belongs to; None for one of another program."""
    if snapshot.summary is None:
        return None
    value = snapshot.summary.additional_properties.get("paraply.publication")
    return None if value is None else int(value)
