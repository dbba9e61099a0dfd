"""The kind of a logged statement, from its tokens; comments, quoted names and version comments are treated as a server treats them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from paraply.errors import LogNotUnderstood
from paraply.schema.ddl.lexer import DdlSyntaxError, Token, tokenize

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paraply.schema.ddl.rules import Rules

__all__ = ["StatementKind", "check_version_comments"]

_DATABASE = ("DATABASE", "SCHEMA")
_STORED = frozenset({"VIEW", "TRIGGER", "PROCEDURE", "FUNCTION", "EVENT", "PACKAGE"})
_INVOKER = frozenset({"CURRENT_USER", "CURRENT_ROLE"})
#: Words between the verb and the kind of object.
_QUALIFIERS = frozenset({"OR", "REPLACE", "TEMPORARY", "ONLINE", "OFFLINE", "IGNORE", "AGGREGATE", "UNIQUE", "FULLTEXT", "SPATIAL",
                         "PUBLIC"})  # fmt: skip
#: Functions whose value depends on the session, or on chance. MySQL does not log an ALTER TABLE with one of them (error 1674).
_UNREPEATABLE = frozenset({
    "USER", "SESSION_USER", "SYSTEM_USER", "CURRENT_USER", "CURRENT_ROLE", "CONNECTION_ID", "UUID", "UUID_SHORT", "UUID_V4", "UUID_V7",
    "SYS_GUID", "RAND", "RANDOM_BYTES", "SYSDATE", "LAST_INSERT_ID", "FOUND_ROWS", "ROW_COUNT", "VERSION", "LOAD_FILE", "NEXTVAL",
    "LASTVAL", "SETVAL", "GET_LOCK", "RELEASE_LOCK", "IS_FREE_LOCK", "IS_USED_LOCK", "SLEEP", "BENCHMARK",
})  # fmt: skip
_CONDITIONS = (("IF", "NOT", "EXISTS"), ("IF", "EXISTS"))
_WITHOUT_PARENTHESES = frozenset({"CURRENT_USER", "CURRENT_ROLE"})


@dataclass(frozen=True, slots=True)
class StatementKind:
    """A logged statement with its verb and its kind of object.

    Attributes:
        text: The statement.
        tokens: Tokens of the statement, from the verb on.
        object_at: Index of the token with the kind of object.
        definer: Index of the token ``DEFINER``, or None.
    """

    text: str
    tokens: tuple[Token, ...]
    object_at: int
    definer: int | None

    @classmethod
    def read(cls, text: str, rules: Rules) -> StatementKind | None:
        """Parse a statement; return None if it cannot be split into tokens.

        Args:
            text: The statement.
            rules: Rules by which the server parses it.
        """
        try:
            tokens = _after_settings(tokenize(text, rules))
        except DdlSyntaxError:
            return None
        object_at, definer = _object_place(tokens)
        return cls(text, tuple(tokens), object_at, definer)

    @property
    def verb(self) -> str:
        """The first word, in capitals."""
        return self._word(0)

    @property
    def object(self) -> str:
        """The kind of object that the statement changes, in capitals."""
        return self._word(self.object_at)

    @property
    def is_about_stored_object(self) -> bool:
        """True if it is about a view, trigger, routine, event or package: an object that belongs to a database."""
        return self.verb in ("CREATE", "ALTER", "DROP") and self.object in _STORED

    @property
    def keeps_client_charset(self) -> bool:
        """True if it makes a view, trigger, routine, event or package, which keeps the ``character_set_client`` of the statement."""
        stored = self.object in _STORED
        return (self.verb == "CREATE" and stored) or (self.verb == "ALTER" and self.object in ("VIEW", "EVENT"))

    @property
    def is_about_database(self) -> bool:
        """True if a database is created, altered or dropped; its own name may be the statement's default database."""
        return self.verb in ("CREATE", "ALTER", "DROP") and self.object in _DATABASE

    @property
    def is_repeatable(self) -> bool:
        """True if the statement has no further effect when it runs a second time."""
        if self.verb == "TRUNCATE":
            return True
        if self.verb == "DROP":
            return self._words(self.object_at + 1, 2) == ("IF", "EXISTS")
        if self.verb != "CREATE":
            return False
        absent = self._words(self.object_at + 1, 3) == ("IF", "NOT", "EXISTS")
        return self._words(1, 2) == ("OR", "REPLACE") or (absent and self.object_at == 1 and self.object in ("TABLE", *_DATABASE))

    @property
    def leaves_open(self) -> bool:
        """True if the statement ends with START TRANSACTION: the rows of a CREATE TABLE ... SELECT follow, then the commit."""
        tokens = [token for token in self.tokens if token.text != ";" or token.kind != "symbol"]
        return self.verb == "CREATE" and tuple(token.upper for token in tokens[-2:]) == ("START", "TRANSACTION")

    @property
    def makes_row_times(self) -> bool:
        """True if the statement creates a system-versioned table without naming the columns for the times of a row."""
        words = [token.upper for token in self.tokens]
        following = list(zip(words, words[1:], words[2:], strict=False))
        versioned = (self.verb, self.object) == ("CREATE", "TABLE") and ("WITH", "SYSTEM", "VERSIONING") in following
        return versioned and ("PERIOD", "FOR", "SYSTEM_TIME") not in following

    def made_or_dropped(self, default: str | None) -> tuple[str | None, str | None]:
        """Return database and table of a plain CREATE or DROP of one object; ``(None, None)`` for other statements.

        The result is also ``(None, None)`` with ``IF [NOT] EXISTS``, because the presence of the object then does not show that the
        statement ran.

        Args:
            default: The statement's default database.
        """
        if self.verb not in ("CREATE", "DROP") or self.object_at != 1 or self.object not in ("TABLE", *_DATABASE):
            return None, None
        if self._word(2) == "IF" and self._word(3) in ("NOT", "EXISTS"):
            return None, None
        names = self._names(2)
        following = self.tokens[2 + 2 * len(names) - 1 :]
        if not names or (self.verb == "DROP" and any(token.text == "," and token.kind == "symbol" for token in following)):
            return None, None
        if self.object in _DATABASE:
            return names[0], None
        return (names[0], names[1]) if len(names) > 1 else (default or None, names[0])

    def object_names(self) -> list[str]:
        """Return ``name`` or ``name.name`` of the object of a CREATE, ALTER or DROP."""
        place = self.object_at + 1
        place += self.object == "PACKAGE" and self._word(place) == "BODY"
        place += next((len(words) for words in _CONDITIONS if self._words(place, len(words)) == words), 0)
        return self._names(place)

    @property
    def names_invoker(self) -> bool:
        """True if CURRENT_USER or CURRENT_ROLE in the statement refers to its invoker, and not to a later user of the object."""
        places = [place for place, token in enumerate(self.tokens) if token.upper in _INVOKER]
        if self.verb in ("CREATE", "ALTER") and self.object in _STORED:
            return any(place < self.object_at for place in places)
        # Defaults and checks of a new table are evaluated for each row, and the log holds the rows. See ``unrepeatable`` for ALTER.
        return bool(places) and (self.verb, self.object) not in (("CREATE", "TABLE"), ("ALTER", "TABLE"))

    @property
    def unrepeatable(self) -> str | None:
        """The function with other values on the target than on the source, in an ALTER TABLE that fills new columns with it; or None."""
        if (self.verb, self.object) != ("ALTER", "TABLE") or not any(token.upper == "ADD" for token in self.tokens):
            return None
        for place, token in enumerate(self.tokens):
            called = self._symbol(place + 1) == "(" or token.upper in _WITHOUT_PARENTHESES
            if token.upper in _UNREPEATABLE and called and self._symbol(place - 1) != "." and not self._names_column(place):
                return token.upper
            if token.upper == "NEXT" and self._words(place + 1, 2) == ("VALUE", "FOR"):
                return "NEXT VALUE FOR"
        return None

    def with_absent_allowed(self) -> str:
        """Return the text of a DROP of several tables or sequences with IF EXISTS.

        MariaDB logs `DROP TABLE a, nosuch` without an error code, after it has dropped `a` and reported error 1051 (observed on 10.5 to
        11.8). Its replica runs it with IF EXISTS, by ``slave_ddl_exec_mode=IDEMPOTENT``.
        """
        several = any(token.kind == "symbol" and token.text == "," for token in self.tokens)
        absent = self._word(self.object_at + 1) == "IF"
        if self.verb != "DROP" or self.object not in ("TABLE", "SEQUENCE") or not several or absent:
            return self.text
        at = self.tokens[self.object_at].end
        return f"{self.text[:at]} IF EXISTS{self.text[at:]}"

    def with_invoker(self, user: str, host: str, *, mariadb: bool) -> str:
        """Return the text with the invoker's name, for statements that store their invoker without naming it.

        ALTER EVENT makes its invoker the definer of the event. MariaDB's CREATE ROLE grants the role to its invoker WITH ADMIN OPTION.

        Args:
            user: The invoker.
            host: The invoker's host.
            mariadb: True if the server is a MariaDB.
        """
        account = f"{_quoted(user)}@{_quoted(host)}" if host or not mariadb else _quoted(user)
        if (self.verb, self.object) == ("ALTER", "EVENT") and self.definer is None:
            at = self.tokens[0].end
            return f"{self.text[:at]} DEFINER={account}{self.text[at:]}"
        if mariadb and (self.verb, self.object) == ("CREATE", "ROLE") and not any(token.upper == "ADMIN" for token in self.tokens):
            last = [token for token in self.tokens if token.text != ";" or token.kind != "symbol"][-1]
            return f"{self.text[: last.end]} WITH ADMIN {account}{self.text[last.end :]}"
        return self.text

    def _names_column(self, place: int) -> bool:
        """Return True if the word must be a column's name, because it follows ADD, COLUMN, AFTER and the like."""
        return self._word(place - 1) in ("ADD", "COLUMN", "EXISTS", "AFTER", "CHANGE", "MODIFY", "INDEX", "KEY", "TO")

    def _names(self, place: int) -> list[str]:
        """Return ``name`` or ``name.name`` at an index."""
        names = [token.text for token in self.tokens[place : place + 1] if token.kind in ("word", "name")]
        if names and self._symbol(place + 1) == "." and place + 2 < len(self.tokens):
            names.append(self.tokens[place + 2].text)
        return names

    def _word(self, place: int) -> str:
        return self.tokens[place].upper if 0 <= place < len(self.tokens) else ""

    def _words(self, place: int, count: int) -> tuple[str, ...]:
        return tuple(self._word(place + offset) for offset in range(count))

    def _symbol(self, place: int) -> str:
        within = 0 <= place < len(self.tokens) and self.tokens[place].kind == "symbol"
        return self.tokens[place].text if within else ""


