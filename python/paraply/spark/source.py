"""The data source ``binlog``: logs as rows of the trace."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from paraply._native import LogReader, trace_schema
from paraply.analysis.trace import SCHEMES, TraceSource
from paraply.errors import LogTruncated, UsageError
from paraply.schema.catalog import SchemaCatalog
from paraply.schema.dump import read_dump
from paraply.source import log_paths
from paraply.source.statement_text import decode_statement
from paraply.spark.failures import told

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from paraply.schema.model import Table

__all__ = ["BinlogSource"]

MODES = ("transactions",)
SCANNERS = 8

TRANSACTIONS = (
    "position bigint, gtid string, origin string, session bigint, committed_at timestamp, kind string, tables array<string>, "
    "write_set array<bigint>, reads array<bigint>, snapshot string, rows int, bytes bigint, last_committed bigint, "
    "sequence_number bigint, server_id bigint, file string, offset bigint, barrier boolean"
)


class BinlogSource(DataSource):
    """``spark.read.format("binlog").load("folder/binlog.*")``.

    Options: ``mode`` (``transactions``), ``scheme`` (``fine`` or ``group``), ``schema_dump`` (a dump with the tables as they were at the
    start).
    """

    @classmethod
    def name(cls) -> str:
        """How the source is named."""
        return "binlog"

    def schema(self) -> str:
        """The columns of the trace."""
        mode = self.options.get("mode", "transactions")
        if mode not in MODES:
            raise UsageError(f"unknown mode `{mode}`: it is {' or '.join(MODES)}")
        return TRANSACTIONS

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader of these logs."""
        return BinlogReader(dict(self.options), schema.fieldNames())


@dataclass
class LogPartition(InputPartition):
    """What one task reads.

    Attributes:
        paths: One log, or all of them where transactions reach over files.
        position: Transactions before it.
        tables: The definitions that hold at its start.
    """

    paths: list[str]
    position: int
    tables: list[Table]


class BinlogReader(DataSourceReader):
    """Reads logs, one task a file.

    Args:
        options: The options of the source.
        columns: The columns that are wanted, in order.

    Raises:
        UsageError: An option is wrong, or there is no log.
    """

    def __init__(self, options: dict[str, str], columns: Sequence[str]) -> None:
        lowered = {name.lower(): value for name, value in options.items()}
        self._scheme = lowered.get("scheme", "fine")
        if self._scheme not in SCHEMES:
            raise UsageError(f"unknown scheme `{self._scheme}`: it is {' or '.join(SCHEMES)}")
        self._columns = list(columns)
        self._dump = lowered.get("schema_dump")
        self._paths = found_logs(lowered.get("path", ""))

    def partitions(self) -> list[InputPartition]:
        """Looks through all logs once: where each begins in the trace, and which tables there are then."""
        tables = list(read_dump(Path(self._dump))) if self._dump else []
        if len(self._paths) == 1:
            return [LogPartition(self._paths, 0, tables)]
        try:
            with ThreadPoolExecutor(SCANNERS) as pool:
                scans = list(pool.map(scan, self._paths))
        except LogTruncated:  # a transaction that goes on in the next file: only one reader sees it whole
            return [LogPartition(self._paths, 0, tables)]
        catalog = catalog_of(tables)
        partitions: list[InputPartition] = []
        position = 0
        for path, (transactions, statements) in zip(self._paths, scans, strict=True):
            partitions.append(LogPartition([path], position, list(catalog)))
            position += transactions
            for advance in statements:
                advance(catalog)
        return partitions

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The trace of one partition, as Arrow record batches."""
        return read_trace(cast("LogPartition", partition), self._scheme, self._columns)


@told
def read_trace(partition: LogPartition, scheme: str, columns: list[str]) -> Iterator[pa.RecordBatch]:
    """The rows of a partition with the columns that are wanted; the dictionary of kinds becomes text."""
    source = TraceSource(partition.paths, scheme, None, tables=partition.tables, position=partition.position)
    fields = [trace_schema().field(name) for name in columns]
    # Spark's own columns may all be null, and it has no dictionaries.
    schema = pa.schema([(field.name, pa.string() if pa.types.is_dictionary(field.type) else field.type) for field in fields])
    for batch in source:
        yield batch.select(columns).cast(schema)


def found_logs(pattern: str) -> list[str]:
    """The logs of a path or a pattern, in the order of their names; index files are left out.

    Raises:
        UsageError: There is none.
    """
    paths = [pattern] if Path(pattern).exists() else sorted(glob(pattern))  # noqa: PTH207  absolute patterns too
    if len(paths) == 1 and Path(paths[0]).is_dir():
        paths = sorted(str(path) for path in Path(paths[0]).iterdir() if path.is_file())
    return log_paths([path for path in paths if not path.endswith(".index")] or [pattern])


def catalog_of(tables: Sequence[Table]) -> SchemaCatalog:
    """Definitions that follow statements."""
    catalog = SchemaCatalog()
    for table in tables:
        catalog.put(table)
    return catalog


def scan(path: str) -> tuple[int, list[Any]]:
    """How many transactions a log has, and what its statements do to the tables."""
    reader = LogReader([path])
    transactions = 0
    steps: list[Any] = []
    while (batch := reader.next_batch()) is not None:
        transactions += len(batch)
        last = batch[len(batch) - 1]
        log = last.format
        for statement in last.statements:
            sql = decode_statement(statement, mariadb=log.mariadb, file=last.file)
            steps.append(partial(advance, sql, statement.database, statement.context, log.mariadb, log.version))
    return transactions, steps


def advance(sql: str, database: str, context: dict[str, Any], mariadb: bool, version: tuple[int, int, int], catalog: SchemaCatalog) -> None:
    """Lets one statement change the tables."""
    for _ in catalog.advance(sql, database, context, mariadb=mariadb, version=version):
        pass
