"""A DDL of the log that the user has made by hand: its effect, compared with the tables of a MySQL or MariaDB target.

The target holds the table only as it is after the statement. So the statement is applied to that definition once more, in a form that
changes nothing if it was made: what it adds is taken away first, what it drops must be missing. Anything that this changes is a difference.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from paraply.errors import SchemaMismatch
from paraply.schema.advance import Advance
from paraply.schema.catalog import Database, SchemaCatalog
from paraply.schema.ddl.change import AlterTable, CreateTable
from paraply.schema.ddl.elements import ColumnSpec, ForeignSpec, KeySpec
from paraply.schema.ddl.lexer import DdlSyntaxError
from paraply.schema.ddl.parse import parse
from paraply.schema.ddl.statements import (
    Action,
    AddColumn,
    AddConstraint,
    AlterTableStatement,
    ChangeColumn,
    CreateDatabaseStatement,
    CreateTableStatement,
    DropDatabaseStatement,
    DropPart,
    DropTablesStatement,
    Name,
    RenameKey,
    RenameTablesStatement,
    TruncateStatement,
)
from paraply.schema.readers.build import same_name
from paraply.schema.readers.live import read_databases, read_tables
from paraply.targets.ddl_answer import not_done
from paraply.targets.mysql.sql import Connection, identifier, rows_of, to_int

if TYPE_CHECKING:
    from paraply.schema.ddl.rules import Rules
    from paraply.schema.model import Column, Key, Table

__all__ = ["check_done"]


def check_done(connection: Connection, sql: str, database: str, rules: Rules) -> None:
    """Compare the tables of a server with the effect of a statement. A statement that changes no table is not compared.

    Args:
        connection: Any connection to the server.
        sql: The statement.
        database: Its default database.
        rules: Rules by which the source parsed it.

    Raises:
        SchemaMismatch: A table is not as the statement leaves it; the message names the first difference.
    """
    try:
        statement = parse(sql, rules)
    except (DdlSyntaxError, RecursionError):
        return
    check = _Check(connection, database, rules)
    match statement:
        case CreateTableStatement(select=False, like=None):
            check.created(statement)
        case CreateTableStatement(name=name):
            check.found(name)
        case AlterTableStatement():
            check.altered(statement)
        case DropTablesStatement(names=names):
            for name in names:
                check.missing(name)
        case RenameTablesStatement(pairs=pairs):
            for old, new in pairs:
                check.found(new)
                if old not in [made for _, made in pairs]:
                    check.missing(old)
        case TruncateStatement(name=name):
            check.emptied(name)
        case CreateDatabaseStatement(name=made):
            if not check.has_database(made):
                raise _mismatch(f"it has no database {made}", made)
        case DropDatabaseStatement(name=dropped):
            if check.has_database(dropped):
                raise _mismatch(f"it has a database {dropped}", dropped)


class _Check:
    """Comparison with the tables of one server."""

    def __init__(self, connection: Connection, database: str, rules: Rules) -> None:
        self._connection = connection
        self._database = database
        self._rules = rules
        self._folds = bool(to_int(rows_of(connection.query("SELECT @@GLOBAL.lower_case_table_names"))[0][0]))

    def _query(self, sql: str) -> list[tuple[object, ...]]:
        return list(rows_of(self._connection.query(sql)))

    def has_database(self, name: str) -> bool:
        """Return True if the server has a database."""
        return any(self._same(name, other) for other in read_databases(self._query))

    def found(self, name: Name) -> Table:
        """Return the definition of a table that must exist."""
        table = self._find(name)
        if table is None:
            raise _mismatch("it has no such table", self._full(name))
        return table

    def missing(self, name: Name) -> None:
        """Fail if a table exists."""
        if self._find(name) is not None:
            raise _mismatch("it has the table", self._full(name))

    def emptied(self, name: Name) -> None:
        """Fail if a table has rows."""
        table = self.found(name)
        if self._query(f"SELECT 1 FROM {identifier(table.database)}.{identifier(table.name)} LIMIT 1"):
            raise _mismatch("the table has rows", table.full_name)

    def created(self, statement: CreateTableStatement) -> None:
        """Compare a table with the definition of its CREATE TABLE."""
        there = self.found(statement.name)
        catalog = self._catalog(without=there)
        made = replace(statement, if_not_exists=False, name=(there.database, there.name))
        for change in Advance(catalog, self._database, self._rules).run(made):
            if isinstance(change, CreateTable):
                _compare(change.table, there)

    def altered(self, statement: AlterTableStatement) -> None:
        """Compare a table with the effect of its ALTER TABLE."""
        there = self.found(statement.rename or statement.name)
        if statement.rename is not None and self._full(statement.rename) != self._full(statement.name):
            self.missing(statement.name)
        actions = tuple(_again(statement.actions, there))
        again = replace(statement, name=(there.database, there.name), actions=actions, rename=None, taken=None, made=None, exchanged=None)
        try:
            changes = Advance(self._catalog(), self._database, self._rules).run(again)
        except DdlSyntaxError as error:
            raise _mismatch(str(error), there.full_name) from None
        for change in changes:
            if isinstance(change, AlterTable) and not change.consequence:
                _compare(change.new, there)

    def _catalog(self, without: Table | None = None) -> SchemaCatalog:
        catalog = SchemaCatalog(int(self._folds))
        for name, collation in read_databases(self._query).items():
            catalog.put_database(Database(name, self._rules.charset_of(collation), collation))
        for table in read_tables(self._query):
            if without is None or table.full_name != without.full_name:
                catalog.put(table)
        return catalog

    def _find(self, name: Name) -> Table | None:
        database, table = name[0] or self._database, name[1]
        return next((one for one in read_tables(self._query, [database]) if self._same(one.name, table)), None)

    def _full(self, name: Name) -> str:
        return f"{name[0] or self._database}.{name[1]}"

    def _same(self, left: str, right: str) -> bool:
        return left.lower() == right.lower() if self._folds else left == right


def _again(actions: Sequence[Action], there: Table) -> Iterator[Action]:
    """Yield actions that change nothing in a definition in which the statement's actions have been made."""
    added = {action.column.name.lower() for action in actions if isinstance(action, AddColumn)}
    keyed = {(action.spec.name or "").lower() for action in actions if isinstance(action, AddConstraint)}
    named = {(action.new_name or action.old_name).lower() for action in actions if isinstance(action, ChangeColumn)}
    for action in actions:
        match action:
            case AddColumn(column=column, position=position):
                _column(there, column.name)
                _check_column_keys(there, column)
                if not action.if_not_exists:
                    yield DropPart("column", column.name)
                    yield AddColumn(replace(column, primary=False, unique=False, references=None), position)
            case ChangeColumn(old_name=old, column=spec):
                new = action.new_name or old
                _column(there, new)
                if not same_name(old, new) and old.lower() not in added | named:
                    _absent(there.columns, old, "column", there)
                plain = None if spec is None else replace(spec, primary=False, unique=False, references=None)
                yield ChangeColumn(new, plain, new, action.invisible, action.position)
            case AddConstraint(spec=KeySpec() as key):
                found = _key(there, key)
                yield DropPart("key", found.name)
                yield AddConstraint(replace(key, name=found.name))
            case AddConstraint(spec=ForeignSpec() as foreign):
                _check_foreign_key(there, foreign)
            case DropPart(what="column", name=name):
                if name.lower() not in added | named:
                    _absent(there.columns, name, "column", there)
            case DropPart(name=name):
                if name.lower() not in keyed:
                    _absent((*there.keys, *there.foreign_keys) if action.what != "key" else there.keys, name, action.what, there)
            case RenameKey(old_name=old, new_name=new):
                _absent(there.keys, old, "key", there)
                if not any(same_name(one.name, new) for one in there.keys):
                    raise _mismatch(f"it has no key {new}", there.full_name)


