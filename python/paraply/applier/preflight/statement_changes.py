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

__all__ = ["StatementChanges", "count_statements"]

_SHOWN = 5
_LONGEST = 120
_TABLES = 10


@dataclass(frozen=True, slots=True)
class StatementChanges:
    """Row changes in statement format among the transactions that an apply would reach.

    Attributes:
        count: Their number.
        tables: First table of each statement, with the number of statements, most frequent first.
        first: The first statements: all whose texts the scan keeps, a hundred at most.
        mariadb: True if a MariaDB server wrote the log.
    """

    count: int
    tables: list[tuple[str, int]]
    first: list[LoggedRowStatement] = field(default_factory=list)
    mariadb: bool = False

    def as_json(self) -> Mapping[str, Any]:
        """Return the JSON object of the plan."""
        return {
            "count": self.count,
            "tables": [{"table": table, "count": count} for table, count in self.tables],
            "first": [_as_json(statement) for statement in self.first],
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
        shown = self.first[:_SHOWN]
        lines += [f"         {statement.file}:{statement.position}  {_shortened(statement.sql)}" for statement in shown]
        if more := self.count - len(shown):
            listed = "them" if self.count == len(self.first) else f"the first {len(self.first):,}"
            lines.append(f"         and {more:,} more; --json lists {listed}")
        return lines


def count_statements(
    options: Options, found: Sequence[LoggedRowStatement], skip: GtidSet, place: tuple[int, int] | None, *, mariadb: bool
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
    with_text = [statement for statement in left if statement.sql] or left[:1]
    return StatementChanges(len(left), tables.most_common(), with_text, mariadb)


def _shortened(sql: bytes) -> str:
    """Return a statement for people."""
    text = " ".join(sql.decode("utf-8", "replace").split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _as_json(found: LoggedRowStatement) -> Mapping[str, Any]:
    """Return a statement as a JSON object."""
    return {"file": found.file, "position": found.position, "gtid": found.gtid, "table": found.table, "sql": _shortened(found.sql)}


def _is_named(options: Options, statement: LoggedRowStatement) -> bool:
    """Return True if ``--skip`` leaves the statement out."""
    return bool(options.skip) and statement.gtid is not None and options.skip is not None and statement.gtid in options.skip


def _passed(statement: LoggedRowStatement, skip: GtidSet, place: tuple[int, int] | None) -> bool:
    if statement.gtid is not None:
        return statement.gtid in skip
    return place is not None and statement.end <= place
