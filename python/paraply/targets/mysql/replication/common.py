"""Parts that the replication channels of MySQL and MariaDB share (``--via replication``)."""

from __future__ import annotations

import contextlib
import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from paraply.errors import ServerError, UsageError
from paraply.targets.mysql.gtid_mode import ACCESS_DENIED
from paraply.targets.mysql.sql import Connection, rows_of, to_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from paraply._native import GtidSet

__all__ = [
    "SOURCE_USER",
    "Channel",
    "ChannelFault",
    "ChannelWorker",
    "change_settings",
    "channel_name",
    "check_maker",
    "end_channel",
    "end_workers",
    "plain_message",
    "quoted",
    "restore_settings",
    "settings_are_changed",
    "unless_gone",
]

SOURCE_USER = "paraply"
"""User under which a target connects to the source that a run of paraply is."""
_GONE = frozenset({1049, 1051, 1146, 1617, 1618, 3074})
"""Error numbers for a missing database, table or channel."""
_MUST_STOP = 1198
"""Error number for a setting that cannot change while a channel of MariaDB runs."""
_PLACE = re.compile(r"^.*?end_log_pos \d+[;:]\s*", re.DOTALL)
_TRAIL = re.compile(r"; the event's (?:source|master) log .*$", re.DOTALL)


def quoted(text: str) -> str:
    """Return a string literal, for clauses that take no expression. The texts are paraply's own, or an address."""
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


def _value(text: str) -> str:
    """Return the value of a setting as SQL."""
    return text if text.isdigit() else quoted(text)


def check_maker(channel: str, user: str) -> None:
    """Refuse to touch a replication channel of paraply's name that somebody else made.

    Args:
        channel: Name of the replication channel.
        user: Its user at the source.

    Raises:
        UsageError: The user is not the one under which a run's target connects to it.

    >>> check_maker("paraply", "repl")
    Traceback (most recent call last):
    ...
    paraply.errors.UsageError: the target has a replication channel paraply with user 'repl', which is not paraply's: use --channel NAME
    """
    if user not in ("", SOURCE_USER):
        raise UsageError(f"the target has a replication channel {channel} with user {user!r}, which is not paraply's: use --channel NAME")


def channel_name(channel: str) -> str:
    """Return the name of the replication channel for a channel of paraply. The server compares channel names without case.

    >>> channel_name("default"), channel_name("nightly")
    ('paraply', 'paraply_nightly')
    >>> channel_name("Nightly")
    'paraply_xab6b5a4d586b'
    """
    if channel == "default":
        return "paraply"
    if re.fullmatch(r"[a-wyz0-9][a-z0-9_.-]{0,50}", channel):
        return f"paraply_{channel}"
    return f"paraply_x{hashlib.sha256(channel.encode()).hexdigest()[:12]}"


@contextlib.contextmanager
def unless_gone(*, denied: bool = True) -> Iterator[None]:
    """Ignore errors about a missing object or privilege.

    The run that created the object may be removing it at the same time; a user without the privilege cannot have created it.

    Args:
        denied: False to raise errors about a missing privilege.
    """
    try:
        yield
    except ServerError as error:
        if error.code not in _GONE and not (denied and error.code in ACCESS_DENIED):
            raise


def change_settings(connection: Connection, settings: Mapping[str, str]) -> None:
    """Change global settings. Their old values are stored in ``paraply.setting`` until they are restored, possibly by a later run."""
    connection.query(
        "CREATE TABLE IF NOT EXISTS paraply.setting (name VARCHAR(64) NOT NULL PRIMARY KEY, value VARCHAR(64) NOT NULL)"
        " ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COMMENT='global settings as they were before --via replication'"
    )
    for name, value in settings.items():
        connection.query(f"INSERT IGNORE INTO paraply.setting SELECT {quoted(name)}, @@GLOBAL.{name}")
        connection.query(f"SET GLOBAL {name}={_value(value)}")


