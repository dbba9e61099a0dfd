"""Prediction of certification conflicts in a group with several primaries."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from paraply.analysis.analyze.result import ConflictForecast, ConflictKey, TableConflicts

if TYPE_CHECKING:
    from paraply.analysis.analyze.names import KeyNames
    from paraply.analysis.analyze.record import Recorded

__all__ = ["forecast"]

SHOWN_KEYS = 20


def forecast(recorded: Recorded, names: KeyNames, primaries: int, latency_ms: float) -> ConflictForecast:
    """Return the prediction that was made while the log was read."""
    predicted = recorded.predicted
    keys = [ConflictKey(names.name(one.key), round(one.conflicts, 2)) for one in predicted.keys]
    by_table: defaultdict[str, float] = defaultdict(float)
    for key in keys:
        by_table[key.name.table] += key.conflicts
    largest = sorted(by_table.items(), key=lambda item: (-item[1], item[0]))
    tables = tuple(TableConflicts(table, round(count, 2)) for table, count in largest)
    share = predicted.conflicts / predicted.transactions if predicted.transactions else 0.0
    return ConflictForecast(
        primaries=primaries,
        latency_ms=latency_ms,
        transactions=predicted.transactions,
        conflicts=round(predicted.conflicts, 2),
        share=round(share, 6),
        upper_bound=recorded.totals.whole_seconds,
        tables=tables,
        keys=tuple(keys[:SHOWN_KEYS]),
    )
