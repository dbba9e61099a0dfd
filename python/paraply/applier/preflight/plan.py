"""The plan of an apply: made before the first write, shown to the user, and refused if the apply cannot succeed."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from paraply.applier.options import Via
from paraply.applier.selection.filters import consequences
from paraply.errors import UsageError
from paraply.logs.file_order import missing_before, shown
from paraply.logs.stop_point import moment_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from paraply._native import GtidSet
    from paraply.applier.options import Options
    from paraply.applier.preflight.statement_changes import StatementChanges
    from paraply.applier.selection.renaming import Renaming
    from paraply.logs.file_order import LogFile
    from paraply.logs.stop_point import StopPoint
    from paraply.targets.protocol import Inspection

__all__ = ["RunPlan", "check_gap", "check_stop", "make_run_plan"]


@dataclass(frozen=True, slots=True)
class RunPlan:
    """Plan of an apply.

    Attributes:
        files: The logs, in order.
        bytes: Their size together.
        server: Version of the server that wrote the first log.
        first_gtid: The GTID of the first transaction in the logs.
        first_committed_at: Commit time of that transaction, microseconds since 1970, UTC.
        held: GTIDs that are skipped, because the target holds them.
        after: File and offset after which it continues, for a log without GTIDs with stored progress.
        resumed: True if an earlier run of the channel left progress.
        gtid_mode: ``record``, ``preserve`` or ``none``.
        workers: Connections that apply at the same time.
        policy: Scheduling policy.
        consistency: Consistency level.
        via: ``sessions`` or ``replication``: executor of the transactions.
        merges: True if several transactions may become one commit.
        stop: Stop, in the words of the options; empty for the logs' end.
        skip: GTIDs that are left out, as text; empty for none.
        filters: Filters, in the words of the options; empty if everything is applied.
        renames: Renames, in the words of the options; empty if every name stays.
        notes: Remarks for the user.
        statement_changes: Row changes in statement format, which end the apply; None if there are none.
    """

    files: tuple[str, ...]
    bytes: int
    server: str
    first_gtid: str | None
    first_committed_at: int | None
    held: str
    after: tuple[str, int] | None
    resumed: bool
    gtid_mode: str
    workers: int
    policy: str
    consistency: str
    merges: bool
    via: str = "sessions"
    stop: str = ""
    filters: str = ""
    renames: str = ""
    skip: str = ""
    notes: list[str] = field(default_factory=list)
    statement_changes: StatementChanges | None = None

    def as_json(self) -> Mapping[str, Any]:
        """Return the fields of a command's JSON object."""
        return {
            "files": list(self.files),
            "bytes": self.bytes,
            "server": self.server,
            "held": self.held or None,
            "resumed": self.resumed,
            "gtid_mode": self.gtid_mode,
            "workers": self.workers,
            "policy": self.policy,
            "consistency": self.consistency,
            "via": self.via,
            "merges": self.merges,
            "stop_options": self.stop or None,
            "filters": self.filters or None,
            "renames": self.renames or None,
            "skip": self.skip or None,
            "notes": self.notes,
            "statement_changes": self.statement_changes.as_json() if self.statement_changes is not None else None,
        }

    def lines(self) -> list[str]:
        """Return the plan as a few lines for people."""
        count = len(self.files)
        names = self.files[0] if count == 1 else f"{self.files[0]} to {self.files[-1]}, {count} files"
        begun = "" if self.first_committed_at is None else f", from {moment_text(self.first_committed_at)}"
        lines = [f"log      {names}, {_size(self.bytes)}{begun}, {self.server}"]
        if self.resumed and not self.held and self.after is None:
            lines.append("start    at the first transaction; the last run applied none")
        elif self.resumed:
            lines.append("start    continues where the last run ended" + (f" ({self.after[0]}:{self.after[1]})" if self.after else ""))
        lines.append(f"stop     {self.stop or 'at the end of the logs'}")
        if self.filters:
            lines.append(f"only     {self.filters}")
        if self.renames:
            lines.append(f"names    {self.renames}")
        if self.skip:
            lines.append(f"skip     {self.skip}")
        merging = "merged commits" if self.merges else "one commit each"
        workers = f"{self.workers} workers" + (" of the target's own replication" if self.via == Via.REPLICATION.value else "")
        lines.append(f"how      {workers}, policy {self.policy}, {self.consistency}, {merging}, GTID mode {self.gtid_mode}")
        lines.extend(f"note     {note}" for note in self.notes)
        if self.statement_changes is not None:
            lines.extend(self.statement_changes.lines())
        return lines


