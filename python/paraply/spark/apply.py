"""Apply of logs from Spark: a query decides how far, an applier does the work."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paraply.applier import Applier
from paraply.errors import ParaplyError, UsageError
from paraply.spark.failures import marked, unwrap
from paraply.targets import make_target

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from paraply.applier import ApplyReport

__all__ = ["apply_batch", "apply_upto"]

COLUMNS = ("position", "gtid", "file")


def apply_batch(
    url: str | None, *, folder: Path | str | None = None, on_report: Callable[[int, ApplyReport], None] | None = None, **options: Any
) -> Callable[[DataFrame, int], None]:
    """Return a function for ``foreachBatch`` that applies the log up to the last transaction of each batch.

    The batch only decides how far. The log itself is applied, every transaction in order and exactly once, because the progress is kept
    in the target, in the same transactions as the changes (R25). A batch that Spark runs again applies nothing twice, and neither does a
    restarted query, even without its checkpoint. The logs must be readable on the driver and have GTIDs.

    Args:
        url: The target, as for ``paraply apply --to``; None for an embedded PostgreSQL in ``folder``.
        folder: Data folder of the embedded PostgreSQL.
        on_report: Called with the number of each batch and the report of its apply.
        options: Further options of ``Applier``: ``workers``, ``channel``, ``gtid``, ``filters``, ...

    Returns:
        The function. Its errors keep their own class and end the query.

    Raises:
        UsageError: The text is not a URL of a target.

    >>> callable(apply_batch("postgresql://app@localhost/copy", workers=4))
    True
    >>> apply_batch("oracle://localhost")
    Traceback (most recent call last):
    ...
    paraply.errors.UsageError: ...
    """
    make_target(url, folder=None if folder is None else Path(folder))

    def apply(batch: DataFrame, number: int) -> None:
        try:
            report = apply_upto(batch, url, folder=folder, **options)
        except ParaplyError as error:
            error.add_note(marked(error))  # Spark copies the text into the query's own error
            raise
        if report is not None and on_report is not None:
            on_report(number, report)

    return apply


def apply_upto(batch: DataFrame, url: str | None, *, folder: Path | str | None = None, **options: Any) -> ApplyReport | None:
    """Apply the logs of a frame of transactions or row changes, up to the last transaction in it.

    Args:
        batch: Rows with ``position``, ``gtid`` and ``file``.
        url: The target.
        folder: Data folder of an embedded PostgreSQL.
        options: Further options of ``Applier``.

    Returns:
        The report; None without rows.

    Raises:
        UsageError: A column is missing, or the logs have no GTIDs.
        ParaplyError: The applier fails.
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
        raise UsageError(
            f"{files[-1]['file']} has no GTIDs, by which a batch could end: apply it with `paraply apply`", file=files[-1]["file"]
        )
    target = make_target(url, folder=None if folder is None else Path(folder))
    with Applier([row["file"] for row in files], target, stop_at=last, **options) as applier:
        return applier.run()
