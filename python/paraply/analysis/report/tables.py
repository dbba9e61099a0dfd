"""Tables behind the charts of a report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from paraply.analysis.analyze.words import curve_name, short, times

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paraply.analysis.analyze.result import Analysis, ConflictForecast, CriticalPath, Explanation, HotKey, OverTime
    from paraply.analysis.report.lanes import Sweep
    from paraply.analysis.report.series import Along

__all__ = [
    "Table",
    "along_table",
    "causes_table",
    "conflicts_table",
    "curves_table",
    "fallbacks_table",
    "keys_of",
    "keys_table",
    "lanes_table",
    "load_table",
    "path_keys_table",
    "path_table",
    "schemes_table",
]

_MOST_LANES = 128


@dataclass(frozen=True, slots=True)
class Table:
    """Table of texts.

    Attributes:
        caption: Its caption.
        columns: Names of the columns.
        rows: Texts of the rows; the first one names the row.
        text: Number of columns with words, which are the first ones; numbers follow.
    """

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    text: int = 1


def along_table(along: Along) -> Table:
    """Return the busy workers along the log."""
    names = tuple(name for name, _ in along.series)
    rows = zip(along.places, *(numbers for _, numbers in along.series), strict=True)
    place = "from (UTC)" if along.timed else "from transaction"
    return Table("Busy workers along the log", (place, *names), tuple((str(at), *(f"{number:.1f}" for number in row)) for at, *row in rows))


def load_table(over_time: OverTime, begins: Sequence[str]) -> Table:
    """Return the source's load over time."""
    rows = zip(begins, over_time.transactions, over_time.rows, over_time.bytes, strict=True)
    return Table(
        f"Load of the source in spans of {over_time.seconds:g} s",
        ("from (UTC)", "transactions", "rows", "bytes"),
        tuple((begin, f"{count:,}", f"{changed:,}", f"{size:,}") for begin, count, changed, size in rows),
    )


def curves_table(result: Analysis) -> Table:
    """Return the simulated times."""
    workers = [f"{point.workers} workers" if point.workers > 1 else "1 worker" for point in result.curves[0].points]
    rows = tuple(
        (curve_name(curve), *(f"{short(point.seconds)} s ({times(point.speed_up)})" for point in curve.points)) for curve in result.curves
    )
    return Table("Time until everything is committed, and speed-up", ("applier", *workers), rows)


def schemes_table(result: Analysis) -> Table:
    """Return the parallelism by scheme."""
    rows = tuple((scheme.name, times(scheme.parallelism), f"{short(scheme.seconds)} s", f"{scheme.steps:,}") for scheme in result.schemes)
    return Table("Longest chain under each scheme of numbers", ("scheme", "parallelism", "time of the chain", "steps"), rows)


def causes_table(found: Explanation) -> Table:
    """Return the lost time by cause."""
    rows = tuple(
        (cause.title, cause.advice, f"{cause.share:.1%}", f"{short(cause.seconds)} s", gain_text(cause.gain_seconds))
        for cause in found.causes
    )
    return Table("Lost time by cause", ("cause", "what to do", "share", "lost", "gain without it"), rows, text=2)


def keys_of(found: Explanation) -> list[tuple[str, HotKey]]:
    """Return the keys of all causes with the cause's title, most lost time first."""
    pairs = [(cause.title, key) for cause in found.causes for key in cause.keys]
    return sorted(pairs, key=lambda pair: -pair[1].seconds)


def keys_table(found: Explanation) -> Table:
    """Return the keys with most lost time."""
    rows = tuple(
        (key.name.table, key.name.key, ", ".join(key.name.values), title, f"{short(key.seconds)} s", gain_text(key.gain_seconds))
        for title, key in keys_of(found)
    )
    return Table("Hot keys", ("table", "key", "values", "cause", "lost", "gain without it"), rows, text=4)


def path_table(path: CriticalPath) -> Table:
    """Return the largest transactions of the critical path."""
    rows = tuple(
        (
            step.gtid or "none",
            f"{file_name(step.file)}:{step.position}",
            str(step.waits_for) if step.waits_for else "",
            f"{step.rows:,}",
            f"{step.bytes:,}",
            f"{short(step.seconds)} s",
        )
        for step in path.largest
    )
    return Table(
        "Transactions of the critical path that take longest", ("GTID", "position", "waits for", "rows", "bytes", "time"), rows, text=3
    )


def path_keys_table(path: CriticalPath) -> Table:
    """Return the keys of the critical path."""
    rows = tuple((key.name.table, key.name.key, ", ".join(key.name.values), f"{key.steps:,}") for key in path.keys)
    return Table("Keys for which the steps of the critical path wait", ("table", "key", "values", "steps"), rows, text=3)


def lanes_table(found: Sweep) -> Table:
    """Return the shares of each worker's time in a schedule."""
    rows = tuple(
        (f"worker {place + 1}", *(f"{share:.1%}" for share in shares), f"{max(0.0, 1 - sum(shares)):.1%}")
        for place, shares in enumerate(found.shares()[:_MOST_LANES])
    )
    return Table(f"Time of the workers: {found.name}", ("worker", "apply", "waiting to commit", "commit", "idle"), rows)


def conflicts_table(found: ConflictForecast) -> Table:
    """Return the keys with predicted conflicts."""
    rows = tuple((key.name.table, key.name.key, ", ".join(key.name.values), f"{key.conflicts:,.2f}") for key in found.keys)
    return Table("Keys with predicted conflicts", ("table", "key", "values", "conflicts"), rows, text=3)


def fallbacks_table(result: Analysis) -> Table:
    """Return the tables whose keys are not known exactly."""
    rows = tuple((str(reason["table"]), str(reason["reason"]), f"{reason['count']:,}") for reason in result.fallback_reasons)
    return Table("Keys that are not known exactly", ("table", "reason", "times"), rows, text=2)


def gain_text(seconds: float | None) -> str:
    """Return a gain.

    >>> gain_text(None), gain_text(1.5)
    ('', '1.50 s')
    """
    return "" if seconds is None else f"{short(seconds)} s"


def file_name(path: str) -> str:
    r"""Return the last part of a path of any system.

    >>> file_name("/var/lib/mysql/binlog.000001"), file_name(r"C:\logs\binlog.000001")
    ('binlog.000001', 'binlog.000001')
    """
    return path.replace("\\", "/").rpartition("/")[2]
