"""What an apply run has committed so far, as its sessions write it into the target (rules R25 and R25a)."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from paraply._native import Ledger, progress_text, raise_position

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from paraply._native import Block, GtidSet

__all__ = ["Executed", "GapLedger", "Mark", "ProgressLedger", "make_ledger", "read_executed"]

Ranges = dict[int, list[tuple[int, int, int]]]
"""First and last numbers of GTIDs, and the server of the last, for each domain. Never changed once made."""


@dataclass(frozen=True, slots=True)
class Mark:
    """The progress that one transaction on the target writes: what is through once it has committed.

    Attributes:
        executed: GTIDs as text; empty for a log without GTIDs.
        file: Log file of its last transaction.
        offset: Offset behind that transaction.
        ordinal: Transactions of the source that are through.
    """

    executed: str
    file: str
    offset: int
    ordinal: int


@dataclass(slots=True)
class Executed:
    """What is committed.

    MySQL's sets hold gaps in their text. MariaDB's text is a position, so that gaps are kept beside it.

    Attributes:
        gtids: Exactly that, in memory.
        low: What is committed without a gap.
        beyond: For MariaDB, the numbers that are committed ahead of a gap.
    """

    gtids: GtidSet
    low: GtidSet
    beyond: Ranges = field(default_factory=dict)

    def text(self) -> str:
        """For the progress tables; ``read_executed`` reads it."""
        return progress_text(self.low, self.beyond)


def read_executed(texts: Iterable[str], new_gtid_set: Callable[[str], GtidSet]) -> Executed:
    """The union of the texts that the sessions of a run have written.

    Args:
        texts: GTID sets, or what ``Executed.text`` gave.
        new_gtid_set: Reads a GTID set.
    """
    low = new_gtid_set("")
    beyond: Ranges = {}
    for text in texts:
        if text.startswith("{"):
            stored = json.loads(text)
            low = low | new_gtid_set(stored["low"])
            for domain, ranges in stored["beyond"].items():
                beyond.setdefault(int(domain), []).extend((first, last, server) for first, last, server in ranges)
        else:
            low = low | new_gtid_set(text)
    low, beyond = raise_position(low, beyond)
    gtids = low | new_gtid_set("")
    for domain, ranges in beyond.items():
        for first, last, server in ranges:
            for number in range(first, last + 1):
                gtids.add(f"{domain}-{server}-{number}")
    return Executed(gtids, low, beyond)


class ProgressLedger:
    """The GTIDs whose commits were acknowledged; shared by the sessions of a target.

    Every session writes a row of its own, so that sessions do not wait for each other. A row holds everything that was
    acknowledged when its transaction began, and that transaction itself. The union of the rows is then exactly what is
    committed: a commit is in its own session's row, and whatever replaces that row knows of it. This holds in any order of
    commits, and the text stays short because all but the newest commits are one interval.

    Args:
        executed: What is committed at the start.
        has_gtids: Whether the log has GTIDs; else the texts are empty.
    """

    def __init__(self, executed: GtidSet, *, has_gtids: bool) -> None:
        self.native: Ledger | None = Ledger(executed) if has_gtids else None
        """Knows the texts without the interpreter; None where there are none, or a subclass makes them."""
        self._executed = executed

    def mark(self, block: Block, slot: int | None = None) -> Mark:
        """The progress to write in the transaction that applies a block.

        Args:
            block: The block.
            slot: Whose row it is written to, by one session after the other; None where that is not told.
        """
        return self.marks([block], slot)[0]

    def marks(self, blocks: Sequence[Block], slot: int | None = None) -> list[Mark]:
        """As ``mark``, for blocks that one session commits one after the other: each knows of those before it."""
        texts = [""] * len(blocks) if self.native is None else self.native.texts(blocks, slot)
        return [Mark(text, block.end_file, block.end_offset, block.ordinal) for text, block in zip(texts, blocks, strict=True)]

    def acknowledge(self, block: Block, slot: int | None = None) -> None:
        """Notes that a block's commit was acknowledged.

        Args:
            block: The block.
            slot: Whose row says so and will be written again, with the same slot given to ``mark``; None where no row will.
        """
        self.acknowledge_all([block], slot)

    def acknowledge_all(self, blocks: Sequence[Block], slot: int | None = None) -> None:
        """As ``acknowledge``, for the blocks of ``marks``."""
        if self.native is not None:
            self.native.acknowledge(blocks, slot)

    def executed(self) -> GtidSet:
        """What is acknowledged."""
        return self._executed if self.native is None else self.native.executed()


class GapLedger(ProgressLedger):
    """The same for MariaDB's GTIDs where commits leave gaps, which the text of a position cannot hold.

    A row holds the position up to which everything was acknowledged, and the numbers that were acknowledged ahead of it. Blocks
    follow each other by their places in the log, so it is known which of them is the next. Where the slot is told, a row only
    holds such numbers as no other row does: its own, and what earlier runs left is in the channel's row.

    Behind a long gap a slot's own numbers become many small ranges. Its row then takes over what is ahead in all rows, which is one
    range for each block under way; once that is committed, the other rows need not hold it any more.

    Args:
        executed: What is committed at the start.
        most_pieces: Pieces ahead of a gap that a row holds before it takes over those of all rows; without a long gap it holds a few.
    """

    def __init__(self, executed: Executed, *, most_pieces: int | None = None) -> None:
        super().__init__(executed.gtids, has_gtids=False)
        self.native = Ledger(executed.gtids, low=executed.low, beyond=executed.beyond, most_pieces=most_pieces)


def make_ledger(executed: Executed, *, mariadb: bool, gaps: bool) -> ProgressLedger:
    """The ledger that can hold what may happen to a log with GTIDs.

    Args:
        executed: What is committed at the start.
        mariadb: Whether the GTIDs are MariaDB's.
        gaps: Whether blocks may commit while older ones have not.
    """
    if mariadb and (gaps or executed.beyond):
        return GapLedger(executed)
    return ProgressLedger(executed.gtids, has_gtids=True)
