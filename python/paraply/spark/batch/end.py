"""End of a batch of transactions or row changes: its logs, and its last GTID."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from paraply.errors import UsageError
from paraply.spark.failures import unwrap

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["BatchEnd", "end_of"]

COLUMNS = ("position", "gtid", "file")


@dataclass(frozen=True, slots=True)
class BatchEnd:
    """End of a batch.

    Attributes:
        logs: Logs with rows of the batch, in order.
        gtid: GTID of the last transaction.
    """

    logs: tuple[str, ...]
    gtid: str


def end_of(batch: DataFrame, otherwise: str) -> BatchEnd | None:
    """Return the end of a batch; None without rows.

    Args:
        batch: Rows with ``position``, ``gtid`` and ``file``.
        otherwise: What to do with logs that have no GTIDs, for the message.

    Raises:
        UsageError: A column is missing, or the logs have no GTIDs.
        ParaplyError: A task fails.
    """
    from pyspark.sql import functions as F  # noqa: N812

    missing = [name for name in COLUMNS if name not in batch.columns]
    if missing:
        raise UsageError(f"the batch has no column `{missing[0]}`: its end is found by {', '.join(COLUMNS)}")
    try:
        files = batch.groupBy("file").agg(F.max("position").alias("last"), F.max_by("gtid", "position").alias("gtid")).collect()
    except Exception as error:
        raise unwrap(error) from None
    if not files:
        return None
    files.sort(key=lambda row: row["last"])
    last = files[-1]["gtid"]
    if not last:
        raise UsageError(f"{files[-1]['file']} has no GTIDs, by which a batch could end: {otherwise}", file=files[-1]["file"])
    return BatchEnd(tuple(row["file"] for row in files), last)
