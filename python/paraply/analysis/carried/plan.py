"""Plan for the rows of one table: under which names and definitions they are logged, and how they become rows of one definition."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from paraply.analysis.carried.conversion import Conversion, NotKnown, Statement, Value, conversion
from paraply.analysis.carried.default import stored_default
from paraply.analysis.typed import TypedColumn, typed_columns

if TYPE_CHECKING:
    from paraply.analysis.table_versions import Line, LogPlace, Name, Version
    from paraply.schema.model import Column, Table

__all__ = ["Carried", "Form", "NamedSpan", "TablePlan", "plan_of"]


@dataclass(frozen=True, slots=True)
class Carried:
    """Source of one column's values.

    Attributes:
        column: The column's name in the images; None for a constant, or if the values are not known.
        conversions: What later statements did to the values, in order.
        constant: The value of all rows before the column was added.
        known: False if the values cannot be told from the log.
        default: The column and its default for inserts whose image lacks it.
        has_default: True if that default is known.
    """

    column: str | None = None
    conversions: tuple[Conversion, ...] = ()
    constant: Value | None = None
    known: bool = True
    default: Value | None = None
    has_default: bool = False


@dataclass(frozen=True, slots=True)
class Form:
    """Rows of one definition.

    Attributes:
        start: Place of the statement after which they have it.
        end: Place of the statement up to which they have it; None to the end of the logs.
        name: Database and table, as they are logged.
        columns: The typed columns of the definition itself.
        sources: For each column of the plan the source of its values.
        table: The definition itself.
        created: True if the statement created the table; its own rows are then those of CREATE TABLE ... SELECT.
        last: True for rows of the table that has the name at the end; False for an earlier one of that name.
    """

    start: LogPlace
    end: LogPlace | None
    name: Name
    columns: tuple[TypedColumn, ...]
    sources: tuple[Carried, ...]
    table: Table
    created: bool = False
    last: bool = True


@dataclass(frozen=True, slots=True)
class NamedSpan:
    """Part of the logs in which a table has one name.

    Attributes:
        name: Database and table.
        start: Place of the statement after which it has the name.
        end: Place of the last statement under this name; None to the end of the logs.
        first: True if the statement at the start is the first one of the table, such as its creation.
    """

    name: Name
    start: LogPlace
    end: LogPlace | None
    first: bool

    def holds(self, place: LogPlace) -> bool:
        """Return True if a statement at a place finds the table under this name, or creates it.

        >>> span = NamedSpan(("shop", "tag"), (0, 400), (1, 700), True)
        >>> [span.holds(place) for place in ((0, 399), (0, 400), (1, 700), (1, 701))]
        [False, True, True, False]
        """
        return (self.start < place or (self.first and self.start == place)) and (self.end is None or place <= self.end)


@dataclass(frozen=True, slots=True)
class TablePlan:
    """Plan by which the rows of a table are read.

    Attributes:
        table: The definition under which rows are given.
        columns: Its typed columns.
        key: Names of the primary key's columns; empty without one.
        forms: The definitions in the log.
        steady_key: True if the primary key had the same columns, with the same values, all the time.
        spans: Where the table has which name, to tell its statements from those of other tables of these names.
    """

    table: Table
    columns: tuple[TypedColumn, ...]
    key: tuple[str, ...]
    forms: tuple[Form, ...]
    steady_key: bool
    spans: tuple[NamedSpan, ...] = ()

    @property
    def names(self) -> list[Name]:
        """Names under which the rows are logged."""
        return list(dict.fromkeys(form.name for form in self.forms))


def plan_of(line: Line, earlier: list[Line], name: Name) -> TablePlan:
    """Return the plan for a table.

    Args:
        line: The table, whose last definition is known.
        earlier: Earlier tables of the same name.
        name: The name, under which rows of earlier tables are read.

    Raises:
        NotKnown: The last definition is not known.
    """
    table = line.last.table
    if table is None:
        raise NotKnown
    forms = [form for form in _forms_of(line, table) if form is not None]
    steady = _keeps_key(line, table, forms)
    spans = _spans_of(line)
    for other in earlier:
        spans += [span for span in _spans_of(other) if span.name == name]
        forms += [replace(form, last=False) for form in _forms_of(other, table, by_name=True) if form.name == name]
    columns = tuple(typed_columns(table))
    return TablePlan(table, columns, primary_key(table), tuple(forms), steady, tuple(spans))


def _spans_of(line: Line) -> list[NamedSpan]:
    """Return the names of a table, each with the part of the logs in which it has it."""
    return [NamedSpan(version.name, *line.span(number), number == 0) for number, version in enumerate(line.versions)]


def primary_key(table: Table) -> tuple[str, ...]:
    """Return the columns of the primary key; none if it has other parts."""
    parts = table.primary_key.parts if table.primary_key else ()
    names = [part.column for part in parts if part.column is not None and part.prefix is None]
    return tuple(names) if len(names) == len(parts) else ()


def _forms_of(line: Line, table: Table, *, by_name: bool = False) -> list[Form]:
    """Return the forms of a table's versions, those with a known definition."""
    sources = _by_name(line.last.table, table) if by_name else tuple(Carried(column.name) for column in table.columns)
    forms = []
    for number in range(len(line.versions) - 1, -1, -1):
        version = line.versions[number]
        start, end = line.span(number)
        if version.table is not None:
            own = tuple(typed_columns(version.table))
            with_defaults = tuple(_with_default(source, version.table) for source in sources)
            forms.append(Form(start, end, version.name, own, with_defaults, version.table, version.kind == "create"))
        if number:
            sources = _before(version, line.versions[number - 1], sources)
    return forms[::-1]


