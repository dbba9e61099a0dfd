"""Kinds of refusals, each with the document that tells of it.

An error that no kind fits, or whose document does not hold the kind's words, counts as not documented.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from versions.kinds import Version

__all__ = ["KINDS", "Kind", "is_documented", "kind_of"]

DOCS = Path(__file__).parent.parent.parent / "docs"


@dataclass(frozen=True)
class Kind:
    """A kind of refusal.

    Args:
        name: As features name it.
        title: As documentation names it.
        targets: Condition of the targets that refuse so; ``older`` for targets older than the source, ``any`` for all.
        error: What the error's class matches.
        message: What the error's message matches.
        document: File below ``docs`` that tells of it.
        words: Words of that document which do so.
    """

    name: str
    title: str
    targets: str
    error: str
    message: str
    document: str
    words: str


PG = "targets/postgresql.md"
KINDS = (
    Kind("statement-format", "rows in statement format", "any", "LogNotUnderstood", r"in statement format", "limits.md",
         "row changes in statement format"),
    Kind("engine", "tables without transactions", "mysql", "SchemaMismatch", r"has no transactions", "targets/mysql.md",
         "Tables in engines other than InnoDB, NDB, RocksDB and TokuDB are refused"),
    Kind("engine", "tables without transactions", "mariadb", "SchemaMismatch", r"has no transactions", "targets/mysql.md",
         "Tables in engines other than InnoDB, NDB, RocksDB and TokuDB are refused"),
    Kind("older-definition", "definitions that only newer versions know, into an older target", "older", "ApplyFailed|SchemaMismatch",
         r"error (1064|1115|1193|1231|1273|1286|4161|1911)\b", "limits.md",
         "The target may be older than the source as far as it understands the events and the DDL"),
    Kind("newer-collation", "default collations that only newer versions have, into an older target", "older", "LogNotUnderstood",
         r"default collation on the source|under collation \d+, which the target does not have", "limits.md",
         "DDL under a collation, or default collation of a character set, that an older target does not have"),
    Kind("generated-older", "generated columns that the log leaves out, into an older target", "older", "SchemaMismatch",
         r"may leave the generated column", "limits.md", "an older MariaDB then keeps the old value"),
    Kind("late-timestamp", "TIMESTAMP values later than 2038, into a target before MariaDB 11.5", "older", "ApplyFailed",
         r"TIMESTAMP later than 2038", "limits.md", "A row with a later value in a log of 11.5 or newer ends the apply"),
    Kind("zero-date", "dates with zero parts", "postgresql", "ValueNotStorable", r"date", PG, "dates and timestamps with zero parts"),
    Kind("nul-character", "text with a NUL character", "postgresql", "ValueNotStorable", r"NUL", PG, "text with a NUL character"),
    Kind("enum-error-value", "the error value of an ENUM", "postgresql", "ValueNotStorable", r"ENUM|label", PG, "an ENUM's error value"),
    Kind("type", "types without a counterpart", "postgresql", "TypeNotMapped", r"has no counterpart", PG,
         "an error before the table's first row"),
    Kind("charset", "characters that Unicode does not have", "postgresql", "ValueNotStorable", r"character set", PG,
         "text that is not valid in its character set"),
    Kind("long-name", "names of more than 63 bytes", "postgresql", "[A-Za-z]+", r"63 bytes", PG, "Names of more than 63 bytes are refused"),
    Kind("needs-rows", "changes of columns that only the source can compute", "postgresql", "LogNotUnderstood",
         r"only the source can compute|cannot follow exactly", PG, "table must be empty, else the apply stops before the statement"),
    Kind("partition", "rows taken or moved by whole partitions", "postgresql", "LogNotUnderstood", r"changes rows without logging them", PG,
         "where the tables have rows, the apply ends there with exit code 3"),
    Kind("versioning", "system versioning", "postgresql", "LogNotUnderstood", r"(?i)system.versioning", PG,
         "MariaDB's system versioning, periods"),
    Kind("period", "application-time periods", "postgresql", "LogNotUnderstood", r"(?i)period", PG, "MariaDB's system versioning, periods"),
    Kind("sequence", "sequences", "postgresql", "LogNotUnderstood", r"(?i)sequence", PG, "periods (`PERIOD FOR`) and sequences"),
    Kind("partial-insert", "inserts without all columns", "postgresql", "SchemaMismatch", r"leaves out column", PG,
         "Inserts must carry every column"),
    Kind("xa", "XA transactions that are prepared and ended apart", "postgresql", "LogNotUnderstood", r"XA", PG,
         "XA transactions that are prepared and ended apart cannot be applied"),
    Kind("generated", "generated columns that the log leaves out and whose expression is not understood", "postgresql", "SchemaMismatch",
         r"leaves out generated column", PG, "Any other expression"),
    Kind("versioned-copy", "copies of system-versioned tables by MariaDB before 10.11", "mariadb", "LogNotUnderstood",
         r"CREATE TABLE \.\.\. SELECT made a system-versioned table", "limits.md",
         "`CREATE TABLE ... WITH SYSTEM VERSIONING ... SELECT` by MariaDB before 10.11"),
    Kind("cascade", "cascades that the source does not log", "postgresql", "ApplyFailed", r"through foreign keys", PG,
         "a change of a parent row that would cascade stops the apply with exit code 1"),
    Kind("ddl-not-understood", "DDL that is not understood", "postgresql", "LogNotUnderstood", r"effect on the schema is not known", PG,
         "So it does at a statement that it does not understand"),
)  # fmt: skip


@cache
def _text(document: str) -> str:
    return " ".join((DOCS / document).read_text(encoding="utf-8").split())


def is_documented(kind: Kind) -> bool:
    """Return True if the kind's document holds its words."""
    return " ".join(kind.words.split()) in _text(kind.document)


def kind_of(error: str, message: str, source: Version, target: Version) -> str:
    """Return the name of the documented kind that an error belongs to; empty if there is none."""
    for kind in KINDS:
        fits = re.fullmatch(kind.error, error) and re.search(kind.message, message)
        if fits and _concerns(kind, source, target) and is_documented(kind):
            return kind.name
    return ""


def _concerns(kind: Kind, source: Version, target: Version) -> bool:
    if kind.targets == "older":
        return target.family == source.family and target.number < source.number
    return kind.targets == "any" or target.matches(kind.targets)
