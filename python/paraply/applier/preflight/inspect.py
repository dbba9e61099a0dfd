"""Preparation of a run: check the options, open the target, seed the schema (R21a, R25)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import PurePath
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

from paraply.applier.options import keeps_gtids_right
from paraply.applier.preflight.beside import check_beside, holds_log, sizes_at_start
from paraply.applier.preflight.fingerprint import plan_fingerprint
from paraply.applier.preflight.other_channels import check_other_channels
from paraply.applier.preflight.plan import RunPlan, check_gap, check_stop, make_run_plan
from paraply.applier.preflight.statement_changes import count_statements
from paraply.applier.preflight.stop_position import check_position
from paraply.applier.preflight.timestamp_column import check_tables
from paraply.applier.preflight.xa import check_xa, find_ahead
from paraply.applier.selection.renaming import Renaming
from paraply.applier.selection.skip import check_skip
from paraply.errors import ConfigurationMismatch, ConnectionFailed, LogError, LogNotUnderstood, ParaplyError, UsageError
from paraply.schema.ddl.rules import logs_cascades
from paraply.targets.ddl_answer import DdlAnswer
from paraply.targets.protocol import ApplyPlan, Progress
from paraply.targets.retrying import with_retries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from paraply._native import GtidSet, LoggedXaPart, Transaction
    from paraply.applier.options import Options
    from paraply.applier.schedule.policy import PolicyKind
    from paraply.logs.file_order import LogFile
    from paraply.logs.skipping import Diverged
    from paraply.schema.catalog import SchemaCatalog
    from paraply.schema.model import Table
    from paraply.targets.protocol import Inspection, Target

__all__ = [
    "Preflight",
    "Start",
    "contained_in_schema",
    "first_definitions",
    "forecast_schema",
    "inspect_without_transactions",
    "parse_gtids",
    "run_preflight",
    "start_place",
    "start_run",
]


@dataclass(frozen=True, slots=True)
class Start:
    """Start of a run.

    Attributes:
        progress: Progress stored in the target.
        skip: GTIDs to skip: those of the progress and of ``start_after``.
        place: Index of the file, and offset, up to which transactions without GTID are skipped.
        mariadb: True if a MariaDB server wrote the log.
        has_gtids: True if its transactions have GTIDs.
    """

    progress: Progress
    skip: GtidSet
    place: tuple[int, int] | None
    mariadb: bool
    has_gtids: bool

    @property
    def diverged(self) -> list[Diverged]:
        """Tables that differ from the log because of statements that earlier runs skipped."""
        return [table for table in self.progress.diverged if not self.has_gtids or table.gtid in self.skip]

    def passed(self, transaction: Transaction, paths: Sequence[str]) -> bool:
        """Return True if a transaction is already applied."""
        if transaction.gtid is not None:
            return transaction.gtid in self.skip
        if self.place is None:
            return False
        names = [PurePath(path).name for path in paths]
        name = PurePath(transaction.file).name
        return name in names and (names.index(name), transaction.end_offset) <= self.place


@dataclass(frozen=True, slots=True)
class Preflight:
    """Findings before the first write.

    Attributes:
        plan: The plan that opens the target.
        run_plan: The plan for the user.
        start: Start of the run according to the target's present state.
        runs_events: True if the target runs scheduled events.
        renaming: The names of the target.
        sizes: Bytes to read of each log that the target itself may write to; empty if it does not.
        refusal: Error with which a run is refused because of the log's XA transactions; None if it is not.
        prepared: XIDs that the target holds prepared; empty if the logs are live, or have no XA transaction.
        logged: True if the log has the rows that cascades changed (R15a).
    """

    plan: ApplyPlan
    run_plan: RunPlan
    start: Start
    runs_events: bool
    renaming: Renaming
    sizes: Sequence[int] = ()
    refusal: ParaplyError | None = None
    prepared: frozenset[str] = frozenset()
    logged: bool = True


def parse_gtids(text: str | None) -> GtidSet:
    """Return a GTID set from text.

    Raises:
        UsageError: The text is not a GTID set.
    """
    from paraply._native import GtidSet

    try:
        return GtidSet(text or "")
    except ValueError as error:
        raise UsageError(f"--start-after {text!r} is not a GTID set: {error}") from error
    except UsageError as error:
        advice = "write uuid:1-100,uuid:7 as MySQL does, or domain-server-sequence as MariaDB does"
        raise UsageError(f"--start-after {text!r} is not a GTID set: {error.message}; {advice}") from error


def run_preflight(
    options: Options, target: Target, files: Sequence[LogFile], first: Transaction, tables: Sequence[Table] = ()
) -> Preflight:
    """Check the options against log and target, without writing anything.

    Args:
        options: The options.
        target: The target, not yet open.
        files: The logs, in checked order.
        first: The first transaction.
        tables: Definitions that the user gave.

    Raises:
        UsageError: The options do not fit.
        ParaplyError: Any error found by the target.
    """
    has_gtids, mariadb = first.gtid is not None, first.format.mariadb
    start_after = parse_gtids(options.start_after)
    _check_options(options, first, start_after)
    check_skip(options.skip, has_gtids=has_gtids, mariadb=mariadb)
    xa, statements, notes = ([], [], []) if options.live else find_ahead(options.paths, options.filters, options.renames)
    plan = _apply_plan(options, first, start_after, has_xa=bool(xa))
    inspect, beside = _inspect_target(options, target, plan, first, tables)
    start, gap_notes = _find_start(options, files, first, inspect, start_after)
    if inspect.own and not options.renames:
        refuse_own_log(options.paths, inspect.own, options.policy)
    refusal = _xa_refusal(options, xa, start.skip, start.place, inspect.xa)
    if options.timestamp_column is not None:
        _check_timestamp_tables(options, options.timestamp_column, start, inspect, complete=not tables and bool(inspect.tables))
    renaming = Renaming(options.renames, replace(options.filters, shares_own_database=inspect.shares_own_database), beside)
    logged, merges = logs_cascades(first.format.version, mariadb=mariadb), options.merges and inspect.merges
    run_plan = make_run_plan(options, files, inspect, start.skip, renaming, merges=merges, has_gtids=has_gtids, logged=logged)
    channel_notes = _channel_notes(options, target, first, start, run_plan.gtid_mode)
    run_plan.notes[:] = [*notes, *run_plan.notes, *gap_notes, *channel_notes]
    changes = count_statements(options, statements, start.skip, start.place, mariadb=mariadb)
    run_plan = replace(run_plan, statement_changes=changes)
    sizes = sizes_at_start(options.paths) if beside else []
    return Preflight(plan, run_plan, start, inspect.runs_events, renaming, sizes, refusal, inspect.xa or frozenset(), logged)


def _apply_plan(options: Options, first: Transaction, start_after: GtidSet, *, has_xa: bool) -> ApplyPlan:
    """Return the plan that opens the target."""
    identity = {**options.filters.identity(), **options.renames.identity()}
    return ApplyPlan(
        channel=options.channel,
        fingerprint=plan_fingerprint(first, str(start_after) if start_after else None, identity),
        workers=options.workers,
        gtid_mode=options.gtid,
        has_gtids=first.gtid is not None,
        mariadb=first.format.mariadb,
        allow_nontransactional=options.allow_nontransactional,
        ddl_decision=options.ddl_decision,
        gaps=not options.consistency.keeps_order and options.workers > 0,
        two_phase=options.splits,
        timestamp_column=options.timestamp_column,
        xa=has_xa,
        lower_case_table_names=options.lower_case_table_names,
        renames=bool(options.renames),
        answer=DdlAnswer(given=options.ddl_decision == "done"),
        live=options.live and keeps_gtids_right(options.merge),
        local_time=options.local_time,
        first_gtid=first.gtid or "",
        on_conflict=options.on_conflict,
        by_replication=options.by_replication,
        log_version=first.format.version,
    )


def _inspect_target(
    options: Options, target: Target, plan: ApplyPlan, first: Transaction, tables: Sequence[Table]
) -> tuple[Inspection, bool]:
    """Return the target's state, with the given definitions, and True if it holds transactions of the log itself."""
    reads_tables = (bool(options.filters or options.timestamp_column) and not tables) or bool(options.renames)
    inspect = with_retries(lambda: target.inspect(plan, tables=reads_tables))
    beside = bool(options.renames) and holds_log(options, first, inspect)
    if beside:
        check_beside(options, first, inspect)
    if isinstance(options.merge, int) and options.merge > 1 and not inspect.merges:
        raise UsageError("the target commits each transaction under its own GTID in this mode and cannot merge; use --merge off or auto")
    return replace(inspect, tables=tuple(tables)) if tables else inspect, beside


