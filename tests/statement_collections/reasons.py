"""The reasons of refusals, each with the words of docs/limits.md that tell of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

__all__ = ["REASONS", "Reason", "is_documented", "reason_of"]

LIMITS = Path(__file__).parent.parent.parent / "docs/limits.md"


@dataclass(frozen=True)
class Reason:
    """A reason.

    Attributes:
        title: As the tool prints it.
        message: What matches the messages of such refusals.
        words: Words of docs/limits.md that tell of it.
    """

    title: str
    message: str
    words: str


REASONS = (
    Reason("rows in statement format", r"in statement format", "row changes in statement format"),
    Reason("an incident", r"it is an incident", "incident events"),
    Reason("an event type that is not known", r"is of type \d+, which this version does not know", "event types that are not known"),
    Reason("a log of a preview server", r"preview server", "of preview servers with other event numbers"),
    Reason("a log of an old server", r"older than MySQL 5\.0", "logs older than MySQL 5.0"),
    Reason("a log of MySQL 5.1 before its release", r"MySQL 5\.1 before its release", "MySQL 5.1 before its release"),
    Reason("an encrypted log", r"the log is encrypted", "encrypted logs without their key file"),
    Reason("an XA transaction in parts", r"prepared and ended apart", "XA transactions that are prepared and ended apart"),
    Reason("a log that is cut off", r"the log ends too early|ends inside", "a log that is cut off or damaged"),
    Reason("a log that is damaged", r"damaged|checksum|does not start with", "a log that is cut off or damaged"),
    Reason("a new column filled by UUID() and the like", r"may fill a new column with", "`ALTER TABLE ... ADD` with `UUID()`"),
    Reason("a type without a counterpart in PostgreSQL", r"has no counterpart in PostgreSQL", "columns of geometry types and `VECTOR`"),
    Reason("a date that PostgreSQL cannot hold", r"zero (date|timestamp)|a zero part|does not exist", "dates with zero parts"),
    Reason("a NUL character", r"NUL", "text with a NUL character"),
    Reason("a character that Unicode does not have", r"not valid in its character set", "not valid in its character set or not in Unicode"),
    Reason("a table whose rows lie elsewhere", r"of engine \w+ are not those that the log holds", "tables of engines that show other rows"),
    Reason("tables that the log does not make", r"--schema|changes a table that the target lacks",
           "a log that does not begin with the DDL of its tables"),
    Reason("DDL and row events that the target's version does not take any more", r"\(error (1064|1730)\)",
           "row events that the target's version does not take any more"),
    Reason("tables without transactions", r"non-transactional tables|has no transactions", "Tables without transactions need"),
    Reason("a statement that failed on the source", r"ended in error \d+ on the source", "that ended in an error on the source"),
    Reason("hidden columns of functional indexes", r"hidden columns", "rows of tables with functional indexes"),
    Reason("text in a character set that is not known", r"character set neither the log nor the schema gives", "text whose character set"),
    Reason("a name of more than 63 bytes", r"63 bytes", "names of more than 63 bytes"),
    Reason("DDL that is not understood", r"effect on the schema is not known", "DDL that is not understood"),
    Reason("a table of another definition in the target", r"differs from the log's", "tables of the same definition"),
    Reason("an insert without all columns", r"leaves out column", "inserts that do not carry every column"),
    Reason("a cascade that is not in the log", r"the source does not log those", "which do not log these"),
    Reason("a stored generated column of the session's time zone or language", r"depends on the time zone or language",
           "Generated columns that depend on the session"),
    Reason("a change that only the source can compute", r"only the source can compute|cannot follow exactly", "where the table has rows"),
    Reason("rows moved by whole partitions", r"changes rows without logging them", "take or move rows by whole partitions or files"),
    Reason("system versioning, periods and sequences", r"(?i)system.versioning|period|(?<!multibyte )sequence",
           "system versioning, periods and sequences"),
)  # fmt: skip


@cache
def _limits() -> str:
    return " ".join(LIMITS.read_text(encoding="utf-8").split())


def is_documented(reason: Reason) -> bool:
    """Return True if docs/limits.md holds the reason's words."""
    return reason.words in _limits()


def reason_of(message: str) -> str | None:
    """Return the title of the documented reason that a message gives; None if there is none.

    >>> reason_of("column p has type POINT, which has no counterpart in PostgreSQL; use a MySQL or MariaDB target")
    'a type without a counterpart in PostgreSQL'
    >>> reason_of("something else") is None
    True
    """
    return next((reason.title for reason in REASONS if re.search(reason.message, message) and is_documented(reason)), None)
