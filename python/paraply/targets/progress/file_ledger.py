"""Progress in logs without GTIDs: log positions, and the gaps before them (R25)."""

from __future__ import annotations

import json
from collections import deque
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

from paraply.runtime import runtime
from paraply.targets.progress.gtid_ledger import Mark, ProgressLedger

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from paraply._native import Block, GtidSet
    from paraply.targets.progress.kept import Acknowledged

__all__ = ["FilePositions", "PlaceLedger", "PositionRow", "end_of", "newest_row", "read_positions"]


_NEWEST = 1024
"""Commits whose ends are remembered. A target loses the last ones, so that the last acknowledged commit is among them."""


@dataclass(frozen=True, slots=True)
class PositionRow:
    """A row of the progress tables.

    Attributes:
        text: Text of ``FilePositions.text``, stored in the column for GTIDs; empty if commits are in order.
        file: Log file of the last transaction; None without one.
        offset: Offset after that transaction.
        ordinal: Its number, counted from where the run began to read.
    """

    text: str
    file: str | None
    offset: int | None
    ordinal: int


@dataclass(frozen=True, slots=True)
class FilePositions:
    """The committed log positions.

    Attributes:
        file: Log file of the last transaction before the first gap; None at the beginning.
        offset: Offset after that transaction.
        ordinal: Its number, counted from where the run began to read.
        done: File and end offset of each transaction that is committed after a gap.
    """

    file: str | None = None
    offset: int | None = None
    ordinal: int = 0
    done: frozenset[tuple[str, int]] = frozenset()

    def text(self) -> str:
        """Return the text for the progress tables; ``read_positions`` reads it."""
        if not self.done:
            return ""
        return json.dumps({"file": self.file, "offset": self.offset, "ordinal": self.ordinal, "done": sorted(self.done)})

    def hold(self, block: Block) -> bool:
        """Return True if a block of the same run is committed."""
        return self.ordinal >= block.ordinal or end_of(block) in self.done


def read_positions(kept: PositionRow | None, rows: Iterable[PositionRow]) -> FilePositions:
    """Return the union of the positions that the sessions of a run wrote, or the positions of earlier runs if there are none.

    Args:
        kept: Row that earlier runs left.
        rows: Rows of the sessions.
    """
    written = [_read(row) for row in rows if row.file is not None]
    earlier = _read(kept) if kept is not None else FilePositions()
    low = max(written, key=lambda places: places.ordinal) if written else FilePositions(earlier.file, earlier.offset)
    return FilePositions(low.file, low.offset, low.ordinal, earlier.done.union(*(places.done for places in written)))


def newest_row(kept: PositionRow | None, rows: Iterable[PositionRow]) -> PositionRow | None:
    """Return the row of the newest commit; None if nothing is committed.

    The sessions' rows are those of the last run. Its numbers are compared with each other only, because every run counts from where it
    begins to read.

    Args:
        kept: Row that earlier runs left.
        rows: Rows of the sessions.

    >>> newest_row(PositionRow("", "binlog.000002", 1025, 30), [PositionRow("", "binlog.000003", 700, 6)]).file
    'binlog.000003'
    """
    written = [row for row in rows if row.file is not None]
    if written:
        return max(written, key=lambda row: row.ordinal)
    return kept if kept is not None and kept.file is not None else None


def _read(row: PositionRow) -> FilePositions:
    if not row.text.startswith("{"):
        return FilePositions(row.file, row.offset, row.ordinal)
    stored = json.loads(row.text)
    done = frozenset((file, offset) for file, offset in stored["done"])
    return FilePositions(stored["file"], stored["offset"], stored["ordinal"], done)


def end_of(block: Block) -> tuple[str, int]:
    """Return the file name, without its folder, and the end offset of a block."""
    return PurePath(block.end_file).name, block.end_offset


class PlaceLedger(ProgressLedger):
    """The log positions of blocks that are committed in any order.

    A row holds the position up to which everything was acknowledged, and the end positions of transactions that were acknowledged
    after a gap. The numbers of the blocks in the log determine which block is the next one.

    Args:
        places: Positions that are committed at the start.
        nothing: An empty GTID set.
        ordered: True if commits are in order, so that only gaps of an earlier run are kept.
    """

    def __init__(self, places: FilePositions, nothing: GtidSet, *, ordered: bool) -> None:
        super().__init__(nothing, has_gtids=False)
        self._lock = runtime.lock()
        self._ordered = ordered
        self._low = FilePositions(places.file, places.offset)
        self._initial = places.done
        #: Blocks after the low position, by the number before their first transaction.
        self._early: dict[int, Block] = {}
        #: Number and end of the newest blocks that were committed, to see if the target loses one.
        self._newest: deque[tuple[int, tuple[str, int]]] = deque(maxlen=_NEWEST)

    def marks(self, blocks: Sequence[Block], slot: int | None = None) -> list[Mark]:  # noqa: ARG002
        """Return the progress to write in each of the transactions that apply the blocks, one after the other."""
        with self._lock:
            low, done = self._low, self._initial
            if not self._ordered:
                done = done.union(*(_ends(early) for early in self._early.values()))
        marks = []
        for block in blocks:
            if self._ordered:
                low = FilePositions(block.end_file, block.end_offset, block.ordinal)
            else:
                done = done | _ends(block)
            written = FilePositions(low.file, low.offset, low.ordinal, done)
            marks.append(Mark(written.text(), block.end_file, block.end_offset, block.ordinal))
        return marks

    def places(self) -> FilePositions:
        """Return the acknowledged positions."""
        with self._lock:
            return FilePositions(
                self._low.file, self._low.offset, self._low.ordinal, self._initial.union(*map(_ends, self._early.values()))
            )

    def acknowledge_all(self, blocks: Sequence[Block], slot: int | None = None) -> None:  # noqa: ARG002
        """Record that the commits of the blocks were acknowledged."""
        with self._lock:
            self._newest.extend((block.ordinal, end_of(block)) for block in blocks)
            self._take_in(blocks)

    def pass_over(self, block: Block) -> None:
        """Record that an earlier run committed a block."""
        with self._lock:
            self._take_in([block])

    def acknowledged(self) -> Acknowledged:
        """Return the commits that were acknowledged up to now."""
        from paraply.targets.progress.kept import Acknowledged

        with self._lock:
            return Acknowledged(self.executed(), tuple(self._newest))

    def _take_in(self, blocks: Iterable[Block]) -> None:
        """Raise the low position over committed blocks."""
        for block in blocks:
            self._initial = self._initial - _ends(block) if self._initial else self._initial
            self._early[block.ordinal - block.transaction_count - block.skipped] = block
        while (early := self._early.pop(self._low.ordinal, None)) is not None:
            self._low = FilePositions(early.end_file, early.end_offset, early.ordinal)


def _ends(block: Block) -> frozenset[tuple[str, int]]:
    """Return the end positions of the block's transactions."""
    if block.transaction_count == 1:
        return frozenset([end_of(block)])
    return frozenset((PurePath(transaction.file).name, transaction.end_offset) for transaction in block.transactions)
