"""Interfaces of a source, as the receiver uses it; a simulation has sources without a network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from paraply._native import GtidSet, RelayLog

__all__ = ["LogSource", "SourceConnection"]


class SourceConnection(Protocol):
    """A connection on which one receiver gets the log of a source."""

    def execute(self, sql: str) -> None:
        """Execute a statement that returns no rows, before the log is requested.

        Raises:
            ServerError: The source refuses it.
            ConnectionLost: The connection broke.
        """

    def receive(
        self,
        relay: RelayLog,
        server_id: int,
        *,
        behind: GtidSet | None = None,
        file: str = "",
        position: int = 4,
        semi_sync: bool = False,
        report_host: str = "",
        report_port: int = 0,
    ) -> None:
        """Append the log to the relay log until the connection ends; its last transaction is then whole.

        Args:
            relay: The relay log; ``RelayLog.stop_receiving`` ends the call.
            server_id: Server id of this replica.
            behind: Transactions not to send; None for a start by file and position.
            file: File of the source to start in; empty for its first one.
            position: Offset of an event in that file.
            semi_sync: True to acknowledge the transactions that the source waits for.
            report_host: Host of this replica in the source's list of replicas.
            report_port: Its port there.

        Raises:
            ServerError: The source refuses the request.
            ConnectionLost: The connection broke.
            RelayLogError: The relay log cannot be written.
        """

    def close(self) -> None:
        """Close the connection."""


class LogSource(Protocol):
    """A source of a log; ``Source`` is a server."""

    @property
    def mariadb(self) -> bool:
        """True if it is a MariaDB."""

    @property
    def timeout(self) -> float:
        """Seconds of silence after which a connection to it is given up."""

    def connect(self) -> SourceConnection:
        """Return a connection for a receiver.

        Raises:
            ConnectionFailed: The source cannot be reached, or refuses the login.
        """

    def semi_sync_refusal(self) -> str | None:
        """Return the reason why the source does not wait for acknowledgements; None if it does.

        Raises:
            ConnectionFailed: The source cannot be reached.
        """

    def prepare(self, connection: SourceConnection, folder: Path, received: GtidSet | None, *, semi_sync: bool = False) -> None:
        """Set the variables of a replica's session.

        Args:
            connection: The receiver's connection.
            folder: Folder of the relay log, from which the replica's identity is derived.
            received: Transactions not to send; None for a start by file and position.
            semi_sync: True to let the source wait for this replica's acknowledgements.
        """
