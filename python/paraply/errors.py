"""Exceptions: one base class, and one subclass for each cause, with the exit code of the commands."""

from __future__ import annotations

from typing import ClassVar

__all__ = [
    "AlreadyRunning",
    "ApplyFailed",
    "ArchiveRefused",
    "ChannelTrouble",
    "ChecksFailed",
    "CommitsLost",
    "ConfigurationMismatch",
    "ConnectionFailed",
    "ConnectionLost",
    "DdlUndecided",
    "DependentTransactions",
    "LogDamaged",
    "LogError",
    "LogNotUnderstood",
    "LogTruncated",
    "LogUnreadable",
    "MemberUnavailable",
    "NoSuchTable",
    "NotALog",
    "NumbersDiffer",
    "ParaplyError",
    "PrecedingFailed",
    "PrivilegeMissing",
    "ReadOnlyMember",
    "ReceiveFailed",
    "RelayLogError",
    "RowNotFound",
    "SchemaMismatch",
    "ServerError",
    "StopNotReached",
    "Stopped",
    "TargetUnable",
    "TemporaryFailure",
    "TransferDamaged",
    "TypeNotMapped",
    "UndoRefused",
    "UsageError",
    "ValueNotStorable",
    "WriteConflict",
]


class ParaplyError(Exception):
    """Base of all exceptions that paraply defines.

    Args:
        message: The problem and its remedy, in one line.
        file: The log file concerned.
        position: The byte offset in that file.
        gtid: The transaction concerned.
        table: The table concerned, as ``database.table``.
        key: The row's key as text.

    >>> error = ParaplyError("no room left on the target", file="binlog.000003", position=120)
    >>> str(error)
    'no room left on the target (file binlog.000003, position 120)'
    """

    exit_code: ClassVar[int] = 1

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        position: int | None = None,
        gtid: str | None = None,
        table: str | None = None,
        key: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.file = file
        self.position = position
        self.gtid = gtid
        self.table = table
        self.key = key

    def __str__(self) -> str:
        """Return the message and the place of the error."""
        places = {"file": self.file, "position": self.position, "transaction": self.gtid, "table": self.table, "key": self.key}
        where = ", ".join(f"{name} {value}" for name, value in places.items() if value is not None and str(value) not in self.message)
        return f"{self.message} ({where})" if where else self.message


class UsageError(ParaplyError):
    """Wrong request: an option, a URL, a combination that is not allowed."""

    exit_code = 2


class ConfigurationMismatch(UsageError):
    """Stored progress of other sources, filters or start (R25)."""


class NoSuchTable(UsageError, KeyError):
    """Name of a table that a lake's published state does not have."""


class LogError(ParaplyError):
    """Source that is damaged or not understood."""

    exit_code = 3


class NotALog(LogError):
    """File that does not begin like a binlog or relay log."""


class LogDamaged(LogError):
    """Checksum that does not match, or event that contradicts itself."""


class LogTruncated(LogDamaged):
    """Log that ends inside an event or inside a transaction (R27)."""


class LogUnreadable(LogError):
    """File that the operating system cannot read."""


class LogNotUnderstood(LogError):
    """An event, a statement or a status variable that must not be guessed (R27, R33, R35)."""


class ChannelTrouble(ParaplyError):
    """Channel that has failed, lags too much or does not run; what ``paraply status`` tells monitoring."""


class ChecksFailed(ParaplyError):
    """``paraply doctor`` found something that hinders an apply or a replication."""


class NumbersDiffer(ParaplyError):
    """Log whose ``last_committed`` and ``sequence_number`` differ from those of the rules (R1 to R10)."""


class ApplyFailed(ParaplyError):
    """Transaction that cannot be applied, for good.

    Attributes:
        misfit: True if the target lacks a row to change, or has a row with one of its keys already: ``--on-conflict`` treats such rows.
    """

    misfit: bool = False


class RowNotFound(ApplyFailed):
    """Row to change that does not exist, or differs from the log (R31, R32)."""


class SchemaMismatch(ApplyFailed):
    """Table of the target that differs from the log's, or is missing (R31, R32, R34)."""


class TypeNotMapped(ApplyFailed):
    """Column type without an exact counterpart in the target."""


class ValueNotStorable(ApplyFailed):
    """Value that the target cannot hold, such as a zero date."""


class PrivilegeMissing(ApplyFailed):
    """Missing right of the target's user; nothing is wrong with the transaction."""


class TargetUnable(ApplyFailed):
    """Target that is read only, or has no room left; nothing is wrong with the transaction."""


class PrecedingFailed(ApplyFailed):
    """Rollback because an older transaction failed (R18); never the root cause."""


class DdlUndecided(ApplyFailed):
    """Crash between a DDL's start and its end, after which the catalog cannot tell the outcome (R25b)."""


class StopNotReached(ApplyFailed):
    """End of the logs before the GTID of ``--stop-at`` or ``--stop-before``: everything in them is applied."""


class UndoRefused(ApplyFailed):
    """Undo that would not end in the state of a replay without the transactions; nothing is changed (R38)."""


class DependentTransactions(UndoRefused):
    """Later transactions that depend on those to undo, while ``--dependents`` is ``stop`` (R38)."""


class RelayLogError(ParaplyError):
    """Relay log that cannot be written, or whose folder does not match its index (R28)."""


class ReceiveFailed(ParaplyError):
    """Refusal of the source to send its log: purged transactions, missing privileges, or a log that cannot be replicated."""


class ArchiveRefused(ParaplyError):
    """Source that does not continue an archive, or second writer into it; nothing is overwritten."""


class TemporaryFailure(ParaplyError):
    """Deadlock or lock-wait timeout: the transaction may be tried again (R24)."""


class ConnectionFailed(ParaplyError):
    """Server that cannot be reached, or refuses the login."""


class ConnectionLost(ConnectionFailed):
    """Connection that broke while a transaction was in progress."""


class CommitsLost(ParaplyError):
    """Target that has lost committed transactions, by a restart or because another server took its place; a new run continues (R25)."""


class ServerError(ParaplyError):
    """Error of a database server; the target turns it into the class of its cause.

    Attributes:
        code: The server's error number, for example 1213.
        sqlstate: The SQLSTATE, for example ``40001``.
    """

    def __init__(self, message: str, code: int, sqlstate: str = "HY000") -> None:
        super().__init__(message)
        self.code = code
        self.sqlstate = sqlstate


class AlreadyRunning(ParaplyError):
    """Takeover of the channel by another apply (R25a)."""


class Stopped(ParaplyError):
    """Stop on request, at a transaction boundary; the same command resumes."""

    exit_code = 4


class MemberUnavailable(ParaplyError):
    """Group member that is not online, or became unavailable before it reported the outcome of a transaction."""


class ReadOnlyMember(UsageError):
    """Write at a secondary of a group in single-primary mode, where only the primary accepts writes."""


class TransferDamaged(ParaplyError):
    """Certification info that reached a joining group member damaged (R9)."""


class WriteConflict(TemporaryFailure):
    """Row that another transaction of the group changed first: roll back, read again, try again (R2)."""
