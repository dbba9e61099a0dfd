"""Names that differ only in case, while it is not known whether the server distinguishes them (``lower_case_table_names``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from paraply.schema.ddl.elements import ForeignSpec
from paraply.schema.ddl.statements import (
    AddConstraint,
    AlterTableStatement,
    CreateDatabaseStatement,
    CreateTableStatement,
    DatabaseStatement,
    DropDatabaseStatement,
    DropTablesStatement,
    Name,
    RenameTablesStatement,
    Statement,
    TruncateStatement,
)
from paraply.schema.model import Table

__all__ = ["Spellings", "database_of", "names_of", "proves_case"]

Place = tuple[str, str]


@dataclass(slots=True)
class Spellings:
    """Every spelling of every name that was ever added to a catalog, of a table or of a foreign key's parent.

    It only grows, and an unused spelling has no effect. So all copies of a catalog share one object: copying it for each statement would
    take time proportional to the number of tables.
    """

    _known: dict[Place, tuple[Place, ...]] = field(default_factory=dict)

    def add(self, table: Table) -> None:
        """Add the names of a table and of its parents."""
        for place in ((table.database, table.name), *((key.parent_database, key.parent_table) for key in table.foreign_keys)):
            known = self._known.get(_folded(place), ())
            if place not in known:
                self._known[_folded(place)] = (*known, place)

    def others(self, place: Place) -> list[Place]:
        """Return the other spellings of a name, in a stable order."""
        return sorted(set(self._known.get(_folded(place), ())) - {place})


def _folded(place: Place) -> Place:
    return place[0].lower(), place[1].lower()


def names_of(statement: Statement) -> Iterator[Name]:
    """Yield all tables that a statement names.

    >>> list(names_of(TruncateStatement((None, "T"))))
    [(None, 'T')]
    """
    match statement:
        case CreateTableStatement(name=name, like=like, elements=elements):
            yield name
            yield from (like,) if like else ()
            yield from _parents(elements)
        case AlterTableStatement(name=name, rename=rename, taken=taken, made=made, actions=actions):
            yield name
            yield from (other for other in (rename, taken, made) if other)
            yield from _parents(action.spec if isinstance(action, AddConstraint) else getattr(action, "column", None) for action in actions)
        case RenameTablesStatement(pairs=pairs):
            yield from (name for pair in pairs for name in pair)
        case DropTablesStatement(names=names):
            yield from names
        case TruncateStatement(name=name):
            yield name


def _parents(elements: Iterable[object]) -> Iterator[Name]:
    for element in elements:
        spec = element if isinstance(element, ForeignSpec) else getattr(element, "references", None)
        if isinstance(spec, ForeignSpec):
            yield spec.parent_database, spec.parent_table


def database_of(statement: Statement) -> str | None:
    """Return the database that a statement creates, changes or drops as a whole."""
    if isinstance(statement, CreateDatabaseStatement | DatabaseStatement | DropDatabaseStatement):
        return statement.name
    return None


def proves_case(statement: Statement) -> bool:
    """Return True if the statement must have failed if its object had existed under another spelling."""
    if not isinstance(statement, CreateTableStatement | CreateDatabaseStatement):
        return False
    return not statement.if_not_exists and not statement.replace
