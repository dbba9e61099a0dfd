"""Filters by database and table."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from paraply.errors import LogNotUnderstood, UsageError
from paraply.logs.statement_text import decode_or_advise, statement_start
from paraply.schema.ddl.lexer import DdlSyntaxError
from paraply.schema.ddl.parse import parse, touched_table
from paraply.schema.ddl.rules import Rules
from paraply.schema.ddl.statement_kind import StatementKind
from paraply.schema.ddl.statements import (
    AlterTableStatement,
    CreateDatabaseStatement,
    CreateTableStatement,
    DatabaseStatement,
    DropDatabaseStatement,
    DropTablesStatement,
    IrrelevantStatement,
    Name,
    RenameTablesStatement,
    Statement,
    TruncateStatement,
)
from paraply.schema.model import OWN_DATABASE, SYSTEM_DATABASES, is_own_table
from paraply.schema.renames import KEPT_NAMES, Renames
from paraply.wording import WILDCARDS, option_text, table_option

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from paraply._native import Statement as LogStatement
    from paraply._native import TableFilter, Transaction
    from paraply.schema.model import Table
    from paraply.targets.protocol import Target

    Decode = Callable[[LogStatement, Transaction], str]

__all__ = ["Filters", "consequences", "filters_for", "names_not_in_logs", "parse_filters", "unmatched_notes"]

_TABLE_NAME = re.compile(r"(?:`((?:[^`]|``)+)`|([^.`]+))\.(?:`((?:[^`]|``)+)`|(.+))")

_ADVICE = (
    "widen the filters so that they hold all or none of its tables, or stop before it with --stop-before, run what you need of it by hand,"
    " and continue after it with --start-after on a new --channel"
)


_OWN_ADVICE = (
    "stop before it with --stop-before, run what you need of it by hand, and continue after it with --start-after on a new --channel, or"
    " leave it out with --skip"
)


@dataclass(frozen=True, slots=True)
class Filters:
    """Filters by database and table; names are compared as in the log, with upper and lower case distinct.

    If databases or tables are named, only those are applied; an excluded one is never applied. Neither is one of paraply's own tables,
    which a log has if something was applied to its source, or undone there.

    Attributes:
        databases: Databases to apply with all their tables.
        tables: (database, table) pairs to apply.
        exclude_databases: Databases to leave out.
        exclude_tables: (database, table) pairs to leave out.
        shares_own_database: True if the target's database of paraply's own tables has others too.
        lower_case: True if names in statements are compared in lower case; names here and in row events are in lower case then.
        implied: Members of ``exclude_databases`` that no option names: the server's own databases, which the target lacks.
    """

    databases: tuple[str, ...] = ()
    tables: tuple[tuple[str, str], ...] = ()
    exclude_databases: tuple[str, ...] = ()
    exclude_tables: tuple[tuple[str, str], ...] = ()
    implied: tuple[str, ...] = ()
    shares_own_database: bool = False
    lower_case: bool = False

    def in_lower_case(self) -> Filters:
        """Return the filters for a source that does not distinguish upper and lower case (``lower_case_table_names``)."""
        return replace(self._folded(), lower_case=True)

    def without_system_databases(self, *others: str) -> Filters:
        """Return the filters for a target without a counterpart of the servers' own databases; a database that an option names stays.

        Args:
            others: Other databases that have no counterpart.
        """
        named = {*self.databases, *self.exclude_databases, *(database for database, _ in self.tables)}
        implied = tuple(name for name in (*SYSTEM_DATABASES, *others) if name not in named)
        return replace(self, exclude_databases=(*self.exclude_databases, *implied), implied=implied)

    def __bool__(self) -> bool:
        """Return True if anything but paraply's own tables is left out."""
        return bool(self.databases or self.tables or self.exclude_databases or self.exclude_tables)

    def __str__(self) -> str:
        """Return the filters as command line options."""
        words = [option_text("--database", name) for name in self.databases]
        words += [table_option("--table", table) for table in self.tables]
        words += [option_text("--exclude-database", name) for name in self.exclude_databases if name not in self.implied]
        words += [table_option("--exclude-table", table) for table in self.exclude_tables]
        return " ".join(words)

    def identity(self) -> Mapping[str, object]:
        """Return the part that belongs to the identity of the progress (R25); empty without filters."""
        parts = {
            "databases": sorted(self.databases),
            "tables": sorted(".".join(table) for table in self.tables),
            "exclude_databases": sorted({*self.exclude_databases} - {*self.implied, OWN_DATABASE}),
            "exclude_tables": sorted(".".join(table) for table in self.exclude_tables),
        }
        return {name: part for name, part in parts.items() if part}

    def native(self, renames: Renames = KEPT_NAMES) -> TableFilter:
        """Return the filter for the reader, which removes row changes, and gives the others the names of the target."""
        from paraply._native import TableFilter

        return TableFilter(
            self.databases,
            self.tables,
            self.exclude_databases,
            self.exclude_tables,
            rename_databases=renames.databases,
            rename_tables=renames.tables,
            leaves_own_out=True,
        )

    @property
    def includes(self) -> bool:
        """True if only named databases and tables are applied."""
        return bool(self.databases or self.tables)

    def chooses(self, database: str, table: str) -> bool:
        """Return True if a table is applied."""
        if self.lower_case:
            database, table = database.lower(), table.lower()
        if is_own_table(database, table):
            return False
        included = not self.includes or database in self.databases or (database, table) in self.tables
        return included and database not in self.exclude_databases and (database, table) not in self.exclude_tables

    def chooses_some(self, database: str) -> bool:
        """Return True if a table of the database may be applied."""
        database = database.lower() if self.lower_case else database
        named = not self.includes or database in self.databases or any(of == database for of, _ in self.tables)
        return named and database not in self.exclude_databases

    def chooses_database(self, database: str) -> bool:
        """Return True if objects of a database other than tables are applied: views, routines, events."""
        database = database.lower() if self.lower_case else database
        return (not self.includes or database in self.databases) and database not in self.exclude_databases

    def chooses_whole(self, database: str) -> bool:
        """Return True if every table of a database is applied."""
        database = database.lower() if self.lower_case else database
        return self.chooses_database(database) and all(of != database for of, _ in self.exclude_tables)

    def wants(self, transaction: Transaction, advice: str = _ADVICE, decode: Decode = decode_or_advise) -> bool:
        """Return True if a transaction's statements concern applied tables.

        Args:
            transaction: The transaction.
            advice: Remedy for statements that concern both kinds of tables.
            decode: Returns the text of a statement; its errors name the way on.

        Raises:
            LogNotUnderstood: They concern both kinds of tables, or that cannot be decided; the message has the remedy.
        """
        if transaction.kind == "xa_end":  # the target knows whether it holds rows of the transaction
            return True
        if not self and not self.names_own(transaction):
            return True
        answers = {self._wants(transaction, statement, advice, decode) for statement in transaction.statements}
        if len(answers) > 1:
            raise self._undecided(transaction, "the transaction's statements concern tables inside and outside of the filters", advice)
        return answers != {False}

    @staticmethod
    def names_own(transaction: Transaction) -> bool:
        """Return True if a statement may be about paraply's own tables."""
        return any(OWN_DATABASE.encode() in one.sql.lower() or one.database.lower() == OWN_DATABASE for one in transaction.statements)

    def _wants(self, transaction: Transaction, statement: LogStatement, advice: str, decode: Decode) -> bool:
        log = transaction.format
        sql = decode(statement, transaction)
        rules = Rules.of(statement.context, mariadb=log.mariadb, version=log.version)
        try:
            parsed = parse(sql, rules)
        except (DdlSyntaxError, RecursionError):
            answer = self._of_unparsed(sql, rules, statement)
        else:
            answer = self._of_parsed(parsed, sql, rules, statement.database)
        if answer is None:
            touched = "tables inside and outside of the filters" if self else "paraply's own tables, which are left out, and others"
            advice = advice if self else _OWN_ADVICE
            raise self._undecided(transaction, f"the statement may touch {touched}", f"{advice}; the statement is: {statement_start(sql)}")
        return answer

    @staticmethod
    def _undecided(transaction: Transaction, what: str, advice: str) -> LogNotUnderstood:
        return LogNotUnderstood(
            f"{what}; {advice}",
            file=transaction.file,
            position=transaction.offset,
            gtid=transaction.gtid,
        )

    def _of_parsed(self, statement: Statement, sql: str, rules: Rules, default: str) -> bool | None:
        """Return True to run the statement, False to leave it out, None if it concerns both kinds of tables."""
        match statement:
            case CreateTableStatement(name=name, like=like):
                made = self._of_tables([name], default)
                return None if made and like is not None and not self._of_tables([like], default) else made
            case AlterTableStatement(name=name, rename=rename):
                return self._of_tables([name] if rename is None else [name, rename], default)
            case RenameTablesStatement(pairs=pairs):
                return self._of_tables([name for pair in pairs for name in pair], default)
            case DropTablesStatement(names=names):
                return self._of_tables(names, default)
            case TruncateStatement(name=name):
                return self._of_tables([name], default)
            case CreateDatabaseStatement(name=database):
                return self.chooses_some(database) and not self._is_own_database(database)
            case DatabaseStatement(name=database_or_none):
                database = database_or_none or default
                return self.chooses_some(database) and not self._is_own_database(database)
            case DropDatabaseStatement(name=database):
                if not self.chooses_some(database) or (self._is_own_database(database) and not self.shares_own_database):
                    return False
                return True if self.chooses_whole(database) else None
            case IrrelevantStatement(what=what):
                return self._of_other(what, sql, rules, default)
        return None

    def _is_own_database(self, database: str) -> bool:
        return (database.lower() if self.lower_case else database) == OWN_DATABASE

    def _of_tables(self, names: Iterable[Name], default: str) -> bool | None:
        answers = {self._of_table(database or default, table) for database, table in names}
        return answers.pop() if len(answers) == 1 else None

    def _of_table(self, database: str, table: str) -> bool | None:
        """Return the answer for a table; None if it depends on upper and lower case, because a log may hold names as typed."""
        answer = self.chooses(database, table)
        folded = (database if database.lower() in self.implied else database.lower(), table.lower())
        return answer if answer == self._folded().chooses(*folded) else None

    def _folded(self) -> Filters:
        return replace(
            self,
            databases=tuple(name.lower() for name in self.databases),
            tables=tuple((database.lower(), table.lower()) for database, table in self.tables),
            # A user's database may be called Sys.
            exclude_databases=tuple(name if name in self.implied else name.lower() for name in self.exclude_databases),
            exclude_tables=tuple((database.lower(), table.lower()) for database, table in self.exclude_tables),
        )

    def _of_other(self, what: str, sql: str, rules: Rules, default: str) -> bool:
        """Return the answer for objects other than tables.

        Views, routines, triggers and events belong to their database; accounts and the like run unless a filter names something.
        """
        kind = StatementKind.read(sql, rules)
        if kind is not None and kind.is_about_stored_object:
            names = kind.object_names()
            return self.chooses_database(names[0] if len(names) > 1 else default)
        if default and what in ("temporary table", "sequence", "comment", "analyze", "optimize", "repair", "check"):
            return self.chooses_database(default)
        return not self.includes

    def _of_unparsed(self, sql: str, rules: Rules, statement: LogStatement) -> bool | None:
        """Return the answer for a statement that is not understood: by its only table, or by the databases that the source logged."""
        touched = touched_table(sql, rules)
        if touched is not None:
            return self._of_tables([touched], statement.database)
        databases = statement.context.get("updated_databases") or []
        if databases and not any(self.chooses_some(database) for database in databases):
            return False
        if databases and all(self.chooses_whole(database) for database in databases):
            return True
        # Without a filter of the user, the target states why it does not understand the statement.
        return None if self.identity() else True


