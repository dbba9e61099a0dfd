"""The committed GTIDs of an apply run, as its sessions write them into the target (R25 and R25a)."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from paraply._native import Ledger, NumberRange, progress_text, raise_position

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from paraply._native import Block, GtidSet
    from paraply.targets.progress.kept import Acknowledged

__all__ = ["Executed", "GapLedger", "Mark", "ProgressLedger", "make_ledger", "read_executed"]

Ranges = dict[int, list[NumberRange]]
"""Numbers of GTIDs for each domain. Never changed once made."""


@dataclass(frozen=True, slots=True)
class Mark:
    """The progress that one transaction on the target writes. It is true once the transaction has committed.

    Attributes:
        executed: GTIDs as text; empty for a log without GTIDs.
        file: Log file of its last transaction.
        offset: Offset after that transaction.
        ordinal: Number of committed transactions of the source.
    """

    executed: str
    file: str
    offset: int
    ordinal: int


@dataclass(slots=True)
class Executed:
    """The committed GTIDs.

    The text of a MySQL GTID set can hold gaps. The text of MariaDB is a position, so gaps are stored in addition.

    Attributes:
        gtids: All committed GTIDs, in memory.
        low: GTIDs that are committed without a gap.
        beyond: For MariaDB, the numbers that are committed after a gap.
    """

    gtids: GtidSet
    low: GtidSet
    beyond: Ranges = field(default_factory=dict)

    def text(self) -> str:
        """Return the text for the progress tables; ``read_executed`` reads it."""
        return progress_text(self.low, self.beyond)


def read_executed(texts: Iterable[str], new_gtid_set: Callable[[str], GtidSet]) -> Executed:
    """Return the union of the texts that the sessions of a run wrote.

    Args:
        texts: GTID sets, or results of ``Executed.text``.
        new_gtid_set: Parses a GTID set.
    """
    low = new_gtid_set("")
    beyond: Ranges = {}
    for text in texts:
        if text.startswith("{"):
            stored = json.loads(text)
            low = low | new_gtid_set(stored["low"])
            for domain, ranges in stored["beyond"].items():
                beyond.setdefault(int(domain), []).extend(NumberRange(*numbers) for numbers in ranges)
        else:
            low = low | new_gtid_set(text)
    low, beyond = raise_position(low, beyond)
    gtids = low | new_gtid_set("")
    for domain, ranges in beyond.items():
        for numbers in ranges:
            for number in range(numbers.first, numbers.last + 1):
                gtids.add(f"{domain}-{numbers.server_id}-{number}")
    return Executed(gtids, low, beyond)


class ProgressLedger:
    """The GTIDs with acknowledged commits; shared by the sessions of a target.

    Every session writes its own row, so that sessions do not wait for each other. A row holds all GTIDs that were acknowledged when
    its transaction began, and that transaction itself. The union of the rows is therefore exactly the set of committed
    transactions: a commit is in the row of its session, and the next version of that row contains it too. This holds for any order
    of commits, and the text stays short because all but the newest commits form one interval.

    Args:
        executed: GTIDs that are committed at the start.
        has_gtids: True if the log has GTIDs; else the texts are empty.
    """

    def __init__(self, executed: GtidSet, *, has_gtids: bool) -> None:
        self.native: Ledger | None = Ledger(executed) if has_gtids else None
        """Makes the texts in native code; None for a log without GTIDs."""
        self._executed = executed

    def mark(self, block: Block, slot: int | None = None) -> Mark:
        """Return the progress to write in the transaction that applies a block.

        Args:
            block: The block.
            slot: Number of the row that is written, by one session at a time; None if not known.
        """
        return self.marks([block], slot)[0]

    def marks(self, blocks: Sequence[Block], slot: int | None = None) -> list[Mark]:
        """Return the progress for blocks that one session commits one after the other. Each mark includes the blocks before it."""
        texts = [""] * len(blocks) if self.native is None else self.native.texts(blocks, slot)
        return [Mark(text, block.end_file, block.end_offset, block.ordinal) for text, block in zip(texts, blocks, strict=True)]

    def acknowledge(self, block: Block, slot: int | None = None) -> None:
        """Record that the commit of a block was acknowledged.

        Args:
            block: The block.
            slot: Number of the row that holds the block and will be written again, as given to ``mark``; None without such a row.
        """
        self.acknowledge_all([block], slot)

    def acknowledge_all(self, blocks: Sequence[Block], slot: int | None = None) -> None:
        """Record that the commits of the blocks given to ``marks`` were acknowledged."""
        if self.native is not None:
            self.native.acknowledge(blocks, slot)

    def pass_over(self, block: Block) -> None:
        """Record that an earlier run committed a block."""
        self.acknowledge(block)

    def executed(self) -> GtidSet:
        """Return the acknowledged GTIDs."""
        return self._executed if self.native is None else self.native.executed()

    def acknowledged(self) -> Acknowledged:
        """Return the commits that were acknowledged up to now."""
        from paraply.targets.progress.kept import Acknowledged

        return Acknowledged(self.executed())


class GapLedger(ProgressLedger):
    """A ledger for MariaDB's GTIDs with gaps between commits, which the text of a position cannot hold.

    A row holds the position up to which everything was acknowledged, and the numbers that were acknowledged after a gap. The
    positions of the blocks in the log determine which block is the next one. If the slot is known, a row only holds numbers that no
    other row holds: the numbers of its own session. The numbers of earlier runs are in the channel's row.

    After a long gap, the numbers of one slot become many small ranges. Its row then takes over the numbers of all rows, which are
    one range for each uncommitted block. Once that row is committed, the other rows need not hold these numbers any more.

    Args:
        executed: GTIDs that are committed at the start.
        most_pieces: Most ranges after a gap in one row, before it takes over the ranges of all rows; without a long gap there are a few.
    """

    def __init__(self, executed: Executed, *, most_pieces: int | None = None) -> None:
        super().__init__(executed.gtids, has_gtids=False)
        self.native = Ledger(executed.gtids, low=executed.low, beyond=executed.beyond, most_pieces=most_pieces)


def make_ledger(executed: Executed, *, mariadb: bool, gaps: bool) -> ProgressLedger:
    """Return the ledger for a log with GTIDs.

    Args:
        executed: GTIDs that are committed at the start.
        mariadb: True if the GTIDs are MariaDB's.
        gaps: True if blocks may commit before older ones.
    """
    if mariadb and (gaps or executed.beyond):
        return GapLedger(executed)
    return ProgressLedger(executed.gtids, has_gtids=True)
