"""The second reading of a log: the transactions that depend on the chosen ones (R38)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply._native import Catalog, DependentFinder, LogReader, name_keys
from paraply.errors import DependentTransactions, SchemaMismatch, UndoRefused
from paraply.logs.feed import Feed, FeedLimits, FeedRules
from paraply.schema.catalog import SchemaCatalog
from paraply.undo.choice import CHOSEN, WHOLE
from paraply.undo.options import NAMED, Dependent
from paraply.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from paraply._native import Transaction, TransactionBatch, WriteSets
    from paraply.schema.model import Table
    from paraply.undo.choice import Choice
    from paraply.undo.options import UndoOptions, UndoReport

__all__ = ["ChosenFeed", "find_dependents"]

_BATCH = 4096


class ChosenFeed:
    """A reading of the log with the definitions that its chosen transactions have.

    From the first chosen transaction on, no statement changes an affected table. So the target's definitions replace those of the log
    there; earlier statements may be in files that nobody has any more.

    Args:
        paths: The log files.
        choice: The chosen transactions.
        options: The options.
        tables: The source's definitions as the target knows them now.
        scheme: ``fine`` for write sets, or ``none``.
        visit: Called with each batch, the position of its first transaction, its write sets and the definitions.
    """

    def __init__(
        self,
        paths: Sequence[str],
        choice: Choice,
        options: UndoOptions,
        tables: Sequence[Table],
        scheme: str,
        visit: Callable[[TransactionBatch, int, WriteSets, Catalog], None],
    ) -> None:
        self._visit = visit
        self._begun = 0
        self._files = {path: number for number, path in enumerate(paths)}
        self._first = (0, 0) if choice.first is None else (self._files[choice.first[0]], choice.first[1])
        rules = FeedRules(scheme, kept=(tables, self._is_before), on_hashed=self._on_batch)
        limits = FeedLimits(batch_transactions=_BATCH)
        self._feed = Feed(LogReader(list(paths), count_rows=False), SchemaCatalog(), Catalog(), rules, threaded=False, limits=limits)
        self._feed.seed(options.schema)

    def run(self, on_progress: Callable[[float, int], None] | None = None) -> None:
        """Read the log to its end."""
        for _ in self._feed:
            if on_progress is not None:
                on_progress(self._feed.read_bytes, self._feed.read)

    def _is_before(self, transaction: Transaction) -> bool:
        return (self._files[transaction.file], transaction.offset) < self._first

    def _on_batch(self, batch: TransactionBatch, sets: WriteSets, catalog: Catalog) -> None:
        begun, self._begun = self._begun, self._begun + len(batch)
        self._visit(batch, begun, sets, catalog)


def find_dependents(
    paths: Sequence[str],
    choice: Choice,
    options: UndoOptions,
    tables: Sequence[Table],
    report: UndoReport,
    on_progress: Callable[[float, int], None] | None = None,
) -> DependentFinder:
    """Find the dependents, and mark those that are undone too.

    Returns:
        The finder, which knows the affected tables and the keys of kept dependents.

    Raises:
        DependentTransactions: There are dependents, and ``stop`` was asked for.
        UndoRefused: A statement changed an affected table, or the keys of a later transaction are unknown.
        SchemaMismatch: The definition of an affected table is unknown.
        LogError: The log is damaged or not understood.
    """
    finder = DependentFinder(options.chosen, keep=options.dependents == "keep")

    def visit(batch: TransactionBatch, begun: int, sets: WriteSets, catalog: Catalog) -> None:
        marks = choice.marks[begun : begun + len(batch)]
        chosen = {index for index, mark in enumerate(marks) if mark == CHOSEN}
        for dependent in finder.observe(batch, sets, catalog, chosen):
            transaction = batch[dependent.index]
            if transaction.kind != "dml":
                raise _no_rows_alone(transaction)
            if dependent.unknown:
                raise _unknown(transaction)
            named = len(report.dependents) < NAMED
            report.add_dependent(_dependent(transaction, catalog, dependent.hashes if named else []))
            if options.dependents == "include":
                choice.marks[begun + dependent.index] = WHOLE

    try:
        ChosenFeed(paths, choice, options, tables, "fine", visit).run(on_progress)
    except SchemaMismatch as mismatch:
        if mismatch.table is not None:
            database, _, name = mismatch.table.partition(".")
            choice.refuse_changed([(database, name)])
        raise
    choice.refuse_changed(finder.affected)
    if report.dependent_count and options.dependents == "stop":
        raise DependentTransactions(_dependents_message(report))
    return finder


def _unknown(transaction: Transaction) -> UndoRefused:
    return UndoRefused(
        "a later transaction changed rows of an undone table, and it is not known which: its keys cannot be read from the log; give the"
        " definitions of its tables with --schema",
        gtid=transaction.gtid,
        file=transaction.file,
        position=transaction.offset,
    )


def _no_rows_alone(transaction: Transaction) -> UndoRefused:
    return UndoRefused(
        "a later XA transaction, or a statement that makes a table of rows, depends on those to undo: undo what is after it by hand",
        gtid=transaction.gtid,
        file=transaction.file,
        position=transaction.offset,
    )


def _dependent(transaction: Transaction, catalog: Catalog, hashes: list[int]) -> Dependent:
    keys = []
    for found in name_keys(transaction, catalog, "fine", hashes) if hashes else ():
        keys.append(f"{found.table} {found.key} {', '.join(found.values)}".strip())
    return Dependent(
        transaction.gtid, transaction.committed_us, transaction.file, transaction.offset, tuple(transaction.tables), tuple(keys)
    )


def _dependents_message(report: UndoReport) -> str:
    count, first = report.dependent_count, report.dependents[0]
    others = f" and {count - 1:,} more" if count > 1 else ""
    return (
        f"{counted(count, 'later transaction depends', 'later transactions depend')} on those to undo, {first}{others}; nothing was"
        " changed: take them along with --dependents include, or leave their rows with --dependents keep"
    )
