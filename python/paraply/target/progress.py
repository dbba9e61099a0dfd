"""What an apply run has committed so far, as its sessions write it into the target (rules R25 and R25a)."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from itertools import accumulate
from operator import or_
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from paraply._native import Block, GtidSet

__all__ = ["Executed", "GapLedger", "Mark", "ProgressLedger", "make_ledger", "read_executed"]

Ranges = dict[int, list[tuple[int, int, int]]]
"""First and last numbers of GTIDs, and the server of the last, for each domain. Never changed once made."""

_MOST_PIECES = 16
"""Pieces ahead of a gap that a row holds before it takes over those of all rows; without a long gap it holds a few."""
_MOST_LATE = 256
"""Commits that are noted before they are joined with what is known, if nobody asks."""


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
        return _write(str(self.low), self.beyond)


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
    reached = _reached(str(low)) if beyond else {}
    beyond = _behind(_joined(beyond), reached)
    for domain, ranges in list(beyond.items()):
        first, last, server = ranges[0]
        if first == reached.get(domain, 0) + 1:  # nothing can be between the position and its next number
            low = low | new_gtid_set(f"{domain}-{server}-{last}")
            beyond[domain] = ranges[1:]
    beyond = {domain: ranges for domain, ranges in beyond.items() if ranges}
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
    """

    def __init__(self, executed: GtidSet, *, has_gtids: bool, copy: Callable[[GtidSet], GtidSet] = lambda gtids: gtids.copy()) -> None:
        self._executed = copy(executed)
        self._has_gtids = has_gtids
        self._lock = threading.Lock()

    def mark(self, block: Block, slot: int | None = None) -> Mark:
        """The progress to write in the transaction that applies a block.

        Args:
            block: The block.
            slot: Whose row it is written to, by one session after the other; None where that is not told.
        """
        return self.marks([block], slot)[0]

    def marks(self, blocks: Sequence[Block], slot: int | None = None) -> list[Mark]:  # noqa: ARG002
        """As ``mark``, for blocks that one session commits one after the other: each knows of those before it."""
        texts = [""] * len(blocks)
        if self._has_gtids:
            with self._lock:
                executed = self._executed | blocks[0].gtids
            texts = [str(gtids) for gtids in accumulate((block.gtids for block in blocks[1:]), or_, initial=executed)]
        return [Mark(text, block.end_file, block.end_offset, block.ordinal) for text, block in zip(texts, blocks, strict=True)]

    def acknowledge(self, block: Block, slot: int | None = None) -> None:
        """Notes that a block's commit was acknowledged.

        Args:
            block: The block.
            slot: Whose row says so and will be written again, with the same slot given to ``mark``; None where no row will.
        """
        self.acknowledge_all([block], slot)

    def acknowledge_all(self, blocks: Sequence[Block], slot: int | None = None) -> None:  # noqa: ARG002
        """As ``acknowledge``, for the blocks of ``marks``."""
        if self._has_gtids:
            with self._lock:
                for block in blocks:
                    self._executed.update(block.gtids)

    def executed(self) -> GtidSet:
        """What is acknowledged."""
        with self._lock:
            return self._executed | self._executed


