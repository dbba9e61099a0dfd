"""Logs of a series between what a lake holds and the end of a batch."""

from __future__ import annotations

from glob import escape
from typing import TYPE_CHECKING

from paraply.logs.file_names import split_name
from paraply.logs.inputs import is_url, plain_name
from paraply.spark.inputs import logs_at

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["logs_up_to"]


def logs_up_to(logs: Sequence[str], held: str) -> list[str]:
    """Return the logs from the one in which a lake's state ends up to the last log of a batch.

    A log without rows of the batch is not among the batch's own, so the others of the series are looked for beside these.

    Args:
        logs: Logs of the batch, in order.
        held: Log in which the lake's state ends; empty for a new lake.

    >>> logs_up_to(["/logs/one.binlog"], "")
    ['/logs/one.binlog']
    """
    folder, stem, last = series_of(logs[-1])
    if last is None or any(series_of(log)[:2] != (folder, stem) for log in logs):
        return list(logs)
    _, held_stem, number = series_of(held)
    first = number if number is not None and held_stem == stem else 0
    place = f"{folder}{stem}.*" if is_url(folder) else f"{escape(folder)}{escape(stem)}.*"
    found = [log for log in logs_at(place) if series_of(log)[1] == stem and first <= (series_of(log)[2] or 0) <= last]
    return found or list(logs)


def series_of(log: str) -> tuple[str, str, int | None]:
    """Return the folder of a log with its slash, the log's name without the number, and the number.

    >>> series_of("s3://logs/db1/binlog.000017.zst"), series_of("binlog.000002")
    (('s3://logs/db1/', 'binlog', 17), ('', 'binlog', 2))
    """
    folder, slash, name = log.rpartition("/")
    return (folder + slash, *split_name(plain_name(name)))
