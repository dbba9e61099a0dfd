"""A lake of Delta tables."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Schema, write_deltalake
from deltalake import Transaction as AppTransaction
from deltalake.exceptions import DeltaError

from paraply.errors import ApplyFailed, RowNotFound, UsageError
from paraply.lake.files import ParquetFiles
from paraply.lake.locking import local_folder, locked
from paraply.lake.published import MARKER, Published, marker_rows, published_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    from paraply.lake.collapse import Collapsed

__all__ = ["DeltaStore"]

APP = "paraply"
_CHANGE = "_paraply_change"
_HARMLESS = ("OPTIMIZE", "VACUUM START", "VACUUM END")
"""Operations of other programs that change no rows."""


class DeltaStore:
    """A folder or URL with a Delta table at ``database/table`` for each table.

    Args:
        into: The folder or URL.
    """

    def __init__(self, into: str) -> None:
        folder = local_folder(into)
        self._folder = None if folder is None else folder.absolute()
        self._root = str(self._folder) if self._folder is not None else into.rstrip("/")
        self._marker: DeltaTable | None = None

    def locked(self) -> AbstractContextManager[None]:
        """Keep other writers on this machine out during a ``with`` block."""
        return locked(self._folder)

    def uri(self, location: str) -> str:
        """Return the path or URL of a table."""
        return f"{self._root}/{location}"

    def published(self, number: int | None = None) -> Published | None:
        """Return the published state, or an earlier one by its number."""
        if not DeltaTable.is_deltatable(self.uri(MARKER)):
            return None
        marker = DeltaTable(self.uri(MARKER))
        if number is None:
            self._marker = marker
        else:
            version = next((found["version"] for found in marker.history() if _publication(found) == number), None)
            if version is None:
                return None
            marker = DeltaTable(self.uri(MARKER), version=version)
        return published_of(marker.to_pyarrow_table())

    def numbers(self) -> list[int]:
        """Return the numbers of all states that the marker's history holds, in order."""
        if not DeltaTable.is_deltatable(self.uri(MARKER)):
            return []
        found = (_publication(entry) for entry in DeltaTable(self.uri(MARKER)).history())
        return sorted(number for number in found if number is not None)

    def publish(self, state: Published) -> None:
        """Replace the published state in one commit, on top of the one that was read."""
        target: Any = self._marker if self._marker is not None else self.uri(MARKER)
        mode: Any = "overwrite" if self._marker is not None else "error"
        schema_mode: Any = "overwrite" if self._marker is not None else None  # an older version wrote fewer columns
        try:
            commit = _commit(state.properties, retries=0)
            write_deltalake(target, marker_rows(state), mode=mode, schema_mode=schema_mode, commit_properties=commit)
        except DeltaError as error:
            raise ApplyFailed(f"the published state could not be replaced, as another writer changed it: {error}") from error
        self._marker = DeltaTable(self.uri(MARKER))

    def location(self, database: str, table: str, number: int) -> str:
        """Return a location for a table."""
        name = f"{_segment(database)}/{_segment(table)}"
        return name if number == 1 else f"{name}-{number}"

    def exists(self, location: str) -> bool:
        """Return True if there is a table."""
        return bool(DeltaTable.is_deltatable(self.uri(location)))

    def owned(self, location: str) -> bool:
        """Return True if paraply has written a table."""
        return any(_publication(entry) is not None for entry in DeltaTable(self.uri(location)).history())

    def current(self, location: str) -> int:
        """Return the newest version of a table."""
        return int(DeltaTable(self.uri(location)).version())

    def schema(self, location: str, version: int) -> pa.Schema:
        """Return the columns of a table at a version."""
        return _plain_schema(DeltaTable(self.uri(location), version=version))

    def recover(self, location: str, version: int) -> int:
        """Undo the commits after a version that were never published, and return the newest version then."""
        table = DeltaTable(self.uri(location))
        if table.version() == version:
            return version
        later = [entry for entry in table.history() if entry["version"] > version]
        if all(entry.get("operation") in _HARMLESS for entry in later):
            return int(table.version())
        for entry in later:
            if _publication(entry) is None and entry.get("operation") not in _HARMLESS:
                raise ApplyFailed(
                    f"the lake's table {location} was changed by another program: its version {entry['version']} is a"
                    f" {entry.get('operation')}, after the published version {version}; restore that version with the lake's tools",
                    table=location,
                )
        properties = {"paraply.publication": "0", "paraply.restored": str(version)}
        if _plain_schema(table) == self.schema(location, version):
            table.restore(version, commit_properties=_commit(properties, retries=0))
            return self.current(location)
        return self.replace(location, self.read(location, version), properties)

    def replace(self, location: str, rows: pa.RecordBatchReader, properties: Mapping[str, str]) -> int:
        """Replace columns and rows of a table, which need not exist, in one commit, and return its version."""
        write_deltalake(
            self.uri(location), rows, mode="overwrite", schema_mode="overwrite", commit_properties=_commit(properties, retries=0)
        )
        return self.current(location)

    def widen(self, location: str, version: int, schema: pa.Schema, properties: Mapping[str, str]) -> int:
        """Add columns at the end, which are null in all rows, in one commit, and return its version."""
        table = DeltaTable(self.uri(location))
        known = self.schema(location, version).names
        further = pa.schema([field for field in schema if field.name not in known])
        table.alter.add_columns(list(Schema.from_arrow(further).fields), commit_properties=_commit(properties, retries=0))
        return self._next(location, version)

    def merge(self, location: str, version: int, changes: Collapsed, key: Sequence[str], properties: Mapping[str, str]) -> int:
        """Change rows of a table in one commit on top of a version, and return the new one."""
        table = DeltaTable(self.uri(location))
        commit = _commit(properties, retries=0)
        try:
            if changes.updates.num_rows or changes.deletes.num_rows:
                self._check(location, table, changes, key, commit)
            else:
                write_deltalake(table, changes.inserts, mode="append", commit_properties=commit)
        except DeltaError as error:
            raise ApplyFailed(f"the lake's table {location} could not be changed: {error}", table=location) from error
        return self._next(location, version)

    def _next(self, location: str, version: int) -> int:
        """Return the version after a commit, which must be the next one."""
        made = self.current(location)
        if made != version + 1:
            raise ApplyFailed(
                f"the lake's table {location} was changed by another program: its version is {made}, not {version + 1};"
                " stop that program and run the same command again",
                table=location,
            )
        return made

    def _check(self, location: str, table: DeltaTable, changes: Collapsed, key: Sequence[str], commit: CommitProperties) -> None:
        """Merge changes, and compare the numbers of changed rows with those of the log."""
        done = merge(table, changes, key, commit)
        counts = {
            "inserted": (done["num_target_rows_inserted"], changes.inserts.num_rows),
            "updated": (done["num_target_rows_updated"], changes.updates.num_rows),
            "deleted": (done["num_target_rows_deleted"], changes.deletes.num_rows),
        }
        for what, (found, expected) in counts.items():
            if found != expected:
                raise RowNotFound(
                    f"the lake's table {location} does not hold the rows that the log changes: {found} rows were {what} in place of"
                    f" {expected}; nothing of it is published. Start a new lake from the log's beginning, or with --start-after",
                    table=location,
                )

    def read(self, location: str, version: int, columns: Sequence[str] | None = None) -> pa.RecordBatchReader:
        """Return the rows of a table at a version."""
        dataset = DeltaTable(self.uri(location), version=version).to_pyarrow_dataset()
        return dataset.scanner(columns=None if columns is None else list(columns)).to_reader()

    def files(self, location: str, version: int) -> ParquetFiles:
        """Return the Parquet files that hold exactly the rows of a table at a version."""
        table = DeltaTable(self.uri(location), version=version)
        if "deletionVectors" in (table.protocol().reader_features or ()):
            raise UsageError(f"the lake's table {location} may have deletion vectors of another program: read it with Delta's own reader")
        return ParquetFiles(tuple(map(str, table.file_uris())), {name: name for name in _plain_schema(table).names})