def _find_start(
    options: Options, files: Sequence[LogFile], first: Transaction, inspect: Inspection, start_after: GtidSet
) -> tuple[Start, list[str]]:
    """Return the start, and a note about transactions that are missing before it; check it against the logs and the stop."""
    has_gtids, mariadb = first.gtid is not None, first.format.mariadb
    held = inspect.progress.executed | start_after
    if options.by_replication and mariadb and not inspect.progress.resumed:
        from paraply.applier.via_replication.position import check_writers

        check_writers(files, first, inspect.progress.executed, start_after)
    note = check_gap(files, held, allowed=options.allow_gap) if has_gtids else None
    if not options.live:
        check_stop(options.stop, files, held, has_gtids=has_gtids, mariadb=mariadb)
    place = None if has_gtids else start_place(options.paths, inspect.progress)
    start = Start(inspect.progress, held, place, mariadb, has_gtids)
    if options.stop is not None and options.stop.place is not None and not options.live:
        check_position(options.stop.place, files, lambda transaction: start.passed(transaction, options.paths))
    return start, [] if note is None else [note]


def _check_timestamp_tables(options: Options, column: str, start: Start, inspect: Inspection, *, complete: bool) -> None:
    """Check that the tables of the log have the column of timestamps."""
    wanted = options.reader_options(start.skip, start.place)

    def is_passed(transaction: Transaction) -> bool:
        return start.passed(transaction, options.paths)

    check_tables(options.paths, wanted, column, inspect.tables, is_passed, complete=complete)


