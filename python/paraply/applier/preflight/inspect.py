"""What happens before the first block: options are checked, the target is opened, the schema is seeded (R21a, R25)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING

from paraply.applier.preflight.fingerprint import plan_fingerprint
from paraply.applier.preflight.plan import Outline, check_gap, check_stop, make_outline
from paraply.applier.preflight.statement_changes import count_statements
from paraply.applier.preflight.timestamp_column import check_tables
from paraply.applier.preflight.xa import check_xa, find_ahead
from paraply.errors import ConfigurationMismatch, ConnectionFailed, LogError, UsageError
from paraply.targets.protocol import ApplyPlan, Progress
from paraply.targets.retrying import steadily

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from paraply._native import GtidSet, Transaction
    from paraply.applier.options import Options
    from paraply.applier.schedule.policy import PolicyKind
    from paraply.logs.file_order import LogFile
    from paraply.schema.catalog import SchemaCatalog
    from paraply.schema.model import Table
    from paraply.targets.protocol import Target

__all__ = ["Look", "Start", "first_definitions", "look_ahead", "parse_gtids", "start_place", "start_run"]


@dataclass(frozen=True, slots=True)
class Start:
    """Where a run begins.

    Attributes:
        progress: What the target holds.
        skip: GTIDs to pass over: those of the progress and of ``start_after``.
        place: Index of the file and offset up to which transactions without GTID are passed over.
        mariadb: Whether a MariaDB server wrote the log.
        has_gtids: Whether its transactions carry GTIDs.
    """

    progress: Progress
    skip: GtidSet
    place: tuple[int, int] | None
    mariadb: bool
    has_gtids: bool

    def passed(self, transaction: Transaction, paths: Sequence[str]) -> bool:
        """Whether a transaction is applied already."""
        if transaction.gtid is not None:
            return transaction.gtid in self.skip
        if self.place is None:
            return False
        names = [PurePath(path).name for path in paths]
        name = PurePath(transaction.file).name
        return name in names and (names.index(name), transaction.end_offset) <= self.place


@dataclass(frozen=True, slots=True)
class Look:
    """What is known before the first write.

    Attributes:
        plan: As the target is opened with it.
        outline: The plan for the user.
        start: Where the run would begin, by what the target holds now.
        runs_events: Whether the target runs scheduled events.
    """

    plan: ApplyPlan
    outline: Outline
    start: Start
    runs_events: bool


def parse_gtids(text: str | None) -> GtidSet:
    """A GTID set from text.

    Raises:
        UsageError: It is none.
    """
    from paraply._native import GtidSet

    try:
        return GtidSet(text or "")
    except ValueError as error:
        raise UsageError(f"--start-after {text!r} is not a GTID set: {error}") from error
    except UsageError as error:
        advice = "write uuid:1-100,uuid:7 as MySQL does, or domain-server-sequence as MariaDB does"
        raise UsageError(f"--start-after {text!r} is not a GTID set: {error.message}; {advice}") from error


def look_ahead(options: Options, target: Target, files: Sequence[LogFile], first: Transaction, tables: Sequence[Table] = ()) -> Look:
    """Checks the options against log and target, and writes nothing.

    Args:
        options: The options.
        target: The target, not yet open.
        files: The logs, their order checked.
        first: The first transaction.
        tables: Definitions that the user gave.

    Raises:
        UsageError: They do not fit.
        ParaplyError: Whatever the target finds.
    """
    has_gtids, mariadb = first.gtid is not None, first.format.mariadb
    start_after = parse_gtids(options.start_after)
    _check_options(options, first, start_after)
    xa, statements = ([], []) if options.live else find_ahead(options.paths)
    plan = ApplyPlan(
        channel=options.channel,
        fingerprint=plan_fingerprint(first, str(start_after) if start_after else None, options.filters.identity()),
        workers=options.workers,
        gtid_mode=options.gtid,
        has_gtids=has_gtids,
        mariadb=mariadb,
        allow_nontransactional=options.allow_nontransactional,
        ddl_decision=options.ddl_decision,
        gaps=not options.consistency.keeps_order and options.workers > 0,
        two_phase=options.splits,
        timestamp_column=options.timestamp_column,
        xa=bool(xa),
        lower_case_table_names=options.lower_case_table_names,
    )
    peek = steadily(lambda: target.peek(plan, tables=bool(options.filters or options.timestamp_column) and not tables))
    if tables:
        peek = replace(peek, tables=tuple(tables))
    if isinstance(options.merge, int) and options.merge > 1 and not peek.merges:
        raise UsageError("the target commits each transaction under its own GTID in this mode and cannot merge; use --merge off or auto")
    held = peek.progress.executed | start_after
    note = check_gap(files, held, allowed=options.allow_gap) if has_gtids else None
    if not options.live:
        check_stop(options.stop, files, held, has_gtids=has_gtids, mariadb=mariadb)
    if peek.own:
        refuse_own_log(options.paths, peek.own, options.policy)
    place = None if has_gtids else start_place(options.paths, peek.progress)
    check_xa(options, xa, held, place, peek.xa)
    merges = options.merges and peek.merges
    start = Start(peek.progress, held, place, mariadb, has_gtids)
    if options.timestamp_column is not None:
        check_tables(
            options.paths,
            options.reader_options(),
            options.timestamp_column,
            peek.tables,
            lambda transaction: start.passed(transaction, options.paths),
            complete=not tables and bool(peek.tables),
        )
    outline = make_outline(options, files, peek, held, merges=merges, has_gtids=has_gtids)
    if note is not None:
        outline.notes.append(note)
    changes = count_statements(options, statements, held, place, mariadb=mariadb)
    outline = replace(outline, statement_changes=changes)
    return Look(plan, outline, start, peek.runs_events)


def start_run(options: Options, target: Target, look: Look) -> Start:
    """Opens the target.

    Raises:
        UsageError: It does not fit the options; nothing was written.
        ParaplyError: Whatever the target finds.
    """
    progress = steadily(lambda: target.open(look.plan), ConnectionFailed)
    place = None if look.plan.has_gtids else start_place(options.paths, progress)
    return Start(progress, progress.executed | parse_gtids(options.start_after), place, look.plan.mariadb, look.plan.has_gtids)


def _check_options(options: Options, first: Transaction, start_after: GtidSet) -> None:
    if first.gtid is None:
        _refuse_without_gtids(options)
    if start_after and (":" not in str(start_after)) != first.format.mariadb:
        ours = "MariaDB" if first.format.mariadb else "MySQL"
        raise UsageError(f"--start-after {options.start_after} is not in the form of {ours}, whose server wrote the log")
    if options.policy.name == "logical-clock" and (first.last_committed is None or first.sequence_number is None):
        raise UsageError(
            "policy logical-clock needs a log whose transactions carry last_committed and sequence_number; use --policy dependency",
            file=first.file,
            position=first.offset,
            gtid=first.gtid,
        )


def refuse_own_log(paths: Sequence[str], own: str, policy: PolicyKind) -> None:
    """Refuses a target's own log where the replay gets GTIDs of the target's own: one could not be told from the other (R25, R26).

    A transaction of the log would count as applied because of another one's new GTID.

    Raises:
        UsageError: It is the target's own log.
    """
    modes = "--gtid record or --gtid preserve"
    instead = f"another policy than {policy.name!r} with {modes}" if policy.splits else modes
    for path, gtids in zip(paths, _gtid_texts(paths), strict=True):
        if own in gtids:
            raise UsageError(
                f"the log holds transactions that the target itself wrote ({own}:...), and under --gtid none the replay's own look like"
                f" them: use {instead}, which apply only what the target does not hold",
                file=path,
            )


def _gtid_texts(paths: Sequence[str]) -> Iterator[str]:
    """The GTID set of each log; of a damaged one nothing, which the reader tells in its turn."""
    from paraply._native import log_gtids

    for path in paths:
        try:
            yield str(log_gtids(path)).lower()
        except LogError:
            yield ""


def _refuse_without_gtids(options: Options) -> None:
    if options.start_after:
        raise UsageError("--start-after names GTIDs, but the log's transactions carry none")
    if options.gtid in ("preserve", "record"):
        raise UsageError(f"--gtid {options.gtid} needs GTIDs, but the log's transactions carry none; use --gtid none")


def start_place(paths: Sequence[str], progress: Progress) -> tuple[int, int] | None:
    """Where to go on in a log without GTIDs: index of the file, and offset in it.

    Raises:
        ConfigurationMismatch: The file where the last run ended is not among the logs.
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


def first_definitions(given: SchemaCatalog | None, lower_case: int | None, *, same_family: bool, goes_on: bool) -> SchemaCatalog:
    """Return the definitions that a run begins with.

    Args:
        given: Those of ``--schema``.
        lower_case: The source's ``lower_case_table_names``, where it is known.
        same_family: The target is a server of the log's family.
        goes_on: An earlier run has applied something, which may have changed what was given.
    """
    from paraply.schema.catalog import SchemaCatalog

    schema = SchemaCatalog(complete=same_family) if given is None else given.without_tables() if goes_on else given.copy()
    schema.lists_tables = not same_family
    if lower_case is not None:
        schema.lower_case_table_names = lower_case
    return schema