def _before(version: Version, previous: Version, sources: tuple[Carried, ...]) -> tuple[Carried, ...]:
    """Return the sources in the definition before a statement."""
    if previous.table is None:
        return sources
    if version.table is None:
        return tuple(replace(source, column=None, known=False) if source.column else source for source in sources)
    if version.kind == "unknown":
        return tuple(_by_same_name(source, version.table, previous.table) for source in sources)
    if version.kind != "alter" or version.change is None:
        return sources
    return tuple(_before_alter(source, version, previous.table) for source in sources)


def _before_alter(source: Carried, version: Version, old: Table) -> Carried:
    """Return the source of one column before an ALTER."""
    change, table = version.change, version.table
    if source.column is None or change is None or table is None:
        return source
    column = _column(table, source.column)
    if column is None:
        return Carried(known=False)
    if column.name in change.added:
        return _constant(source, column)
    before = _column(old, change.column_renames.get(column.name, column.name))
    if before is None:
        return Carried(known=False)
    statement = Statement(version.mariadb, version.sql_mode, change.strict, change.pads_char)
    steps = conversion(before, column, statement)
    if steps is None:
        return Carried(known=False)
    return Carried(before.name, (*steps, *source.conversions))


def _constant(source: Carried, column: Column) -> Carried:
    """Return the value of old rows in a new column, after the later statements."""
    try:
        value = stored_default(column)
        return Carried(constant=_applied(value, source.conversions))
    except NotKnown:
        return Carried(known=False)


def _applied(value: Value | None, conversions: tuple[Conversion, ...]) -> Value | None:
    for step in conversions:
        value = None if value is None else step.apply(value)
    return value


def _by_same_name(source: Carried, table: Table, old: Table) -> Carried:
    """Return the source across a statement that was not understood: the column of the same name, if its type is the same too."""
    if source.column is None:
        return source
    before, after = _column(old, source.column), _column(table, source.column)
    same = before is not None and after is not None and conversion(before, after, Statement()) == ()
    return source if same else Carried(known=False)


def _by_name(old: Table | None, table: Table) -> tuple[Carried, ...]:
    """Return the sources in another table of the same name: columns of the same name whose values have the same form."""
    found = []
    for column in table.columns:
        before = None if old is None else _column(old, column.name)
        steps = None if before is None else conversion(before, replace(column, generated=None), Statement())
        found.append(Carried(known=False) if before is None or steps is None else Carried(before.name, steps))
    return tuple(found)


def _with_default(source: Carried, table: Table) -> Carried:
    """Add the value that an insert without the column gets."""
    column = None if source.column is None else _column(table, source.column)
    if column is None:
        return source
    try:
        return replace(source, default=_applied(stored_default(column), source.conversions), has_default=True)
    except NotKnown:
        return source


def _column(table: Table, name: str) -> Column | None:
    return next((column for column in table.columns if column.name.lower() == name.lower()), None)


def _keeps_key(line: Line, table: Table, forms: list[Form]) -> bool:
    """Return True if the key's columns were the primary key of all versions, and kept their values."""
    key = primary_key(table)
    places = [number for number, column in enumerate(table.columns) if column.name in key]
    known = [version for version in line.versions if version.table is not None]
    for version, form in zip(known, forms, strict=True):
        sources = [form.sources[place] for place in places]
        own = {name.lower() for name in primary_key(version.table)} if version.table is not None else set()
        if any(source.conversions or not source.known for source in sources):
            return False
        if {(source.column or "").lower() for source in sources} != own:
            return False
    return bool(key)
