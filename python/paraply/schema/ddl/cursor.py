"""Access to a statement's tokens for all parsers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import NoReturn, TypeVar

from paraply.schema.ddl.lexer import DdlSyntaxError, Token, tokenize
from paraply.schema.ddl.rules import Rules

__all__ = ["Cursor", "NamedTable"]

T = TypeVar("T")
END = Token("symbol", "", -1, -1)


@dataclass(frozen=True, slots=True)
class NamedTable:
    """A table's name that was read.

    Attributes:
        database: The database, if it is written.
        table: The table.
        start: Offset of the name in the statement.
        end: Offset after it.
        is_parent: True for the parent of a foreign key.
    """

    database: str | None
    table: str
    start: int
    end: int
    is_parent: bool = False


class Cursor:
    """A position in a statement's tokens.

    Args:
        sql: The statement.
        rules: Rules by which the server parses the statement.
    """

    def __init__(self, sql: str, rules: Rules) -> None:
        self.sql = sql
        self.rules = rules
        self.tokens = tokenize(sql, rules)
        self.index = 0
        self.tables: list[NamedTable] = []
        """Names of tables that were read, in order."""
        self.database: Token | None = None
        """Name of the database that was read, in a statement on a whole database."""
        while self.tokens and self.tokens[-1].text == ";" and self.tokens[-1].kind == "symbol":
            self.tokens.pop()

    @property
    def token(self) -> Token:
        """The token at the position; an empty symbol after the last one."""
        return self.ahead(0)

    def ahead(self, count: int) -> Token:
        """Return the token that follows ``count`` tokens later."""
        place = self.index + count
        return self.tokens[place] if place < len(self.tokens) else END

    @property
    def done(self) -> bool:
        """True if all tokens are read."""
        return self.index >= len(self.tokens)

    def next(self) -> Token:
        """Read one token."""
        if self.done:
            self.fail("more")
        self.index += 1
        return self.tokens[self.index - 1]

    def fail(self, wanted: str) -> NoReturn:
        """Raise an error with the expected text and the text found."""
        found = repr(self.token.text) if not self.done else "the end of the statement"
        raise DdlSyntaxError(f"expected {wanted}, found {found}")

    def at(self, *words: str) -> bool:
        """Return True if these keywords or symbols come next."""
        return all(_matches(self.ahead(place), word) for place, word in enumerate(words))

    def accept(self, *words: str) -> bool:
        """Read these keywords or symbols if all of them come next; return True in this case."""
        if not self.at(*words):
            return False
        self.index += len(words)
        return True

    def accept_any(self, words: Iterable[str]) -> str | None:
        """Read one of several keywords; return it, or None if none of them comes next."""
        return next((word for word in words if self.accept(word)), None)

    def expect(self, *words: str) -> None:
        """Read these keywords or symbols; fail if they do not come next."""
        if not self.accept(*words):
            self.fail(" ".join(words))

    def expect_end(self) -> None:
        """Fail unless all tokens are read, because the remaining ones may have any meaning."""
        if not self.done:
            self.fail("the end of the statement")

    @property
    def at_name(self) -> bool:
        """True if an identifier may come next."""
        return self.token.kind in ("word", "name")

    def name(self) -> str:
        """Read an identifier, quoted or not."""
        if not self.at_name:
            self.fail("a name")
        return self.next().text

    def table_name(self) -> tuple[str | None, str]:
        """Read ``[database.]table``."""
        start = self.token.start
        database: str | None = None
        if self.accept("."):
            table = self.name()
        else:
            table = self.name()
            if self.accept("."):
                database, table = table, self.name()
        self.tables.append(NamedTable(database, table, start, self.tokens[self.index - 1].end))
        return database, table

    def parent_name(self) -> tuple[str | None, str]:
        """Read ``[database.]table``, the parent of a foreign key."""
        name = self.table_name()
        self.tables[-1] = replace(self.tables[-1], is_parent=True)
        return name

    def database_name(self) -> str:
        """Read the name of a database on which the whole statement is."""
        self.database = self.token
        return self.name()

    def column_name(self) -> str:
        """Read ``[[database.]table.]column``. MariaDB and MySQL up to 8.0 allow the table's name, which is always the statement's own."""
        self.accept(".")
        name = self.name()
        while self.accept("."):
            name = self.name()
        return name

    def cut_number(self) -> tuple[int, bool]:
        """Read a number; return its integer part, and True if it has a decimal point."""
        whole, point, digits = self.token.text.partition(".")
        if self.token.kind != "number" or not whole.isdigit() or not (digits or "0").isdigit():
            self.fail("a number")
        self.next()
        return int(whole), bool(point)

    def number(self) -> int:
        """Read a whole number."""
        if self.token.kind != "number" or not self.token.text.isdigit():
            self.fail("a number")
        return int(self.next().text)

    def string(self) -> str:
        """Read a string literal (in ANSI_QUOTES mode only with single quotes)."""
        if self.token.kind != "string":
            self.fail("a string")
        text = self.next().text
        while self.token.kind == "string":
            text += self.next().text
        return text

    def parenthesised(self) -> str:
        """Skip ``( ... )`` with everything nested in it; return the text between the parentheses."""
        start = self.token.end
        self.expect("(")
        depth = 1
        while depth:
            token = self.next()
            if token.kind == "symbol":
                depth += (token.text == "(") - (token.text == ")")
        return self.sql[start : self.tokens[self.index - 1].start].strip()

    def items(self, read: Callable[[], T]) -> list[T]:
        """Read ``( item, item ... )``."""
        self.expect("(")
        found = [read()]
        while self.accept(","):
            found.append(read())
        self.expect(")")
        return found

    def skip_to_separator(self) -> None:
        """Skip all tokens before a comma or closing parenthesis of this level, or before the end."""
        while not self.done and not self.at(",") and not self.at(")"):
            if self.at("("):
                self.parenthesised()
            else:
                self.next()


def _matches(token: Token, word: str) -> bool:
    return token.upper == word or (token.kind == "symbol" and token.text == word)
