"""Row changes and events of logs as Arrow streams."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from paraply._native import Catalog, EventReader, LogReader, RowDecoder, Selection, TableFilter, event_schema, row_schema
from paraply.analysis.parts import LogPart, catalog_behind
from paraply.analysis.typed import TypedColumn, image_type, typed_columns
from paraply.applier.selection.filters import parse_filters
from paraply.errors import UsageError
from paraply.logs import log_paths
from paraply.logs.feed import Feed, FeedLimits, FeedRules
from paraply.schema.catalog import SchemaCatalog
from paraply.schema.readers.dump import read_dump

if TYPE_CHECKING:
    import pyarrow as pa

    from paraply._native import TransactionBatch, WriteSets
    from paraply.schema.model import Table

__all__ = ["VALUES", "EventSource", "RowSource", "column_names", "columns_of", "events", "rows", "table_filter"]

VALUES = ("text", "typed")
IMAGES = ("before", "after")


def rows(
    paths: Path | str | Sequence[Path | str],
    *,
    tables: Sequence[str] = (),
    columns: Sequence[str] = (),
    values: str = "text",
    schema: Path | str | None = None,
    selection: Selection | None = None,
) -> pa.RecordBatchReader:
    """The row changes of one log or of several in order, as an Arrow stream: one row for each row that was inserted, updated or deleted.

    Memory is needed for a batch, not for the log; all is decoded in native code. An error of the log is raised behind the rows that
    stand before its batch.

    Args:
        paths: Binlogs or relay logs, in order.
        tables: Only these: names of databases, or ``database.table``.
        columns: The columns of the stream, by default all.
        values: ``text``: ``before`` and ``after`` are maps from column names to values as text; ``typed``: they are structs with the
            types of the one table that is named in ``tables``.
        schema: A dump with the tables as they were at the start of the log, for names that the log does not have.
        selection: Conditions that the transactions must meet.

    Returns:
        The stream.

    Raises:
        UsageError: A file is not there, there is no such column, or ``typed`` without one table whose definition is known.
        LogError: The log is damaged or not understood; from the stream, while it is read.

    >>> rows("no/such/log")
    Traceback (most recent call last):
    ...
    paraply.errors.UsageError: there is no log file no/such/log
    """
    names = log_paths(paths)
    dumped = list(read_dump(Path(schema))) if schema is not None else []
    typed = columns_of(names, dumped, tables) if values_of(values) == "typed" else None
    form = None if typed is None else [(column.name, column.binary) for column in typed]
    source = RowSource(LogPart(names, tables=dumped), columns=columns, tables=table_filter(tables), values=form, selection=selection)
    import pyarrow as pa  # half of what it takes to import paraply, for one function

    wanted = typed_schema(row_schema(form), column_names(columns, row_schema()), typed)
    return pa.RecordBatchReader.from_batches(wanted, (batch.cast(wanted) if typed else batch for batch in source))


def events(paths: Path | str | Sequence[Path | str]) -> pa.RecordBatchReader:
    """The events of one log or of several in order, as an Arrow stream: one row for each event as it stands in the file.

    Nothing but the header of an event is understood, and the GTID that begins a transaction: statement format and unknown events are no
    errors here. A compressed transaction is one event.

    Args:
        paths: Binlogs or relay logs, in order.

    Returns:
        The stream.

    Raises:
        UsageError: A file is not there.
        LogError: An event is damaged, or the file ends in one; from the stream.

    >>> events("no/such/log")
    Traceback (most recent call last):
    ...
    paraply.errors.UsageError: there is no log file no/such/log
    """
    names = log_paths(paths)
    import pyarrow as pa

    return pa.RecordBatchReader.from_batches(event_schema(), (batch for name in names for batch in EventSource(LogPart([name]))))


class RowSource:
    """Decodes the row changes of a part of a log; iterate over it to get record batches.

    Args:
        part: What is read.
        columns: The columns that are wanted, in order; by default all.
        tables: The tables that are wanted.
        operations: The operations that are wanted.
        values: Columns of the one wanted table (name, whether it holds bytes), where images are structs; their values are text still.
        selection: Conditions that the transactions must meet.

    Raises:
        UsageError: There is no such column.
    """

    def __init__(
        self,
        part: LogPart,
        *,
        columns: Sequence[str] = (),
        tables: TableFilter | None = None,
        operations: Sequence[str] | None = None,
        values: Sequence[tuple[str, bool]] | None = None,
        selection: Selection | None = None,
    ) -> None:
        names = column_names(columns, row_schema())
        self._decoder = RowDecoder(names, tables=tables, operations=operations, values=values)
        reader = LogReader(part.paths, piece=part.piece, position=part.position, selection=selection, count_rows=False, sizes=part.sizes)
        limits = FeedLimits(batch_transactions=4096)
        self._feed = Feed(reader, SchemaCatalog(), Catalog(), FeedRules("none", on_hashed=self._begin), threaded=False, limits=limits)
        self._feed.seed(part.tables)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for _ in self._feed:
            while (batch := self._decoder.next_batch()) is not None:
                yield batch

    def _begin(self, batch: TransactionBatch, _: WriteSets, catalog: Catalog) -> None:
        """Takes the definitions as they were before the statement at the end of the batch."""
        self._decoder.begin(batch, catalog)


class EventSource:
    """Reads the events of a part of a log; iterate over it to get record batches.

    Args:
        part: What is read; its files must be one.
    """

    def __init__(self, part: LogPart) -> None:
        (path,) = part.paths
        self._reader = EventReader(path, piece=part.piece, size=part.sizes[0] if part.marks else None)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        while (batch := self._reader.next_batch()) is not None:
            yield batch


def typed_schema(schema: pa.Schema, names: Sequence[str], typed: list[TypedColumn] | None) -> pa.Schema:
    """The wanted columns, images with the types of their table."""
    import pyarrow as pa

    fields = [schema.field(name) for name in names]
    if typed is not None:
        image = image_type(typed)
        fields = [pa.field(each.name, image) if each.name in IMAGES else each for each in fields]
    return pa.schema(fields)


def column_names(wanted: Sequence[str], schema: pa.Schema) -> list[str]:
    """The wanted columns, or all.

    Raises:
        UsageError: There is no such column.
    """
    for name in wanted:
        if name not in schema.names:
            raise UsageError(f"there is no column `{name}`; there are {', '.join(schema.names)}")
    return list(wanted) or list(schema.names)


def values_of(values: str) -> str:
    """How values are given.

    Raises:
        UsageError: Neither as text nor typed.
    """
    if values not in VALUES:
        raise UsageError(f"unknown form of values `{values}`: it is {' or '.join(VALUES)}")
    return values


def table_filter(names: Sequence[str]) -> TableFilter | None:
    """A filter of databases and of tables with their databases; None for everything.

    Raises:
        UsageError: A name is none.
    """
    if not names:
        return None
    databases = [name.strip("`") for name in names if "." not in name]
    filters = parse_filters(databases, [name for name in names if "." in name])
    return TableFilter(filters.databases, filters.tables)


def columns_of(paths: Sequence[str], tables: Sequence[Table], names: Sequence[str]) -> list[TypedColumn]:
    """The typed columns of the one table that is named, as it is defined at the end of the logs.

    Raises:
        UsageError: There is not one table, or its definition is not known.
    """
    if len(names) != 1 or "." not in names[0]:
        raise UsageError("typed values need one table: name it as database.table, or take values as text")
    ((database, name),) = parse_filters((), names).tables
    table = catalog_behind(paths, tables).table(database, name)
    if table is None:
        raise UsageError(f"the columns of {names[0]} are not known: the logs do not define it; name a dump, or take values as text")
    return typed_columns(table)
