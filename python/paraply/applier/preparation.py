"""What happens before the first block: options are checked, the target is opened, the schema is seeded (R21a, R25)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal

from paraply.applier.fingerprint import plan_fingerprint
from paraply.errors import ConfigurationMismatch, LogNotUnderstood, UsageError
from paraply.target.base import ApplyPlan, Progress

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from paraply._native import GtidSet, Transaction
    from paraply.target.base import Target

__all__ = ["Options", "Start", "check_channel", "parse_gtids", "refuse_xa", "start_place", "start_run"]

_LONGEST_CHANNEL = 64
"""Characters of a channel's name that the progress tables hold."""


def check_channel(name: str) -> None:
    """Refuses names that progress cannot be kept under.

    Raises:
        UsageError: The name is empty, too long, or looks like an option.
    """
    if not name or len(name) > _LONGEST_CHANNEL or name.startswith("-") or not name.isprintable():
        raise UsageError(f"--channel {name!r}: give a name of 1 to {_LONGEST_CHANNEL} printable characters that does not begin with -")


@dataclass(frozen=True, slots=True)
class Options:
    """The arguments of Applier, as they are needed before the run."""

    paths: tuple[str, ...]
    workers: int
    policy: str
    consistency: str
    merge: Literal["auto", "off"] | int
    gtid: Literal["auto", "record", "preserve", "none"]
    channel: str
    start_after: str | None
    allow_nontransactional: bool
    ddl_decision: Literal["done", "not-done"] | None
    filters: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Start:
    """Where a run begins.

    Attributes:
        progress: What the target holds.
        skip: GTIDs to pass over: those of the progress and of ``start_after``.
        place: Index of the file and offset up to which transactions without GTID are passed over.
        mariadb: Whether a MariaDB server wrote the log.
    """

    progress: Progress
    skip: GtidSet
    place: tuple[int, int] | None
    mariadb: bool

    def passed(self, transaction: Transaction, paths: Sequence[str]) -> bool:
        """Whether a transaction is applied already."""
        if transaction.gtid is not None:
            return transaction.gtid in self.skip
        if self.place is None:
            return False
        names = [PurePath(path).name for path in paths]
        name = PurePath(transaction.file).name
        return name in names and (names.index(name), transaction.end_offset) <= self.place


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


def start_run(options: Options, target: Target, first: Transaction) -> Start:
    """Checks the options against log and target, and opens the target.

    Raises:
        UsageError: They do not fit; nothing was written.
        ParaplyError: Whatever the target finds.
    """
    has_gtids = first.gtid is not None
    start_after = parse_gtids(options.start_after)
    if not has_gtids:
        _refuse_without_gtids(options)
    if start_after and (":" not in str(start_after)) != first.format.mariadb:
        ours = "MariaDB" if first.format.mariadb else "MySQL"
        raise UsageError(f"--start-after {options.start_after} is not in the form of {ours}, whose server wrote the log")
    if options.policy == "logical-clock" and (first.last_committed is None or first.sequence_number is None):
        raise UsageError(
            "policy logical-clock needs a log whose transactions carry last_committed and sequence_number; use --policy dependency",
            file=first.file,
            position=first.offset,
            gtid=first.gtid,
        )
    progress = target.open(
        ApplyPlan(
            channel=options.channel,
            fingerprint=plan_fingerprint(first, str(start_after) if start_after else None, options.filters),
            workers=options.workers,
            gtid_mode=options.gtid,
            has_gtids=has_gtids,
            mariadb=first.format.mariadb,
            allow_nontransactional=options.allow_nontransactional,
            ddl_decision=options.ddl_decision,
        )
    )
    if isinstance(options.merge, int) and options.merge > 1 and not target.merges:
        raise UsageError("the target commits each transaction under its own GTID in this mode and cannot merge; use --merge off or auto")
    place = None if has_gtids else start_place(options.paths, progress)
    skip = progress.executed | start_after
    refuse_xa(options.paths, skip, place)
    return Start(progress, skip, place, first.format.mariadb)


def refuse_xa(paths: Sequence[str], skip: GtidSet, place: tuple[int, int] | None) -> None:
    """Looks for XA transactions before the first write: no target can commit one together with its progress (R35).

    Raises:
        LogNotUnderstood: There is one that is still to be applied.
    """
    from paraply._native import first_xa_transaction

    found = first_xa_transaction(paths, skip, place)
    if found is None:
        return
    file, position, gtid, xid = found
    behind = "go on behind it with --start-after" if gtid else "begin with a log behind it"
    raise LogNotUnderstood(
        f"the log has the XA transaction {xid}, prepared and ended apart, which no target can record together with its"
        f" progress; nothing was applied: apply a log cut before this place, end the XA transaction by hand, and {behind}",
        file=file,
        position=position,
        gtid=gtid,
    )


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
