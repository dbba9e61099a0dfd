"""Properties of server and session that affect the meaning of a DDL statement (R33): family, version, sql_mode, default collations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from paraply.schema.collations import Collations, canonical_collation, collations

__all__ = [
    "EXPLICIT_DEFAULTS", "MODE_ANSI_QUOTES", "MODE_MSSQL", "MODE_NO_BACKSLASH_ESCAPES", "Rules", "explicit_defaults", "logs_cascades",
]  # fmt: skip

_LOGS_CASCADES = (9, 6, 0)
"""First MySQL that logs the rows which foreign keys change by themselves (R15a)."""

MODE_REAL_AS_FLOAT = 1
MODE_ANSI_QUOTES = 4
MODE_ORACLE = 512
MODE_MSSQL = 1024
MODE_MAXDB = 4096
MODE_NO_BACKSLASH_ESCAPES = 1048576
MODE_PAD_CHAR_TO_FULL_LENGTH = 1 << 31
MODE_EMPTY_STRING_IS_NULL = 1 << 32
MODE_STRICT = 2097152 | 4194304
CHARSET_COLLATIONS_SINCE = (11, 2, 1)
UCA1400_CHARSETS = ("utf8mb3", "utf8mb4", "ucs2", "utf16", "utf32")


#: First version of each MariaDB 10.x that logs explicit_defaults_for_timestamp; 10.10 and later always do.
_EXPLICIT_DEFAULTS_SINCE = {5: 17, 6: 9, 7: 5, 8: 4, 9: 2}
#: The bit of ``flags2`` in which MariaDB logs it.
EXPLICIT_DEFAULTS = 1 << 24


def explicit_defaults(context: Mapping[str, Any], *, mariadb: bool, version: tuple[int, int, int]) -> bool | None:
    """Return ``explicit_defaults_for_timestamp`` of a statement; None if not known.

    MySQL logs the variable since 8.0.2 with each CREATE TABLE and ALTER TABLE, MariaDB as a bit of ``flags2``. A version that does not log
    it has it off by default.

    >>> explicit_defaults({"flags2": 0}, mariadb=True, version=(10, 11, 19)), explicit_defaults({}, mariadb=False, version=(5, 7, 44))
    (False, False)
    """
    if not mariadb:
        logged: bool | None = context.get("explicit_defaults_for_timestamp")
        return False if logged is None and version < (8, 0, 2) else logged
    major, minor, patch = version
    if major < 10 or (major == 10 and minor < 10 and patch < _EXPLICIT_DEFAULTS_SINCE.get(minor, 1000)):
        return False
    flags = context.get("flags2")
    return None if flags is None else bool(flags & EXPLICIT_DEFAULTS)


@dataclass(frozen=True, slots=True)
class Rules:
    """The parsing rules of one statement.

    Attributes:
        mariadb: True if a MariaDB server ran the statement.
        version: Version of the server.
        sql_mode: The bit set of ``sql_mode``.
        server_collation: Default collation of databases; None if not known.
        utf8mb4_collation: Default collation of utf8mb4 (MySQL).
        charset_collations: Default collations of other character sets, if the log has them (MariaDB 11.2 and later). Character sets missing
            in it have their compiled defaults.
        explicit_timestamp: True if TIMESTAMP columns are nullable by default; None if not known.
        client_charset: Character set of the statement's text; None if not known.
        connection_charset: Character set to which the server converts literals; None if it does not convert them, or if not known.
        time_zone: The session's ``time_zone``; None if the log does not hold it.
    """

    mariadb: bool = False
    version: tuple[int, int, int] = (9, 7, 0)
    sql_mode: int = 0
    server_collation: str | None = None
    utf8mb4_collation: str | None = None
    charset_collations: Mapping[str, str] | None = None
    explicit_timestamp: bool | None = None
    client_charset: str | None = None
    connection_charset: str | None = None
    time_zone: str | None = None

    @classmethod
    def of(cls, context: Mapping[str, Any], *, mariadb: bool, version: tuple[int, int, int]) -> Rules:
        """Return the rules from a statement's status variables (``Statement.context``).

        >>> Rules.of({"charset": (255, 255, 255)}, mariadb=False, version=(9, 7, 0)).server_collation
        'utf8mb4_0900_ai_ci'
        """
        table = collations("mariadb" if mariadb else "mysql")
        charset = context.get("charset")
        utf8mb4 = context.get("default_collation_for_utf8mb4")
        pairs = context.get("character_set_collations") if mariadb and version >= CHARSET_COLLATIONS_SINCE else None
        names = [table.name(collation) for _, collation in pairs or ()]
        logged = {table.charset_of[name]: name for name in names if name is not None}
        sent, literals = (table.charset_of.get(table.name(number) or "") for number in charset[:2]) if charset else (None, None)
        return cls(
            mariadb=mariadb,
            version=version,
            sql_mode=int(context.get("sql_mode") or 0),
            server_collation=table.name(charset[2]) if charset else None,
            utf8mb4_collation=table.name(utf8mb4) if utf8mb4 else None,
            charset_collations=logged if pairs is not None and None not in names else None,
            explicit_timestamp=explicit_defaults(context, mariadb=mariadb, version=version),
            client_charset=sent,
            connection_charset=None if sent in {literals, "binary", None} else literals,
            time_zone=context.get("time_zone"),
        )

    @property
    def collations(self) -> Collations:
        """The character sets of the server family."""
        return collations("mariadb" if self.mariadb else "mysql")

    def has(self, mode: int) -> bool:
        """Return True if one of the bits of ``mode`` is set in sql_mode."""
        return bool(self.sql_mode & mode)

    @property
    def quotes_in_brackets(self) -> bool:
        """True if brackets enclose names, in which ``]]`` is a bracket: MariaDB's MSSQL. Observed on 10.5, 10.11 and 11.8."""
        return self.mariadb and self.has(MODE_MSSQL)

    @property
    def pads_char(self) -> bool:
        """True if CHAR columns are read with the spaces up to their length, also by an ALTER that makes them another type."""
        return self.has(MODE_PAD_CHAR_TO_FULL_LENGTH)

    @property
    def empty_is_null(self) -> bool:
        """True if the literal ``''`` is NULL (MariaDB)."""
        return self.mariadb and self.has(MODE_EMPTY_STRING_IS_NULL)

    @property
    def strict(self) -> bool:
        """True if a value that does not fit its column is an error (STRICT_TRANS_TABLES, STRICT_ALL_TABLES), and is not changed to fit."""
        return self.has(MODE_STRICT)

    @property
    def inline_references(self) -> bool:
        """True if REFERENCES after a column creates a foreign key: in MariaDB (10.5 and later) and in MySQL since 9.0."""
        return self.version >= ((10, 5, 0) if self.mariadb else (9, 0, 0))

    @property
    def index_names_constraint(self) -> bool:
        """True if a foreign key without a constraint name gets the name after FOREIGN KEY: MariaDB, MySQL before 8.0.16."""
        return self.mariadb or self.version < (8, 0, 16)

    def default_collation(self, charset: str) -> str | None:
        """Return the default collation of a character set."""
        if self.mariadb:
            if self.charset_collations is not None:
                return self.charset_collations.get(charset, self.collations.default_of.get(charset))
            if self.version >= (11, 5, 0) and charset in UCA1400_CHARSETS:
                return f"{charset}_uca1400_ai_ci"
            return self.collations.default_of.get(charset)
        if charset == "utf8mb4":
            return self.utf8mb4_collation or ("utf8mb4_0900_ai_ci" if self.version >= (8, 0, 1) else "utf8mb4_general_ci")
        return self.collations.default_of.get(charset)

    def charset_of(self, collation: str) -> str | None:
        """Return the character set of a collation, even if a newer server added the collation."""
        known = self.collations.charset_of.get(collation)
        if known is not None:
            return known
        charset = canonical_collation(collation).split("_", 1)[0]
        return charset if charset in self.collations.width_of else None


def logs_cascades(version: tuple[int, int, int], *, mariadb: bool) -> bool:
    """Return True if the log of a server has the rows that a cascade changes.

    >>> logs_cascades((9, 7, 4), mariadb=False), logs_cascades((8, 4, 0), mariadb=False), logs_cascades((11, 8, 0), mariadb=True)
    (True, False, False)
    """
    return not mariadb and version >= _LOGS_CASCADES
