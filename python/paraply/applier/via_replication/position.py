"""The GTID position of a MariaDB target that its own replication goes on from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from paraply._native import GtidSet, Transaction
    from paraply.logs.file_order import LogFile

__all__ = ["check_writers"]


def check_writers(files: Sequence[LogFile], first: Transaction, position: GtidSet, start_after: GtidSet) -> None:
    """Refuse a position of the target that no server of the log wrote, as after a replication from elsewhere.

    A position is one number for each domain. If it is that of another history, transactions of the log would count as applied.

    Args:
        files: The logs.
        first: Their first transaction.
        position: The target's own position.
        start_after: Transactions that the user says the target holds.

    Raises:
        UsageError: A domain of the log is at the transaction of another server.
    """
    writers = _writers(files, first)
    for gtid in _gtids(str(position)):
        domain, server, _ = gtid.split("-")
        if domain in writers and server not in writers[domain] and gtid not in start_after:
            raise UsageError(
                f"--via replication: the target's position in domain {domain} is {gtid}, and no server of the log is {server}: the log's"
                " transactions up to that number would count as applied. If the target holds none of them, take the domain out of its"
                f" gtid_slave_pos (SET GLOBAL gtid_slave_pos) and its binlog (RESET MASTER); if it holds them up to {gtid}, say so with"
                f" --start-after {gtid}"
            )


def _writers(files: Sequence[LogFile], first: Transaction) -> dict[str, set[str]]:
    """Return the servers that wrote each domain before and at the start of the files, as far as their heads name them."""
    writers: dict[str, set[str]] = {}
    heads = [file.head for file in files if file.head is not None]
    own = {str(head.server_id) for head in heads}
    for gtid in (first.gtid or "", *_gtids(",".join(str(head.previous_gtids or "") for head in heads))):
        if gtid:
            domain, server, _ = gtid.split("-")
            writers.setdefault(domain, set(own)).add(server)
    return writers


def _gtids(text: str) -> Iterable[str]:
    return (gtid.strip() for gtid in text.split(",") if gtid.strip())
