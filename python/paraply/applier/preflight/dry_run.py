"""Dry run of an apply."""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heappush, heappushpop
from typing import TYPE_CHECKING, Any

from paraply.applier.options import Via
from paraply.applier.preflight.ddl_forecast import DdlForecast, StatementOutcome
from paraply.applier.preflight.inspect import contained_in_schema, forecast_schema
from paraply.applier.selection.filters import consequences
from paraply.applier.selection.skip import skip_result
from paraply.applier.selection.stop_result import stop_place
from paraply.errors import LogError, LogNotUnderstood, ParaplyError
from paraply.logs.skipping import Skipping
from paraply.logs.statement_text import decode_logged, decode_or_advise, hide_passwords
from paraply.logs.stop_point import StopPlace, moment_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from paraply._native import TableMap, Transaction, TransactionBatch
    from paraply.applier.options import Options
    from paraply.applier.preflight.inspect import Preflight
    from paraply.applier.preflight.plan import RunPlan
    from paraply.applier.selection.renaming import Renaming
    from paraply.logs.skipping import SkipResult
    from paraply.schema.catalog import SchemaCatalog
    from paraply.targets.protocol import Target

__all__ = ["DryRun", "Landmark", "LargeTransaction", "PlannedStatement", "estimate_seconds", "scan"]

_SHOWN = 200
_LARGEST = 10

# The slowest and the fastest rates measured on small machines with durable settings, by whether commits are merged.
_TRANSACTIONS_A_SECOND = {True: (1_500, 12_000), False: (300, 4_000)}
_ROWS_A_SECOND = (5_000, 60_000)


@dataclass(frozen=True, slots=True)
class Landmark:
    """Log position of a transaction.

    Attributes:
        file: Its log file.
        position: Offset of its first event.
        end_position: Offset after its last event.
        gtid: Its GTID, if there is one.
        committed_at: Commit time on its source, microseconds since 1970, UTC.
    """

    file: str
    position: int
    end_position: int
    gtid: str | None
    committed_at: int | None

    @classmethod
    def of(cls, transaction: Transaction) -> Landmark:
        """Return the log position of a transaction."""
        return cls(transaction.file, transaction.offset, transaction.end_offset, transaction.gtid, transaction.committed_us)

    @property
    def words(self) -> str:
        """GTID, commit time and FILE:POSITION, as ``--skip``, ``--stop-at`` and ``--stop-before`` take them."""
        when = None if self.committed_at is None else moment_text(self.committed_at)
        return "  ".join(word for word in (self.gtid, when, f"{self.file}:{self.position}") if word)

    def __str__(self) -> str:
        """Return the log position for people."""
        words = [f"{self.file}:{self.position}", self.gtid, None if self.committed_at is None else moment_text(self.committed_at)]
        return ", ".join(word for word in words if word)

    def as_json(self) -> Mapping[str, Any]:
        """Return the log position as a JSON object."""
        when = None if self.committed_at is None else moment_text(self.committed_at)
        return {"file": self.file, "position": self.position, "end_position": self.end_position, "gtid": self.gtid, "committed_at": when}


@dataclass(frozen=True, slots=True)
class PlannedStatement:
    """A statement in text (DDL, GRANT and the like), or rows of a table at which the apply would stop.

    Attributes:
        place: Its transaction.
        sql: Its text without passwords, shortened; ``rows of database.table``.
        runs: False if the filters leave it out.
        problem: Reason why the apply would stop there; empty if it would not.
        skipped: True if the target has no counterpart of it, so that only the progress is recorded.
        named: True if ``--skip`` leaves it out.
    """

    place: Landmark
    sql: str
    runs: bool
    problem: str = ""
    skipped: bool = False
    named: bool = False

    def as_json(self) -> Mapping[str, Any]:
        """Return the statement as a JSON object."""
        what = {"sql": self.sql, "runs": self.runs, "skipped": self.skipped, "named": self.named, "problem": self.problem or None}
        return {**self.place.as_json(), **what}


@dataclass(frozen=True, slots=True, order=True)
class LargeTransaction:
    """One of the transactions with the most changed rows; ordered by size.

    Attributes:
        rows: Rows that it changes.
        bytes: Its size in the log.
        place: Its place in the log.
        tables: ``database.table`` of the tables that it changes.
    """

    rows: int
    bytes: int
    place: Landmark = field(compare=False)
    tables: tuple[str, ...] = field(default=(), compare=False)

    def as_json(self) -> Mapping[str, Any]:
        """Return the transaction as a JSON object."""
        return {**self.place.as_json(), "rows": self.rows, "bytes": self.bytes, "tables": list(self.tables)}


