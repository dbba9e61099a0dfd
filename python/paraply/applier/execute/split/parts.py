"""Rows of a transaction that may be applied separately (R21a), kept until the transaction is applied."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from paraply.applier.schedule.batching import MAX_BLOCK_BYTES
from paraply.errors import ParaplyError
from paraply.runtime import runtime

if TYPE_CHECKING:
    from paraply._native import Block, Catalog, Transaction, TransactionBatch, WriteSets

__all__ = ["SPLIT_BYTES", "PartMaker"]

_log = logging.getLogger("paraply.applier")

SPLIT_BYTES = MAX_BLOCK_BYTES
"""Least bytes of log of a split transaction; a transaction of this size never shares a block with another."""


class PartMaker:
    """Splitter of large transactions; runs in the reader, where the table definitions at the transaction's log position are known.

    Args:
        parts: Most parts of one transaction.
        least_bytes: Transactions of fewer bytes stay whole.
    """

    def __init__(self, parts: int, least_bytes: int | None = None) -> None:
        self._most = parts
        self._least_bytes = SPLIT_BYTES if least_bytes is None else least_bytes
        self._ready: dict[tuple[str, int], list[Block]] = {}
        self._lock = runtime.lock()

    def look_at(self, batch: TransactionBatch, write_sets: WriteSets, catalog: Catalog) -> None:  # noqa: ARG002
        """Split the large transactions of a batch; called by the reader's thread."""
        if self._most < 2 or batch.bytes < self._least_bytes:
            return
        for index, transaction in enumerate(batch):
            if not self._may_split(transaction):
                continue
            place = transaction.file, transaction.offset
            try:
                parts = batch.split_rows(index, catalog, self._most)
            except ParaplyError as error:  # the apply finds errors of the log itself as well
                _log.warning("the transaction at %s:%d is applied whole, because it cannot be split: %s", *place, error)
                continue
            if len(parts) > 1:
                with self._lock:
                    self._ready[place] = parts

    def take(self, block: Block) -> list[Block]:
        """Return the parts of a block and forget them; return an empty list if the block stays whole."""
        if self._most < 2 or block.bytes < self._least_bytes:
            return []
        places = [(transaction.file, transaction.offset) for transaction in block.transactions]
        with self._lock:
            found = [parts for place in places if (parts := self._ready.pop(place, None)) is not None]
        # Other transactions may be in the block only if a filter left them empty.
        return found[0] if found and block.transaction_count - block.filtered == 1 else []

    def _may_split(self, transaction: Transaction) -> bool:
        return transaction.kind == "dml" and transaction.bytes >= self._least_bytes and transaction.rows > 1
