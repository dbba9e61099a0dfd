"""Filters of a query as conditions of the native reader."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import EqualTo, Filter, GreaterThan, GreaterThanOrEqual, In, LessThan, LessThanOrEqual

from paraply._native import Selection, TableFilter
from paraply.errors import UsageError

if TYPE_CHECKING:
    from paraply.analysis.parts import LogPart

__all__ = ["Conditions"]

KINDS = ("dml", "ddl", "empty", "view_change", "xa_prepare", "xa_end")
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
MICROSECOND = datetime.timedelta(microseconds=1)
Bounds = tuple[int | None, int | None]


@dataclass
class Conditions:
    """What a query asks of transactions, as far as the native reader can tell. Spark still looks at every row that is read.

    Attributes:
        positions: First and last position.
        committed: Earliest and latest commit time, microseconds since 1970.
        values: By column: the values of which it must have one.
    """

    positions: Bounds = (None, None)
    committed: Bounds = (None, None)
    values: dict[str, list[Any]] = field(default_factory=dict)

    def take(self, filters: Iterable[Filter]) -> None:
        """Takes in what is understood of filters, all of which must hold."""
        for each in filters:
            path: tuple[str, ...] = getattr(each, "attribute", ())
            if len(path) != 1:
                continue
            (name,) = path
            if name == "position":
                self.positions = narrowed(self.positions, each, lambda value: value if isinstance(value, int) else None)
            elif name == "committed_at":
                self.committed = narrowed(self.committed, each, microseconds)
            if isinstance(each, EqualTo | In):
                self._one_of(name, [each.value] if isinstance(each, EqualTo) else list(each.value))

    def _one_of(self, name: str, values: list[Any]) -> None:
        known = self.values.get(name)
        self.values[name] = values if known is None else [value for value in known if value in values]

    def selection(self, tables: TableFilter | None = None) -> Selection:
        """The conditions for the native reader.

        Args:
            tables: Tables of which a transaction must change rows.
        """
        kinds = self.values.get("kind")
        servers = self.values.get("server_id")
        return Selection(
            positions=self.positions,
            committed=self.committed,
            kinds=None if kinds is None else [kind for kind in kinds if kind in KINDS],
            gtids=self._gtids(),
            server_ids=None if servers is None else [server for server in servers if isinstance(server, int) and 0 <= server < 1 << 32],
            tables=tables,
        )

    def _gtids(self) -> list[str] | None:
        """The GTIDs; None for any, and where transactions without one are asked for."""
        gtids = self.values.get("gtid")
        return None if gtids is None or "" in gtids else [gtid for gtid in gtids if is_gtid(gtid)]

    def texts(self, name: str) -> list[str] | None:
        """The texts of which a column must have one; None for any."""
        values = self.values.get(name)
        return None if values is None else [value for value in values if isinstance(value, str)]

    def tables(self) -> TableFilter | None:
        """The tables that a query of row changes asks for; None for any."""
        databases, tables = self.texts("database"), self.texts("table")
        if not databases:
            return None
        if not tables:
            return TableFilter(databases)
        return TableFilter([], [(database, table) for database in databases for table in tables])

    def may_meet(self, part: LogPart) -> bool:
        """Whether any transaction of a part may meet the bounds."""
        first, last = self.positions
        if part.transactions is not None:
            if last is not None and part.position + 1 > last:
                return False
            if first is not None and part.position + part.transactions < first:
                return False
        earliest, latest = self.committed
        if part.committed is None:
            return True
        return not ((latest is not None and part.committed[0] > latest) or (earliest is not None and part.committed[1] < earliest))


def narrowed(bounds: Bounds, each: Filter, number: Any) -> Bounds:
    """Bounds that hold for a filter, too."""
    least, most = bounds
    if isinstance(each, EqualTo | GreaterThan | GreaterThanOrEqual | LessThan | LessThanOrEqual):
        value = number(each.value)
        if value is None:
            return bounds
        if isinstance(each, EqualTo | GreaterThan | GreaterThanOrEqual):
            value_least = value + isinstance(each, GreaterThan)
            least = value_least if least is None else max(least, value_least)
        if isinstance(each, EqualTo | LessThan | LessThanOrEqual):
            value_most = value - isinstance(each, LessThan)
            most = value_most if most is None else min(most, value_most)
    return least, most


def microseconds(value: Any) -> int | None:
    """A moment as microseconds since 1970; None where it has no time zone."""
    if not isinstance(value, datetime.datetime) or value.tzinfo is None:
        return None
    return (value - EPOCH) // MICROSECOND


def is_gtid(value: Any) -> bool:
    """Whether a value is text of one GTID."""
    try:
        Selection(gtids=[value])
    except (TypeError, UsageError):
        return False
    return True
