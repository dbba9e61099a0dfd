"""Row changes in statement format, counted before the first write: an apply ends at the first one (R27)."""

from __future__ import annotations

import contextlib
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from paraply.applier.preflight.before_stop import before_stop
from paraply.errors import LogError
from paraply.wording import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from paraply._native import GtidSet, LoggedRowStatement
    from paraply.applier.options import Options

__all__ = ["RowStatement", "StatementChanges", "count_statements"]

_SHOWN = 5
_LONGEST = 120
_TABLES = 10


@dataclass(frozen=True, slots=True)
class RowStatement:
    """A row change in statement format.

    Attributes:
        file: Name of the file, as given.
        offset: Start of its transaction.
        end: Index of the file, and offset after the statement.
        gtid: GTID of its transaction, if there is one.
        position: Start of the statement.
        table: Name of the first table in the statement; else its first word.
        sql: Text of the statement; empty after the first statements of many.
    """

    file: str
    offset: int
    end: tuple[int, int]
    gtid: str | None
    position: int
    table: str
    sql: bytes

    @classmethod
    def of(cls, found: LoggedRowStatement) -> RowStatement:
        """Return a change that a scan of the logs found."""
        return cls(found.file, found.offset, found.end, found.gtid, found.position, found.table, found.sql)

    @property
    def text(self) -> str:
        """Statement for people, shortened."""
        text = " ".join(self.sql.decode("utf-8", "replace").split())
        return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."

    def as_json(self) -> Mapping[str, Any]:
        """Return the statement as a JSON object."""
        return {"file": self.file, "position": self.position, "gtid": self.gtid, "table": self.table, "sql": self.text}


@dataclass(frozen=True, slots=True)
class StatementChanges:
    """Row changes in statement format among the transactions that an apply would reach.

    Attributes:
        count: Their number.
        tables: First table of each statement, with the number of statements, most frequent first.
        first: The first few statements.
        mariadb: True if a MariaDB server wrote the log.
    """

    count: int
    tables: list[tuple[str, int]]
    first: list[RowStatement] = field(default_factory=list)
    mariadb: bool = False

    def as_json(self) -> Mapping[str, Any]:
        """Return the JSON object of the plan."""
        return {
            "count": self.count,
            "tables": [{"table": table, "count": count} for table, count in self.tables],
            "first": [statement.as_json() for statement in self.first],
        }

    @property
    def note(self) -> str:
        """Summary in one line."""
        named = ", ".join(f"{table} {count:,}" for table, count in self.tables[:_TABLES])
        more = f" and {len(self.tables) - _TABLES:,} more tables" if len(self.tables) > _TABLES else ""
        which = counted(self.count, "row change is", "row changes are")
        return f"{which} in statement format, which cannot be replayed exactly: {named}{more}"

    def lines(self) -> list[str]:
        """Return the lines of the plan for people."""
        default = ", MariaDB's default is MIXED; tables versioned by transactions are logged so in any format" if self.mariadb else ""
        lines = [
            f"STOP     {self.note}",
            f"         the apply ends before the first with exit code 3; set binlog_format=ROW on the source{default}",
        ]
        lines += [f"         {statement.file}:{statement.position}  {statement.text}" for statement in self.first]
        return lines


def count_statements(
    options: Options, found: Sequence[RowStatement], skip: GtidSet, place: tuple[int, int] | None, *, mariadb: bool
) -> StatementChanges | None:
    """Return the row changes in statement format that the apply would reach; None if there are none.

    Args:
        options: The options.
        found: All such statements in the logs.
        skip: GTIDs that are skipped.
        place: Log position up to which transactions without GTID are skipped.
        mariadb: True if a MariaDB server wrote the log.
    """
    left = [statement for statement in found if not _passed(statement, skip, place) and not _is_named(options, statement)]
    if left:
        with contextlib.suppress(LogError):  # of damage; the scan that found them got no further either
            left = before_stop(options, left)
    if not left:
        return None
    tables = Counter(statement.table for statement in left)
    return StatementChanges(len(left), tables.most_common(), left[:_SHOWN], mariadb)


def _is_named(options: Options, statement: RowStatement) -> bool:
    """Return True if ``--skip`` leaves the statement out."""
    return bool(options.skip) and statement.gtid is not None and options.skip is not None and statement.gtid in options.skip


def _passed(statement: RowStatement, skip: GtidSet, place: tuple[int, int] | None) -> bool:
    if statement.gtid is not None:
        return statement.gtid in skip
    return place is not None and statement.end <= place
