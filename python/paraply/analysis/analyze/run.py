"""Analysis of a log from its files to the result."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from paraply.analysis.analyze.causes import explain
from paraply.analysis.analyze.costs import CostModel
from paraply.analysis.analyze.curves import curves, schemes
from paraply.analysis.analyze.forecast import forecast
from paraply.analysis.analyze.names import KeyNames
from paraply.analysis.analyze.path import critical_path
from paraply.analysis.analyze.record import is_trace, record_logs, record_trace
from paraply.analysis.analyze.result import Analysis, OverTime, Totals
from paraply.analysis.analyze.timeline import write_timeline
from paraply.errors import UsageError
from paraply.logs import log_paths
from paraply.wording import fallback_reasons

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from paraply._native import LogTotals, Recording
    from paraply.analysis.analyze.record import Recorded

__all__ = ["WORKERS", "AnalyzeOptions", "analysis_of", "analyze"]

WORKERS = (1, 2, 4, 8, 16, 32, 64)
"""Numbers of workers that are simulated."""

_MOST_WORKERS = 1024
_MOST_PRIMARIES = 9


@dataclass(frozen=True, slots=True)
class AnalyzeOptions:
    """Options of an analysis.

    Attributes:
        workers: Numbers of workers that are simulated; the largest one is the ideal of the lost time.
        replica_workers: Number of workers whose lost time is divided.
        costs: The cost model.
        schema: A dump of the tables at the start of the log; by default only the log's own DDL is used.
        history: Size of the history of a source that stamps write sets; by default its version's, at most 2,000,000.
        primaries: Number of primaries of a group for which conflicts are predicted; 0 for no prediction.
        latency_ms: Latency of the group's messages.
        hide_values: True to replace key values by a keyed hash.
        timeline: File for the simulated schedule in Perfetto's format.
    """

    workers: Sequence[int] = WORKERS
    replica_workers: int = 8
    costs: CostModel = field(default_factory=CostModel)
    schema: Path | None = None
    history: int | None = None
    primaries: int = 0
    latency_ms: float = 5.0
    hide_values: bool = False
    timeline: Path | None = None

    def __post_init__(self) -> None:
        """Check the numbers."""
        if not self.workers or not all(1 <= number <= _MOST_WORKERS for number in (*self.workers, self.replica_workers)):
            raise UsageError(f"numbers of workers are from 1 to {_MOST_WORKERS}")
        if self.primaries and not 2 <= self.primaries <= _MOST_PRIMARIES:
            raise UsageError(f"a group has 2 to {_MOST_PRIMARIES} primaries")
        if self.latency_ms < 0:
            raise UsageError("the latency is a number of milliseconds, 0 or more")
        if self.history is not None and self.history < 1:
            raise UsageError("the history is a number of items, 1 or more")


def analyze(
    logs: Path | str | Sequence[Path | str],
    options: AnalyzeOptions | None = None,
    *,
    on_progress: Callable[[float, int], None] | None = None,
    on_result: Callable[[Analysis, Recording], None] | None = None,
) -> Analysis:
    """Find out how parallel a log is, what makes its replay serial, and what a change would gain.

    Args:
        logs: Binlogs or relay logs in order, folders of them, or one or several Parquet files of a trace.
        options: The options.
        on_progress: Called with the bytes read and the transactions recorded.
        on_result: Called with the result and the recorded log, from which more schedules can be simulated.

    Returns:
        The result.

    Raises:
        UsageError: A file is missing, or an option is not possible.
        LogError: The log is damaged or not understood.
    """
    started = time.monotonic()
    options = options or AnalyzeOptions()
    names = KeyNames(hides=options.hide_values)
    recorded = record(logs, options, names, on_progress)
    result = replace(analysis_of(recorded, options, names), seconds=time.monotonic() - started)
    if on_result is not None:
        on_result(result, recorded.recording)
    return result


def analysis_of(recorded: Recorded, options: AnalyzeOptions, names: KeyNames) -> Analysis:
    """Simulate the appliers over a recorded log, and explain the lost time; the time that it takes is not in the result."""
    recording, costs, capacity = recorded.recording, options.costs.native(), options.costs.capacity
    serial_ns = recording.work(costs)
    most = max(*options.workers, options.replica_workers)
    explanation, times = explain(recording, options.costs, names, workers=options.replica_workers, most_workers=most)
    if options.timeline is not None:
        write_timeline(recording, times, explanation, options.timeline)
    reasons = tuple(fallback_reasons(recorded.fallbacks))
    return Analysis(
        totals=totals_of(recorded),
        costs=options.costs,
        serial_seconds=serial_ns / 1e9,
        schemes=schemes(recording, costs, serial_ns),
        curves=curves(recording, costs, capacity, sorted(set(options.workers)), serial_ns),
        explanation=explanation,
        critical_path=critical_path(recording, costs, names, serial_ns),
        group=forecast(recorded, names, options.primaries, options.latency_ms) if options.primaries else None,
        hidden_values=options.hide_values,
        fallback_reasons=reasons,
        seconds=0.0,
    )


def record(
    logs: Path | str | Sequence[Path | str],
    options: AnalyzeOptions,
    names: KeyNames,
    on_progress: Callable[[float, int], None] | None,
) -> Recorded:
    """Record logs or traces, but not both."""
    paths = log_paths(logs)
    costs, latency_us = options.costs.native(), round(options.latency_ms * 1000)
    traces = [path for path in paths if is_trace(path)]
    if not traces:
        return record_logs(
            paths,
            costs,
            names,
            schema=options.schema,
            history=options.history,
            primaries=options.primaries,
            latency_us=latency_us,
            on_progress=on_progress,
        )
    if len(traces) < len(paths):
        raise UsageError("name logs or traces in Parquet, not both", file=traces[0])
    return record_trace(paths, costs, primaries=options.primaries, latency_us=latency_us, on_progress=on_progress)


def totals_of(recorded: Recorded) -> Totals:
    """Return the totals with rates and times."""
    found = recorded.totals
    first, last = (moment(time) for time in found.times) if found.times else (None, None)
    span = (found.times.latest - found.times.earliest) / 1e6 if found.times else 0.0
    rate = [round(count / span, 3) if span else None for count in (found.transactions, found.rows, found.bytes)]
    return Totals(
        transactions=found.transactions,
        rows=found.rows,
        bytes=found.bytes,
        files=recorded.files,
        barriers=found.barriers,
        sessions=found.sessions,
        first_time=first,
        last_time=last,
        span_seconds=span,
        transactions_per_second=rate[0],
        rows_per_second=rate[1],
        bytes_per_second=rate[2],
        over_time=over_time(found),
    )


def over_time(found: LogTotals) -> OverTime | None:
    """Return the source's load over time; None for a log without times."""
    spans = found.spans
    if found.times is None or not spans:
        return None
    transactions, rows = tuple(span.transactions for span in spans), tuple(span.rows for span in spans)
    return OverTime(moment(found.spans_begin), found.span_length / 1e6, transactions, rows, tuple(span.bytes for span in spans))


def moment(microseconds: int) -> str:
    """Return a time in RFC 3339.

    >>> moment(1_700_000_000_500_000)
    '2023-11-14T22:13:20.500000Z'
    """
    seconds, rest = divmod(microseconds, 1_000_000)
    whole = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{whole}.{rest:06}Z"