def parse_filters(
    databases: Sequence[str] = (),
    tables: Sequence[str] = (),
    exclude_databases: Sequence[str] = (),
    exclude_tables: Sequence[str] = (),
    *,
    option: str = "--table",
) -> Filters:
    """Return the filters of ``--database``, ``--table``, ``--exclude-database`` and ``--exclude-table``.

    Args:
        databases: Databases that are applied.
        tables: Tables that are applied.
        exclude_databases: Databases that are left out.
        exclude_tables: Tables that are left out.
        option: Name of the option that gave the tables, for messages.

    Raises:
        UsageError: A table has no database, a name is a pattern, or a name is both included and excluded.

    >>> parse_filters(tables=["shop.item"]).chooses("shop", "item")
    True
    """
    filters = Filters(
        tuple(databases),
        tuple(_table(name, option) for name in tables),
        tuple(exclude_databases),
        tuple(_table(name, "--exclude-table") for name in exclude_tables),
    )
    for database in (*filters.databases, *filters.exclude_databases):
        if not database:
            raise UsageError("--database and --exclude-database need a name")
        _check_name(database, f"--database or --exclude-database {database}")
    both = {*filters.databases} & {*filters.exclude_databases}
    twice = {*filters.tables} & {*filters.exclude_tables}
    if both or twice:
        name = next(iter(both)) if both else ".".join(next(iter(twice)))
        raise UsageError(f"{name} is both named and excluded; it would never be applied")
    return filters


