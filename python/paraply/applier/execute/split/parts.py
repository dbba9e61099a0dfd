"""Which rows of a transaction may be applied apart from each other (R21a), kept until the transaction is applied."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from paraply.applier.schedule.batching import MAX_BLOCK_BYTES
from paraply.errors import ParaplyError

if TYPE_CHECKING:
    from paraply._native import Block, Catalog, Transaction, TransactionBatch, WriteSets

__all__ = ["SPLIT_BYTES", "PartMaker"]

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

    def look_at(self, batch: TransactionBatch, write_sets: WriteSets, catalog: Catalog) -> None:  # noqa: ARG002
        """Splits the large transactions of a batch; called by the reader's thread."""
        if self._most < 2 or batch.bytes < self._least_bytes:
            return
        for index, transaction in enumerate(batch):
            if not self._may_split(transaction):
                continue
            place = transaction.file, transaction.offset
            try:
                parts = batch.split_rows(index, catalog, self._most)
            except ParaplyError as error:  # what is wrong with the log itself, the apply finds as well
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

    def _may_split(self, transaction: Transaction) -> bool:
        return transaction.kind == "dml" and transaction.bytes >= self._least_bytes and transaction.rows > 1
