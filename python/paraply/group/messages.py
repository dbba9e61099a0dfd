"""What travels through the group: transactions, reports of what is executed, and views."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from paraply._native import GtidSet

__all__ = ["ExecutedMessage", "LogEntry", "MemberId", "Message", "Row", "RowChange", "TransactionMessage", "View", "ViewMessage"]

Row = Mapping[str, Any]
"""A row: values by column name."""


@dataclass(frozen=True, slots=True)
class MemberId:
    """A member, from the view with which it joined until it is gone.

    Attributes:
        name: The member's name in the group.
        server_id: Its number, by which its block of GTIDs is found.
        joined: Number of the view with which it joined; a member that comes back is another one.
    """

    name: str
    server_id: int
    joined: int


@dataclass(frozen=True, slots=True)
class RowChange:
    """One row of a transaction.

    Attributes:
        table: ``database.table``.
        before: The row before the change; None for an insert.
        after: The row after it; None for a delete.
    """

    table: str
    before: Row | None
    after: Row | None


@dataclass(frozen=True, slots=True)
class TransactionMessage:
    """A transaction on its way to certification.

    Attributes:
        sender: Where it began.
        number: Its number among the sender's.
        session: The client's session at the sender.
        snapshot: What the sender had executed when the transaction began.
        write_set: Hashes of the keys of its rows; empty for DDL.
        changes: Its rows in order.
        statement: The DDL, or None.
        database: The database that the DDL is run in.
        gtid: A GTID that it brings, or None (R10).
        rows: Its row events, where members write real logs.
        committed_at: When it was sent, microseconds since 1970, UTC.
    """

    sender: MemberId
    number: int
    session: int
    snapshot: GtidSet
    write_set: tuple[int, ...]
    changes: tuple[RowChange, ...] = ()
    statement: str | None = None
    database: str = ""
    gtid: str | None = None
    rows: bytes = b""
    committed_at: int = 0


@dataclass(frozen=True, slots=True)
class ExecutedMessage:
    """What a member tells from time to time: what it has executed, and how it keeps up.

    Attributes:
        sender: The member.
        executed: GTIDs that it has executed and that each of its open transactions sees.
        certifier_queue: Messages that it has not certified.
        applier_queue: Transactions that it has certified and not applied.
        applied: Remote transactions that it has applied since it joined.
        sent: Transactions that it has sent since it joined.
    """

    sender: MemberId
    executed: GtidSet
    certifier_queue: int = 0
    applier_queue: int = 0
    applied: int = 0
    sent: int = 0


@dataclass(frozen=True, slots=True)
class View:
    """Who belongs to the group.

    Attributes:
        number: From 1; each view has the next one.
        members: In the order in which they joined.
        joined: Names of those that were not in the view before.
        left: Names of those that were, and are not any more.
    """

    number: int
    members: tuple[MemberId, ...]
    joined: tuple[str, ...] = ()
    left: tuple[str, ...] = ()

    def find(self, name: str) -> MemberId | None:
        """The member of that name, if it is in the view."""
        return next((member for member in self.members if member.name == name), None)


@dataclass(frozen=True, slots=True)
class ViewMessage:
    """From here on another view holds."""

    view: View


Message = TransactionMessage | ExecutedMessage | ViewMessage


@dataclass(frozen=True, slots=True)
class LogEntry:
    """A transaction in a member's log.

    Attributes:
        gtid: Its GTID.
        kind: ``dml``, ``ddl``, ``empty`` or ``view_change``.
        last_committed: The number that must be committed before it starts.
        sequence_number: Its own number; (0,0) runs alone.
        server_id: The server where it began.
        session: The client's session there.
        write_set: Its hashes, as the certifier got them.
        changes: Its rows.
        statement: Its DDL.
        database: Where the DDL is run.
        rows: Its row events, where members write real logs.
        committed_at: When its sender sent it, microseconds since 1970, UTC.
    """

    gtid: str
    kind: str
    last_committed: int
    sequence_number: int
    server_id: int = 0
    session: int | None = None
    write_set: tuple[int, ...] = ()
    changes: tuple[RowChange, ...] = ()
    statement: str | None = None
    database: str = ""
    rows: bytes = b""
    committed_at: int = 0

    @property
    def barrier(self) -> bool:
        """Whether it conflicts with every other."""
        return self.statement is not None or not self.write_set