class GapLedger(ProgressLedger):
    """The same for MariaDB's GTIDs where commits leave gaps, which the text of a position cannot hold.

    A row holds the position up to which everything was acknowledged, and the numbers that were acknowledged ahead of it. Blocks
    follow each other by their places in the log, so it is known which of them is the next. Where the slot is told, a row only
    holds such numbers as no other row does: its own, and what earlier runs left is in the channel's row.

    Behind a long gap a slot's own numbers become many small ranges. Its row then takes over what is ahead in all rows, which is one
    range for each block under way; once that is committed, the other rows need not hold it any more.

    Args:
        executed: What is committed at the start.
    """

    def __init__(self, executed: Executed) -> None:
        super().__init__(executed.gtids, has_gtids=True)
        self._low = executed.low | executed.low  # our own: it is raised in place
        self._text = str(executed.low)
        #: The number of each domain in the position.
        self._reached = _reached(self._text)
        self._initial = executed.beyond
        self._through = 0
        #: Blocks ahead of the position: place of the first transaction, with that of the last one, GTIDs and numbers.
        self._early: dict[int, tuple[int, GtidSet, Ranges]] = {}
        #: The numbers ahead of the position; those acknowledged of late stand beside them.
        self._ahead: Ranges = {}
        self._late: list[Ranges] = []
        self._acknowledged = 0
        #: What stands in a slot's row and in no other, piece by piece, with how much was acknowledged then.
        self._written: dict[int, list[tuple[int, Ranges]]] = {}
        #: Rows that were told to take everything over: the place of the block, and the piece.
        self._taking: dict[int, tuple[int, tuple[int, Ranges]]] = {}

    def marks(self, blocks: Sequence[Block], slot: int | None = None) -> list[Mark]:
        """The progress to write in the transactions that apply blocks one after the other."""
        with self._lock:
            text, reached = self._text, dict(self._reached)
            held = _union(self._initial, self._everything()) if slot is None else self._held(slot, _begin(blocks[0]))
        marks = []
        for block in blocks:
            held = _union(held, _ranges(block))
            marks.append(Mark(_write(text, _behind(held, reached)), block.end_file, block.end_offset, block.ordinal))
        return marks

    def acknowledge_all(self, blocks: Sequence[Block], slot: int | None = None) -> None:
        """Notes that the blocks' commits were acknowledged."""
        if not blocks:
            return
        new = {_begin(block): (block.ordinal, block.gtids, _ranges(block)) for block in blocks}
        numbers = _union(*(ranges for _, _, ranges in new.values()))
        with self._lock:
            for _, gtids, _ in new.values():
                self._executed.update(gtids)
            self._early.update(new)
            if self._through in new:
                self._raise()
            self._acknowledged += 1
            self._late.append(numbers)
            if len(self._late) > _MOST_LATE:
                self._everything()
            if slot is not None:
                taken = self._taking.pop(slot, None)
                if taken is not None and taken[0] in new:
                    self._take_over(slot, taken[1])
                self._written.setdefault(slot, []).append((self._acknowledged, numbers))

    def _held(self, slot: int, begin: int) -> Ranges:
        """The numbers ahead of the position that a row must hold besides its new ones."""
        self._taking.pop(slot, None)
        written = self._written.get(slot)
        if not written:
            return {}
        pieces = [(then, left) for then, ranges in written if (left := _behind(ranges, self._reached))]
        self._written[slot] = pieces
        if len(pieces) <= _MOST_PIECES:
            return _union(*(ranges for _, ranges in pieces))
        everything = self._everything()
        self._taking[slot] = begin, (self._acknowledged, everything)
        return everything

    def _take_over(self, slot: int, piece: tuple[int, Ranges]) -> None:
        """A slot's row holds everything now that was acknowledged up to a time."""
        for other, pieces in self._written.items():
            self._written[other] = [(then, ranges) for then, ranges in pieces if then > piece[0]]
        self._written[slot] = [piece]

    def _everything(self) -> Ranges:
        """All numbers ahead of the position."""
        self._ahead = _behind(_union(self._ahead, *self._late), self._reached)
        self._late = []
        return self._ahead

    def _raise(self) -> None:
        """Moves the position over everything that follows it without a gap."""
        while (early := self._early.pop(self._through, None)) is not None:
            self._through, gtids, ranges = early
            self._low.update(gtids)
            for domain, numbers in ranges.items():
                self._reached[domain] = max(self._reached.get(domain, 0), numbers[-1][1])
        self._text = str(self._low)


def make_ledger(executed: Executed, *, mariadb: bool, gaps: bool) -> ProgressLedger:
    """The ledger that can hold what may happen to a log with GTIDs.

    Args:
        executed: What is committed at the start.
        mariadb: Whether the GTIDs are MariaDB's.
        gaps: Whether blocks may commit while older ones have not.
    """
    if mariadb and (gaps or executed.beyond):
        return GapLedger(executed)
    return ProgressLedger(executed.gtids, has_gtids=True, copy=lambda gtids: gtids | gtids)


def _write(low: str, beyond: Ranges) -> str:
    """JSON; by hand, because every transaction writes one, and there are only numbers in it."""
    if not beyond:
        return low
    domains = (f'"{domain}":[{",".join(f"[{a},{b},{server}]" for a, b, server in ranges)}]' for domain, ranges in beyond.items())
    return f'{{"low":"{low}","beyond":{{{",".join(domains)}}}}}'


def _ranges(block: Block) -> Ranges:
    ranges: Ranges = {}
    numbers = block.numbers
    for domain, number, server in numbers:
        ranges.setdefault(domain, []).append((number, number, server))
    return ranges if len(numbers) == 1 else _joined(ranges)


def _begin(block: Block) -> int:
    """Its place in the log: how many transactions stand before it."""
    return block.ordinal - block.transaction_count - block.skipped


def _union(*some: Ranges) -> Ranges:
    """The numbers of all, in as few ranges as possible."""
    some = tuple(filter(None, some))
    if len(some) < 2:
        return some[0] if some else {}
    union: Ranges = {}
    for ranges in some:
        for domain, numbers in ranges.items():
            union.setdefault(domain, []).extend(numbers)
    return _joined(union)


def _joined(ranges: Ranges) -> Ranges:
    """The same numbers in as few ranges as possible."""
    joined: Ranges = {}
    for domain, numbers in ranges.items():
        kept: list[tuple[int, int, int]] = []
        for first, last, server in sorted(numbers):
            if not kept or first > kept[-1][1] + 1:
                kept.append((first, last, server))
            elif last > kept[-1][1]:
                kept[-1] = (kept[-1][0], last, server)
        joined[domain] = kept
    return joined


def _behind(ranges: Ranges, reached: dict[int, int]) -> Ranges:
    """Those that a position does not cover, of which the number of each domain is given."""
    if all(numbers[0][0] > reached.get(domain, 0) for domain, numbers in ranges.items()):
        return ranges
    left = {
        domain: [(max(first, reached.get(domain, 0) + 1), last, server) for first, last, server in numbers if last > reached.get(domain, 0)]
        for domain, numbers in ranges.items()
    }
    return {domain: numbers for domain, numbers in left.items() if numbers}


def _reached(low: str) -> dict[int, int]:
    """The number of each domain in a position."""
    return {int(domain): int(number) for domain, _, number in (gtid.split("-") for gtid in low.split(",") if gtid)}
