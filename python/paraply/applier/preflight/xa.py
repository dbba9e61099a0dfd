"""XA transactions of the logs: checked before the first write, and named at the end if left prepared (R35)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply.applier.preflight.before_stop import before_stop
from paraply.applier.selection.filters import Filters, unmatched_notes
from paraply.applier.selection.skip import SkippedXa, XaPart
from paraply.errors import LogNotUnderstood, UsageError
from paraply.schema.renames import KEPT_NAMES, Renames
from paraply.targets.xid import canonical_xid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paraply._native import GtidSet, LoggedRowStatement, LoggedXaPart
    from paraply.applier.options import Options
    from paraply.logs.transaction_set import TransactionSet

__all__ = ["check_xa", "find_ahead", "left_note"]


def name_of(part: LoggedXaPart) -> str:
    """Return the XID of a part in canonical form, for comparison.

    Raises:
        LogNotUnderstood: The log holds it in an unknown form.
    """
    try:
        return canonical_xid(part.xid)
    except LogNotUnderstood as error:
        raise LogNotUnderstood(error.message, file=part.file, position=part.offset, gtid=part.gtid) from None


def find_ahead(
    paths: Sequence[str], filters: Filters, renames: Renames = KEPT_NAMES
) -> tuple[list[LoggedXaPart], list[LoggedRowStatement], list[str]]:
    """Return the parts of XA transactions and the row changes in text, in log order, up to the first damage; and notes on unused names.

    Left out are changes in text of databases that the filters leave out for certain.
    """
    from paraply._native import look_ahead

    ahead = look_ahead(paths, filters.native() if filters else None)
    notes = unmatched_notes(filters, ahead.unmatched_databases, ahead.unmatched_tables)
    if renames and not filters.includes:  # else a filter has each of these names
        renamed = Filters(tuple(old for old, _ in renames.databases), tuple(old for old, _ in renames.tables))
        unused = look_ahead(paths, renamed.native())
        names = [*unused.unmatched_databases, *(".".join(table) for table in unused.unmatched_tables)]
        notes += [f"the renames name nothing that these logs have: {', '.join(names)}"] if names else []
    return ahead.xa_parts, ahead.statements, notes


def check_xa(
    options: Options, found: Sequence[LoggedXaPart], skip: GtidSet, place: tuple[int, int] | None, held: frozenset[str] | None
) -> None:
    """Refuse XA transactions that the target cannot apply or could not end.

    Args:
        options: The options.
        found: All parts in the logs.
        skip: GTIDs that are skipped.
        place: Log position up to which transactions without GTID are skipped.
        held: XIDs that the target could end now; None if it cannot prepare transactions as the log does.

    Raises:
        LogNotUnderstood: The target cannot apply one of them.
        UsageError: The target does not hold a transaction that the log ends, or its own replication may lose a part.
    """
    left = [part for part in found if not _passed(part, skip, place)]
    left = before_stop(options, left) if left else left
    if options.skip:
        left = _without_skipped(options.skip, found, left, held, skip, place)
    if not left:
        return
    if options.by_replication and ":" not in (left[0].gtid or ":"):  # MySQL's GTIDs have one
        raise UsageError(
            f"--via replication: the log has the XA transaction {left[0].xid}, and a MariaDB that is killed may keep a part of one without"
            " the position that counts it, or the position without the part: use --via sessions, or stop before it",
            file=left[0].file, position=left[0].offset, gtid=left[0].gtid,
        )  # fmt: skip
    if held is None:
        _check_untouched(options.filters, found, left)
        return
    known = set(held)
    for part in left:
        xid = name_of(part)
        if not part.ends:
            known.add(xid)
            continue
        if xid not in known:
            filtered = ", or if the filters leave it out," if options.filters else ""
            more = f"; if it was ended there already{filtered} add {part.gtid} to --start-after" if part.gtid else ""
            raise UsageError(
                f"the log ends the XA transaction {xid}, which was prepared before the place where this apply begins, and the target does"
                f" not hold it prepared; nothing was applied: begin with the log that has its XA PREPARE, or restore a backup that holds"
                f" it{more}",
                file=part.file, position=part.offset, gtid=part.gtid,
            )  # fmt: skip
        known.discard(xid)


def _without_skipped(
    named: TransactionSet,
    found: Sequence[LoggedXaPart],
    left: Sequence[LoggedXaPart],
    held: frozenset[str] | None,
    skip: GtidSet,
    place: tuple[int, int] | None,
) -> list[LoggedXaPart]:
    """Return the parts that are not left out by name.

    Raises:
        UsageError: Only one half of a transaction is named.
    """
    pairs, waiting, kept = SkippedXa(lambda: held or ()), set(map(id, left)), []
    for part in found:
        passed = _passed(part, skip, place)
        if not passed and id(part) not in waiting:  # after the stop
            continue
        is_named = part.gtid is not None and part.gtid in named
        leaves = pairs.leaves_out(XaPart(name_of(part), part.gtid, part.ends, is_named, passed, part.file, part.offset))
        if not passed and not leaves:
            kept.append(part)
    return kept


def left_note(xids: Sequence[str]) -> list[str]:
    """Return the report's note about XA transactions that are still prepared."""
    if not xids:
        return []
    who, them = ("an XA transaction is", "it") if len(xids) == 1 else (f"{len(xids)} XA transactions are", "them")
    end = f"a later apply of the following logs ends {them}, or XA COMMIT or XA ROLLBACK by hand"
    return [f"{who} left prepared on the target, because the log went no further: {'; '.join(xids)}; {end}"]


def _check_untouched(filters: Filters, found: Sequence[LoggedXaPart], left: Sequence[LoggedXaPart]) -> None:
    """Refuse XA transactions with tables that the filters do not leave out."""
    touching: dict[str, bool] = {}
    waiting = set(map(id, left))
    for part in found:
        xid = name_of(part)
        if not part.ends:
            touching[xid] = any(filters.chooses(*table) for table in part.tables)
        touches = touching.get(xid)
        if id(part) in waiting and touches is None:
            raise _refused_end(part)
        if id(part) in waiting and touches:
            raise _refused(part)


def _passed(part: LoggedXaPart, skip: GtidSet, place: tuple[int, int] | None) -> bool:
    if part.gtid is not None:
        return part.gtid in skip
    return place is not None and part.end <= place


def _refused(part: LoggedXaPart) -> LogNotUnderstood:
    behind = "continue after it with --start-after on a new --channel" if part.gtid else "begin with a later log"
    return LogNotUnderstood(
        f"the log has the XA transaction {part.xid}, prepared and ended apart, which this target cannot apply: PostgreSQL's prepared"
        " transactions neither hold their rows as MySQL's do nor can be recorded together with the progress; nothing was applied: stop"
        f" before it with --stop-before or --stop-at, bring its rows over by hand, and {behind}, or apply to a target of the log's family",
        file=part.file,
        position=part.offset,
        gtid=part.gtid,
    )


def _refused_end(part: LoggedXaPart) -> LogNotUnderstood:
    behind = f"add {part.gtid} to --start-after" if part.gtid else "begin with a later log"
    return LogNotUnderstood(
        f"the log ends the XA transaction {part.xid}, which was prepared before the logs begin, so it is not known whether its rows"
        f" belong into this target, and PostgreSQL cannot hold them prepared; nothing was applied: begin with the log that has its"
        f" XA PREPARE, or, if its rows are there or left out by the filters, {behind}",
        file=part.file,
        position=part.offset,
        gtid=part.gtid,
    )