def _column(there: Table, name: str) -> Column:
    for column in there.columns:
        if same_name(column.name, name):
            return column
    raise _mismatch(f"it has no column {name}", there.full_name)


def _absent(parts: Sequence[object], name: str, what: str, there: Table) -> None:
    if any(same_name(str(getattr(part, "name", "")), name) for part in parts):
        raise _mismatch(f"it still has {what} {name}", there.full_name)


def _key(there: Table, spec: KeySpec) -> Key:
    """Return the table's key for a definition, by its name or else by its columns."""
    name = "PRIMARY" if spec.primary else spec.name
    columns = [(part.column or "").lower() for part in spec.parts]
    for key in there.keys:
        same_columns = [(part.column or "").lower() for part in key.parts] == columns and key.unique == spec.unique
        if same_name(key.name, name) if name is not None else same_columns:
            return key
    raise _mismatch(f"it has no key {name or 'on ' + ', '.join(columns)}", there.full_name)


def _check_column_keys(there: Table, spec: ColumnSpec) -> None:
    for primary in [True] * spec.primary + [False] * spec.unique:
        parts = [key.parts for key in there.keys if key.unique and (key.primary or not primary)]
        if not any(len(one) == 1 and same_name(one[0].column or "", spec.name) for one in parts):
            raise _mismatch(f"it has no {'primary' if primary else 'unique'} key on column {spec.name}", there.full_name)


