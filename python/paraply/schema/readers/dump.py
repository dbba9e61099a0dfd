"""Table definitions from a dump (mysqldump, mariadb-dump, mydumper): ``--schema dump.sql``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO

from paraply.errors import UsageError
from paraply.schema.advance import advance
from paraply.schema.catalog import SchemaCatalog
from paraply.schema.ddl.change import Unknown
from paraply.schema.ddl.cursor import Cursor
from paraply.schema.ddl.lexer import DdlSyntaxError
from paraply.schema.ddl.rules import Rules
from paraply.schema.types import SURROGATES

__all__ = ["read_dump", "split_statements"]

CHUNK = 1 << 20
# Beginnings of everything that can contain a delimiter without ending the statement.
INTERESTING = re.compile(r"""['"`;#]|--|/\*|\*/""")
# Skips whole rows at the speed of the regex engine, up to an interesting character that does not begin a complete string.
BULK = re.compile(r"""(?:[^'"`;#/*-]++|'(?:[^'\\]++|\\.)*+'|-(?=[^-])|/(?=[^*])|\*(?=[^/]))*+""", re.DOTALL)
QUOTED = {quote: re.compile(rf"(?:[^{quote}\\]++|\\.)*+{quote}", re.DOTALL) for quote in "'\""} | {"`": re.compile("[^`]*+`")}
SPACE = re.compile(r"\s*")
DELIMITER = re.compile(r"[ \t]*delimiter[ \t]+(\S+)[^\n]*", re.IGNORECASE)
ROWS = re.compile(r"\s*(?:/\*!\d+\s+)?(INSERT|REPLACE|LOCK|UNLOCK|SET|ALTER\s+TABLE\s+\S+\s+(?:DISABLE|ENABLE)\s+KEYS)\b", re.IGNORECASE)
KEEP = 4096
BANNER = re.compile(r"^-- (?:MySQL|MariaDB) dump .*$|^-- Server version\s+(\S+)", re.MULTILINE)
VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")


def split_statements(stream: TextIO) -> Iterator[str]:
    """Yield the statements of a dump, reading it in pieces. Of INSERT statements, only the beginning is returned.

    Args:
        stream: The dump's text.

    Raises:
        UsageError: The dump ends inside a statement, a string or a comment.

    >>> import io
    >>> list(split_statements(io.StringIO("use d; insert into `a;b` values (';'); -- x;")))
    ['use d', "insert into `a;b` values (';')"]
    """
    return _Splitter(stream).statements()


class _Splitter:
    """The text that is not split yet, the position in it, and the current delimiter."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.text = ""
        self.place = 0
        self.ended = False
        self.delimiter = ";"
        self.pattern = INTERESTING
        self.kept: list[str] = []
        self.size = 0
        self.start = 0
        self.opened = 0
        self.fresh = True

    def statements(self) -> Iterator[str]:
        self._more()
        while True:
            if self.fresh and (match := self._at_delimiter_command()):
                self._set_delimiter(match.group(1))
                self.place = self.start = match.end()
                continue
            self.fresh = False
            if self.delimiter == ";" and (bulk := BULK.match(self.text, self.place)):
                self.place = bulk.end()
            found = self._search(self.pattern)
            if found is None:
                break
            if found == self.delimiter and not self.opened:
                yield from self._finish(self.place - len(found))
            else:
                self._pass(found)
        if self._rest(len(self.text)).strip():
            raise UsageError("the dump ends inside a statement; give a complete dump")

    def _at_delimiter_command(self) -> re.Match[str] | None:
        while True:
            match = SPACE.match(self.text, self.place)
            place = match.end() if match else self.place
            if "\n" in self.text[place:] or not self._more():
                return DELIMITER.match(self.text, place)

    def _set_delimiter(self, delimiter: str) -> None:
        self.delimiter = delimiter
        self.pattern = INTERESTING if delimiter == ";" else re.compile(re.escape(delimiter) + "|" + INTERESTING.pattern.replace(";", ""))

    def _search(self, pattern: re.Pattern[str]) -> str | None:
        """Move after the next match and return it. A match at the end of the text read so far is searched again with more text."""
        while True:
            match = pattern.search(self.text, self.place)
            if match and (match.end() + 2 < len(self.text) or self.ended):
                self.place = match.end()
                return match.group()
            if match is None:
                self.place = max(self.place, len(self.text) - 8) if not self.ended else len(self.text)
            if not self._more():
                if match is None:
                    return None
                self.ended = True

    def _more(self) -> bool:
        """Read another piece and discard the text of finished statements; return False at the end of the dump."""
        piece = self.stream.read(CHUNK)
        if not piece:
            self.ended = True
            return False
        self._keep(self.text[self.start : self.place])
        self.text = self.text[self.place :] + piece
        self.start = self.place = 0
        return True

    def _keep(self, piece: str) -> None:
        """Keep the text of a statement; of rows, only the beginning."""
        if self.size > KEEP and self.kept and ROWS.match(self.kept[0]):
            return
        if piece:
            self.kept.append(piece if not (self.kept == [] and ROWS.match(piece)) else piece[:KEEP])
            self.size += len(piece)

    def _rest(self, end: int) -> str:
        return "".join(self.kept) + self.text[self.start : end]

    def _finish(self, end: int) -> Iterator[str]:
        piece = self.text[self.start : end]
        if not self.kept and ROWS.match(piece):
            piece = piece[:KEEP]
        statement = ("".join(self.kept) + piece).strip()
        self._drop()
        if statement:
            yield statement

    def _pass(self, found: str) -> None:
        """Skip the contents of a quote or comment; drop comments outside of statements."""
        if found in ("'", '"', "`"):
            self._to_quote_end(found)
        elif found == "#" or (found == "--" and self.text[self.place : self.place + 1] in (" ", "\t", "\n", "\r", "")):
            self._to_line_end(len(found))
        elif found == "/*" and self.text[self.place : self.place + 1] != "!" and self.text[self.place : self.place + 2] != "M!":
            self._to_comment_end()
        elif found == "/*":
            self.opened += 1
        elif found == "*/":
            self.opened = max(0, self.opened - 1)

    def _to_quote_end(self, quote: str) -> None:
        while not (match := QUOTED[quote].match(self.text, self.place)):
            if not self._more():
                raise UsageError(f"the dump ends inside a text that begins with {quote}; give a complete dump")
        self.place = match.end()

    def _to_line_end(self, width: int) -> None:
        outside = not self._rest(self.place - width).strip()
        self._search(re.compile("\n"))
        if outside:
            self._drop()

    def _to_comment_end(self) -> None:
        outside = not self._rest(self.place - 2).strip()
        if self._search(re.compile(r"\*/")) is None:
            raise UsageError("the dump ends inside a comment; give a complete dump")
        if outside:
            self._drop()

    def _drop(self) -> None:
        self.kept, self.size, self.start = [], 0, self.place
        self.fresh = True


def read_dump(
    path: Path,
    *,
    mariadb: bool | None = None,
    version: tuple[int, int, int] | None = None,
    database: str = "",
    context: Mapping[str, Any] | None = None,
) -> SchemaCatalog:
    """Return a catalog of the tables that a dump creates.

    Args:
        path: The dump; UTF-8 text.
        mariadb: True if the dump is of a MariaDB server; if None, it is determined from the dump's header.
        version: Version of that server; if None, it is determined from the dump's header.
        database: Database of statements before the first USE, because a dump of a single database does not name it.
        context: Status variables for parsing the statements, such as ``charset`` for the default collation.

    Raises:
        UsageError: The file cannot be read, is not text, ends inside a statement, or names no database where one has to be.
    """
    try:
        with path.open(encoding="utf-8", errors="surrogateescape", newline="") as stream:
            head = stream.read(KEEP)
            stream.seek(0)
            family, release = _origin(head)
            reader = _Reader(family if mariadb is None else mariadb, version or release, database, context or {})
            for statement in split_statements(stream):
                reader.read(statement)
            reader.catalog.close_dump()
    except OSError as error:
        raise UsageError(f"the dump cannot be read: {error.strerror}", file=str(path)) from error
    except UsageError as error:
        raise UsageError(error.message, file=str(path)) from error
    except DdlSyntaxError as error:
        raise UsageError(f"a statement of the dump is not understood: {error}", file=str(path)) from error
    return reader.catalog


def _origin(head: str) -> tuple[bool, tuple[int, int, int]]:
    """Return family and version of the dumped server, from the comment at the dump's head."""
    mariadb = "mariadb" in head.lower()
    line = next((match.group(1) for match in BANNER.finditer(head) if match.group(1)), "")
    match = VERSION.search(line)
    if match:
        return mariadb, (int(match.group(1)), int(match.group(2)), int(match.group(3)))
    return mariadb, ((10, 11, 0) if mariadb else (9, 7, 0))


class _Reader:
    """A catalog that executes the statements of a dump."""

    def __init__(self, mariadb: bool, version: tuple[int, int, int], database: str, context: Mapping[str, Any]) -> None:
        self.catalog = SchemaCatalog(complete=True)
        self.mariadb = mariadb
        self.version = version
        self.database = database
        self.context = context

    def read(self, statement: str) -> None:
        """Execute one statement; skip rows and settings."""
        if ROWS.match(statement):
            return
        rules = Rules.of(self.context, mariadb=self.mariadb, version=self.version)
        try:
            cursor = Cursor(statement[:KEEP] if statement[:4].upper() == "USE " else statement, rules)
        except DdlSyntaxError as error:
            raise UsageError(f"a statement of the dump is not understood: {error}: {statement[:60]!r}") from error
        if cursor.accept("USE"):
            self.database = cursor.name()
            return
        changes = advance(self.catalog, statement, self.database, self.context, mariadb=self.mariadb, version=self.version)
        if SURROGATES.search(statement + self.database):
            self._expect_text(statement, changes)
        for change in changes:
            if isinstance(change, Unknown) and (change.everything or any(not database for database, _ in change.tables)):
                advice = "" if self.database else "; no USE names a database before it: dump with --databases NAME"
                raise UsageError(f"a statement of the dump is not understood: {change.reason}: {statement[:60]!r}{advice}")

    def _expect_text(self, statement: str, changes: Iterable[object]) -> None:
        """Raise UsageError if a name or a default of a table is not UTF-8: the log has another one. Triggers may be in any encoding."""
        if any("\\udc" in repr(change) for change in changes if not isinstance(change, Unknown)):
            begin = statement[:60].encode("utf-8", "surrogateescape")
            raise UsageError(f"the dump is not UTF-8: {begin!r}; dump with --default-character-set=utf8mb4")