def make_run_plan(
    options: Options,
    files: Sequence[LogFile],
    inspect: Inspection,
    held: GtidSet,
    renaming: Renaming,
    *,
    merges: bool,
    has_gtids: bool,
    logged: bool,
) -> RunPlan:
    """Make the plan from the options and the findings about log and target."""
    heads = [file.head for file in files if file.head is not None]
    first = next((head for head in heads if head.has_transactions), None)
    progress = inspect.progress
    notes = consequences(renaming, inspect.tables, logged=logged) if options.filters else []
    notes.extend(inspect.notes)
    if options.filters.implied:
        system = ", ".join(options.filters.implied)
        notes.append(f"the server's own databases are left out ({system}): the target has none of them")
    if renaming.beside:
        notes.append("the target holds this log's own tables, which stay as they are")
    if options.skip and (twice := options.skip.held_by(held)):
        notes.append(f"--skip: the target counts {twice} as executed already; if a run applied them, their changes stay")
    if any(head.relay_log for head in heads):
        notes.append("the logs are relay logs: commit times and GTIDs are their source's")
    return RunPlan(
        files=tuple(file.path for file in files),
        bytes=sum(head.size for head in heads),
        server=heads[0].server_version if heads else "",
        first_gtid=first.first_gtid if first is not None else None,
        first_committed_at=first.first_committed_at if first is not None else None,
        held=str(held),
        after=None if has_gtids or progress.file is None or progress.offset is None else (progress.file, progress.offset),
        resumed=progress.resumed,
        gtid_mode=inspect.gtid_mode,
        workers=options.workers,
        policy=options.policy.name,
        consistency=options.consistency.value,
        via=options.via.value,
        merges=merges,
        stop=options.stop.text if options.stop is not None else "",
        filters=str(options.filters),
        renames=str(options.renames),
        skip=str(options.skip or ""),
        notes=notes,
    )


def check_gap(files: Sequence[LogFile], held: GtidSet, *, allowed: bool) -> str | None:
    """Compare the GTIDs held by the target with those executed before the first log.

    Returns:
        A note, if transactions are missing and the user has allowed it; else None.

    Raises:
        UsageError: Transactions are missing between the two sets.
    """
    missing = missing_before(files, held)
    if missing is None:
        return None
    what = f"{shown(missing)} was executed before the start of {files[0].name}, and the target does not hold it"
    if allowed:
        return f"{what}: left out because of --allow-gap"
    raise UsageError(
        f"{what}: add the earlier logs; or, if the restored backup holds these transactions, say so with"
        f" --start-after (the backup's GTID set); --allow-gap continues without them",
        file=files[0].path,
    )


def check_stop(stop: StopPoint | None, files: Sequence[LogFile], held: GtidSet, *, has_gtids: bool, mariadb: bool) -> None:
    """Check, before anything is written, that the logs hold the GTIDs of the stop.

    The GTID sets at the files' heads tell which file has a GTID; at most that file, or the last one, is read whole.

    Raises:
        UsageError: The logs do not hold the GTID, or the target is past it.
    """
    if stop is None or not stop.gtids:
        return
    for option, gtid in stop.gtids:
        if not has_gtids:
            raise UsageError(f"{option} {gtid}: the log's transactions carry no GTIDs; use a time with --stop-at")
        if (":" in gtid) == mariadb:
            writer = "MariaDB" if mariadb else "MySQL"
            raise UsageError(f"{option} {gtid} is not a GTID of {writer}, whose server wrote the log{_date_hint(option, gtid)}")
        if option == "--stop-before" and gtid in held:
            raise UsageError(f"{option} {gtid}: the target holds this transaction already; restore an older backup to stop before it")
        if not _is_held(files, gtid):
            raise UsageError(
                f"{option} {gtid}: none of the logs holds this transaction, so the replay would not stop; add the log that holds it,"
                f" or correct the GTID{_date_hint(option, gtid)}"
            )


def _date_hint(option: str, gtid: str) -> str:
    """Return advice for a date without a time, which may look like a GTID of MariaDB."""
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", gtid):
        return ""
    moment = f"{gtid}T00:00:00+01:00"
    return (
        f"; for a date give a time and its offset too: --stop-at {moment}"
        if option == "--stop-at"
        else f"; for a date use --stop-at {moment}"
    )


def _is_held(files: Sequence[LogFile], gtid: str) -> bool:
    """Return True if one of the logs holds a transaction."""
    from paraply._native import log_gtids

    for index, file in enumerate(files):
        behind = files[index + 1].previous if index + 1 < len(files) else None
        if (file.previous is not None and gtid in file.previous) or (behind is not None and gtid not in behind):
            continue
        if file.head is None or gtid in log_gtids(file.path):
            return True
    return False


def _size(count: float) -> str:
    for unit in ("bytes", "KB", "MB", "GB"):
        if count < 1024 or unit == "GB":
            return f"{count:,.0f} {unit}" if unit == "bytes" else f"{count:,.1f} {unit}"
        count /= 1024
    return ""
