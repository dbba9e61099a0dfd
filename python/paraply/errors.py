"""Exceptions: one base class, one subclass for each cause, each with the exit code that the commands end with."""

from __future__ import annotations

from typing import ClassVar

__all__ = [
    "AlreadyRunning",
    "ApplyFailed",
    "ConfigurationMismatch",
    "ConnectionFailed",
    "ConnectionLost",
    "DdlUndecided",
    "LogDamaged",
    "LogError",
    "LogNotUnderstood",
    "LogTruncated",
    "LogUnreadable",
    "MemberUnavailable",
    "NotALog",
    "NumbersDiffer",
    "ParaplyError",
    "PrecedingFailed",
    "ReadOnlyMember",
    "ReceiveFailed",
    "RelayLogError",
    "RowNotFound",
    "SchemaMismatch",
    "ServerError",
    "StopNotReached",
    "Stopped",
    "TemporaryFailure",
    "TransferDamaged",
    "TypeNotMapped",
    "UsageError",
    "ValueNotStorable",
    "WriteConflict",
]


class ParaplyError(Exception):
    """Base of everything that paraply raises by itself.

    Args:
        message: What happened and what to do about it, in one line.
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
        """The message and where it happened."""
        places = {"file": self.file, "position": self.position, "transaction": self.gtid, "table": self.table, "key": self.key}
        where = ", ".join(f"{name} {value}" for name, value in places.items() if value is not None and str(value) not in self.message)
        return f"{self.message} ({where})" if where else self.message


class UsageError(ParaplyError):
    """The request itself is wrong: an option, a URL, a combination that is not allowed."""

    exit_code = 2


class ConfigurationMismatch(UsageError):
    """Stored progress belongs to other sources, filters or start (R25)."""


class LogError(ParaplyError):
    """The source is damaged or not understood."""

    exit_code = 3


class NotALog(LogError):
    """The file does not begin as a binlog or relay log does."""


class LogDamaged(LogError):
    """A checksum does not match, or an event contradicts itself."""


class LogTruncated(LogDamaged):
    """The log ends inside an event or inside a transaction (R27)."""


class LogUnreadable(LogError):
    """The operating system cannot read the file."""


class LogNotUnderstood(LogError):
    """An event, a statement or a status variable that must not be guessed (R27, R33, R35)."""


class NumbersDiffer(ParaplyError):
    """A log's ``last_committed`` and ``sequence_number`` are not those that the rules give (R1 to R10)."""


class ApplyFailed(ParaplyError):
    """A transaction could not be applied, for good."""


class RowNotFound(ApplyFailed):
    """The row to change is not there, or not as the log says (R31, R32)."""


class SchemaMismatch(ApplyFailed):
    """The target's table and the log's differ, or the table is missing (R31, R32, R34)."""


class TypeNotMapped(ApplyFailed):
    """A column type that the target has no exact counterpart for."""


class ValueNotStorable(ApplyFailed):
    """A value that the target cannot hold, such as a zero date."""


class PrecedingFailed(ApplyFailed):
    """Rolled back because an older transaction failed (R18); never the root cause."""


class DdlUndecided(ApplyFailed):
    """A crash fell between a DDL's start and its end and the catalog cannot tell which (R25b)."""


class StopNotReached(ApplyFailed):
    """The logs ended before the GTID of ``--stop-at`` or ``--stop-before``: everything in them is applied."""


class RelayLogError(ParaplyError):
    """The relay log cannot be written, or its folder does not hold what its index says (R28)."""


class ReceiveFailed(ParaplyError):
    """The source does not send its log: purged transactions, missing rights, or a log that cannot be replicated from."""


class TemporaryFailure(ParaplyError):
    """A deadlock or a lock-wait timeout: the transaction may be tried again (R24)."""


class ConnectionFailed(ParaplyError):
    """The server cannot be reached, or does not let us in."""


class ConnectionLost(ConnectionFailed):
    """The connection broke while a transaction was under way."""


class ServerError(ParaplyError):
    """A database server answered with an error; the target turns it into the cause's own class.

    Attributes:
        code: The server's error number, for example 1213.
        sqlstate: The SQLSTATE, for example ``40001``.
    """

    def __init__(self, message: str, code: int, sqlstate: str = "HY000") -> None:
        super().__init__(message)
        self.code = code
        self.sqlstate = sqlstate


class AlreadyRunning(ParaplyError):
    """Another apply took the channel over (R25a)."""


class Stopped(ParaplyError):
    """Stopped on request, at a transaction boundary; the same command resumes."""

    exit_code = 4


class MemberUnavailable(ParaplyError):
    """The group member is not online, or went away before it said whether a transaction is committed."""


class ReadOnlyMember(UsageError):
    """A group in single-primary mode takes writes at its primary only."""


class TransferDamaged(ParaplyError):
    """The certification info that a joining group member received is not what was sent (R9)."""


class WriteConflict(TemporaryFailure):
    """Another transaction of the group changed the same row first: roll back, read again, try again (R2)."""
