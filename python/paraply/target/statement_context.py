"""Running a logged statement under its own status variables (rule R33)."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paraply.errors import LogNotUnderstood
from paraply.target.mysql_sql import identifier

if TYPE_CHECKING:
    from paraply._native import Format, Statement

__all__ = ["ServerKind", "context_statements", "creates_or_drops_database", "reset_statement", "statement_text", "use_statement"]

_UTF8MB4_GENERAL_CI = 45

# Bits of Q_FLAGS2_CODE (OPTIONS_WRITTEN_TO_BIN_LOG in the servers' log_event.h, seen in logs of MySQL 9.7 and MariaDB 10.11).
_AUTO_IS_NULL = 1 << 14
_NO_CHECK_CONSTRAINTS = 1 << 15
_NOT_AUTOCOMMIT = 1 << 19
_EXPLICIT_DEFAULTS = 1 << 24
_NO_FOREIGN_KEY_CHECKS = 1 << 26
_RELAXED_UNIQUE_CHECKS = 1 << 27
_IF_EXISTS = 1 << 28
_INSERT_HISTORY = 1 << 30
_COMMON_FLAGS = _AUTO_IS_NULL | _NOT_AUTOCOMMIT | _NO_FOREIGN_KEY_CHECKS | _RELAXED_UNIQUE_CHECKS
_MARIADB_FLAGS = _NO_CHECK_CONSTRAINTS | _EXPLICIT_DEFAULTS | _IF_EXISTS | _INSERT_HISTORY

# sql_mode is logged as a number and set as one. Bits that a server takes, asked bit by bit of MySQL 9.7 and MariaDB 10.11.
_MYSQL_MODES = sum(1 << bit for bit in (*range(4), *range(5, 8), *range(18, 28), *range(29, 34)))
_MARIADB_MODES = (1 << 35) - 1
#: MySQL 8.0 dropped these (POSTGRESQL ... MYSQL40, NO_AUTO_CREATE_USER); they change no DDL: what they stood for are other bits.
_MYSQL_DROPPED_MODES = sum(1 << bit for bit in (*range(8, 18), 28))

#: First fixed version of each MariaDB series that logs explicit_defaults_for_timestamp; 10.10 and later all do.
_EXPLICIT_DEFAULTS_SINCE = {5: 17, 6: 9, 7: 5, 8: 4, 9: 2}

#: Python's names for character sets that clients use; for all others a statement must be valid UTF-8.
_CODECS = {
    "latin1": "cp1252", "latin2": "iso8859-2", "latin5": "iso8859-9", "latin7": "iso8859-13", "greek": "iso8859-7",
    "hebrew": "iso8859-8", "cp1250": "cp1250", "cp1251": "cp1251", "cp1256": "cp1256", "cp1257": "cp1257", "cp850": "cp850",
    "cp852": "cp852", "cp866": "cp866", "koi8r": "koi8-r", "koi8u": "koi8-u", "big5": "big5", "gbk": "gbk", "gb18030": "gb18030",
    "gb2312": "gb2312", "euckr": "euc-kr", "ujis": "euc-jp", "sjis": "shift-jis", "cp932": "cp932", "tis620": "tis-620",
}  # fmt: skip

_ZONE = re.compile(r"[A-Za-z0-9_/+:\-]+")
_DATABASE_DDL = re.compile(rb"\s*(?:/\*.*?\*/\s*)*(?:CREATE|DROP)\s+(?:OR\s+REPLACE\s+)?(?:DATABASE|SCHEMA)\b", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class ServerKind:
    """A server's family and version."""

    mariadb: bool
    version: tuple[int, int, int]

    @classmethod
    def parse(cls, text: str) -> ServerKind:
        """Reads ``VERSION()``.

        >>> ServerKind.parse("10.11.6-MariaDB-log")
        ServerKind(mariadb=True, version=(10, 11, 6))
        """
        numbers = [int(number) for number in re.findall(r"\d+", text)[:3]]
        major, minor, patch = [*numbers, 0, 0, 0][:3]
        return cls("mariadb" in text.lower(), (major, minor, patch))


def reset_statement(server: ServerKind) -> str:
    """The session's own settings again, after a statement ran under the log's."""
    variables = [
        "timestamp=DEFAULT", "sql_mode=DEFAULT", "time_zone=DEFAULT", "lc_time_names=DEFAULT", "character_set_client=utf8mb4",
        "character_set_results=utf8mb4", f"collation_connection={_UTF8MB4_GENERAL_CI}", "collation_server=DEFAULT",
        "foreign_key_checks=1", "unique_checks=1", "sql_auto_is_null=0", "auto_increment_increment=DEFAULT",
        "auto_increment_offset=DEFAULT", "explicit_defaults_for_timestamp=DEFAULT",
    ]  # fmt: skip
    if server.mariadb:
        variables += ["check_constraint_checks=1"]
    elif server.version >= (8, 0, 16):
        variables += ["default_collation_for_utf8mb4=DEFAULT", "sql_require_primary_key=DEFAULT", "default_table_encryption=DEFAULT"]
    return "SET " + ", ".join(variables)


