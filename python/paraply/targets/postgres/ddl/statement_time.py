"""The time of a logged statement, which CURRENT_TIMESTAMP is in every row that the statement fills.

A new column DEFAULT CURRENT_TIMESTAMP has in all existing rows the time at which the ALTER TABLE began (the session's ``timestamp``), cut
off after the digits of the column.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from paraply.schema.ddl.literals import time_zone

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paraply._native import Statement
    from paraply.targets.protocol import LocalTime

__all__ = ["StatementTime"]

_EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class StatementTime:
    """The time of a statement.

    Attributes:
        seconds: Seconds since 1970 in UTC.
        microseconds: Microseconds after that; None if the log does not hold them, because the server did not use them.
        zone: The session's time zone; None if the log does not hold it.
        ask: Asks the source for a local time, where only the source knows its time zone; None if there is no source to ask.
    """

    seconds: int
    microseconds: int | None = None
    zone: str | None = None
    ask: LocalTime | None = None

    @classmethod
    def of(cls, statements: Sequence[Statement], ask: LocalTime | None = None) -> StatementTime | None:
        """Return the time of a transaction's only statement; None if there is not exactly one."""
        if len(statements) != 1:
            return None
        statement = statements[0]
        return cls(statement.timestamp, statement.context.get("microseconds"), statement.context.get("time_zone"), ask)

    def utc(self, digits: int) -> str | None:
        """Return the time in UTC with so many digits after the second; None if the log does not hold these digits.

        >>> StatementTime(1700000000, 999_999).utc(3), StatementTime(1700000000).utc(0), StatementTime(1700000000).utc(6)
        ('2023-11-14 22:13:20.999', '2023-11-14 22:13:20', None)
        """
        return self._with_digits((_EPOCH + timedelta(seconds=self.seconds)).isoformat(" "), digits)

    def local(self, digits: int) -> str | None:
        """Return the time in the session's time zone; None if it is not known.

        >>> StatementTime(1700000000, 0, "+05:30").local(0), StatementTime(1700000000, 0, "SYSTEM").local(0)
        ('2023-11-15 03:43:20', None)
        """
        if self.zone is None:
            return None
        zone = time_zone(self.zone)
        if zone is not None:
            text = datetime.fromtimestamp(self.seconds, UTC).astimezone(zone).replace(tzinfo=None).isoformat(" ")
        else:
            text = (self.ask(self.zone, self.seconds) if self.ask is not None else None) or ""
        return self._with_digits(text, digits) if text else None

    @property
    def unknown_zone(self) -> str:
        """The session's time zone if only the source knows it, and there is no source to ask; else an empty text."""
        return self.zone if self.zone is not None and self.ask is None and time_zone(self.zone) is None else ""

    def _with_digits(self, text: str, digits: int) -> str | None:
        if not digits:
            return text
        return None if self.microseconds is None else f"{text}.{f'{self.microseconds:06d}'[:digits]}"
