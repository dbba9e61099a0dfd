"""The definitions that a table had one after the other in a log, under all its names."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from paraply.analysis.parts import catalog_of
from paraply.schema.ddl.change import (
    AlterTable,
    CreateTable,
    DropDatabase,
    DropTable,
    RenameTable,
    TruncateTable,
    Unknown,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from paraply.analysis.parts import Step
    from paraply.schema.ddl.change import SchemaChange
    from paraply.schema.model import Table

__all__ = ["BEGIN_OF_LOGS", "Line", "Lines", "LogPlace", "Name", "Version", "lines_of"]

LogPlace = tuple[int, int]
"""Number of a file of the load, and an offset in it."""

Name = tuple[str, str]
"""Database and table."""

BEGIN_OF_LOGS: LogPlace = (-1, 0)

Kind = Literal["start", "create", "alter", "rename", "truncate", "unknown"]


@dataclass(frozen=True, slots=True)
class Version:
    """Definition of a table from one statement to the next.

    Attributes:
        start: Place of the statement; rows after it have this definition.
        name: Database and table, as the rows name it.
        table: The definition; None if it is not known.
        kind: Kind of the statement, or ``start`` for the definition at the start of the logs.
        change: The change of the definition, for ALTER.
        reason: Reason for an unknown definition.
        mariadb: True if a MariaDB server ran the statement.
        sql_mode: The statement's ``sql_mode``.
        server: Version of the server.
    """

    start: LogPlace
    name: Name
    table: Table | None
    kind: Kind
    change: AlterTable | None = None
    reason: str = ""
    mariadb: bool = False
    sql_mode: int = 0
    server: tuple[int, int, int] = (0, 0, 0)


@dataclass(slots=True)
class Line:
    """One table from its creation to its DROP, under all its names.

    Attributes:
        versions: Its definitions in order.
        end: Place of the statement that dropped it; None if it is there at the end of the logs.
    """

    versions: list[Version] = field(default_factory=list)
    end: LogPlace | None = None

    @property
    def last(self) -> Version:
        """The last definition."""
        return self.versions[-1]

    @property
    def emptied(self) -> list[LogPlace]:
        """Places at which it had no rows: its creation, and each TRUNCATE."""
        return [version.start for version in self.versions if version.kind in ("create", "truncate")]

    def span(self, number: int) -> tuple[LogPlace, LogPlace | None]:
        """Return the places between which a version holds."""
        after = self.versions[number + 1].start if number + 1 < len(self.versions) else self.end
        return self.versions[number].start, after


@dataclass(slots=True)
class Lines:
    """All tables of logs.

    Attributes:
        present: Tables that are there at the end, by their names.
        past: Tables that had a name before, in order.
    """

    present: dict[Name, Line] = field(default_factory=dict)
    past: dict[Name, list[Line]] = field(default_factory=dict)

    def last(self, name: Name) -> Line | None:
        """Return the table of a name: the one that is there, or the last one that was."""
        gone = [line for line in self.past.get(name, ()) if line.end is not None and line.last.name == name]
        return self.present.get(name) or (gone[-1] if gone else None)

    def earlier(self, name: Name) -> list[Line]:
        """Return the other tables that had a name before, in order."""
        last = self.last(name)
        return [line for line in self.past.get(name, ()) if line is not last]


def lines_of(files: Iterable[Sequence[Step]], tables: Sequence[Table]) -> Lines:
    """Follow all tables through the statements of logs.

    Args:
        files: The statements of each file.
        tables: The definitions at the start of the logs.
    """
    catalog = catalog_of(tables)
    walk = _Walk({(table.database, table.name): Line([start_version(table)]) for table in tables})
    for number, steps in enumerate(files):
        for step in steps:
            walk.step = step
            walk.place = (number, step.offset)
            for change in step(catalog):
                walk.take(change)
    return walk.lines


def start_version(table: Table) -> Version:
    """Return the version of a definition at the start of the logs."""
    return Version(BEGIN_OF_LOGS, (table.database, table.name), table, "start")


class _Walk:
    """Walk over the changes of logs."""

    step: Step
    place: LogPlace

    def __init__(self, present: dict[Name, Line]) -> None:
        self.lines = Lines(present)

    def take(self, change: SchemaChange) -> None:
        """Take over one change."""
        match change:
            case CreateTable(table=table):
                name = (table.database, table.name)
                self._end(name)
                self.lines.present[name] = Line([self._version(name, table, "create")])
            case AlterTable():
                self._alter(change)
            case RenameTable(old_database=database, old_name=old, table=table):
                self._rename((database, old), table)
            case DropTable(database=database, name=dropped):
                self._end((database, dropped))
            case TruncateTable(database=database, name=emptied):
                if line := self.lines.present.get((database, emptied)):
                    line.versions.append(self._version(line.last.name, line.last.table, "truncate"))
            case DropDatabase(database=database):
                for name in [name for name in self.lines.present if name[0] == database]:
                    self._end(name)
            case Unknown():
                self._forget(change)
            case _:
                pass

    def _version(self, name: Name, table: Table | None, kind: Kind, change: AlterTable | None = None, reason: str = "") -> Version:
        log = self.step.transaction.format
        mode = max((int(statement.context.get("sql_mode") or 0) for statement in self.step.transaction.statements), default=0)
        return Version(self.place, name, table, kind, change, reason, log.mariadb, mode, log.version)

    def _end(self, name: Name) -> None:
        if line := self.lines.present.pop(name, None):
            line.end = self.place
            self.lines.past.setdefault(name, []).append(line)

    def _alter(self, change: AlterTable) -> None:
        old, new = (change.old.database, change.old.name), (change.new.database, change.new.name)
        line = self.lines.present.get(old)
        if line is None:
            line = self.lines.present[old] = Line([start_version(change.old)])
        if new != old:
            self._move(old, new)
        line.versions.append(self._version(new, change.new, "alter", change))

    def _rename(self, old: Name, table: Table) -> None:
        new = (table.database, table.name)
        line = self.lines.present.get(old)
        if line is None:
            self.lines.present[new] = Line([self._version(new, table, "unknown", reason="its earlier definition is not known")])
            return
        self._move(old, new)
        line.versions.append(self._version(new, table, "rename"))

    def _move(self, old: Name, new: Name) -> None:
        line = self.lines.present.pop(old)
        self.lines.past.setdefault(old, []).append(line)
        self.lines.present[new] = line

    def _forget(self, change: Unknown) -> None:
        known = self.lines.present
        names = [name for name in known if change.everything or name[0] in change.databases or name in change.tables]
        for name in names:
            known[name].versions.append(self._version(name, None, "unknown", reason=change.reason))
        for name in change.tables:
            if name not in known:
                known[name] = Line([self._version(name, None, "unknown", reason=change.reason)])