def context_statements(statement: Statement, log: Format, server: ServerKind) -> list[str]:
    """The SET statement for a logged statement's status variables.

    Args:
        statement: The logged statement.
        log: The format that it was logged in.
        server: The target.

    Raises:
        LogNotUnderstood: A variable that this version does not know, or a statement that ended in an error on the source.
    """
    context = statement.context
    _refuse_unknown(statement, context)
    variables: list[str] = [f"timestamp={statement.timestamp}.{context.get('microseconds') or 0:06d}"]
    variables += _flag_variables(statement, context.get("flags2") or 0, log)
    if context.get("sql_mode") is not None:
        variables.append(f"sql_mode={_sql_mode(statement, context['sql_mode'], server)}")
    if context.get("charset") is not None:
        client, connection, default = context["charset"]
        variables += [f"character_set_client={int(client)}", f"collation_connection={int(connection)}", f"collation_server={int(default)}"]
    if context.get("time_zone"):
        variables.append(f"time_zone='{_time_zone(statement, context['time_zone'])}'")
    if context.get("auto_increment") is not None:
        increment, offset = context["auto_increment"]
        variables += [f"auto_increment_increment={int(increment)}", f"auto_increment_offset={int(offset)}"]
    numbers = (
        "lc_time_names",
        "explicit_defaults_for_timestamp",
        "default_collation_for_utf8mb4",
        "sql_require_primary_key",
        "default_table_encryption",
    )
    variables += [f"{name}={int(context[name])}" for name in numbers if context.get(name) is not None]
    return ["SET " + ", ".join(variables)]


def use_statement(statement: Statement) -> str | None:
    """``USE`` of the statement's default database, or None where it had none."""
    return f"USE {identifier(statement.database)}" if statement.database else None


def creates_or_drops_database(sql: bytes) -> bool:
    """Whether a statement makes or drops a database, whose own name may be its default database."""
    return _DATABASE_DDL.match(sql) is not None


def statement_text(statement: Statement, charset: str | None) -> tuple[str, bool]:
    """The statement as text, and whether it had to be changed into UTF-8 (then ``character_set_client`` must be utf8mb4).

    A statement whose bytes are valid UTF-8 goes over byte by byte, whatever its character set.

    Args:
        statement: The logged statement.
        charset: Name of its ``character_set_client``, if known.

    Raises:
        LogNotUnderstood: Bytes that cannot be read in its character set.
    """
    sql = statement.sql
    try:
        return sql.decode("utf-8"), False
    except UnicodeDecodeError:
        codec = _CODECS.get(charset or "")
    try:
        return codecs.decode(sql, codec or "ascii"), True
    except (UnicodeDecodeError, LookupError):
        raise LogNotUnderstood(
            f"the statement is not valid text of its character set {charset or 'unknown'}; run it by hand and go on after it",
            position=statement.offset,
        ) from None


def _refuse_unknown(statement: Statement, context: dict[str, Any]) -> None:
    if context.get("unknown"):
        codes = ", ".join(str(code) for code in context["unknown"])
        raise LogNotUnderstood(
            f"the statement depends on status variables that this version does not know (codes {codes}); a newer version may",
            position=statement.offset,
        )
    if context.get("error_code"):
        raise LogNotUnderstood(
            f"the statement ended in error {context['error_code']} on the source, perhaps half done; run it by hand and go on after it",
            position=statement.offset,
        )
    if context.get("invoker") is not None and b"CURRENT_USER" in statement.sql.upper():
        user, host = context["invoker"]
        raise LogNotUnderstood(
            f"the statement means its invoker {user}@{host} by CURRENT_USER, which cannot be set; run it by hand and go on after it",
            position=statement.offset,
        )


def _flag_variables(statement: Statement, flags: int, log: Format) -> list[str]:
    known = _COMMON_FLAGS | (_MARIADB_FLAGS if log.mariadb else 0)
    if flags & ~known:
        raise LogNotUnderstood(
            f"the statement has option flags that this version does not know ({flags & ~known:#x})", position=statement.offset
        )
    variables = [
        f"foreign_key_checks={0 if flags & _NO_FOREIGN_KEY_CHECKS else 1}",
        f"unique_checks={0 if flags & _RELAXED_UNIQUE_CHECKS else 1}",
        f"sql_auto_is_null={1 if flags & _AUTO_IS_NULL else 0}",
    ]
    if log.mariadb:
        variables.append(f"check_constraint_checks={0 if flags & _NO_CHECK_CONSTRAINTS else 1}")
        if _logs_explicit_defaults(log.version):
            variables.append(f"explicit_defaults_for_timestamp={1 if flags & _EXPLICIT_DEFAULTS else 0}")
    return variables


def _logs_explicit_defaults(version: tuple[int, int, int]) -> bool:
    major, minor, patch = version
    if major != 10 or minor > 9:
        return major >= 10
    return patch >= _EXPLICIT_DEFAULTS_SINCE.get(minor, 1000)


def _sql_mode(statement: Statement, mode: int, server: ServerKind) -> int:
    if server.mariadb:
        known, dropped = _MARIADB_MODES, 0
    elif server.version >= (8, 0, 0):
        known, dropped = _MYSQL_MODES, _MYSQL_DROPPED_MODES
    else:
        known, dropped = _MYSQL_MODES | _MYSQL_DROPPED_MODES, 0
    unknown = mode & ~known & ~dropped
    if unknown:
        raise LogNotUnderstood(f"the statement's sql_mode has bits that the target does not know ({unknown:#x})", position=statement.offset)
    return mode & known


def _time_zone(statement: Statement, zone: str) -> str:
    if not _ZONE.fullmatch(zone):
        raise LogNotUnderstood(f"the statement's time zone {zone!r} is not the name of one", position=statement.offset)
    return zone