def _channel_notes(options: Options, target: Target, first: Transaction, start: Start, gtid_mode: str) -> list[str]:
    """Return notes about other channels of the target that the log's source has."""
    if not first.gtid or start.progress.resumed or options.renames:
        return []
    channels = with_retries(target.read_channels)
    mode = "" if target.family == "postgresql" else gtid_mode  # it has no GTIDs of its own
    return list(check_other_channels(channels, options.channel, first.gtid, start.skip, mode))


def inspect_without_transactions(options: Options, target: Target, files: Sequence[LogFile]) -> list[str]:
    """Check logs without a transaction against the target, by the GTIDs that were executed before them.

    Returns:
        Notes for the report.

    Raises:
        UsageError: Transactions are missing between the target and the logs, or the options do not fit.
    """
    start_after = parse_gtids(options.start_after)
    head = files[0].head if files else None
    if options.live or head is None or not head.previous_gtids:
        return []
    mariadb = "mariadb" in head.server_version.lower()
    first = SimpleNamespace(gtid="one", file=files[0].path, format=SimpleNamespace(mariadb=mariadb, server_id=head.server_id))
    identity = {**options.filters.identity(), **options.renames.identity()}
    plan = ApplyPlan(
        channel=options.channel,
        fingerprint=plan_fingerprint(cast("Transaction", first), str(start_after) if start_after else None, identity),
        workers=options.workers,
        gtid_mode=options.gtid,
        mariadb=mariadb,
        renames=bool(options.renames),
        gaps=not options.consistency.keeps_order and options.workers > 0,
        by_replication=options.by_replication,
    )
    held = with_retries(lambda: target.inspect(plan)).progress.executed | start_after
    note = check_gap(files, held, allowed=options.allow_gap)
    check_stop(options.stop, files, held, has_gtids=True, mariadb=mariadb)
    return [note] if note is not None else []


def _xa_refusal(
    options: Options, found: Sequence[LoggedXaPart], skip: GtidSet, place: tuple[int, int] | None, held: frozenset[str] | None
) -> ParaplyError | None:
    """Return the error of XA transactions that the target cannot apply or could not end; a dry run goes on after it."""
    try:
        check_xa(options, found, skip, place, held)
    except (LogNotUnderstood, UsageError) as error:
        return error
    return None


def forecast_schema(options: Options, look: Preflight, target: Target, given: SchemaCatalog | None) -> SchemaCatalog:
    """Return the definitions that a run would begin with; make nothing in the target.

    Args:
        options: The options.
        look: Findings about log and target.
        target: The target.
        given: Definitions of ``--schema``.
    """
    same_family = target.family == ("mariadb" if look.plan.mariadb else "mysql")
    goes_on = not same_family and bool(look.start.progress.executed or look.start.progress.offset is not None)
    return first_definitions(given, options.lower_case_table_names, same_family=same_family, goes_on=goes_on)


def start_run(options: Options, target: Target, look: Preflight) -> Start:
    """Open the target.

    Raises:
        UsageError: It does not fit the options; nothing was written.
        LogNotUnderstood: The target cannot apply an XA transaction of the log; nothing was written.
        ParaplyError: Any error found by the target.
    """
    if look.refusal is not None:
        raise look.refusal
    progress = with_retries(lambda: target.open(look.plan), ConnectionFailed)
    place = None if look.plan.has_gtids else start_place(options.paths, progress)
    return Start(progress, progress.executed | parse_gtids(options.start_after), place, look.plan.mariadb, look.plan.has_gtids)