@dataclass(slots=True)
class DryRun:
    """Result of a dry run.

    Attributes:
        run_plan: The plan.
        transactions: Transactions that would be applied.
        rows: Rows that they change.
        bytes: Size of these transactions in the log.
        skipped: Transactions that are skipped: those that the target already holds, and those that ``--skip`` names.
        named: Transactions that ``--skip`` names.
        filtered: Transactions that the filters leave empty.
        own_left_out: Transactions with changes of paraply's own tables, which are left out.
        skip: Outcome of ``--skip``; None without it.
        largest: Transactions with the most rows, largest first.
        first: The first transaction that would be applied.
        last: The last one.
        stop: The transaction at which reading ends, if a stop is reached.
        statements: Statements in text among these transactions, in order.
        stops: Rows at which the apply would stop, in order.
        before_stop: Transactions that would be applied before the first one at which the apply would stop; None if there is none.
        refusal: Error with which the apply would be refused before its first write; None if it would begin.
        damage: Error of the log that ended the dry run, as it would end the apply; None if the logs were read to their end.
    """

    run_plan: RunPlan
    transactions: int = 0
    rows: int = 0
    bytes: int = 0
    skipped: int = 0
    named: int = 0
    skip: SkipResult | None = None
    filtered: int = 0
    own_left_out: int = 0
    largest: list[LargeTransaction] = field(default_factory=list)
    first: Landmark | None = None
    last: Landmark | None = None
    stop: StopPlace | None = None
    statements: list[PlannedStatement] = field(default_factory=list)
    stops: list[PlannedStatement] = field(default_factory=list)
    before_stop: int | None = None
    refusal: ParaplyError | None = None
    damage: LogError | None = None

    @property
    def estimate(self) -> tuple[float, float]:
        """Estimated seconds of the apply, from and to, by measurements on other machines."""
        return estimate_seconds(self.transactions, self.rows, merges=self.run_plan.merges)


def estimate_seconds(transactions: int, rows: int, *, merges: bool) -> tuple[float, float]:
    """Return the seconds that an apply may take, from and to.

    >>> estimate_seconds(60_000, 60_000, merges=True)
    (5.0, 40.0)
    """
    slow, fast = _TRANSACTIONS_A_SECOND[merges]
    return (
        round(max(transactions / fast, rows / _ROWS_A_SECOND[1]), 1),
        round(max(transactions / slow, rows / _ROWS_A_SECOND[0]), 1),
    )


def scan(
    options: Options,
    look: Preflight,
    target: Target,
    given: SchemaCatalog | None,
    found: DryRun,
) -> None:
    """Read the logs as an apply would, also after the places at which it would stop.

    Args:
        options: The options.
        look: Findings about log and target.
        target: Asked for statements that it would refuse.
        given: Definitions of ``--schema``.
        found: The dry run; its fields are filled also before an error.

    Raises:
        LogError: The log is damaged or not understood, at a position that the apply would reach.
        ParaplyError: The apply would be refused before its first row.
    """
    schema, contained = forecast_schema(options, look, target, given), contained_in_schema(options, given)
    found.refusal = look.refusal
    if not look.start.progress.resumed:
        try:
            target.check_tables(list(schema))
        except ParaplyError as error:
            found.refusal = found.refusal or error
    ddl_forecast = DdlForecast(target, schema, target.standing(look.plan), look.plan)
    ddl_forecast.skips = Skipping(lambda transaction: look.start.passed(transaction, options.paths), recorded=look.start.diverged)
    try:
        _read(options, look, ddl_forecast, found, contained)
    except LogError as error:
        found.damage = error
    if found.refusal is not None:
        found.before_stop = 0
    if options.filters:
        notes = consequences(look.renaming, ddl_forecast.made.values(), logged=look.logged)
        if target.family == "postgresql":  # it gets no foreign keys: what they refuse or do there is of no concern
            notes = [note for note in notes if note.startswith("ROWS OF")]
        look.run_plan.notes.extend(note for note in notes if note not in look.run_plan.notes)
    ended = found.refusal or found.damage
    if ended is not None:
        raise ended


def _read(
    options: Options, look: Preflight, ddl_forecast: DdlForecast, found: DryRun, contained: Callable[[Transaction], bool] | None
) -> None:
    from paraply._native import LogReader

    start = look.start
    reader = LogReader(options.paths, passes_statements=True, **options.reader_options(start.skip, start.place))
    while (batch := reader.next_batch()) is not None:
        maps = batch.table_maps()
        for transaction in batch:
            if contained is not None and contained(transaction):
                found.skipped += 1
                continue
            _note(found, options, look, ddl_forecast, batch, transaction, maps)
    found.stop = stop_place(reader, options.stop)
    found.largest.sort(reverse=True)
    found.skip = skip_result(options.skip, reader, found.named)
    if found.skip is not None and found.skip.missing:
        look.run_plan.notes.append(found.skip.missing_note)
    if found.own_left_out:
        from paraply.schema.own_tables import left_out_note

        look.run_plan.notes.append(left_out_note(found.own_left_out))
    if options.stop is not None and found.stop is None:
        look.run_plan.notes.append(f"the logs end before the stop ({options.stop.text})")


