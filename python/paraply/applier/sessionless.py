"""Logs that do not tell the sessions of their source, on which the weaker consistency levels cannot gain anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply.applier.consistency import Consistency

if TYPE_CHECKING:
    from paraply._native import LogReader, Transaction
    from paraply.applier.preparation import Options

__all__ = ["is_in_order_anyway"]

_LOOKED_AT = 1000
"""Transactions of which one should have rows."""


def is_in_order_anyway(options: Options, first: Transaction, reader: LogReader) -> bool:
    """Whether a weaker level was asked for, and all of the log keeps its order nevertheless (R23).

    Such a log is better applied at level ``any-time``, which needs no record of gaps. MariaDB 10.11 names the session of a statement,
    and of no transaction with rows.

    Args:
        options: What was asked for.
        first: The log's first transaction.
        reader: Reads the log from its start.
    """
    ordered = options.policy != "dependency" or Consistency(options.consistency).keeps_order
    if ordered or not first.format.mariadb or options.live or options.gtid == "preserve":
        return False
    seen = 0
    while seen < _LOOKED_AT and (batch := reader.next_batch(_LOOKED_AT)) is not None and len(batch):
        seen += len(batch)
        rows = [transaction for transaction in batch if transaction.kind == "dml"]
        if rows:
            return all(transaction.session is None and transaction.server_id == rows[0].server_id for transaction in rows)
    return False
