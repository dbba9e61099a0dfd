"""The data source ``binlog``: logs as rows of the trace, as row changes, or as events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader

from paraply.spark.failures import reporting_at_once
from paraply.spark.inputs import found_logs
from paraply.spark.loading import Load, LogPartition, check_columns, schema_text
from paraply.spark.modes import read_part
from paraply.spark.options import Options
from paraply.spark.stream import BinlogStreamReader

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.datasource import InputPartition
    from pyspark.sql.types import StructType

__all__ = ["BinlogSource"]


class BinlogSource(DataSource):
    """Data source for ``spark.read.format("binlog").load("folder/binlog.*")``, and for ``spark.readStream`` on a growing folder.

    Options: ``mode`` (``transactions``, ``rows`` or ``events``), ``columns``, ``tables`` (names with commas between them), ``since``,
    ``until``, ``gtids``, ``at``, ``statements``, ``scheme`` (``fine`` or ``group``), ``schema_dump`` and ``schema_from`` (the tables as
    they were at the start), ``values`` (``text`` or ``typed``), ``split`` (bytes of a partition).
    """

    @classmethod
    def name(cls) -> str:
        """Return the name of the source."""
        return "binlog"

    @reporting_at_once
    def schema(self) -> str:
        """Return the requested columns of the mode."""
        return schema_text(Options.of(dict(self.options)))

    @reporting_at_once
    def reader(self, schema: StructType) -> DataSourceReader:
        """Return a reader of these logs."""
        return BinlogReader(dict(self.options), schema)

    @reporting_at_once
    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802  Spark's name
        """Return a reader that follows the logs as they grow."""
        return BinlogStreamReader(dict(self.options), schema)


class BinlogReader(DataSourceReader):
    """Reader of logs, one task for each part.

    Spark makes one reader for each load, and keeps its read function and its parts for all queries on that DataFrame. So the reader must
    not keep anything of one query, and has no ``pushFilters``. The parts are those of the logs when the first query is planned.

    Args:
        options: The options of the source.
        schema: The requested columns, in order.

    Raises:
        UsageError: An option is wrong, or there is no log.
    """

    def __init__(self, options: dict[str, str], schema: StructType) -> None:
        self._options = Options.of(options)
        check_columns(self._options, schema.names)
        self._schema = arrow_schema(schema)
        found_logs(self._options.paths)

    @reporting_at_once
    def partitions(self) -> Sequence[InputPartition]:
        """Read the logs once, to find their division into parts, each part's first position in the trace, and its table definitions."""
        return Load.of(self._options).partitions(self._options)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Return the rows of one partition, as Arrow record batches."""
        return read_part(cast("LogPartition", partition), self._options, self._schema)


def arrow_schema(schema: StructType) -> Any:
    """Return the columns in the types that Spark expects."""
    from pyspark.sql.pandas.types import to_arrow_schema

    return to_arrow_schema(schema, timezone="UTC")
