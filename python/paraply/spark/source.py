"""The data source ``binlog``: logs as rows of the trace, as row changes, or as events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader

from paraply.spark.failures import told_at_once
from paraply.spark.modes import LogPartition, Options, found_logs, read_part, schema_text
from paraply.spark.stream import BinlogStreamReader

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.datasource import InputPartition
    from pyspark.sql.types import StructType

__all__ = ["BinlogSource"]


class BinlogSource(DataSource):
    """``spark.read.format("binlog").load("folder/binlog.*")``, and ``spark.readStream`` for a folder that grows.

    Options: ``mode`` (``transactions``, ``rows`` or ``events``), ``columns``, ``tables`` (names with commas between them), ``scheme``
    (``fine`` or ``group``), ``schema_dump`` (a dump with the tables as they were at the start), ``values`` (``text`` or ``typed``),
    ``split`` (bytes of a partition).
    """

    @classmethod
    def name(cls) -> str:
        """How the source is named."""
        return "binlog"

    @told_at_once
    def schema(self) -> str:
        """The columns of the mode, those that are wanted."""
        return schema_text(Options.of(dict(self.options)))

    @told_at_once
    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader of these logs."""
        return BinlogReader(dict(self.options), schema)

    @told_at_once
    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802  Spark's name
        """A reader that follows the logs as they grow."""
        return BinlogStreamReader(dict(self.options), schema)


class BinlogReader(DataSourceReader):
    """Reads logs, one task a part.

    Spark makes one reader for each load, and keeps its read function and its parts for all queries on that DataFrame. So nothing that
    belongs to one query may be kept here: no ``pushFilters``. The parts are of the logs as they are when the first query is planned.

    Args:
        options: The options of the source.
        schema: The columns that are wanted, in order.

    Raises:
        UsageError: An option is wrong, or there is no log.
    """

    def __init__(self, options: dict[str, str], schema: StructType) -> None:
        self._options = Options.of(options)
        self._schema = arrow_schema(schema)
        self._paths = found_logs(self._options.paths)

    @told_at_once
    def partitions(self) -> Sequence[InputPartition]:
        """Looks through the logs once: where they are cut, where each part begins in the trace, and which tables there are then."""
        return [LogPartition(part) for part in self._options.cut(self._paths)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one partition, as Arrow record batches."""
        return read_part(cast("LogPartition", partition).part, self._options, self._schema)


def arrow_schema(schema: StructType) -> Any:
    """The columns as Spark wants to have them."""
    from pyspark.sql.pandas.types import to_arrow_schema

    return to_arrow_schema(schema, timezone="UTC")
