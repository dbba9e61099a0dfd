"""The data source ``binlog`` as a stream: a growing folder of logs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

from pyspark.sql.datasource import DataSourceStreamReader
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxBytes, SupportsTriggerAvailableNow

from paraply.errors import UsageError
from paraply.spark.failures import reporting_at_once
from paraply.spark.loading import LogPartition, check_columns
from paraply.spark.modes import read_part
from paraply.spark.options import Options
from paraply.spark.stream.followed import Followed

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.datasource import InputPartition
    from pyspark.sql.types import StructType

__all__ = ["BinlogStreamReader"]


class BinlogStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reader that follows logs as they grow; it returns a transaction once it is complete.

    Args:
        options: The options of the source.
        schema: The requested columns, in order.

    Raises:
        UsageError: An option is wrong.
    """

    def __init__(self, options: dict[str, str], schema: StructType) -> None:
        from pyspark.sql.pandas.types import to_arrow_schema

        self._options = Options.of(options)
        if self._options.at is not None:
            raise UsageError("a stream has no end: the option at is for a load; stop the query, or use `until`")
        check_columns(self._options, schema.names)
        self._schema = to_arrow_schema(schema, timezone="UTC")
        self._followed = Followed(self._options)
        self._bounded = False

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802  Spark's name
        """Return the offset before everything."""
        return {}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802  Spark's name
        """Return the limit of the option ``max_bytes``."""
        limit = self._options.max_bytes
        return ReadAllAvailable() if limit is None else ReadMaxBytes(limit)

    @reporting_at_once
    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802  Spark's name
        """Return the offset up to which each file can be read now."""
        self._followed.begin(start)
        if not self._bounded:
            self._followed.look(start)
        return self._followed.latest(start, limit.max_bytes if isinstance(limit, ReadMaxBytes) else None)

    @reporting_at_once
    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802  Spark's name
        """Limit all further reads to what exists now."""
        self._followed.look({})
        self._bounded = True

    @reporting_at_once
    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Return the parts between two offsets."""
        if start == end:
            return []
        self._followed.begin(start)
        return self._followed.parts(start, end, self._schema)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Return the rows of one part, as Arrow record batches."""
        return read_part(cast("LogPartition", partition), self._options, self._schema)

    def commit(self, end: dict[str, Any]) -> None:
        """Do nothing: no state has to be kept."""
