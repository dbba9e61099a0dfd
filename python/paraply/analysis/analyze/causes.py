"""Division of a schedule's lost time among its causes, with advice and gains."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from paraply._native import Setup
from paraply.analysis.analyze.capacity import settle
from paraply.analysis.analyze.result import Explanation, HotKey, LostTime

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from paraply._native import Costs, Loss, Outcome, Recording
    from paraply.analysis.analyze.costs import CostModel
    from paraply.analysis.analyze.names import KeyNames
    from paraply.analysis.analyze.result import ApplierName

__all__ = ["CAUSES", "explain"]

MOST_KEYS = 10
"""Keys that are listed for a cause."""
KEYS_WITH_GAIN = 3
"""Keys for which the simulation runs again."""
SMALL_SHARE = 0.005
"""Part of the lost time below which the simulation is not run again for a cause."""


@dataclass(frozen=True, slots=True)
class CauseText:
    """Words for a cause.

    Attributes:
        title: The cause.
        advice: What to do about it.
    """

    title: str
    advice: str


CAUSES = {
    "hot_row": CauseText(
        "hot row",
        "Split the row into several that are added up when read, or gather its changes and write them in one transaction.",
    ),
    "foreign_key_parent": CauseText(
        "foreign-key parent",
        "Change the parent row less often, or move the columns that change into a table of their own. MySQL's numbers also make the"
        " children of one parent wait for one another: `paraply stamp` or `paraply apply` avoids that.",
    ),
    "ddl": CauseText("DDL", "Run statements that change tables together, at a quiet time; each one stops all workers."),
    "table_without_key": CauseText("table without key", "Add a primary key, or a unique key whose columns are NOT NULL."),
    "unknown_collation_or_schema": CauseText(
        "unknown collation or schema",
        "Give the tables at the start of the log with --schema; the fallbacks name tables and reasons.",
    ),
    "garbage_collection": CauseText(
        "garbage collection of a group",
        "It comes once a minute by itself; `paraply stamp` or `paraply apply` computes the numbers without it.",
    ),
    "rotation": CauseText("rotation of the log", "Make the source's max_binlog_size larger; workers stop at the begin of each file."),
    "history_overflow": CauseText(
        "overflow of the source's history",
        "Make binlog_transaction_dependency_history_size larger on the source, or recompute the numbers with `paraply stamp`.",
    ),
    "huge_transaction": CauseText(
        "one huge transaction",
        "Commit its rows in several transactions; all later ones wait for its commit.",
    ),
    "session_order": CauseText(
        "order of a session",
        "Use WRITESET instead of WRITESET_SESSION or COMMIT_ORDER on the source, or recompute the numbers with `paraply stamp`.",
    ),
    "commit_order": CauseText(
        "commit order",
        "More workers let others go on while one waits for its turn; without replica_preserve_commit_order readers see gaps.",
    ),
    "too_few_workers": CauseText("too few workers", "Raise replica_parallel_workers (slave_parallel_threads on MariaDB)."),
    "narrow_numbers": CauseText(
        "numbers that the source stamped too narrow",
        "Set binlog_transaction_dependency_tracking=WRITESET on the source (the default from 8.4 on), or recompute the numbers with"
        " `paraply stamp`.",
    ),
    "end_of_log": CauseText("end of the log", "Nothing: the last transactions end one after another."),
}


def explain(recording: Recording, model: CostModel, names: KeyNames, *, workers: int, most_workers: int) -> tuple[Explanation, Costs]:
    """Divide the lost time of the server's own applier: MySQL's with the log's numbers, else MariaDB's.

    Returns:
        The division, and the times of the workers in the simulation that it divides.
    """
    applier: ApplierName = "mysql" if recording.has_stamps else "mariadb"
    numbers = "stamped" if recording.has_stamps else "fine"
    retry = Retry(recording, applier, model, numbers, workers, most_workers)
    _, costs = retry.settled(lambda times: Setup(applier, workers, times, numbers=numbers))
    outcome, losses = recording.explain(Setup(applier, workers, costs, numbers=numbers), most_workers, MOST_KEYS)
    seconds = outcome.total_ns / 1e9
    ideal = recording.work(costs) / most_workers / 1e9
    lost = max(0.0, seconds - ideal)
    retry = replace(retry, seconds=seconds)
    causes = tuple(cause_of(loss, losses, lost, names, retry) for loss in losses if loss.key is None)
    return Explanation(applier, numbers, workers, True, seconds, most_workers, ideal, lost, causes), costs


@dataclass(frozen=True, slots=True)
class Retry:
    """Simulation that is run again without a cause."""

    recording: Recording
    applier: ApplierName
    model: CostModel
    numbers: str
    workers: int
    most_workers: int
    seconds: float = 0.0

    def settled(self, setup_of: Callable[[Costs], Setup]) -> tuple[Outcome, Costs]:
        """Simulate with the server's capacity."""
        return settle(self.recording, self.model.native(), self.model.capacity, setup_of)

    def gain(self, cause: str) -> float | None:
        """Return the seconds saved without a cause; None where that has no meaning."""
        if cause == "end_of_log" or (cause == "commit_order" and self.applier == "mariadb"):
            return None
        workers, ordered = self.most_workers if cause == "too_few_workers" else self.workers, cause != "commit_order"
        return self._gain(lambda costs: Setup(self.applier, workers, costs, numbers=self.numbers, ordered=ordered, without=[cause]))

    def gain_of_key(self, key: int) -> float:
        """Return the seconds saved without conflicts over a key."""
        return self._gain(lambda costs: Setup(self.applier, self.workers, costs, numbers=self.numbers, without_key=key))

    def _gain(self, setup_of: Callable[[Costs], Setup]) -> float:
        return max(0.0, self.seconds - self.settled(setup_of)[0].total_ns / 1e9)


def cause_of(loss: Loss, losses: Sequence[Loss], lost: float, names: KeyNames, retry: Retry) -> LostTime:
    """Return one cause with its keys and its gain."""
    share = loss.seconds / lost if lost else 0.0
    matters = share >= SMALL_SHARE
    keys = [other for other in losses if other.cause == loss.cause and other.key is not None]
    hot = tuple(
        HotKey(names.name(other.key), other.seconds, retry.gain_of_key(other.key) if matters and place < KEYS_WITH_GAIN else None)
        for place, other in enumerate(keys)
        if other.key is not None
    )
    text = CAUSES[loss.cause]
    gain = retry.gain(loss.cause) if matters else None
    return LostTime(loss.cause, text.title, loss.seconds, round(share, 4), text.advice, gain, hot)
