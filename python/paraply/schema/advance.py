"""Execution of parsed statements on a catalog."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from paraply.schema.catalog import Database, SchemaCatalog, assume
from paraply.schema.ddl.alteration import alter
from paraply.schema.ddl.change import (
    AlterDatabase,
    AlterTable,
    CreateDatabase,
    CreateTable,
    DropDatabase,
    DropTable,
    Irrelevant,
    RenameTable,
    SchemaChange,
    TruncateTable,
    Unknown,
)
from paraply.schema.ddl.elements import ColumnSpec
from paraply.schema.ddl.lexer import DdlSyntaxError
from paraply.schema.ddl.parse import named_words, parse, touched_table
from paraply.schema.ddl.rules import Rules
from paraply.schema.ddl.spelling import database_of, names_of, proves_case
from paraply.schema.ddl.statements import (
    AlterTableStatement,
    Conversion,
    CreateDatabaseStatement,
    CreateTableStatement,
    DatabaseStatement,
    DropDatabaseStatement,
    DropTablesStatement,
    IrrelevantStatement,
    Name,
    RenameTablesStatement,
    Statement,
    TableOptions,
    TruncateStatement,
)
from paraply.schema.model import ForeignKey, Table
from paraply.schema.readers.build import Draft, column_of

__all__ = ["ASSUMED_COLLATION", "Advance", "advance"]

ASSUMED_COLLATION = "assumed_collation"
#: ER_BAD_TABLE_ERROR: a table to drop was not there.
_BAD_TABLE = 1051


def advance(
    catalog: SchemaCatalog, sql: str, database: str, context: Mapping[str, Any], *, mariadb: bool, version: tuple[int, int, int]
) -> list[SchemaChange]:
    """Execute one statement of the log on a catalog.

    Args:
        catalog: The catalog to change.
        sql: The statement's text.
        database: Default database of the statement.
        context: Status variables of the statement (``Statement.context``).
        mariadb: True if a MariaDB server wrote the log.
        version: Version of that server.

    Returns:
        The changes in order. A change of one table can change others: foreign keys follow renames. For a statement that is not
        understood, no error is raised: the tables that it may touch become unknown (R13).
    """
    rules = Rules.of(context, mariadb=mariadb, version=version)
    before = catalog.copy()
    try:
        statement = parse(sql, rules)
        _check_outcome(statement, context.get("error_code") or 0)
        unsure = _unsure(catalog, statement, database, succeeded=not context.get("error_code"))
        changes = Advance(catalog, database, rules).run(statement)
    except (DdlSyntaxError, RecursionError) as error:
        catalog.restore(before)
        return [_fail(catalog, str(error), touched_table(sql, rules), database, named_words(sql, rules))]
    if unsure is not None:
        for name in unsure.databases:
            catalog.forget_database(name)
        for table in unsure.tables:
            catalog.forget(*table)
        changes.append(unsure)
    return changes


def _check_outcome(statement: Statement, error: int) -> None:
    """Raise an exception if it is not known what a statement that failed on the source has changed.

    DROP TABLE of several tables (MySQL before 8.0) has dropped those that were there.

    Raises:
        DdlSyntaxError: The statement may have changed a part of its tables.
    """
    dropped = isinstance(statement, DropTablesStatement) and error == _BAD_TABLE
    if error and not dropped and not isinstance(statement, IrrelevantStatement):
        raise DdlSyntaxError(f"it ended in error {error} on the source, perhaps half done")


def _unsure(catalog: SchemaCatalog, statement: Statement, database: str, *, succeeded: bool) -> Unknown | None:
    """Return the tables that become unknown because the server's rule for the case of names is not known; None for nothing."""
    if catalog.lower_case_table_names is not None:
        return None
    named = database_of(statement)
    databases = tuple(name for name in catalog.databases if named and name != named and name.lower() == named.lower())
    places = [(owner or database, name) for owner, name in names_of(statement)]
    if proves_case(statement) and succeeded and (databases or any(map(catalog.has_other_spelling, places[:1]))):
        catalog.lower_case_table_names = 0
        return None
    tables = [table for place in places for table in _same_if_folded(catalog, place)]
    if not tables and not databases:
        return None
    return Unknown("whether names that differ in case are the same is not known", tables=tuple(dict.fromkeys(tables)), databases=databases)


