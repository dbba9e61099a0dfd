"""The stored state of each channel on a target, and the last status that a run of the channel wrote."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from paraply._native import GtidSet
from paraply.errors import ParaplyError
from paraply.targets.progress.file_ledger import PositionRow, newest_row, read_positions
from paraply.targets.progress.gtid_ledger import read_executed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from paraply.targets.progress.gtid_ledger import Executed

__all__ = ["ALIVE_SECONDS", "ChannelStatus", "LastSign", "Pause", "fill_progress", "gaps_of", "gtid_union", "read_sign", "without_progress"]

ALIVE_SECONDS = 15.0
"""Age of the status row after which its run counts as ended; a run writes the row every two seconds."""


@dataclass(frozen=True, slots=True)
class LastSign:
    """The last status that a run wrote.

    Attributes:
        epoch: Epoch of the run.
        at: Time of writing, as RFC 3339 text in UTC.
        age: Seconds since the row was written, by the target's clock.
        status: The JSON object of ``observe.status_json``.
    """

    epoch: int
    at: str
    age: float
    status: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Pause:
    """A pause of a channel.

    Attributes:
        by: User and machine that asked for it.
        since: Time at which it was asked for, as RFC 3339 text in UTC, by the target's clock.
    """

    by: str
    since: str


@dataclass(slots=True)
class ChannelStatus:
    """The state of one channel.

    Attributes:
        name: Name of the channel.
        epoch: Number that every start raises; 0 if the first start failed before it took over the channel.
        complete: True if an apply reached the end of its logs, or its stop, and no other apply has started since.
        executed: GTIDs that the stored progress holds; empty for a log without GTIDs.
        file: Log file of the newest transaction recorded.
        position: Offset after that transaction.
        ordinal: Its number, counted from where its run began to read.
        gaps: Missing transactions that are older than committed ones, in words.
        ahead: Number of transactions that are committed after a gap.
        fingerprint: Identity of sources, filters and start.
        pending: A statement with an unknown outcome, in words; None for none (R25b).
        gtid_mode: GTID mode of the last run; empty if not known, and on a target without GTIDs.
        missing: Applied GTIDs that the server's own GTID set lacks (mode ``record``); empty if it holds all of them.
        sign: Last status that a run wrote; None if no run wrote one.
        pause: The pause of the channel; None if it is not paused.
        conflicts: Number of its rows in the table of conflicts, of all its runs.
    """

    name: str
    epoch: int
    complete: bool
    executed: str = ""
    file: str | None = None
    position: int | None = None
    ordinal: int = 0
    gaps: list[str] = field(default_factory=list)
    ahead: int = 0
    fingerprint: str = ""
    pending: str | None = None
    gtid_mode: str = ""
    missing: str = ""
    sign: LastSign | None = None
    pause: Pause | None = None
    conflicts: int = 0

    @property
    def state(self) -> str:
        """``running``, ``complete``, ``stopped``, ``failed``, or ``incomplete`` if the last run started and its end is not known."""
        sign = self.sign
        current = sign is not None and sign.epoch == self.epoch
        if sign is not None and current:
            outcome = sign.status.get("outcome")
            if outcome is None and sign.age < ALIVE_SECONDS:
                return "running"
            if outcome == "failed" or (outcome == "stopped" and not self.complete):
                return str(outcome)
        return "complete" if self.complete else "incomplete"


def read_sign(epoch: int, at: str, age: float, text: str) -> LastSign | None:
    """Return the status in a run's row, or None if it cannot be read, for instance because another version wrote it."""
    try:
        status = json.loads(text)
    except ValueError:
        return None
    return LastSign(epoch, at, max(0.0, age), status) if isinstance(status, dict) else None


def without_progress(signs: Mapping[str, LastSign], found: Sequence[ChannelStatus] = ()) -> list[ChannelStatus]:
    """Return the channels that have no progress because their first start failed before it took them over."""
    names = {channel.name for channel in found}
    return [ChannelStatus(name, 0, False, sign=sign) for name, sign in signs.items() if sign.epoch == 0 and name not in names]


def fill_progress(status: ChannelStatus, kept: PositionRow | None, rows: Sequence[PositionRow]) -> None:
    """Fill in the progress fields of a channel's status from its stored rows.

    Args:
        status: Status to fill in.
        kept: Row that earlier runs left.
        rows: Rows of the sessions.
    """
    stored = [row for row in (kept, *rows) if row is not None]
    newest = newest_row(kept, rows)
    if newest is not None:
        status.file, status.position, status.ordinal = newest.file, newest.offset, newest.ordinal
    texts = [row.text for row in stored if row.text]
    if any('"done"' in text for text in texts):  # a log without GTIDs
        places = read_positions(kept, rows)
        status.file, status.position, status.ahead = places.file, places.offset, len(places.done)
        status.gaps = [f"behind {places.file}:{places.offset}"] if places.done else []
        return
    executed = read_executed(texts, GtidSet)
    status.executed = str(executed.gtids)
    in_order = status.sign is not None and status.sign.status.get("consistency") == "any-time"
    # Group Replication assigns numbers in blocks. With commits in order, a hole between two such blocks is no gap.
    if executed.beyond or not in_order:
        status.gaps, status.ahead = gaps_of(executed)


def gaps_of(executed: Executed) -> tuple[list[str], int]:
    """Return the missing transactions that are older than committed ones, and the number of committed transactions after such gaps.

    In GTIDs of MySQL, a gap may also be a number that Group Replication never assigned to a transaction.
    """
    text = str(executed.low)
    if executed.beyond or ":" not in text:
        return _gaps_of_domains(text, executed)
    gaps, ahead = [], 0
    for part in text.split(","):
        uuid, *pieces = part.strip().split(":")
        name, last = uuid, 0
        for piece in pieces:
            if not piece[:1].isdigit():
                name, last = f"{uuid}:{piece}", 0
                continue
            first, _, end = piece.partition("-")
            if last:
                gaps.append(f"{name}:{_range(last + 1, int(first) - 1)}")
                ahead += int(end or first) - int(first) + 1
            last = int(end or first)
    return gaps, ahead


def _gaps_of_domains(low: str, executed: Executed) -> tuple[list[str], int]:
    reached = {int(gtid.split("-")[0]): int(gtid.split("-")[2]) for gtid in low.split(",") if gtid}
    gaps, ahead = [], 0
    for domain, ranges in sorted(executed.beyond.items()):
        last = reached.get(domain, 0)
        for first, end, _ in ranges:
            gaps.append(f"domain {domain}: {_range(last + 1, first - 1)}")
            ahead += end - first + 1
            last = end
    return gaps, ahead


def _range(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def gtid_union(*texts: str) -> str:
    """Return the union of GTID sets; ignore texts that are not a GTID set."""
    union = GtidSet("")
    for text in texts:
        try:
            union = union | GtidSet(text)
        except (ParaplyError, ValueError):
            continue
    return str(union)