def _table(name: str, option: str) -> tuple[str, str]:
    match = _TABLE_NAME.fullmatch(name)
    if match is None:
        more = ", and a backtick within them is doubled, as in `back``tick`" if "`" in name else ""
        raise UsageError(f"{option} {name}: write DATABASE.TABLE; a name with a dot goes between backticks{more}")
    quoted_database, database, quoted_table, table = match.groups()
    _check_name(f"{database or ''}{table or ''}", f"{option} {name}")
    return (_unquoted(quoted_database) if quoted_database else database, _unquoted(quoted_table) if quoted_table else table)


def _check_name(name: str, given: str) -> None:
    """Refuse a pattern, which would match nothing without a word.

    Raises:
        UsageError: The name has a character of patterns.
    """
    if set(name) & set(WILDCARDS):
        raise UsageError(
            f"{given}: names are compared as they are, there are no patterns: name each one; a table that has such a character in its"
            " name, or in its database's, is named between backticks, as in `50%`.`*`"
        )


def _unquoted(name: str) -> str:
    return name.replace("``", "`")


class Choice(Protocol):
    """Anything that says which tables are applied."""

    def chooses(self, database: str, table: str) -> bool:
        """Return True if a table is applied."""


def consequences(filters: Choice, tables: Iterable[Table], *, logged: bool) -> list[str]:
    """Return notes about foreign keys between applied tables and left out tables.

    Args:
        filters: The filters, for the names of the definitions.
        tables: The known definitions.
        logged: True if the log has the rows that a cascade changed (R15a).
    """
    notes = []
    for table in sorted(tables, key=lambda table: (table.database, table.name)):
        child = f"{table.database}.{table.name}"
        inside = filters.chooses(table.database, table.name)
        for key in table.foreign_keys:
            parent = f"{key.parent_database}.{key.parent_table}"
            if inside == filters.chooses(key.parent_database, key.parent_table):
                continue
            named = f"{child} refers to {parent} (foreign key {key.name})"
            if inside:
                notes.append(f"{named}, which is left out: a new row whose parent is not in the target fails")
                if not logged and not key.on_delete == key.on_update == "refuse":
                    notes.append(
                        f"ROWS OF {child} MAY DIFFER FROM THE SOURCE'S: the foreign key {key.name} changes them when rows of {parent} are"
                        f" deleted or get another key, which this server does not log; select {parent} too"
                    )
            elif key.on_delete == key.on_update == "refuse":
                notes.append(f"{named} and is left out: a parent that still has rows there cannot be deleted")
            else:
                notes.append(f"{named} and is left out: the target itself may carry changes of {parent} on into it")
    return notes


