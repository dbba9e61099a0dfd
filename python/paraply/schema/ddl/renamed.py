"""A statement of the log with the names that its tables have on the target.

The names that the parser reads are replaced, each with its database, so that the session's default database has no part in them. The
new text is parsed again and compared with the old one. A statement that may name a renamed table anywhere else is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from paraply.schema.ddl.cursor import Cursor
from paraply.schema.ddl.lexer import DdlSyntaxError, Token
from paraply.schema.ddl.parse import parse_at
from paraply.schema.ddl.statement_kind import StatementKind
from paraply.schema.ddl.statements import (
    CreateDatabaseStatement,
    CreateTableStatement,
    DatabaseStatement,
    DropDatabaseStatement,
    DropTablesStatement,
    IrrelevantStatement,
    Statement,
)
from paraply.schema.renames import NameTaken

if TYPE_CHECKING:
    from collections.abc import Callable

    from paraply.schema.ddl.cursor import NamedTable
    from paraply.schema.ddl.rules import Rules
    from paraply.schema.renames import Renames

__all__ = ["LEFT_OUT", "CannotRename", "RenamedStatement", "rename_statement"]

#: Statements about tables that change no rows and no definitions.
_WITHOUT_EFFECT = ("analyze", "optimize", "repair", "check", "checksum", "flush", "cache", "temporary table")
#: Objects of a statement that names no tables.
_ACCOUNTS = frozenset({"USER", "ROLE"})
#: Functions of a sequence.
_SEQUENCES = frozenset({"NEXTVAL", "LASTVAL", "SETVAL"})
_BY_TABLE = "name the tables to apply with --table, which leaves out views, triggers, routines and statements on whole databases"


class CannotRename(Exception):
    """A statement whose names cannot be replaced for certain; ``args[0]`` is the reason with the remedy."""


@dataclass(frozen=True, slots=True)
class RenamedStatement:
    """A statement with the target's names.

    Attributes:
        text: The statement.
        database: Its default database on the target; empty for none.
        runs: False if the statement has no counterpart on the target.
    """

    text: str
    database: str
    runs: bool = True


LEFT_OUT = RenamedStatement("", "", runs=False)
"""A statement that does not concern the target."""


def rename_statement(
    sql: str, default: str, rules: Rules, renames: Renames, keeps: Callable[[str], bool] = lambda _: True, *, beside: bool = False
) -> RenamedStatement:
    """Return a statement with the names of the target.

    Args:
        sql: The statement.
        default: Its default database; empty for none.
        rules: Rules by which its server parses it.
        renames: The renames.
        keeps: Returns True if a table of a database that is not renamed itself may keep its name.
        beside: True if the target also holds the log's own tables, so that a foreign key must not refer to one of them.

    Raises:
        CannotRename: The statement may name a renamed table where it is not understood, or two names would become one.

    >>> from paraply.schema.ddl.rules import Rules
    >>> from paraply.schema.renames import Renames
    >>> renames = Renames(tables=((("shop", "item"), ("copy", "item")),))
    >>> rename_statement("ALTER TABLE item ADD FOREIGN KEY (b) REFERENCES bill (id)", "shop", Rules(), renames).text
    'ALTER TABLE `copy`.`item` ADD FOREIGN KEY (b) REFERENCES `shop`.`bill` (id)'
    """
    try:
        cursor = Cursor(sql, rules)
        statement = parse_at(cursor)
    except (DdlSyntaxError, RecursionError) as error:
        return _unparsed(sql, default, rules, renames, str(error))
    if isinstance(statement, IrrelevantStatement):
        return _other(sql, default, rules, renames, statement.what)
    try:
        return _Rewriter(sql, default, rules, renames, beside=beside).rewrite(cursor, statement, keeps)
    except NameTaken as error:
        raise CannotRename(f"{error}, so that two would become one: rename this one too, or leave it out with a filter") from None


class _Rewriter:
    """The replacement of the names in one statement."""

    def __init__(self, sql: str, default: str, rules: Rules, renames: Renames, *, beside: bool) -> None:
        self.sql, self.default, self.rules, self.renames, self.beside = sql, default, rules, renames, beside

    def rewrite(self, cursor: Cursor, statement: Statement, keeps: Callable[[str], bool]) -> RenamedStatement:
        """Return the statement with the target's names."""
        if isinstance(statement, CreateDatabaseStatement | DatabaseStatement | DropDatabaseStatement):
            return self._database(cursor, statement, keeps)
        if isinstance(statement, CreateTableStatement) and statement.select:
            _refuse("a CREATE TABLE ... SELECT in text names tables in its query")
        owner = self._owner(cursor.tables[0])
        old = [self._place(named, owner) for named in cursor.tables]
        new = [self.renames.table(*place) for place in old]
        self._check_case(old)
        self._check_parents(cursor, statement, old, new)
        self._check_rest(cursor)
        if old == new:
            return RenamedStatement(self.sql, self._new_default(None))
        spans = [(named.start, named.end, _quoted(*place)) for named, place in zip(cursor.tables, new, strict=True)]
        text = _replaced(self.sql, spans)
        self._compare(cursor, text, new)
        return RenamedStatement(text, self._new_default(new[0][0]))

    def _database(
        self, cursor: Cursor, statement: CreateDatabaseStatement | DatabaseStatement | DropDatabaseStatement, keeps: Callable[[str], bool]
    ) -> RenamedStatement:
        """Return a statement on a whole database with the target's name."""
        name = statement.name or self.default
        self._check_case([(name, "")])
        if self.renames.renames_database(name) and isinstance(statement, DropDatabaseStatement):
            tables = [".".join(old) for old, _ in self.renames.tables if old[0] == name]
            if tables:
                _refuse(f"the source dropped {', '.join(tables)} with its database, which has another place on the target; {_BY_TABLE}")
        if not self.renames.renames_wholly(name) and self.renames.renames_database(name) and not keeps(name):
            return LEFT_OUT
        new = self.renames.database(name)
        default = self._new_default(None)
        if new == name or cursor.database is None:  # without a name it is the default database
            return RenamedStatement(self.sql, default)
        text = _replaced(self.sql, [(cursor.database.start, cursor.database.end, _quoted(new))])
        again = self._read_again(text)
        if again.database is None or again.database.text != new:
            _refuse("the statement reads differently with the new name")
        return RenamedStatement(text, default)

    def _place(self, named: NamedTable, owner: str) -> tuple[str, str]:
        """Return database and table of a name; a parent without a database is in that of the statement's table."""
        database = named.database or (owner if named.is_parent else self.default)
        if not database:
            _refuse(f"{named.table} has no database, and the statement had no default database")
        return database, named.table

    def _owner(self, named: NamedTable) -> str:
        return named.database or self.default

    def _new_default(self, first: str | None) -> str:
        """Return the default database on the target: that of the first renamed table, or the renamed default database."""
        if first is not None:
            return first
        if not self.default or not self.renames.renames_wholly(self.default):
            return self.default
        return self.renames.database(self.default)

    def _check_case(self, places: list[tuple[str, str]]) -> None:
        for database, table in places:
            if self.renames.is_near(database, table):
                _refuse(
                    f"{database}{'.' if table else ''}{table} differs from a renamed name only in upper and lower case: give the source's"
                    " --lower-case-table-names, or write the name of the rename as in the log"
                )

    def _check_parents(self, cursor: Cursor, statement: Statement, old: list[tuple[str, str]], new: list[tuple[str, str]]) -> None:
        """Refuse, beside the log's own tables, a foreign key to a table that keeps its name: it would bind the rows in use."""
        if not self.beside or isinstance(statement, DropTablesStatement):
            return
        for named, before, after in zip(cursor.tables, old, new, strict=True):
            if named.is_parent and before == after:
                _refuse(
                    f"the foreign key to {before[0]}.{before[1]} would tie the restored table to a table in use: rename that table too (a"
                    " further --table and --rename-table), or make the restored table yourself without the key, and begin after this"
                    " statement"
                )

    def _check_rest(self, cursor: Cursor) -> None:
        """Refuse a statement that may name a renamed table, or any sequence, outside of the names that were read."""
        words = self.renames.words()
        for index, token in enumerate(cursor.tokens):
            if token.kind not in ("word", "name") or _is_read(cursor, token):
                continue
            after = cursor.tokens[index + 1 : index + 4]
            following = after[0].text if after and after[0].kind != "string" else ""
            if following == "." and token.text.lower() in words:
                _refuse(f"the name {token.text} stands in an expression, or in another place that is not understood")
            if token.upper == "UNION" and following in ("=", "("):
                _refuse("the statement names tables in UNION")
            reads_next = token.upper in ("NEXT", "PREVIOUS") and following.upper() == "VALUE"
            if (token.upper in _SEQUENCES and following == "(") or (reads_next and not _is_read(cursor, after[-1])):
                _refuse("the statement names a sequence in an expression")

    def _compare(self, cursor: Cursor, text: str, new: list[tuple[str, str]]) -> None:
        """Check that the new text differs from the old one in the names alone."""
        again = self._read_again(text)
        named = [(table.database, table.table) for table in again.tables]
        if named != new or _others(again) != _others(cursor):
            _refuse("the statement reads differently with the new names")

    def _read_again(self, text: str) -> Cursor:
        """Return the cursor of the new text, after it was parsed."""
        try:
            cursor = Cursor(text, self.rules)
            parse_at(cursor)
        except (DdlSyntaxError, RecursionError):
            _refuse("the statement cannot be read again with the new names")
        return cursor