def merge(table: DeltaTable, changes: Collapsed, key: Sequence[str], commit: CommitProperties | None = None) -> dict[str, Any]:
    """Merge changes into a Delta table in one commit, and return the numbers of rows."""
    import numpy as np

    parts = []
    for kind, rows in enumerate((changes.inserts, changes.updates, changes.deletes)):
        marked = rows.append_column(_CHANGE, pa.array(np.full(rows.num_rows, kind, np.int8)))
        parts.append(marked)
    source = pa.concat_tables(parts, promote_options="default")
    names = [name for name in source.column_names if name != _CHANGE]
    values = {_quoted(name): f"s.{_quoted(name)}" for name in names}
    on = " AND ".join(f"t.{_quoted(name)} = s.{_quoted(name)}" for name in key)
    merger = table.merge(source, on, source_alias="s", target_alias="t", streamed_exec=False, commit_properties=commit)
    if changes.updates.num_rows:
        merger = merger.when_matched_update(values, predicate=f"s.{_CHANGE} = 1")
    if changes.deletes.num_rows:
        merger = merger.when_matched_delete(predicate=f"s.{_CHANGE} = 2")
    if changes.inserts.num_rows:
        merger = merger.when_not_matched_insert(values, predicate=f"s.{_CHANGE} = 0")
    return dict(merger.execute())


def _quoted(name: str) -> str:
    """Return a column's name for an expression of Delta."""
    return "`" + name.replace("`", "``") + "`"


def _segment(name: str) -> str:
    """Return a name as a part of a path: letters, digits and a few signs stay, others become their numbers.

    >>> _segment("orders"), _segment("a/b c")
    ('orders', 'a@2fb@20c')
    """
    return "".join(sign if sign.isalnum() or sign in "_-" else "".join(f"@{byte:02x}" for byte in sign.encode()) for sign in name)


def _commit(properties: Mapping[str, str], *, retries: int) -> CommitProperties:
    """Return the properties of a commit; the transaction of an application makes two writers conflict."""
    number = int(properties["paraply.publication"])
    return CommitProperties(
        custom_metadata=dict(properties), max_commit_retries=retries, app_transactions=[AppTransaction(APP, number)] if number else None
    )


def _publication(entry: Mapping[str, Any]) -> int | None:
    """Return the number of the publication that a commit belongs to; None for a commit of another program."""
    value = entry.get("paraply.publication")
    return None if value is None else int(json.loads(str(value)))


def _plain_schema(table: DeltaTable) -> pa.Schema:
    """Return the columns of a table as PyArrow's schema."""
    return pa.schema(table.schema().to_arrow())
