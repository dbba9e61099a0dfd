"""Which rows of a transaction may be applied apart from each other: the connected components of their hashes (R21a)."""

from __future__ import annotations

import logging
import tempfile
import threading
from typing import TYPE_CHECKING

from paraply import _native
from paraply.applier.merge import MAX_BLOCK_BYTES
from paraply.applier.split.row_events import RowEvents, Unit, row_events, write_log
from paraply.errors import ParaplyError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from paraply._native import Block, Catalog, TransactionBatch, WriteSets

__all__ = ["SPLIT_BYTES", "PartMaker", "components", "spread"]

_log = logging.getLogger("paraply.applier")

SPLIT_BYTES = MAX_BLOCK_BYTES
"""Bytes of log from which a transaction is spread; one of this size never shares a block with another."""


class PartMaker:
    """Splits large transactions as the reader passes them, where the definitions of their place in the log are at hand.

    Args:
        parts: How many parts a transaction becomes at most.
        least_bytes: Transactions of fewer bytes stay whole.
    """

    def __init__(self, parts: int, least_bytes: int | None = None) -> None:
        self._most = parts
        self._least_bytes = SPLIT_BYTES if least_bytes is None else least_bytes
        self._ready: dict[tuple[str, int], list[Block]] = {}
        self._lock = threading.Lock()

    def look_at(self, batch: TransactionBatch, write_sets: WriteSets, catalog: Catalog) -> None:
        """Splits the large transactions of a batch; called by the reader's thread."""
        if self._most < 2 or batch.bytes < self._least_bytes:
            return
        large = [index for index, transaction in enumerate(batch) if self._may_split(transaction, write_sets, index)]
        if not large:
            return
        blocks = {_place(block): block for block in _native.Planner().plan(batch, write_sets, merge=1, max_bytes=1, committed=0)}
        for index in large:
            transaction = batch[index]
            place = transaction.file, transaction.offset
            try:
                parts = self._split(blocks[place], catalog)
            except (OSError, ParaplyError) as error:  # what is wrong with the log itself, the apply finds as well
                _log.warning("the transaction at %s:%d is applied whole, because it cannot be split: %s", *place, error)
                continue
            if len(parts) > 1:
                with self._lock:
                    self._ready[place] = parts

    def take(self, block: Block) -> list[Block]:
        """The parts of a block; none if it stays whole. They are given once."""
        if self._most < 2 or block.bytes < self._least_bytes:
            return []
        places = [(transaction.file, transaction.offset) for transaction in block.transactions]
        with self._lock:
            found = [parts for place in places if (parts := self._ready.pop(place, None)) is not None]
        # Others may stand in the block only if a filter has left nothing of them.
        return found[0] if found and block.transaction_count - block.filtered == 1 else []

    def _may_split(self, transaction: _native.Transaction, write_sets: WriteSets, index: int) -> bool:
        if transaction.kind != "dml" or transaction.bytes < self._least_bytes or transaction.rows < 2:
            return False
        return not write_sets.items(index)[2]

    def _split(self, block: Block, catalog: Catalog) -> list[Block]:
        events = row_events(block)
        if events is None or len(events.units) < 2:
            return []
        groups = components(_hashed(events, catalog))
        if len(groups) < 2:
            return []
        bins = spread(groups, [unit.size for unit in events.units], self._most)
        return list(_blocks(events, [[events.units[index] for index in sorted(chosen)] for chosen in bins], catalog))


def components(items: Iterable[tuple[Sequence[int], Sequence[int], bool]]) -> list[list[int]]:
    """Groups what must stay together: two that share a hash which at least one of them takes exclusively.

    Args:
        items: Exclusive hashes, shared hashes, and whether it is a barrier, of each in order.

    Returns:
        The indexes of each group; one group if there is a barrier.

    >>> components([([1], [9], False), ([2], [9], False), ([1], [], False)])
    [[0, 2], [1]]
    >>> components([([1], [9], False), ([2], [9], False), ([9], [], False)])
    [[0, 1, 2]]
    """
    leader: list[int] = []
    holder: dict[int, int] = {}
    shared_by: list[tuple[int, Sequence[int]]] = []
    barrier = False

    def head(index: int) -> int:
        while leader[index] != index:
            leader[index] = leader[leader[index]]
            index = leader[index]
        return index

    def join(one: int, other: int) -> None:
        first, second = sorted((head(one), head(other)))
        leader[second] = first

    for index, (exclusive, shared, alone) in enumerate(items):
        leader.append(index)
        barrier |= alone
        for value in exclusive:
            join(holder.setdefault(value, index), index)
        if shared:
            shared_by.append((index, shared))
    for index, shared in shared_by:
        for value in shared:
            if value in holder:
                join(holder[value], index)
    if barrier:
        return [list(range(len(leader)))] if leader else []
    groups: dict[int, list[int]] = {}
    for index in range(len(leader)):
        groups.setdefault(head(index), []).append(index)
    return list(groups.values())


def spread(groups: Sequence[list[int]], sizes: Sequence[int], most: int) -> list[list[int]]:
    """Deals groups out to so many bins, the largest first, each to the bin that holds least.

    >>> spread([[0], [1], [2, 3]], [5, 4, 3, 3], 2)
    [[2, 3], [0, 1]]
    """
    weighed = sorted(groups, key=lambda group: -sum(sizes[index] for index in group))
    bins: list[list[int]] = [[] for _ in range(min(most, len(groups)))]
    loads = [0] * len(bins)
    for group in weighed:
        least = loads.index(min(loads))
        bins[least].extend(group)
        loads[least] += sum(sizes[index] for index in group)
    return bins


def _hashed(events: RowEvents, catalog: Catalog) -> Iterator[tuple[list[int], list[int], bool]]:
    for batch, write_sets in _read(events.format, ([unit] for unit in events.units), catalog):
        for index in range(len(batch)):
            yield write_sets.items(index)


def _blocks(events: RowEvents, parts: Sequence[Sequence[Unit]], catalog: Catalog) -> Iterator[Block]:
    for batch, write_sets in _read(events.format, parts, catalog):
        yield from _native.Planner().plan(batch, write_sets, merge=1, max_bytes=1, committed=0)


def _read(format_event: bytes, transactions: Iterable[Sequence[Unit]], catalog: Catalog) -> Iterator[tuple[TransactionBatch, WriteSets]]:
    """Has the native core read transactions that are made of some row events."""
    with tempfile.NamedTemporaryFile(prefix="paraply-", suffix=".part") as file:
        write_log(file.file, format_event, transactions)
        file.flush()
        reader = _native.LogReader([file.name])
        while (batch := reader.next_batch()) is not None:
            yield batch, batch.write_sets(catalog)


def _place(block: Block) -> tuple[str, int]:
    return block.file, block.offset
