"""The reasons of refusals, each with the class of the error, its targets, and the words of a document that tell of it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

__all__ = ["CUT_OFF", "DAMAGED", "REASONS", "Reason", "Refusal", "is_documented", "reason_of"]

DOCS = Path(__file__).parent.parent.parent / "docs"
LIMITS = "limits.md"
PAGE_OF_POSTGRESQL = "targets/postgresql.md"
PAGE_OF_SERVERS = "targets/mysql.md"

#: Places that refuse a log. Reading is `paraply trace` and `paraply.rows`.
READING = "reading"
POSTGRESQL = ("PostgreSQL",)
SERVERS = ("MySQL", "MariaDB")
EVERY = (READING, *SERVERS, *POSTGRESQL)

#: Public binlog files that are cut off, and where.
CUT_OFF = {
    "bug11747416_32228_binlog.000001": "within a row event, after 8,192 bytes",
    "binlog_truncated_event.000001": "within the header of the first event",
    "binlog_truncated_prev_gtid_event.000001": "within the header of the second event",
}
#: Public binlog files that are damaged, and how. No other file may be called damaged.
DAMAGED = {
    "binlog_no_fd_event.000001": "its first event is no format description",
    "ddl_in_transaction.000001": "events are missing: it states other positions",
    "duplicate_xid.000001": "bytes were changed: the checksum of an event is wrong",
    "duplicate_xid_ddl.000001": "bytes were changed: the checksum of an event is wrong",
    "duplicate_xid_xa_commit.000001": "events are missing: it states other positions",
    "duplicate_xid_xa_prepare.000001": "bytes were changed: the checksum of an event is wrong",
    "duplicate_xid_xa_rollback.000001": "events are missing: it states other positions",
    "invalid_row_v2_tag.001": "its only event is of rows, without a transaction",
    "malformed_xid_xa_commit.000001": "bytes were changed: the checksum of an event is wrong",
    "malformed_xid_xa_rollback.000001": "bytes were changed: the checksum of an event is wrong",
    "mdev-39404-binlog.000001": "bytes were changed: the checksum of an event is wrong",
    "orphan_begin_start.000001": "events are missing: it states other positions",
    "orphan_commit.000001": "events are missing: it states other positions",
    "orphan_rollback.000001": "events are missing: it states other positions",
    "orphan_xa_commit.000001": "events are missing: it states other positions",
    "orphan_xa_prepare.000001": "events are missing: it states other positions",
    "orphan_xa_rollback.000001": "events are missing: it states other positions",
    "orphan_xid.000001": "events are missing: it states other positions",
}


@dataclass(frozen=True)
class Refusal:
    """A refusal.

    Attributes:
        statement: The statement; empty where a whole file is refused.
        error: Class of the error.
        message: The error's message.
        file: Name of the public binlog file; empty for the log of a collection's statements.
    """

    statement: str
    error: str
    message: str
    file: str = ""


@dataclass(frozen=True)
class Reason:
    """A reason.

    Attributes:
        title: As the tool prints it.
        targets: Those that refuse so, and reading.
        error: A pattern for the class of the error.
        message: A pattern for the messages of such refusals, which must not fit the names of tables that a message quotes.
        words: Words of the document that tell of it.
        document: File below ``docs``.
        files: The only files that are refused so, by name; None for any log.
    """

    title: str
    targets: tuple[str, ...]
    error: str
    message: str
    words: str
    document: str = LIMITS
    files: dict[str, str] | None = field(default=None, repr=False)


NOT_UNDERSTOOD = "LogNotUnderstood"
MISMATCH = "SchemaMismatch"
VALUE = "ValueNotStorable"
REASONS = (
    Reason("rows in statement format", EVERY, NOT_UNDERSTOOD,
           r": it (?:is|belongs to) a change in statement format\b", "row changes in statement format"),
    Reason("an incident", EVERY, NOT_UNDERSTOOD, r": it is an incident: the source lost changes", "incident events"),
    Reason("an event type that is not known", EVERY, NOT_UNDERSTOOD, r": it is of type \d+, which this version does not know",
           "event types that are not known"),
    Reason("a log of a preview server", EVERY, NOT_UNDERSTOOD,
           r": the log is by the preview server", "of preview servers with other event numbers"),
    Reason("a log of an old server", EVERY, NOT_UNDERSTOOD, r": (?:the log is|its Query events are) older than MySQL 5\.0",
           "logs older than MySQL 5.0"),
    Reason("a log of a fork of MySQL 5.1", EVERY, NOT_UNDERSTOOD, r": its events have headers of \d+ bytes,", "a fork of MySQL 5.1"),
    Reason("a log of MySQL 5.1 before its release", EVERY, NOT_UNDERSTOOD, r": it is a row event of a MySQL 5\.1 before its release",
           "MySQL 5.1 before its release"),
    Reason("an encrypted log", EVERY, "LogNotUnderstood|LogUnreadable", r": the log is encrypted(?: from here on)?;",
           "encrypted logs without their key file"),
    Reason("a log that is cut off", EVERY, "LogTruncated",
           r": the log ends too early, at position \d+:", "a log that is cut off or damaged",
           files=CUT_OFF),
    Reason("a log that is damaged", EVERY, "LogDamaged",
           r": the log is damaged at position \d+:", "a log that is cut off or damaged", files=DAMAGED),
    Reason("an XA transaction in parts", POSTGRESQL, NOT_UNDERSTOOD,
           r"\bthe log has the XA transaction .*, prepared and ended apart, which this target",
           "XA transactions that are prepared and ended apart, into PostgreSQL"),
    Reason("a new column filled by UUID() and the like", ("MariaDB",), NOT_UNDERSTOOD, r"\bthe statement may fill a new column with",
           "`ALTER TABLE ... ADD` with `UUID()`"),
    Reason("a type without a counterpart in PostgreSQL", POSTGRESQL, "TypeNotMapped",
           r"^column .* has type \w+, which has no counterpart in PostgreSQL",
           "columns of geometry types and `VECTOR`"),
    Reason("a date that PostgreSQL cannot hold", POSTGRESQL, VALUE,
           r"(?:holds|has) (?:the zero (?:date|timestamp)|a date (?:with a zero part|that does not exist))\b",
           "dates with zero parts"),
    Reason("a NUL character", POSTGRESQL, VALUE,
           r" holds (?:a JSON string with |text with )?a NUL (?:character|byte)\b", "text with a NUL character"),
    Reason("a character that Unicode does not have", POSTGRESQL, VALUE, r" holds text that is not valid in its character set",
           "not valid in its character set or not in Unicode"),
    Reason("a table whose rows lie elsewhere", POSTGRESQL, "TypeNotMapped|SchemaMismatch",
           r"^the rows of a table of engine \w+ are not those that the log holds",
           "tables of engines that show other rows"),
    Reason("tables that the log does not make", POSTGRESQL, MISMATCH, r"^the definition of table .* is not known; give it with --schema",
           "a log that does not begin with the DDL of its tables"),
    Reason("tables that the log does not make", SERVERS, MISMATCH, r"^the log changes a table that the target lacks",
           "changes of a table that the target lacks"),
    Reason("DDL and row events that the target's version does not take any more", SERVERS, "ApplyFailed", r"\(error (?:1064|1730)\)",
           "row events that the target's version does not take any more"),
    Reason("tables without transactions", SERVERS, MISMATCH,
           r"^the table's engine \w+ has no transactions", "Tables without transactions need"),
    Reason("tables without transactions, from a log without GTIDs", ("MySQL",), "ApplyFailed",
           r"^Statement violates GTID consistency: .*\(error 1785\)", "takes no rows of such tables (error 1785"),
    Reason("a transaction that an old server rolled back", EVERY, NOT_UNDERSTOOD,
           r": the source rolled back, wholly or to a savepoint, a transaction with row changes",
           "a transaction with row changes that was rolled back"),
    Reason("a statement that failed on the source", SERVERS + POSTGRESQL, NOT_UNDERSTOOD,
           r"\bit ended in error \d+ on the source|^the statement ended in error \d+ on",
           "statements that ended in an error on the source"),
    Reason("hidden columns of functional indexes", SERVERS + POSTGRESQL, MISMATCH, r"also hold the hidden columns of",
           "rows of tables with functional indexes"),
    Reason("text in a character set that is not known", POSTGRESQL, VALUE,
           r" holds text whose character set neither the log nor the schema gives",
           "text whose character set"),
    Reason("a name of more than 63 bytes", POSTGRESQL, MISMATCH, r"^the name .* does not fit PostgreSQL's limit of 63 bytes",
           "names of more than 63 bytes"),
    Reason("system versioning, periods and sequences", POSTGRESQL, NOT_UNDERSTOOD,
           r"a statement whose effect on the schema is not known: .*expected "
           r"(?:no system versioning|a table without system versioning|.*, found '(?i:SEQUENCE|PERIOD)')",
           "system versioning, periods and sequences"),
    Reason("DDL that is not understood", POSTGRESQL, NOT_UNDERSTOOD,
           r"a statement whose effect on the schema is not known: ", "DDL that is not understood"),
    Reason("a table of another definition in the target", SERVERS, MISMATCH, r"^column \d+ \(.* on the target\) differs from the log's:",
           "tables of the same definition"),
    Reason("an insert without all columns", POSTGRESQL, MISMATCH, r"^the row image of .* leaves out column .*, whose value cannot be known",
           "inserts that do not carry every column"),
    Reason("generated columns that the log leaves out", POSTGRESQL, MISMATCH,
           r"leaves out generated column", "Any other expression", PAGE_OF_POSTGRESQL),
    Reason("a cascade that is not in the log", POSTGRESQL, "ApplyFailed",
           r"\bsource does not log those; leave the tables out", "which do not log these"),
    Reason("a stored generated column of the session's time zone or language", ("MariaDB",), MISMATCH,
           r"^the generated column .* depends on the time zone or language of the source's session",
           "Generated columns that depend on the session"),
    Reason("a change that only the source can compute", POSTGRESQL, NOT_UNDERSTOOD,
           r"values that only the source can compute|in a way that PostgreSQL cannot follow exactly",
           "DDL that changes or fills columns as only the source can compute, where the table has rows"),
    Reason("rows moved by whole partitions", POSTGRESQL, NOT_UNDERSTOOD,
           r" changes rows without logging them", "take or move rows by whole partitions or files"),
)  # fmt: skip


@cache
def _text(document: str) -> str:
    return " ".join((DOCS / document).read_text(encoding="utf-8").split())


def is_documented(reason: Reason) -> bool:
    """Return True if the reason's document holds its words."""
    return reason.words in _text(reason.document)


def reason_of(refusal: Refusal, target: str) -> str | None:
    """Return the title of the documented reason of a refusal; None if there is none.

    Args:
        refusal: The refusal.
        target: Where it was refused: ``reading``, ``MySQL``, ``MariaDB`` or ``PostgreSQL``.

    >>> message = "column p has type POINT, which has no counterpart in PostgreSQL; use a MySQL or MariaDB target"
    >>> reason_of(Refusal("", "TypeNotMapped", message), "PostgreSQL")
    'a type without a counterpart in PostgreSQL'
    >>> reason_of(Refusal("", "TypeNotMapped", message), "MySQL") is None
    True
    """
    for reason in REASONS:
        fits = target in reason.targets and re.fullmatch(reason.error, refusal.error) and re.search(reason.message, refusal.message)
        if fits and (reason.files is None or refusal.file in reason.files) and is_documented(reason):
            return reason.title
    return None
