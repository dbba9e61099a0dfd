"""Apply of logs from Spark: a query decides how far, an applier does the work."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paraply.applier import Applier
from paraply.errors import ParaplyError
from paraply.spark.batch.end import end_of
from paraply.spark.batch.series import logs_up_to
from paraply.spark.failures import marked
from paraply.targets import make_target

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from paraply.applier import ApplyReport

__all__ = ["apply_batch", "apply_upto"]


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
    end = end_of(batch, "apply it with `paraply apply`")
    if end is None:
        return None
    target = make_target(url, folder=None if folder is None else Path(folder))
    with Applier(logs_up_to(end.logs, end.logs[0]), target, stop_at=end.gtid, **options) as applier:
        return applier.run()
