"""Upper and lower case in table names, for a source and a target with different ``lower_case_table_names``."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from paraply.errors import LogNotUnderstood, SchemaMismatch
from paraply.schema.ddl.lexer import DdlSyntaxError
from paraply.schema.ddl.parse import parse
from paraply.schema.ddl.spelling import database_of, names_of
from paraply.schema.ddl.statement_kind import StatementKind
from paraply.targets.ddl_answer import BY_HAND
from paraply.targets.mysql.sql import Connection, name_literal, rows_of, to_int, to_text

if TYPE_CHECKING:
    from paraply.schema.ddl.rules import Rules

__all__ = ["NameCase"]

_ADVICE = f"apply to a server with the source's setting, or {BY_HAND}"
_STORED = frozenset({"VIEW", "TRIGGER", "SEQUENCE"})


class NameCase:
    """The comparison of a log's table names between source and target.

    Nothing is checked if both settings are equal, or if the source's setting is not known. Otherwise:

    - a source that ignores case logs statements as they were typed, and rows with names in lower case;
    - a target that ignores case has one table for two names of the source.

    Args:
        source: The source's ``lower_case_table_names``; None if it is not known.
        target: The target's ``lower_case_table_names``.
    """

    def __init__(self, source: int | None = None, target: int = 0) -> None:
        self._source, self._target = source, target
        self.differs = source is not None and bool(source) != bool(target)
        """True if a name may refer to another table on the target."""
        self._spelled: dict[tuple[str, str], tuple[str, str]] = {}
        self._lock = threading.Lock()

    @classmethod
    def read(cls, connection: Connection, source: int | None) -> NameCase:
        """Read the setting of the target."""
        if source is None:
            return cls()
        return cls(source, to_int(rows_of(connection.query("SELECT @@GLOBAL.lower_case_table_names"))[0][0]))

    def check_rows(self, database: str, table: str) -> None:
        """Check the name of a table with changed rows.

        Raises:
            SchemaMismatch: The target has one table for this name and another name of the log.
        """
        if self.differs and not self._source and (other := self._note(database, table)):
            raise SchemaMismatch(self._same(f"{database}.{table}", ".".join(other)), table=f"{database}.{table}")

    def check_statement(self, connection: Connection, text: str, database: str, rules: Rules, position: int) -> None:
        """Check the names in a statement.

        Args:
            connection: A connection to the target.
            text: The statement.
            database: Its default database.
            rules: Rules by which the source parses it.
            position: Its offset in the log.

        Raises:
            LogNotUnderstood: A name refers to another table on the target.
        """
        if not self.differs:
            return
        kind, named = StatementKind.read(text, rules), list(_named(text, database, rules))
        # The body of a stored program, or a statement that cannot be parsed, may name any table.
        words = {token.text for token in kind.tokens if token.kind in ("word", "name")} if kind is not None and not named else set()
        named += _stored(kind, database) if kind is not None else ()
        if self._source:
            self._refuse_capitals(connection, {name for place in named for name in place}, words, position)
            return
        for place in named:
            if other := self._note(*place):
                raise LogNotUnderstood(f"{self._same('.'.join(place), '.'.join(other))}; {_ADVICE}", position=position)

    def _refuse_capitals(self, connection: Connection, names: set[str], words: set[str], position: int) -> None:
        found = {name for name in names if name != name.lower()}
        found |= _standing(connection, {word for word in words if word != word.lower()})
        if found:
            name = min(found)
            raise LogNotUnderstood(
                f"the statement names {name}, by which the source means {name.lower()} (lower_case_table_names is {self._source}"
                f" there), and the target distinguishes the two (it is 0 here); {_ADVICE}",
                position=position,
            )

    def _note(self, database: str, table: str) -> tuple[str, str] | None:
        """Record the spelling of a name; return another known spelling of it, if any."""
        with self._lock:
            known = self._spelled.setdefault((database.lower(), table.lower()), (database, table))
        return known if known != (database, table) else None

    def _same(self, one: str, other: str) -> str:
        return (
            f"{one} and {other} are two names on the source (lower_case_table_names is 0 there) and one on the target"
            f" (it is {self._target} here)"
        )


def _named(text: str, database: str, rules: Rules) -> Iterator[tuple[str, str]]:
    """Yield the databases and tables that a statement names, if it can be parsed. The table is empty for the name of a database."""
    try:
        statement = parse(text, rules)
    except DdlSyntaxError:
        return
    if (name := database_of(statement)) is not None:
        yield name, ""
    for owner, table in names_of(statement):
        yield owner or database, table


def _stored(kind: StatementKind, database: str) -> Iterable[tuple[str, str]]:
    """Return the name of the view, trigger or sequence that a statement creates, alters or drops."""
    if kind.verb not in ("CREATE", "ALTER", "DROP") or kind.object not in _STORED:
        return []
    names = kind.object_names()
    return [(names[-2] if len(names) > 1 else database, names[-1])] if names else []


def _standing(connection: Connection, words: set[str]) -> set[str]:
    """Return the words that are, in lower case, names of databases or tables on the target."""
    if not words:
        return set()
    listed = ", ".join(sorted(name_literal(word.lower()) for word in words))
    found = rows_of(
        connection.query(
            f"SELECT table_name FROM information_schema.tables WHERE table_name IN ({listed})"
            f" UNION SELECT schema_name FROM information_schema.schemata WHERE schema_name IN ({listed})"
        )
    )
    names = {to_text(row[0]) for row in found}
    return {word for word in words if word.lower() in names}
