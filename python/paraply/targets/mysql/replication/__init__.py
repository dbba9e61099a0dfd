"""The target's own replication as the applier (``--via replication``): its channels, and the state of their workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply.targets.mysql.replication.common import restore_settings, unless_gone
from paraply.targets.mysql.server_version import ServerKind

if TYPE_CHECKING:
    from types import ModuleType

    from paraply.targets.mysql.replication.common import Channel, ChannelWorker
    from paraply.targets.mysql.sql import Connection

__all__ = ["new_channel", "take_away", "workers_of"]


def new_channel(connection: Connection, server: ServerKind, channel: str, workers: int) -> Channel:
    """Return the replication channel of the server's family; nothing is created yet.

    Args:
        connection: Connection that nothing else uses.
        server: Family and version of the server.
        channel: Paraply's channel.
        workers: Number of workers of the server's applier.

    Raises:
        UsageError: The server does not support it; the message gives the reason.
    """
    if server.mariadb:
        from paraply.targets.mysql.replication.mariadb_channel import MariaDbChannel

        return MariaDbChannel(connection, server, channel, workers)
    from paraply.targets.mysql.replication.mysql_channel import MySqlChannel

    return MySqlChannel(connection, server, channel, workers)


def take_away(connection: Connection, channel: str) -> None:
    """Remove the replication channel that a killed run may have left: it would continue to apply beside this run (R25a).

    Args:
        connection: A connection with ``sql_log_bin`` off.
        channel: Paraply's channel.
    """
    _family(ServerKind.parse(connection.server_version)).remove(connection, channel)
    with unless_gone():
        restore_settings(connection)


def workers_of(connection: Connection, server: ServerKind, channel: str) -> list[ChannelWorker]:
    """Return the state of each worker of the channel's applier; empty if the user cannot see it."""
    found: list[ChannelWorker] = _family(server).workers_of(connection, channel)
    return found


def _family(server: ServerKind) -> ModuleType:
    """Return the module of the server's family; only one of them is loaded."""
    if server.mariadb:
        from paraply.targets.mysql.replication import mariadb_channel

        return mariadb_channel
    from paraply.targets.mysql.replication import mysql_channel

    return mysql_channel