def _other(sql: str, default: str, rules: Rules, renames: Renames, what: str) -> RenamedStatement:
    """Return a statement that changes no table: unchanged, left out, or refused if it may concern a renamed name."""
    kind = StatementKind.read(sql, rules)
    if kind is None or what == "comment":
        return RenamedStatement(sql, default)
    words = {token.text.lower() for token in kind.tokens if token.kind in ("word", "name")}
    named = bool(words & renames.words())
    if what in _WITHOUT_EFFECT:
        return LEFT_OUT if named or renames.renames_database(default) else RenamedStatement(sql, default)
    if kind.verb in ("CREATE", "ALTER", "DROP", "RENAME") and kind.object in _ACCOUNTS:
        return RenamedStatement(sql, "" if renames.renames_database(default) else default)
    if named or renames.renames_database(default):
        found = f"{kind.verb} {kind.object}".lower() if kind.is_about_stored_object else what
        _refuse(f"renames are not followed in a statement of this kind ({found}); {_BY_TABLE}")
    return RenamedStatement(sql, default)


def _unparsed(sql: str, default: str, rules: Rules, renames: Renames, reason: str) -> RenamedStatement:
    """Return a statement that is not understood, if nothing in it can be a renamed name."""
    kind = StatementKind.read(sql, rules)
    words = {token.text.lower() for token in kind.tokens if token.kind in ("word", "name")} if kind is not None else None
    if words is None or words & renames.words() or renames.renames_database(default):
        _refuse(f"the statement is not understood ({reason})")
    return RenamedStatement(sql, default)


def _refuse(reason: str) -> NoReturn:
    raise CannotRename(reason)


def _others(cursor: Cursor) -> list[tuple[str, str]]:
    """Return kind and text of the tokens outside of the tables' names."""
    return [(token.kind, token.text) for token in cursor.tokens if not _is_read(cursor, token)]


def _is_read(cursor: Cursor, token: Token) -> bool:
    """Return True if a token is part of a table's name that was read."""
    return any(named.start <= token.start < named.end for named in cursor.tables)


def _replaced(sql: str, spans: list[tuple[int, int, str]]) -> str:
    parts, at = [], 0
    for start, end, name in spans:
        parts += [sql[at:start], name]
        at = end
    return "".join([*parts, sql[at:]])


def _quoted(*names: str) -> str:
    return ".".join("`" + name.replace("`", "``") + "`" for name in names)