def _same_if_folded(catalog: SchemaCatalog, place: tuple[str, str]) -> list[tuple[str, str]]:
    """Return a table, the other used spellings of its name, and the children of all of them; empty without another spelling."""
    used = catalog.other_spellings(place)
    if not used:
        return []
    children = [(child.database, child.name) for name in (place, *used) for child in catalog.children(*name)]
    return [place, *used, *children]


def _fail(catalog: SchemaCatalog, reason: str, touched: tuple[str | None, str] | None, database: str, words: set[str]) -> Unknown:
    """Make every table unknown that a statement may have touched (R13)."""
    if touched is None:
        catalog.forget_everything()
        return Unknown(f"statement not understood: {reason}", everything=True)
    place = (catalog.stored(touched[0] or database), catalog.stored(touched[1]))
    affected = [place, *((table.database, table.name) for table in catalog.children(*place))]
    # In an unknown grammar, the name may be at another position than expected.
    affected += [(table.database, table.name) for table in catalog if table.name.lower() in words]
    if catalog.lower_case_table_names is None:
        affected += _same_if_folded(catalog, place)
    for name in affected:
        catalog.forget(*name)
    return Unknown(f"statement not understood: {reason}", tables=tuple(dict.fromkeys(affected)))


class Advance:
    """The execution of one statement on a catalog.

    Args:
        catalog: The catalog to change.
        database: The statement's default database.
        rules: Rules by which the statement was parsed.
    """

    def __init__(self, catalog: SchemaCatalog, database: str, rules: Rules) -> None:
        self.catalog = catalog
        self.database = database
        self.rules = rules

    def run(self, statement: Statement) -> list[SchemaChange]:
        """Change the catalog; return the changes.

        Raises:
            DdlSyntaxError: The statement contradicts the catalog.
        """
        match statement:
            case CreateTableStatement():
                return [self._create_table(statement)]
            case AlterTableStatement():
                return self._alter_table(statement)
            case RenameTablesStatement():
                return self._rename_tables(statement)
            case DropTablesStatement():
                return [self._drop_table(name) for name in statement.names]
            case TruncateStatement():
                return [TruncateTable(*self._place(statement.name))]
            case CreateDatabaseStatement():
                return self._create_database(statement)
            case DatabaseStatement():
                return [self._alter_database(statement)]
            case DropDatabaseStatement():
                name = self.catalog.stored(statement.name)
                self.catalog.remove_database(name)
                return [DropDatabase(name)]
        for view in statement.views:
            if view[0] or self.database:
                self.catalog.put_view(*self._place(view), exists=not statement.what.startswith("drop"))
        return [Irrelevant(statement.what)]

    def _place(self, name: Name) -> tuple[str, str]:
        database = name[0] or self.database
        if not database:
            raise DdlSyntaxError(f"no database for table {name[1]}")
        return self.catalog.stored(database), self.catalog.stored(name[1])

    def _unknown(self, reason: str, *tables: tuple[str, str]) -> Unknown:
        for table in tables:
            self.catalog.forget(*table)
        return Unknown(reason, tables=tables)

    def _pair(self, charset: str | None, collation: str | None, default: tuple[str | None, str | None]) -> tuple[str | None, str | None]:
        """Return character set and collation of a table or database, from its own options or the defaults."""
        if collation and collation.startswith("uca1400_"):
            charset = charset or default[0]
            return charset, f"{charset}_{collation}"
        if collation and collation != "default":
            return self.rules.charset_of(collation), collation
        if charset and charset != "default":
            return charset, self.rules.default_collation(charset)
        return default

    def _server(self) -> tuple[str | None, str | None]:
        collation = self.rules.server_collation
        return (self.rules.charset_of(collation), collation) if collation else (None, None)

    def _database_of(self, name: str) -> Database:
        charset, collation = self._server()
        return assume(self.catalog, name, collation, charset)

    def _create_database(self, statement: CreateDatabaseStatement) -> list[SchemaChange]:
        name = self.catalog.stored(statement.name)
        charset, collation = self._pair(statement.charset, statement.collation, self._server())
        known = self.catalog.database(name)
        certain = not statement.if_not_exists or self.catalog.complete
        if statement.replace:
            self.catalog.remove_database(name)
        elif statement.if_not_exists and known is not None:
            return [CreateDatabase(name, known.charset, known.collation, existed=True)]
        self.catalog.put_database(Database(name, charset, collation, assumed=not certain), empty=certain)
        replaced: list[SchemaChange] = [DropDatabase(name)] if statement.replace else []
        return [*replaced, CreateDatabase(name, charset, collation)]

    def _alter_database(self, statement: DatabaseStatement) -> SchemaChange:
        name = self.catalog.stored(statement.name or self.database)
        old = self._database_of(name)
        charset, collation = self._pair(statement.charset, statement.collation, (old.charset, old.collation))
        named = bool(statement.charset or statement.collation)
        self.catalog.put_database(Database(name, charset, collation, assumed=old.assumed and not named))
        return AlterDatabase(name, charset, collation)

    def _create_table(self, statement: CreateTableStatement) -> SchemaChange:
        database, name = place = self._place(statement.name)
        if statement.if_not_exists and self.catalog.is_view(database, name):
            return Irrelevant("a view has the name")
        if statement.if_not_exists and not self.catalog.is_absent(database, name):
            known = self.catalog.table(database, name)
            if known is not None:
                return Irrelevant("the table exists already")
            return self._unknown("CREATE TABLE IF NOT EXISTS: whether the table existed before is not known", place)
        if statement.select:
            return self._unknown("CREATE TABLE ... SELECT: the columns come from a query", place)
        if statement.like:
            source = self.catalog.table(*self._place(statement.like))
            if source is None:
                return self._unknown("CREATE TABLE ... LIKE a table that is not known", place)
            table = replace(source, database=database, name=name, foreign_keys=())
        else:
            table = self._table_of(statement, database, name)
        self.catalog.put(table)
        return CreateTable(table, replaced=statement.replace)

    def _table_of(self, statement: CreateTableStatement, database: str, name: str) -> Table:
        parent = self._database_of(database)
        options = statement.options
        charset, collation = self._pair(options.charset, options.collation, (parent.charset, parent.collation))
        draft = Draft.empty(database, name, charset, collation, options.engine)
        if parent.assumed and not options.charset and not options.collation:
            draft.options[ASSUMED_COLLATION] = "1"
        columns = [element for element in statement.elements if isinstance(element, ColumnSpec)]
        if not columns:
            raise DdlSyntaxError("a table without columns")
        draft.columns = [column_of(spec, charset, collation, self.rules) for spec in columns]
        draft.add_elements(statement.elements, self.rules, self.catalog.table)
        draft.promote_timestamp(self.rules)
        return self._stored_parents(draft.table())

    def _stored_parents(self, table: Table) -> Table:
        """Return the table with the names of parents as the server stores them."""
        stored = self.catalog.stored
        keys = tuple(
            replace(key, parent_database=stored(key.parent_database), parent_table=stored(key.parent_table)) for key in table.foreign_keys
        )
        return replace(table, foreign_keys=keys)

    def _drop_table(self, name: Name) -> SchemaChange:
        place = self._place(name)
        self.catalog.remove(*place)
        return DropTable(*place)

    def _alter_table(self, statement: AlterTableStatement) -> list[SchemaChange]:
        place = self._place(statement.name)
        old = self.catalog.table(*place)
        if old is None:
            if statement.if_exists and self.catalog.is_absent(*place):
                return [Irrelevant("the table does not exist")]
            named = [name for name in (statement.rename, statement.taken, statement.made) if name]
            places = [place, *(self._place(name) for name in named)]
            return [self._unknown("ALTER TABLE of a table that is not known", *places)]
        altered = alter(old, statement, self.rules, self.catalog.table, self._defaults(old, statement.options))
        table = self._settled(self._stored_parents(altered.table), statement.options)
        self.catalog.put(table)
        others = tuple(self._place(name) for name in (statement.taken, statement.exchanged) if name)
        change = AlterTable(
            old,
            table,
            altered.column_renames,
            altered.added,
            unlogged=statement.unlogged,
            with_tables=others,
            strict=self.rules.strict and not statement.ignores,
            pads_char=self.rules.pads_char,
            ignores=statement.ignores,
        )
        changes: list[SchemaChange] = [change]
        if altered.column_renames:
            changes += self._rename_parent_columns(table, altered.column_renames)
        if statement.rename and self._place(statement.rename) != place:
            renamed = self._rename(place, self._place(statement.rename))
            if isinstance(renamed[0], RenameTable):
                changes[0] = replace(change, new=renamed[0].table)
            changes += renamed[1:]
        if statement.taken:
            changes.append(self._drop_table(statement.taken))
        if statement.made:
            database, name = self._place(statement.made)
            made = replace(table, database=database, name=name, foreign_keys=())
            self.catalog.put(made)
            changes.append(CreateTable(made))
        return changes

    def _defaults(self, table: Table, options: TableOptions | None) -> TableOptions:
        """Return character set, collation and engine of the table after an ALTER."""
        if options is None:
            return TableOptions(table.charset, table.collation, table.engine)
        own, named, converted = (table.charset, table.collation), (options.charset, options.collation), None
        if options.convert is not None:
            own = self._conversion(table, options.convert)
            converted = Conversion(*own)
            if self.rules.mariadb and named == (None, None):  # MySQL ignores options before CONVERT TO
                named = options.convert.before
        charset, collation = self._pair(*named, own)
        return TableOptions(charset, collation, options.engine or table.engine, converted)

    def _conversion(self, table: Table, convert: Conversion) -> tuple[str | None, str | None]:
        """Return character set and collation of the columns after CONVERT TO."""
        database = self._database_of(table.database)
        own = (database.charset, database.collation)
        if self.rules.mariadb and database.charset:
            own = (database.charset, self.rules.default_collation(database.charset))
        return self._pair(convert.charset, convert.collation, own)

    def _settled(self, table: Table, options: TableOptions | None) -> Table:
        """Return the table without the mark of an assumed collation, if CONVERT TO names a character set."""
        if not (options and options.convert and (options.convert.charset or options.convert.collation)):
            return table
        return replace(table, options={k: v for k, v in table.options.items() if k != ASSUMED_COLLATION})

    def _rename_parent_columns(self, parent: Table, renames: dict[str, str]) -> list[SchemaChange]:
        """Rename a parent's columns in the foreign keys of its children; return the changes."""
        new_names = {old.lower(): new for new, old in renames.items()}
        changes: list[SchemaChange] = []
        for child in self.catalog.children(parent.database, parent.name):
            if (child.database, child.name) == (parent.database, parent.name):
                continue
            keys = tuple(
                replace(key, parent_columns=tuple(new_names.get(name.lower(), name) for name in key.parent_columns))
                if self._same(key.parent_database, key.parent_table, parent)
                else key
                for key in child.foreign_keys
            )
            changes.append(self._consequence(child, replace(child, foreign_keys=keys)))
        return changes

    def _same(self, database: str, name: str, table: Table) -> bool:
        fold = self.catalog.fold
        return (fold(database), fold(name)) == (fold(table.database), fold(table.name))

    def _consequence(self, old: Table, new: Table) -> AlterTable:
        self.catalog.put(new)
        return AlterTable(old, new, consequence=True)

    def _rename_tables(self, statement: RenameTablesStatement) -> list[SchemaChange]:
        """Rename tables in order.

        MariaDB logs RENAME of temporary tables too (observed with 11.8), and no other statement about them.

        Raises:
            DdlSyntaxError: A table is renamed that an earlier pair has renamed already, or to the name of one that exists.
        """
        changes: list[SchemaChange] = []
        gone: set[tuple[str, str]] = set()
        for old, new in statement.pairs:
            before, after = self._place(old), self._place(new)
            if before in gone:
                raise DdlSyntaxError(f"{before[0]}.{before[1]} is renamed twice, so that one of the two is a temporary table")
            gone.add(before)
            gone.discard(after)
            changes += self._rename_named(before, after, statement.if_exists)
        return changes

    def _rename_named(self, old: tuple[str, str], new: tuple[str, str], if_exists: bool) -> list[SchemaChange]:
        if self.catalog.is_absent(*old):  # RENAME TABLE takes views too
            if self.catalog.is_view(*old):
                self.catalog.put_view(*old, exists=False)
                self.catalog.put_view(*new, exists=True)
            return [Irrelevant("the table does not exist" if if_exists else "rename of a view")]
        if if_exists and self.catalog.table(*old) is None:
            return [self._unknown("RENAME TABLE IF EXISTS: whether the table existed is not known", old, new)]
        known = self.catalog.table(*new)
        if known is not None and known is not self.catalog.table(*old):
            raise DdlSyntaxError(f"{known.database}.{known.name} exists, so that {old[0]}.{old[1]} is a temporary table")
        return self._rename(old, new)

    def _rename_unknown(self, old: tuple[str, str], new: tuple[str, str]) -> list[SchemaChange]:
        """Make the children of an unknown renamed parent unknown too, because their foreign keys now refer to the new name."""
        children = self.catalog.children(*old)
        self.catalog.remove(*old)
        places = dict.fromkeys((new, *((child.database, child.name) for child in children)))
        return [self._unknown("RENAME of a table that is not known", *places)]

    def _rename(self, old: tuple[str, str], new: tuple[str, str]) -> list[SchemaChange]:
        """Rename a table, the foreign keys that refer to it, and the names of its foreign keys that the server generated."""
        table = self.catalog.table(*old)
        if table is None:
            return self._rename_unknown(old, new)
        children = [child for child in self.catalog.children(*old) if not self._same(*old, child)]
        self.catalog.remove(*old)
        keys = tuple(self._follow(key, table, new) for key in table.foreign_keys)
        renamed = replace(table, database=new[0], name=new[1], foreign_keys=tuple(sorted(keys, key=lambda key: key.name.lower())))
        self.catalog.put(renamed)
        changes: list[SchemaChange] = [RenameTable(*old, renamed)]
        for child in children:
            moved = tuple(
                replace(key, parent_database=new[0], parent_table=new[1])
                if self._same(key.parent_database, key.parent_table, table)
                else key
                for key in child.foreign_keys
            )
            changes.append(self._consequence(child, replace(child, foreign_keys=moved)))
        return changes

    def _follow(self, key: ForeignKey, table: Table, new: tuple[str, str]) -> ForeignKey:
        """Return a foreign key of the renamed table with its new names."""
        match = re.fullmatch(re.escape(table.name) + r"(_ibfk_\d+)", key.name)
        name = new[1] + match.group(1) if match else key.name
        if self._same(key.parent_database, key.parent_table, table):
            return replace(key, name=name, parent_database=new[0], parent_table=new[1])
        return replace(key, name=name)
