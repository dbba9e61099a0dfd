"""The data source ``binlog``: logs as rows of the trace, as row changes, or as events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, Filter

from paraply.spark.failures import told_at_once
from paraply.spark.modes import LogPartition, Options, found_logs, read_part, schema_text
from paraply.spark.pushdown import Conditions
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
        self._conditions = Conditions()

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802  Spark's name
        """Lets the native reader pass over what cannot meet the filters; Spark looks at the rest."""
        self._conditions.take(filters)
        return filters

    @told_at_once
    def partitions(self) -> Sequence[InputPartition]:
        """Looks through the logs once: where they are cut, where each part begins in the trace, and which tables there are then."""
        parts = self._options.cut(self._paths)
        return [LogPartition(part) for part in parts if self._conditions.may_meet(part)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one partition, as Arrow record batches."""
        part = cast("LogPartition", partition).part
        return read_part(part, self._options, self._schema, self._conditions)


def arrow_schema(schema: StructType) -> Any:
    """The columns as Spark wants to have them."""
    from pyspark.sql.pandas.types import to_arrow_schema

    return to_arrow_schema(schema, timezone="UTC")
