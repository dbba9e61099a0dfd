"""Logs that do not tell the sessions of their source, on which the weaker consistency levels cannot gain anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from paraply._native import LogReader, Transaction
    from paraply.applier.options import Options

__all__ = ["is_in_order_anyway"]

_LOOKED_AT = 1000
"""Transactions that tell how the log is."""
_BATCHES = 4
"""Batches with rows in which they may come: one large transaction may be all that a batch holds."""


def is_in_order_anyway(options: Options, first: Transaction, reader: LogReader) -> bool:
    """Whether a weaker level was asked for, and all of the log keeps its order nevertheless (R23).

    Such a log is better applied at level ``any-time``, which needs no record of gaps. MariaDB 10.11 names the session of a statement,
    and of no transaction with rows.

    Args:
        options: What was asked for.
        first: The log's first transaction.
        reader: Reads the log from its start.
    """
    ordered = options.policy.name != "dependency" or options.consistency.keeps_order
    if ordered or not first.format.mariadb or options.live or options.gtid == "preserve":
        return False
    seen, with_rows, servers = 0, 0, set[int]()
    while seen < _LOOKED_AT and with_rows < _BATCHES and (batch := reader.next_batch(_LOOKED_AT)):
        rows = [transaction for transaction in batch if transaction.kind == "dml"]
        servers.update(transaction.server_id for transaction in rows)
        if len(servers) > 1 or any(transaction.session is not None for transaction in rows):
            return False
        seen += len(batch)
        with_rows += bool(rows)
    return bool(servers)