def unmatched_notes(filters: Filters, databases: Sequence[str], tables: Sequence[tuple[str, str]]) -> list[str]:
    """Return notes about names that nothing in the logs has.

    Args:
        filters: The filters.
        databases: Such databases.
        tables: Such tables.
    """
    notes = names_not_in_logs(filters, databases, tables)
    if notes and filters.includes and not ({*filters.databases} - {*databases} or {*filters.tables} - {*tables}):
        notes.insert(0, "NOTHING OF THESE LOGS IS APPLIED: they have none of the named databases and tables, and all is recorded as done")
    return notes


def names_not_in_logs(filters: Filters, databases: Sequence[str], tables: Sequence[tuple[str, str]]) -> list[str]:
    """Return a note for the databases and one for the tables that filters name and the logs lack; see ``unmatched_notes``."""
    missing_tables = [".".join(table) for table in tables]
    missing_databases = [database for database in databases if database not in filters.implied]
    notes = []
    if missing_databases:
        notes.append(f"the filter names no database of these logs: {', '.join(missing_databases)}")
    if missing_tables:
        notes.append(f"the filter names no table of these logs: {', '.join(missing_tables)}")
    return [*notes[:-1], f"{notes[-1]} (names are compared as in the log, with upper and lower case distinct)"] if notes else []


def filters_for(target: Target, filters: Filters, lower_case_table_names: int | None) -> Filters:
    """Return the filters in the case that names are compared in, and without the servers' own databases if the target has none."""
    filters = filters.in_lower_case() if lower_case_table_names else filters
    return filters if target.capabilities.has_system_databases else filters.without_system_databases()
