"""Reading of a part of logs by the data source, with the columns of a mode."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

import pyarrow as pa

from paraply._native import row_schema
from paraply.analysis.carried.rows import CarriedRows
from paraply.analysis.parts import check_unchanged
from paraply.analysis.rows import EventSource, RowSource, table_filter
from paraply.analysis.statement_rows import PlannedTable, TableChoice, statement_rows
from paraply.analysis.trace import TraceSource
from paraply.errors import ParaplyError, UsageError
from paraply.logs.inputs import plain_name
from paraply.spark.failures import reporting
from paraply.spark.inputs import renamed
from paraply.spark.loading import LogPartition, located
from paraply.spark.options import KEYS, Options

if TYPE_CHECKING:
    from paraply.analysis.carried.plan import TablePlan
    from paraply.analysis.parts import LogPart
    from paraply.logs.feed import FeedItem

__all__ = ["read_part", "source_id"]

MADE = ("statement", "ordering", *KEYS)
"""Columns that are not decoded."""
ORDERING_NEEDS = {"transactions": ("file", "offset"), "events": ("file", "offset"), "rows": ("file", "transaction_offset", "row")}
_NUMBERED = re.compile(r"(?P<stem>.+)\.(?P<number>\d+)")
_SERVER_ID = slice(9, 13)


@reporting
def read_part(partition: LogPartition, options: Options, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a part with the columns that Spark requests, in its types.

    Raises:
        UsageError: A file has changed since it was divided, or the table has other columns than the schema.
    """
    part, names = located(partition.part)
    try:
        for path, mark in zip(part.paths, part.marks, strict=False):
            check_unchanged(path, mark)
        finish = Finish(part, options, schema, names)
        for batch in source_of(part, partition.plan, options, schema):
            if batch.num_rows:
                yield finish(batch)
    except ParaplyError as error:
        raise renamed(error, names) from None


class Finish:
    """Last step of a batch: the columns of the schema, with the places of logs and an order across jobs.

    Args:
        part: The part, by plain files.
        options: The options of the source.
        schema: The requested columns in Spark's types.
        names: The places of files that are copies.
    """

    def __init__(self, part: LogPart, options: Options, schema: pa.Schema, names: dict[str, str]) -> None:
        self._mode = options.mode
        self._schema = schema
        self._names = names
        self._sources = dict(zip(part.paths, (source_id(mark.head) for mark in part.marks), strict=False))

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return a batch of the schema."""
        columns = [self._column(field, batch) for field in self._schema]
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)

    def _column(self, field: pa.Field, batch: pa.RecordBatch) -> pa.Array:
        if field.name == "ordering":
            return self._ordering(batch).cast(field.type)
        if field.name not in batch.schema.names:
            return pa.nulls(batch.num_rows, field.type)
        column = batch.column(field.name)
        if field.name == "file" and self._names:
            files = column.dictionary_encode()
            column = pa.array([self._names.get(name, name) for name in files.dictionary.to_pylist()], pa.string()).take(files.indices)
        if column.type == field.type:
            return column
        try:
            return column.cast(field.type)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
            raise UsageError(
                f"the column `{field.name}` is {column.type} in the logs, and {field.type} in the schema: the table was altered since the"
                " load, or the schema was given; load the logs again without a schema"
            ) from None

    def _ordering(self, batch: pa.RecordBatch) -> pa.Array:
        """Return the order across jobs: the writer of the log, the log's name and number, the offset, and the event in it."""
        file, offset, *event = ORDERING_NEEDS[self._mode]
        files = batch.column(file).dictionary_encode()
        known = files.dictionary.to_pylist()
        parts = [log_name(name) for name in known]
        columns = [
            pa.array([self._sources.get(name, 0) for name in known], pa.int64()).take(files.indices),
            pa.array([stem for stem, _ in parts], pa.string()).take(files.indices),
            pa.array([number for _, number in parts], pa.int64()).take(files.indices),
            batch.column(offset),
            batch.column(event[0]) if event else pa.array([0], pa.int64()).take(pa.array([0] * batch.num_rows, pa.int32())),
        ]
        return pa.StructArray.from_arrays(columns, ["source", "file", "number", "offset", "event"])


def log_name(path: str) -> tuple[str, int]:
    """Return the base name of a log without its number, and the number; 0 without one.

    >>> log_name("/logs/binlog.000017.zst"), log_name("/logs/one.binlog")
    (('binlog', 17), ('one.binlog', 0))
    """
    name = plain_name(PurePath(path).name)
    match = _NUMBERED.fullmatch(name)
    return (match["stem"], int(match["number"])) if match else (name, 0)


def source_id(head: bytes) -> int:
    """Return the server that wrote a log, from the log's first bytes."""
    return int.from_bytes(head[_SERVER_ID], "little")


def source_of(part: LogPart, plan: TablePlan | None, options: Options, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the native batches of a part, and the rows of statements."""
    if options.mode == "events":
        yield from EventSource(part)
    elif options.mode == "transactions":
        yield from TraceSource(
            part,
            options.scheme,
            selection=options.selection(table_filter(options.tables)),
            statements=lambda item: bool(wanted_statements(item, options, options.chosen)),
        )
    else:
        for item, batches in row_items(part, plan, options, decoded_columns(schema, options)):
            yield from batches
            if options.statements:
                yield from statement_batches(item, options, part, plan)


def row_items(
    part: LogPart, plan: TablePlan | None, options: Options, columns: list[str]
) -> Iterator[tuple[FeedItem, Iterator[pa.RecordBatch]]]:
    """Yield batches of transactions with their row changes."""
    if plan is None:
        tables = table_filter(options.tables)
        native = [name for name in columns if name not in KEYS]
        yield from RowSource(part, columns=native, tables=tables, selection=options.selection(tables)).items()
        return
    names = table_filter([f"`{database.replace('`', '``')}`.`{table.replace('`', '``')}`" for database, table in plan.names])
    for item, batches in CarriedRows(part, plan, columns, options.selection(names)):
        yield item, iter(batches)


def decoded_columns(schema: pa.Schema, options: Options) -> list[str]:
    """Return the columns that are decoded for those of a schema."""
    needed = ORDERING_NEEDS[options.mode] if "ordering" in schema.names else ()
    native = [name for name in (*schema.names, *needed) if name not in MADE or name in KEYS]
    return list(dict.fromkeys(native)) or ["position"]


def wanted_statements(item: FeedItem, options: Options, tables: TableChoice) -> list[dict[str, object]]:
    """Return the rows of the statement at the end of a batch, if the options choose it."""
    if not item.changes or not options.takes(item.batch[len(item.batch) - 1]):
        return []
    return [row.values() for row in statement_rows(item, tables)]


def statement_batches(item: FeedItem, options: Options, part: LogPart, plan: TablePlan | None) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a statement, with null images."""
    if not item.changes:
        return
    tables: TableChoice = options.chosen if plan is None else PlannedTable(plan, part.place(item.batch[len(item.batch) - 1]))
    rows = wanted_statements(item, options, tables)
    if rows:
        kinds = {field.name: field.type for field in row_schema()} | {"statement": pa.string()}
        names: Sequence[str] = [name for name in rows[0] if name in kinds]
        arrays = [pa.array([row[name] for row in rows], kinds[name]) for name in names]
        yield pa.RecordBatch.from_arrays(arrays, names=list(names))