def _check_options(options: Options, first: Transaction, start_after: GtidSet) -> None:
    if first.gtid is None:
        _refuse_without_gtids(options)
    if start_after and (":" not in str(start_after)) != first.format.mariadb:
        writer = "MariaDB" if first.format.mariadb else "MySQL"
        raise UsageError(f"--start-after {options.start_after} is not in the form of {writer}, whose server wrote the log")
    if options.policy.name == "logical-clock" and (first.last_committed is None or first.sequence_number is None):
        raise UsageError(
            "policy logical-clock needs a log whose transactions carry last_committed and sequence_number; use --policy dependency",
            file=first.file,
            position=first.offset,
            gtid=first.gtid,
        )


def refuse_own_log(paths: Sequence[str], own: str, policy: PolicyKind) -> None:
    """Refuse the target's own log in a mode in which the replay writes new GTIDs of the same server (R25, R26).

    The two could not be told apart: a transaction of the log would count as applied because of another one's new GTID.

    Raises:
        UsageError: It is the target's own log.
    """
    modes = "--gtid record or --gtid preserve"
    instead = f"another policy than {policy.name!r} with {modes}" if policy.splits else modes
    for path, gtids in zip(paths, _gtid_texts(paths), strict=True):
        if own in gtids:
            raise UsageError(
                f"the log holds transactions that the target itself wrote ({own}:...), and under --gtid none the replay's own transactions"
                f" look like them: use {instead}, which apply only what the target does not hold; or give the tables other names with"
                " --rename-table, to restore them beside the ones in use",
                file=path,
            )


def _gtid_texts(paths: Sequence[str]) -> Iterator[str]:
    """Yield the GTID set of each log; an empty text for a damaged log, whose damage the reader reports later."""
    from paraply._native import log_gtids

    for path in paths:
        try:
            yield str(log_gtids(path)).lower()
        except LogError:
            yield ""


def _refuse_without_gtids(options: Options) -> None:
    if options.start_after:
        raise UsageError("--start-after names GTIDs, but the log's transactions carry none")
    if options.by_replication:
        raise UsageError("--via replication needs GTIDs, but the log's transactions carry none; use --via sessions")
    if options.gtid in ("preserve", "record"):
        raise UsageError(f"--gtid {options.gtid} needs GTIDs, but the log's transactions carry none; use --gtid none")


def start_place(paths: Sequence[str], progress: Progress) -> tuple[int, int] | None:
    """Return the position at which to continue in a log without GTIDs: index of the file, and offset in it.

    Raises:
        ConfigurationMismatch: The file in which the last run ended is not among the logs.
    """
    if progress.file is None or progress.offset is None:
        return None
    for index, path in enumerate(paths):
        if PurePath(path).name == PurePath(progress.file).name:
            return index, progress.offset
    raise ConfigurationMismatch(
        f"the last run ended in {progress.file}, which is not among the logs given; name it too",
        file=progress.file,
        position=progress.offset,
    )


def contained_in_schema(options: Options, given: SchemaCatalog | None) -> Callable[[Transaction], bool] | None:
    """Return a function that returns True for a transaction whose DDL the definitions of ``--schema`` contain already.

    They are those of the place where the apply begins: with ``--start-after`` after these transactions, else at the start of the log.

    Args:
        options: The options.
        given: Definitions of ``--schema``.

    Returns:
        The function; None if there is no such transaction.
    """
    if given is None or not options.start_after:
        return None
    held = parse_gtids(options.start_after)
    return lambda transaction: transaction.gtid is not None and transaction.gtid in held


def first_definitions(given: SchemaCatalog | None, lower_case: int | None, *, same_family: bool, goes_on: bool) -> SchemaCatalog:
    """Return the definitions that a run begins with.

    Args:
        given: Definitions of ``--schema``.
        lower_case: The source's ``lower_case_table_names``, if known.
        same_family: True if the target is a server of the log's family.
        goes_on: True if an earlier run applied transactions, which may have changed the given definitions.
    """
    from paraply.schema.catalog import SchemaCatalog

    schema = SchemaCatalog(complete=same_family) if given is None else given.without_tables() if goes_on else given.copy()
    schema.lists_tables = not same_family
    if lower_case is not None:
        schema.lower_case_table_names = lower_case
    return schema
