"""Positions of MariaDB's GTIDs: the last transaction of each domain, by the server's own account."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply._native import GtidSet
from paraply.targets.mysql.sql import rows_of, to_int, to_text

if TYPE_CHECKING:
    from paraply.targets.mysql.sql import Connection

__all__ = ["held_by_replication", "source_position"]


def held_by_replication(connection: Connection) -> str:
    """Return the position that a server has of the transactions of others: that of its replication, and that in its binlog."""
    own, state, position = rows_of(connection.query("SELECT @@GLOBAL.server_id, @@GLOBAL.gtid_binlog_state, @@GLOBAL.gtid_slave_pos"))[0]
    logged = (gtid.strip() for gtid in to_text(state).split(","))
    of_others = ",".join(gtid for gtid in logged if gtid and int(gtid.split("-")[1]) != to_int(own))
    return str(GtidSet(source_position(of_others, to_int(own))) | GtidSet(to_text(position)))


def source_position(state: str, own: int) -> str:
    """Return the position of a binlog without what the server itself wrote in the domains of others.

    Args:
        state: ``gtid_binlog_state``: the last GTID of each server in each domain.
        own: The server's own ``server_id``.

    >>> source_position("0-1-14,0-2-15,7-2-3", 2)
    '0-1-14,7-2-3'
    """
    last: dict[str, tuple[bool, int, str]] = {}
    for gtid in (part.strip() for part in state.split(",")):
        if gtid:
            domain, server, number = gtid.split("-")
            last[domain] = max(last.get(domain, (False, 0, "")), (int(server) != own, int(number), gtid))
    return ",".join(gtid for _, _, gtid in last.values())