def check_version_comments(text: str, source: Rules, target: Rules, position: int) -> None:
    """Check that the target runs the same version comments of a statement as the source.

    A source logs a version comment that it skipped as a plain comment. So only a target older than the comment's version differs.

    Raises:
        LogNotUnderstood: The target runs other version comments.
    """
    if "/*!" not in text and "/*M!" not in text:
        return
    try:
        ran = [(token.kind, token.text) for token in tokenize(text, source)]
        runs = [(token.kind, token.text) for token in tokenize(text, target)]
    except DdlSyntaxError:
        return
    if ran != runs:
        raise LogNotUnderstood(
            "the statement has a version comment that the target would not read as the source did; run it by hand in the"
            " target, and start again with --ddl-done",
            position=position,
        )


def _after_settings(tokens: Sequence[Token]) -> Sequence[Token]:
    """Return the tokens after MariaDB's ``SET STATEMENT variable=value, ... FOR``."""
    if [token.upper for token in tokens[:2]] != ["SET", "STATEMENT"]:
        return tokens
    end = next((place for place, token in enumerate(tokens) if token.upper == "FOR"), -1)
    return tokens[end + 1 :]


def _object_place(tokens: Sequence[Token]) -> tuple[int, int | None]:
    """Return the index of the kind of object, and the index of ``DEFINER`` or None."""
    place, definer = 1, None
    while place < len(tokens):
        word = tokens[place].upper
        if word == "DEFINER":
            definer, place = place, _after_account(tokens, place + 2)
        elif word in ("ALGORITHM", "SQL"):
            place += 3
        elif word in _QUALIFIERS:
            place += 1
        else:
            break
    return place, definer


def _after_account(tokens: Sequence[Token], place: int) -> int:
    """Return the index after ``user@host``, ``CURRENT_USER()`` or a role's name."""
    place += 1
    if place < len(tokens) and tokens[place].text == "@" and tokens[place].kind == "symbol":
        return place + 2
    if place < len(tokens) and tokens[place].text == "(" and tokens[place].kind == "symbol":
        return place + 2
    return place


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
