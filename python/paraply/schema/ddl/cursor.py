"""Walks over a statement's tokens; the parsers' common ground."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NoReturn, TypeVar

from paraply.schema.ddl.lexer import DdlSyntaxError, Token, tokenize
from paraply.schema.ddl.rules import Rules

__all__ = ["Cursor"]

T = TypeVar("T")
END = Token("symbol", "", -1, -1)


class Cursor:
    """A position in a statement's tokens.

    Args:
        sql: The statement.
        rules: How to read it.
    """

    def __init__(self, sql: str, rules: Rules) -> None:
        self.sql = sql
        self.rules = rules
        self.tokens = tokenize(sql, rules)
        self.index = 0
        while self.tokens and self.tokens[-1].text == ";" and self.tokens[-1].kind == "symbol":
            self.tokens.pop()

    @property
    def token(self) -> Token:
        """The token at the position; an empty symbol behind the last one."""
        return self.ahead(0)

    def ahead(self, count: int) -> Token:
        """The token so many places further."""
        place = self.index + count
        return self.tokens[place] if place < len(self.tokens) else END

    @property
    def done(self) -> bool:
        """Whether all tokens are read."""
        return self.index >= len(self.tokens)

    def next(self) -> Token:
        """Reads one token."""
        if self.done:
            self.fail("more")
        self.index += 1
        return self.tokens[self.index - 1]

    def fail(self, wanted: str) -> NoReturn:
        """Gives up, saying what was looked for and what stands there."""
        found = repr(self.token.text) if not self.done else "the end of the statement"
        raise DdlSyntaxError(f"expected {wanted}, found {found}")

    def at(self, *words: str) -> bool:
        """Whether these keywords or symbols come next."""
        return all(_says(self.ahead(place), word) for place, word in enumerate(words))

    def accept(self, *words: str) -> bool:
        """Reads these keywords or symbols if they come next, all of them or none."""
        if not self.at(*words):
            return False
        self.index += len(words)
        return True

    def accept_any(self, words: Iterable[str]) -> str | None:
        """Reads one keyword out of several; which one."""
        return next((word for word in words if self.accept(word)), None)

    def expect(self, *words: str) -> None:
        """Reads these keywords or symbols, or gives up."""
        if not self.accept(*words):
            self.fail(" ".join(words))

    def expect_end(self) -> None:
        """Gives up unless all tokens are read: what is left may mean anything."""
        if not self.done:
            self.fail("the end of the statement")

    @property
    def at_name(self) -> bool:
        """Whether an identifier may come next."""
        return self.token.kind in ("word", "name")

    def name(self) -> str:
        """Reads an identifier, quoted or not."""
        if not self.at_name:
            self.fail("a name")
        return self.next().text

    def table_name(self) -> tuple[str | None, str]:
        """Reads ``[database.]table``."""
        if self.accept("."):
            return None, self.name()
        first = self.name()
        return (first, self.name()) if self.accept(".") else (None, first)

    def column_name(self) -> str:
        """Read ``[[database.]table.]column``; MariaDB and MySQL up to 8.0 allow the table in front, which is always the statement's own."""
        self.accept(".")
        name = self.name()
        while self.accept("."):
            name = self.name()
        return name

    def cut_number(self) -> tuple[int, bool]:
        """Read a number without what stands behind its point; return it and whether it has a point."""
        whole, point, digits = self.token.text.partition(".")
        if self.token.kind != "number" or not whole.isdigit() or not (digits or "0").isdigit():
            self.fail("a number")
        self.next()
        return int(whole), bool(point)

    def number(self) -> int:
        """Reads a whole number."""
        if self.token.kind != "number" or not self.token.text.isdigit():
            self.fail("a number")
        return int(self.next().text)

    def string(self) -> str:
        """Reads a string literal (in ANSI_QUOTES mode only with single quotes)."""
        if self.token.kind != "string":
            self.fail("a string")
        text = self.next().text
        while self.token.kind == "string":
            text += self.next().text
        return text

    def parenthesised(self) -> str:
        """Passes over ``( ... )`` with everything nested in it; the text in between."""
        start = self.token.end
        self.expect("(")
        depth = 1
        while depth:
            token = self.next()
            if token.kind == "symbol":
                depth += (token.text == "(") - (token.text == ")")
        return self.sql[start : self.tokens[self.index - 1].start].strip()

    def items(self, read: Callable[[], T]) -> list[T]:
        """Reads ``( item, item ... )``."""
        self.expect("(")
        found = [read()]
        while self.accept(","):
            found.append(read())
        self.expect(")")
        return found

    def skip_to_separator(self) -> None:
        """Passes over everything up to a comma or closing parenthesis of this level, or the end."""
        while not self.done and not self.at(",") and not self.at(")"):
            if self.at("("):
                self.parenthesised()
            else:
                self.next()


def _says(token: Token, word: str) -> bool:
    return token.upper == word or (token.kind == "symbol" and token.text == word)
