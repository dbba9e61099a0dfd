"""Row changes and events of logs as Arrow streams."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from paraply._extras import require_extra
from paraply._native import Catalog, EventReader, LogReader, RowDecoder, Selection, TableFilter, event_schema, row_schema
from paraply.analysis.carried.finding import found_line, found_plan, only_name
from paraply.analysis.carried.rows import CarriedRows, carried_schema
from paraply.analysis.open_gtids import with_open_gtid
from paraply.analysis.parts import WHOLE, LogPart, check_scans, scan_all
from paraply.analysis.table_versions import lines_of
from paraply.applier.selection.filters import parse_filters
from paraply.errors import UsageError
from paraply.logs import log_paths
from paraply.logs.feed import Feed, FeedLimits, FeedRules
from paraply.schema.catalog import SchemaCatalog
from paraply.schema.readers.dump import read_dump

if TYPE_CHECKING:
    import pyarrow as pa

    from paraply._native import TransactionBatch, WriteSets
    from paraply.analysis.table_versions import Name
    from paraply.logs.feed import FeedItem

__all__ = ["VALUES", "EventSource", "RowSource", "column_names", "events", "rows", "table_filter"]

VALUES = ("text", "typed")


def rows(
    paths: Path | str | Sequence[Path | str],
    *,
    tables: Sequence[str] = (),
    columns: Sequence[str] = (),
    values: str = "text",
    schema: Path | str | None = None,
    selection: Selection | None = None,
) -> pa.RecordBatchReader:
    """Return the row changes of logs, in order, as an Arrow stream: one row for each inserted, updated or deleted row.

    Memory is needed for a batch, not for the log; all decoding is native. An error of the log is raised after the rows before its batch.

    Args:
        paths: Binlogs or relay logs, in order.
        tables: Databases or ``database.table`` names to read; by default all.
        columns: The columns of the stream, by default all.
        values: ``text``: ``before`` and ``after`` are maps from column names to values as text; ``typed``: they are structs with the types
            of the only table in ``tables``, in its definition at the end, and ``key_before`` and ``key_after`` have its primary key.
        schema: A dump of the tables at the start of the log, for names that the log lacks.
        selection: Conditions that the transactions must meet.

    Returns:
        The stream.

    Raises:
        UsageError: A file is missing, a column is unknown, or ``typed`` is used without a single table of known definition.
        LogError: The log is damaged or not understood; raised by the stream, while it is read.

    >>> rows("no/such/log")
    Traceback (most recent call last):
    ...
    paraply.errors.UsageError: there is no log file no/such/log
    """
    names = log_paths(paths)
    require_extra("arrow", "paraply.rows")
    dumped = list(read_dump(Path(schema))) if schema is not None else []
    part = LogPart(names, tables=dumped)
    if values_of(values) == "typed":
        return typed_rows(part, only_name(tables), columns, selection)
    source = RowSource(part, columns=columns, tables=table_filter(tables), selection=selection)
    import pyarrow as pa  # half of the time to import paraply, for one function

    wanted = pa.schema([row_schema().field(name) for name in column_names(columns, row_schema())])
    return pa.RecordBatchReader.from_batches(wanted, iter(source))


def events(paths: Path | str | Sequence[Path | str]) -> pa.RecordBatchReader:
    """Return the events of logs, in order, as an Arrow stream: one row for each event in the file.

    Only the headers of events are decoded, and the GTIDs that begin transactions. So statement format and unknown events are not errors
    here. A compressed transaction is one event.

    Args:
        paths: Binlogs or relay logs, in order.

    Returns:
        The stream.

    Raises:
        UsageError: A file is missing.
        LogError: An event is damaged, or the file ends inside one; raised by the stream.

    >>> events("no/such/log")
    Traceback (most recent call last):
    ...
    paraply.errors.UsageError: there is no log file no/such/log
    """
    names = log_paths(paths)
    require_extra("arrow", "paraply.events")
    import pyarrow as pa

    return pa.RecordBatchReader.from_batches(event_schema(), (batch for name in names for batch in EventSource(LogPart([name]))))


class RowSource:
    """Decoder of the row changes of a part of a log; iterate over it to get record batches.

    Args:
        part: The part to read.
        columns: The requested columns, in order; by default all.
        tables: The requested tables.
        operations: The requested operations.
        values: Columns of the only requested table (name, and True for bytes), if images are structs; their values are still text.
        selection: Conditions that the transactions must meet.

    Raises:
        UsageError: A column is unknown.
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
        for _, batches in self.items():  # noqa: PERF102  no dictionary
            yield from batches

    def items(self) -> Iterator[tuple[FeedItem, Iterator[pa.RecordBatch]]]:
        """Yield each batch of transactions with its rows, which must be taken before the next one."""
        for item in self._feed:
            yield item, self._batches()

    def _batches(self) -> Iterator[pa.RecordBatch]:
        while (batch := self._decoder.next_batch()) is not None:
            yield batch

    def _begin(self, batch: TransactionBatch, _: WriteSets, catalog: Catalog) -> None:
        """Begin the batch with the definitions valid before the statement at its end."""
        self._decoder.begin(batch, catalog)


class EventSource:
    """Reader of the events of a part of a log; iterate over it to get record batches.

    Args:
        part: The part to read; it must have a single file.
    """

    def __init__(self, part: LogPart) -> None:
        (path,) = part.paths
        self._gtid = part.gtid
        self._reader = EventReader(path, piece=part.piece, size=part.sizes[0] if part.marks else None)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        yield from with_open_gtid(iter(self._reader.next_batch, None), self._gtid)


def typed_rows(part: LogPart, name: Name, columns: Sequence[str], selection: Selection | None) -> pa.RecordBatchReader:
    """Return the rows of one table under its definition at the end of logs, as an Arrow stream.

    Raises:
        UsageError: The columns of the table are not known, or one of the requested columns is unknown.
    """
    import pyarrow as pa

    scans = scan_all(part.paths, WHOLE)
    check_scans(scans)
    lines = lines_of([[step for _, step in found.steps] for found in scans], part.tables)
    plan = found_plan(found_line(lines, name), lines.earlier(name), name, part.paths)
    schema = carried_schema(plan)
    names = column_names(columns, schema)
    source = CarriedRows(part, plan, names, selection)
    wanted = pa.schema([schema.field(each) for each in names])
    return pa.RecordBatchReader.from_batches(wanted, (batch for _, batches in source for batch in batches))


def column_names(wanted: Sequence[str], schema: pa.Schema) -> list[str]:
    """Return the requested columns, or all.

    Raises:
        UsageError: A column is unknown.
    """
    for name in wanted:
        if name not in schema.names:
            raise UsageError(f"there is no column `{name}`; choose from {', '.join(schema.names)}")
    return list(wanted) or list(schema.names)


def values_of(values: str) -> str:
    """Check the name of a form of values, and return it.

    Raises:
        UsageError: The form is neither ``text`` nor ``typed``.
    """
    if values not in VALUES:
        raise UsageError(f"unknown form of values `{values}`: it is {' or '.join(VALUES)}")
    return values


def table_filter(names: Sequence[str]) -> TableFilter | None:
    """Return a filter of databases and tables; None for everything.

    Raises:
        UsageError: A name is not valid.
    """
    if not names:
        return None
    databases = [name.strip("`") for name in names if "." not in name]
    if "" in databases:
        raise UsageError("tables: a name is empty: write DATABASE or DATABASE.TABLE")
    filters = parse_filters(databases, [name for name in names if "." in name], option="tables:")
    return TableFilter(filters.databases, filters.tables)