def _note(
    found: DryRun,
    options: Options,
    look: Preflight,
    ddl_forecast: DdlForecast,
    batch: TransactionBatch,
    transaction: Transaction,
    maps: Sequence[TableMap],
) -> None:
    if look.start.passed(transaction, options.paths):
        ddl_forecast.problem(look.renaming.transaction(batch, transaction, applied=True), runs=False)
        found.skipped += 1
        return
    ddl_forecast.adopt()
    if transaction.skipped:
        _note_skipped(found, ddl_forecast, transaction)
        return
    runs, stops = not transaction.filtered, False
    own = transaction.own_left_out
    if transaction.statements:
        noted = _note_statements(found, options, ddl_forecast, look.renaming, batch, transaction)
        runs, stops = noted[-1].runs, any(statement.problem for statement in noted)
        own = own or (not runs and options.filters.names_own(transaction))
    found.own_left_out += own
    if not runs:
        found.filtered += 1
        return
    ddl_forecast.note_rows(transaction)
    place = Landmark.of(transaction)
    refusal = found.refusal
    if refusal is not None and (refusal.file, refusal.position) == (transaction.file, transaction.offset):
        found.stops.append(PlannedStatement(place, f"XA transaction {transaction.xid}", True, refusal.message))
    for name, problem in ddl_forecast.row_problems(transaction, maps, compares=options.via is Via.SESSIONS):
        found.stops.append(PlannedStatement(place, f"rows of {name}", True, problem))
        stops = True
    if found.before_stop is None and (stops or _has_statement_change(look, transaction)):
        found.before_stop = found.transactions
    found.first, found.last = found.first or place, place
    found.transactions += 1
    found.rows += transaction.rows
    found.bytes += transaction.bytes
    if transaction.rows:
        _note_size(found, place, transaction)


def _note_size(found: DryRun, place: Landmark, transaction: Transaction) -> None:
    """Keep the transaction if it is one of the largest."""
    if len(found.largest) < _LARGEST or (transaction.rows, transaction.bytes) > (found.largest[0].rows, found.largest[0].bytes):
        large = LargeTransaction(transaction.rows, transaction.bytes, place, tuple(transaction.tables))
        put = heappush if len(found.largest) < _LARGEST else heappushpop
        put(found.largest, large)


def _note_skipped(found: DryRun, ddl_forecast: DdlForecast, transaction: Transaction) -> None:
    """Count a transaction that ``--skip`` names, and show its statements."""
    found.skipped += 1
    found.named += 1
    ddl_forecast.leave_out(transaction)
    for statement in transaction.statements:
        try:
            sql = decode_logged(statement, transaction)
        except LogNotUnderstood:
            sql = statement.sql.decode("ascii", "replace")
        found.statements.append(PlannedStatement(Landmark.of(transaction), _shortened(sql), runs=False, named=True))


def _shortened(sql: str) -> str:
    """Return a statement for people, without passwords."""
    sql = hide_passwords(" ".join(sql.split()))
    return sql if len(sql) <= _SHOWN else f"{sql[:_SHOWN]}..."


def _has_statement_change(look: Preflight, transaction: Transaction) -> bool:
    """Return True if the transaction has the first row change in statement format."""
    changes = look.run_plan.statement_changes
    first = changes.first[0] if changes is not None else None
    return first is not None and (first.file, first.offset) == (transaction.file, transaction.offset)


def _note_statements(
    found: DryRun, options: Options, ddl_forecast: DdlForecast, renaming: Renaming, batch: TransactionBatch, transaction: Transaction
) -> list[PlannedStatement]:
    """Add the statements of a transaction, of which there is at least one, and return them."""
    problem, runs = "", True
    followed = transaction
    try:
        runs = options.filters.wants(transaction)
        if runs:
            followed = renaming.transaction(batch, transaction)
            runs = not followed.filtered
    except LogNotUnderstood as error:
        problem = error.message
    forecast = ddl_forecast.forecast(followed, runs=runs) if runs or not renaming.renames else StatementOutcome()
    problem = problem or forecast.problem
    if runs and options.ddl_decision == "done" and not found.transactions and not found.statements:
        problem = ""  # the first statement, which the user has made by hand; the apply compares it with the target
    noted = []
    for statement in transaction.statements:
        try:
            sql = decode_or_advise(statement, transaction)
        except LogNotUnderstood as error:
            sql, problem = statement.sql.decode("ascii", "replace"), problem or error.message
        skipped = runs and forecast.skipped and not problem and (found.refusal is None or transaction.xid is None)
        noted.append(PlannedStatement(Landmark.of(transaction), _shortened(sql), runs, problem, skipped))
    found.statements.extend(noted)
    return noted