def restore_settings(connection: Connection, only: str | None = None) -> None:
    """Restore the settings that ``change_settings`` changed. One that another running channel holds stays stored, for a later run.

    Args:
        connection: A connection with ``sql_log_bin`` off.
        only: Name of the one setting to restore; None for all.
    """
    chosen = "" if only is None else f" WHERE name={quoted(only)}"
    for name, value in rows_of(connection.query(f"SELECT name, value FROM paraply.setting{chosen}")):
        try:
            connection.query(f"SET GLOBAL {to_text(name)}={_value(to_text(value))}")
        except ServerError as error:
            if error.code != _MUST_STOP:
                raise
        else:
            connection.query(f"DELETE FROM paraply.setting WHERE name={quoted(to_text(name))}")


def end_channel(connection: Connection, channel: str, remove: Callable[[Connection, str], object]) -> None:
    """Remove a replication channel and its relay log, after running transactions have finished, and restore the settings.

    Args:
        connection: A connection of the run.
        channel: Channel of paraply.
        remove: Removes the channel, as the family does.
    """
    connection.query("SET SESSION sql_log_bin=0")
    remove(connection, channel)
    with unless_gone():
        restore_settings(connection)


def settings_are_changed(connection: Connection) -> bool:
    """Return True if a run has changed settings that were not restored since."""
    try:
        return bool(rows_of(connection.query("SELECT 1 FROM paraply.setting LIMIT 1")))
    except ServerError:
        return False


@dataclass(frozen=True, slots=True)
class ChannelFault:
    """The reason why a channel has stopped.

    Attributes:
        error: Error that the server reports.
        gtid: Failed transaction, if the server reports it.
        receiving: True if the receiver has stopped, and not the applier.
    """

    error: ServerError
    gtid: str | None = None
    receiving: bool = False


@dataclass(frozen=True, slots=True)
class ChannelWorker:
    """One worker of the server's applier.

    Attributes:
        connection_id: Connection number on the server; 0 if the worker does not run.
        applying: GTID of the current transaction; empty for none.
        retries: Retries of the current transaction.
        last: GTID of the last applied transaction.
        busy: True if it applies a transaction; MariaDB does not name that.
    """

    connection_id: int
    applying: str
    retries: int
    last: str
    busy: bool


class Channel(Protocol):
    """A replication channel that paraply creates, monitors and removes, on a connection of its own."""

    def remove(self) -> None:
        """Remove the channel and its relay log, after running transactions have finished."""

    def begin(self, host: str, port: int, user: str, password: str) -> None:
        """Create the channel with this source and start it; remove an earlier channel of that name first.

        Raises:
            UsageError: The user lacks a privilege.
            ParaplyError: The server refused it.
        """

    def go_on(self) -> bool:
        """Return True if the channel can continue without being created again."""

    def executed(self) -> GtidSet:
        """Return the GTIDs that are committed."""

    def held(self) -> GtidSet:
        """Return the GTIDs that the server holds; only while the channel does not exist."""

    def wait_for(self, gtid: str, seconds: float) -> None:
        """Wait until this transaction is committed, or the time is over."""

    def fault(self) -> ChannelFault | None:
        """Return the reason why the channel has stopped, or None if it runs."""

    def end(self) -> None:
        """Remove the channel and its relay log, after running transactions have finished, and restore the settings."""

    def close(self) -> None:
        """Close the connection."""


def end_workers(connection: Connection, connection_ids: Sequence[int]) -> None:
    """Kill workers of the applier, which rolls back their transactions and stops the channel.

    Args:
        connection: Another connection to the server.
        connection_ids: Connection numbers of the workers, read earlier: a server that is stopping a channel does not show them any more.
    """
    for number in connection_ids:
        with contextlib.suppress(ServerError):
            connection.query(f"KILL {number}")


def plain_message(message: str) -> str:
    """Return a worker's message without its positions in a log that is not the user's.

    >>> plain_message("Worker 1 failed executing transaction 'u:3' at source log paraply.000001, end_log_pos 612; Could not execute "
    ...     "Update_rows event on table shop.item; Can't find record in 'item', Error_code: 1032; the event's source log F, end_log_pos 9")
    "Could not execute Update_rows event on table shop.item; Can't find record in 'item', Error_code: 1032"
    """
    return _TRAIL.sub("", _PLACE.sub("", message))
