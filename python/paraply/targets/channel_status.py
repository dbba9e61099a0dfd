"""What a target holds of each channel, and what the run of a channel last said of itself."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from paraply._native import GtidSet
from paraply.errors import ParaplyError
from paraply.targets.progress.file_ledger import PlaceRow, read_places
from paraply.targets.progress.gtid_ledger import read_executed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paraply.targets.progress.gtid_ledger import Executed

__all__ = ["ALIVE_SECONDS", "ChannelStatus", "LastSign", "fill_progress", "gaps_of", "gtid_union", "read_sign"]

ALIVE_SECONDS = 15.0
"""A run that has not written its row for so long is taken for gone; it writes every two seconds."""


@dataclass(frozen=True, slots=True)
class LastSign:
    """What a run last said of itself.

    Attributes:
        epoch: Its epoch.
        at: When, as RFC 3339 text in UTC.
        age: Seconds since then, by the target's clock.
        status: The JSON object of ``monitor.status_object``.
    """

    epoch: int
    at: str
    age: float
    status: dict[str, Any]


@dataclass(slots=True)
class ChannelStatus:
    """A channel.

    Attributes:
        name: Its name.
        epoch: Raised by every start.
        complete: Whether an apply has come to the end of its logs, and none has begun since.
        executed: GTIDs that the stored progress holds; empty for a log without GTIDs.
        file: Log file of the newest transaction recorded.
        position: Offset behind it.
        ordinal: Transactions of the source that are through.
        gaps: What is missing before transactions that are committed, in words.
        ahead: How many transactions are committed behind a gap.
        fingerprint: Sources, filters and start.
        pending: A statement of which it is not known whether it took effect, in words; None for none (R25b).
        sign: What the last run said of itself; None where none did.
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
    sign: LastSign | None = None

    @property
    def state(self) -> str:
        """``running``, ``complete``, ``stopped``, ``failed`` or ``incomplete`` (it began, and how it ended is not known)."""
        sign = self.sign
        current = sign is not None and sign.epoch == self.epoch
        if sign is not None and current:
            outcome = sign.status.get("outcome")
            if outcome is None and sign.age < ALIVE_SECONDS:
                return "running"
            if outcome in ("stopped", "failed") and not self.complete:
                return str(outcome)
        return "complete" if self.complete else "incomplete"


def read_sign(epoch: int, at: str, age: float, text: str) -> LastSign | None:
    """The row of a run; None if it cannot be read, for instance because another version wrote it."""
    try:
        status = json.loads(text)
    except ValueError:
        return None
    return LastSign(epoch, at, max(0.0, age), status) if isinstance(status, dict) else None


def fill_progress(status: ChannelStatus, kept: PlaceRow | None, rows: Sequence[PlaceRow]) -> None:
    """Fills in what a channel's rows say of its progress.

    Args:
        status: The channel.
        kept: What earlier runs left.
        rows: The sessions' rows.
    """
    stored = [row for row in (kept, *rows) if row is not None]
    newest = max((row for row in stored if row.file is not None), key=lambda row: row.ordinal, default=None)
    if newest is not None:
        status.file, status.position, status.ordinal = newest.file, newest.offset, newest.ordinal
    texts = [row.text for row in stored if row.text]
    if any('"done"' in text for text in texts):  # a log without GTIDs
        places = read_places(kept, rows)
        status.file, status.position, status.ahead = places.file, places.offset, len(places.done)
        status.gaps = [f"behind {places.file}:{places.offset}"] if places.done else []
        return
    executed = read_executed(texts, GtidSet)
    status.executed = str(executed.gtids)
    in_order = status.sign is not None and status.sign.status.get("consistency") == "any-time"
    # A group gives numbers out in blocks, so that holes between them are no gaps where commits are in order.
    if executed.beyond or not in_order:
        status.gaps, status.ahead = gaps_of(executed)


def gaps_of(executed: Executed) -> tuple[list[str], int]:
    """What is missing before transactions that are committed, and how many of those there are.

    A gap of MySQL's GTIDs may also be a number that its group has given to nobody.
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
    """The union of GTID sets; what is none is left out."""
    union = GtidSet("")
    for text in texts:
        try:
            union = union | GtidSet(text)
        except (ParaplyError, ValueError):
            continue
    return str(union)