def _check_foreign_key(there: Table, spec: ForeignSpec) -> None:
    columns = [name.lower() for name in spec.columns]
    for key in there.foreign_keys:
        if [name.lower() for name in key.columns] == columns and same_name(key.parent_table, spec.parent_table):
            return
    raise _mismatch(f"it has no foreign key from {', '.join(spec.columns)} to {spec.parent_table}", there.full_name)


def _compare(wanted: Table, there: Table) -> None:
    """Fail at the first difference in columns, their order, and keys."""
    for number, (one, other) in enumerate(zip(wanted.columns, there.columns, strict=False), 1):
        if not same_name(one.name, other.name):
            raise _mismatch(f"column {number} is {other.name}, and {one.name} is needed", there.full_name)
        if replace(one, name=other.name) != other:
            raise _mismatch(f"column {other.name} is {_words(other)}, and {_words(one)} is needed", there.full_name)
    if len(wanted.columns) != len(there.columns):
        longer, less = (wanted, "lacks") if len(wanted.columns) > len(there.columns) else (there, "also has")
        raise _mismatch(f"it {less} column {longer.columns[min(len(wanted.columns), len(there.columns))].name}", there.full_name)
    keys, others = ({key.name.lower(): (key.unique, key.kind, _parts(key)) for key in table.keys} for table in (wanted, there))
    for name in sorted({*keys, *others}):
        if keys.get(name) != others.get(name):
            raise _mismatch(f"key {name} {'is missing' if name not in others else 'differs or is too much'}", there.full_name)


def _parts(key: Key) -> tuple[tuple[str, int | None], ...]:
    return tuple(((part.column or "").lower(), part.prefix) for part in key.parts)


def _words(column: Column) -> str:
    """Return a column's type for a message.

    >>> from paraply.schema.model import Column
    >>> _words(Column("c", "varchar", 20, charset="utf8mb4", collation="utf8mb4_bin", nullable=False))
    'varchar(20) utf8mb4_bin not null'
    """
    size = ", ".join(str(number) for number in (column.length, column.scale) if number is not None)
    labels = ", ".join(f"'{label}'" for label in column.labels)
    words = [f"{column.type}({size or labels})" if size or labels else column.type]
    words += ["unsigned"] * column.unsigned
    words += [column.collation] if column.collation and column.collation != "binary" else []
    words += [f"generated {column.generated}"] if column.generated else []
    words += ["null" if column.nullable else "not null"]
    words += ["invisible"] * column.invisible
    return " ".join(words)


def _mismatch(difference: str, table: str) -> SchemaMismatch:
    return SchemaMismatch(not_done(difference), table=table)
