"""Messages of a group: transactions, reports of executed GTIDs, and views."""

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
    """Identity of a member, from the view with which it joined until it leaves.

    Attributes:
        name: The member's name in the group.
        server_id: Its number, which selects its block of GTIDs.
        joined: Number of the view with which it joined; a returning member has another identity.
    """

    name: str
    server_id: int
    joined: int


@dataclass(frozen=True, slots=True)
class RowChange:
    """Change of one row.

    Attributes:
        table: ``database.table``.
        before: The row before the change; None for an insert.
        after: The row after the change; None for a delete.
    """

    table: str
    before: Row | None
    after: Row | None


@dataclass(frozen=True, slots=True)
class TransactionMessage:
    """Transaction on its way to certification.

    Attributes:
        sender: Member where it began.
        number: Its number among the sender's transactions.
        session: The client's session at the sender.
        snapshot: GTIDs that the sender had executed when the transaction began.
        write_set: Hashes of the keys of its rows; empty for DDL.
        changes: Its rows in order.
        statement: The DDL, or None.
        database: Default database of the DDL.
        gtid: GTID that it brings, or None (R10).
        rows: Its row events, if members write real logs.
        committed_at: Time of sending, microseconds since 1970, UTC.
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
    """Periodic report of a member: its executed GTIDs and its queues.

    Attributes:
        sender: The member.
        executed: GTIDs that it has executed and that all its open transactions see.
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
    """View of a group: its members at one time.

    Attributes:
        number: Number of the view, from 1, increased by each view.
        members: Members in the order in which they joined.
        joined: Names of the members that were not in the previous view.
        left: Names of the members of the previous view that have left.
    """

    number: int
    members: tuple[MemberId, ...]
    joined: tuple[str, ...] = ()
    left: tuple[str, ...] = ()

    def find(self, name: str) -> MemberId | None:
        """Return the member with that name, if it is in the view."""
        return next((member for member in self.members if member.name == name), None)


@dataclass(frozen=True, slots=True)
class ViewMessage:
    """Message with which a new view begins."""

    view: View


Message = TransactionMessage | ExecutedMessage | ViewMessage


@dataclass(frozen=True, slots=True)
class LogEntry:
    """Transaction in a member's log.

    Attributes:
        gtid: Its GTID.
        kind: ``dml``, ``ddl``, ``empty`` or ``view_change``.
        last_committed: Number up to which transactions must be committed before it starts.
        sequence_number: Its own number; (0,0) runs alone.
        server_id: Server id of the member where it began.
        session: The client's session at that member.
        write_set: Hashes of its keys, as certified.
        changes: Rows of the transaction.
        statement: Its DDL.
        database: Default database of the DDL.
        rows: Its row events, if members write real logs.
        committed_at: Time of sending, microseconds since 1970, UTC.
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
        """True if it conflicts with every other transaction."""
        return self.statement is not None or not self.write_set
