"""Data files of Iceberg tables: copies without changed rows, and files of new rows."""

from __future__ import annotations

import itertools
import uuid
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io.pyarrow import ArrowScan, _dataframe_to_data_files

from paraply.errors import RowNotFound

if TYPE_CHECKING:
    from pyiceberg.table import Table

    from paraply.lake.collapse import Collapsed

__all__ = ["Files", "Rewriting"]

_FULL_BYTES = 128 << 20
"""Bytes of rows in memory at which a data file is written."""


class Files:
    """New data files of a commit, written as soon as enough rows are there.

    Args:
        table: The table.
        metadata: Its metadata in the commit.
        snapshot: The commit.
    """

    def __init__(self, table: Table, metadata: Any, snapshot: Any) -> None:
        self._table, self._metadata, self._snapshot = table, metadata, snapshot
        self._schema = metadata.schema().as_arrow()
        self._uuid, self._counter = uuid.uuid4(), itertools.count(0)
        self._rows: list[pa.Table] = []
        self._bytes = 0

    def add(self, rows: pa.Table) -> None:
        """Add rows with the table's columns by name."""
        if rows.num_rows:
            self._rows.append(rows.select(self._schema.names).cast(self._schema))
            self._bytes += rows.nbytes
        if self._bytes >= _FULL_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write the rows that are not written yet."""
        if not self._rows:
            return
        rows = pa.concat_tables(self._rows)
        self._rows, self._bytes = [], 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = _dataframe_to_data_files(
                table_metadata=self._metadata, df=rows, io=self._table.io, write_uuid=self._uuid, counter=self._counter
            )
            for file in made:
                self._snapshot.append_data_file(file)


class Rewriting:
    """Copies of the data files that hold changed rows, without these, and files of the new rows.

    Args:
        table: The table.
        snapshot: The commit.
        changes: The changes.
        key: Names of the columns of the key.
    """

    def __init__(self, table: Table, snapshot: Any, changes: Collapsed, key: list[str]) -> None:
        self._table, self._snapshot, self._changes, self._key = table, snapshot, changes, key
        self._schema = table.schema().as_arrow()
        keys = [rows.select(key) for rows in (changes.updates, changes.deletes, changes.inserts)]
        types = pa.schema([self._schema.field(name) for name in key])
        self._replaced = pa.concat_tables([rows.cast(types) for rows in keys]).combine_chunks()
        self._files = Files(table, table.metadata, snapshot)

    def run(self) -> None:
        """Write the files.

        Raises:
            RowNotFound: The table lacks rows that are updated or deleted, or has rows that are inserted.
        """
        found = 0
        expected = self._changes.updates.num_rows + self._changes.deletes.num_rows
        for task in self._table.scan().plan_files() if self._table.current_snapshot() is not None and expected else ():
            rows = ArrowScan(
                table_metadata=self._table.metadata, io=self._table.io, projected_schema=self._table.schema(), row_filter=AlwaysTrue()
            ).to_table(tasks=[task])
            kept = self._without(rows)
            if kept.num_rows < rows.num_rows:
                found += rows.num_rows - kept.num_rows
                self._snapshot.delete_data_file(task.file)
                self._files.add(kept)
        if found != expected:
            raise RowNotFound(
                f"the lake's table {'.'.join(self._table.name())} does not hold the rows that the log changes: {found} of its rows have"
                f" their keys, in place of {expected}; nothing is written. Start a new lake from the log's beginning",
                table=".".join(self._table.name()),
            )
        self._files.add(self._changes.updates)
        self._files.add(self._changes.inserts)
        self._files.flush()

    def _without(self, rows: pa.Table) -> pa.Table:
        """Return the rows whose keys are not among the changed ones."""
        if len(self._key) == 1:
            name = self._key[0]
            return rows.filter(pc.invert(pc.is_in(rows[name], value_set=self._replaced[name])))
        number = pa.array(np.arange(rows.num_rows))
        numbered = rows.select(self._key).append_column("#", number)
        left = numbered.join(self._replaced, keys=self._key, join_type="left anti")
        return rows if left.num_rows == rows.num_rows else rows.take(left["#"])
