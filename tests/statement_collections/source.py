"""Run the statements of a unit on a source; make the databases, tables and columns that a statement expects but nothing made before."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pymysql
from pymysql.constants import CLIENT

__all__ = ["NotLogged", "Taken", "run_unit", "user_databases", "wipe"]

Cursor = pymysql.cursors.Cursor

OWN_DATABASES = ("mysql", "sys", "information_schema", "performance_schema")
OWN_USERS = ("app", "root", "rpl", "mysql.sys", "mysql.session", "mysql.infoschema", "mariadb.sys", "mysql", "PUBLIC", "")

#: Statements about the server itself, or that are not replicated, and those that would end the run.
_NOT_REPLICATED = re.compile(
    r"(?:shutdown|restart|kill|reset|purge|change|start|stop|install|uninstall|clone|binlog|lock|unlock|handler|show|explain|desc|describe|help"
    r"|select|with|table|values|check|checksum|cache|load|import|prepare|execute|deallocate|do|begin|set\s+(?:global|@@global|persist|password)"
    r"|alter\s+instance|backup|signal|resignal|get|flush|delimiter|\()\b",
    re.IGNORECASE,
)
_HAS_BODY = re.compile(r"(create|alter)\b.*\b(procedure|function|trigger|event)\b", re.IGNORECASE | re.DOTALL)
_TRIES = 30


@dataclass
class Taken:
    """A statement that the source took and logged.

    Attributes:
        statement: Its text.
        start: Position in the binlog before it and its preparation.
        end: Position behind it.
    """

    statement: str
    start: int
    end: int


@dataclass(frozen=True)
class NotLogged:
    """A statement that left nothing in the source's log.

    Attributes:
        statement: Its text.
        reason: Why: its kind, the source's error, or that it changes nothing.
    """

    statement: str
    reason: str


@dataclass
class Session:
    """A connection on which the statements of a unit run.

    Attributes:
        cursor: Its cursor.
        mariadb: True for MariaDB.
        prepared: What was made or dropped for the present statement.
    """

    cursor: Cursor
    mariadb: bool
    prepared: set[str] = field(default_factory=set)

    def position(self) -> int:
        """Return the end of the binlog. What a statement left open is rolled back before."""
        self.cursor.execute("ROLLBACK")
        self.cursor.execute("SHOW MASTER STATUS" if self.mariadb else "SHOW BINARY LOG STATUS")
        row = self.cursor.fetchone()
        assert row is not None
        return int(row[1])

    def execute(self, statement: str) -> None:
        """Execute one statement and read all of its results."""
        self.cursor.execute(statement)
        while self.cursor.nextset():
            pass


def connect(port: int) -> pymysql.connections.Connection[Cursor]:
    """Return a connection as ``app`` to a server on loopback."""
    return pymysql.connect(
        host="127.0.0.1", port=port, user="app", password="app", charset="utf8mb4", autocommit=True, read_timeout=60, ssl_disabled=True,
        client_flag=CLIENT.MULTI_STATEMENTS,
    )  # fmt: skip


def run_unit(port: int, mariadb: bool, statements: Sequence[str]) -> Iterator[Taken | NotLogged]:
    """Execute statements in order, and yield what became of each; pieces of a body that was cut at its ``;`` count as one.

    Args:
        port: Port of the source.
        mariadb: True for MariaDB.
        statements: The statements.
    """
    with contextlib.closing(connect(port)) as connection:
        session = Session(connection.cursor(), mariadb)
        for statement in ("CREATE DATABASE unit", "USE unit"):
            session.execute(statement)
        rest = list(statements)
        while rest:
            statement = rest.pop(0)
            start = session.position()
            if _NOT_REPLICATED.match(statement):
                yield NotLogged(statement, "reads, or is about the server itself")
                continue
            pieces, error = _executed(session, statement, rest)
            end = session.position()
            if not error:
                yield from (NotLogged(piece, "is a piece of the statement before it") for piece in rest[:pieces])
                del rest[:pieces]
            if error:
                yield NotLogged(statement, error)
            elif end == start:
                yield NotLogged(statement, "changes nothing")
            else:
                yield Taken(statement, start, end)


def _executed(session: Session, statement: str, rest: Sequence[str]) -> tuple[int, str | None]:
    """Execute a statement; prepare what it lacks and try again. A body that was cut at its ``;`` takes the following pieces in.

    Returns:
        How many pieces were taken in, and None, or why the source does not take the statement.
    """
    relaxed, pieces, reason = False, 0, ""
    session.prepared.clear()
    for _ in range(_TRIES):
        try:
            session.execute(statement)
        except pymysql.err.MySQLError as error:
            number, text = (*error.args, 0, "")[:2]
            reason = f"the source refuses it: error {number}"
            if number == 1064 and pieces < len(rest) and _HAS_BODY.match(statement):
                statement = f"{statement};{rest[pieces]}"
                pieces += 1
                continue
            if _prepare(session, statement, int(number or 0), str(text)):
                continue
            if relaxed or not isinstance(error, pymysql.err.DataError | pymysql.err.OperationalError | pymysql.err.ProgrammingError):
                break
            relaxed = True
            session.execute("SET sql_mode=''")
        else:
            return pieces, None
        finally:
            if relaxed:
                with contextlib.suppress(pymysql.err.MySQLError):
                    session.execute("SET sql_mode=DEFAULT")
    return pieces, reason


def _prepare(session: Session, statement: str, number: int, text: str) -> bool:
    """Return True if something that a statement lacks, or that is in its way, could be made or dropped."""
    names = re.findall(r"'([^']*)'", text)
    made = _preparation(statement, number, names)
    if made is None or made in session.prepared:
        return False
    session.prepared.add(made)
    try:
        session.execute(made)
    except pymysql.err.MySQLError:
        return False
    return True


def _preparation(statement: str, number: int, names: list[str]) -> str | None:
    name = names[0] if names else ""
    match number:
        case 1049 if name:
            return f"CREATE DATABASE {_quoted(name)}"
        case 1146 | 1051 if name:
            return f"CREATE TABLE {_quoted(name)} (id INT PRIMARY KEY, col1 INT, col2 VARCHAR(64))"
        case 1054 | 1072 if name and (table := _table_of(statement)):
            return f"ALTER TABLE {table} ADD COLUMN {_quoted(name.rpartition('.')[2])} VARCHAR(64)"
        case 1091 if name and (table := _table_of(statement)):
            if re.search(rf"(?:index|key|constraint)\s+`?{re.escape(name)}", statement, re.IGNORECASE):
                return f"ALTER TABLE {table} ADD INDEX {_quoted(name)} (id)"
            return f"ALTER TABLE {table} ADD COLUMN {_quoted(name)} INT"
        case 1050 if name and "if not exists" not in statement.lower():
            return f"DROP TABLE {_quoted(name)}"
        case 1007 if name and name != "unit":
            return f"DROP DATABASE {_quoted(name)}"
    return None


def _table_of(statement: str) -> str | None:
    found = re.search(
        r"\b(?:alter\s+(?:online\s+|ignore\s+)*table\s+(?:if\s+exists\s+)?|\bon\s+|into\s+|update\s+|from\s+)((?:`[^`]+`|[\w$]+)(?:\.(?:`[^`]+`|[\w$]+))?)",
        statement,
        re.IGNORECASE,
    )
    return found[1] if found else None


def _quoted(name: str) -> str:
    return ".".join(f"`{part}`" for part in name.split(".", 1))


def user_databases(cursor: Cursor) -> list[str]:
    """Return the databases that are not the server's own."""
    cursor.execute("SHOW DATABASES")
    return [str(name) for (name,) in cursor.fetchall() if str(name).lower() not in OWN_DATABASES]


def wipe(port: int, mariadb: bool) -> None:
    """Remove every database, user and log of a server."""
    with contextlib.closing(connect(port)) as connection:
        cursor = connection.cursor()
        cursor.execute("SET SESSION sql_log_bin=0")
        cursor.execute("SET SESSION foreign_key_checks=0")
        for name in user_databases(cursor):
            cursor.execute(f"DROP DATABASE `{name.replace('`', '``')}`")
        _wipe_users(cursor, mariadb)
        if mariadb:
            cursor.execute("SET GLOBAL gtid_slave_pos=''")
        cursor.execute("RESET MASTER" if mariadb else "RESET BINARY LOGS AND GTIDS")


def _wipe_users(cursor: Cursor, mariadb: bool) -> None:
    cursor.execute("SELECT user, host" + (", is_role" if mariadb else ", 'N'") + " FROM mysql.user")
    for user, host, role in cursor.fetchall():
        if user not in OWN_USERS:
            account = f"'{user}'@'{host}'"
            with contextlib.suppress(pymysql.err.MySQLError):
                cursor.execute(f"DROP ROLE `{user}`" if role == "Y" else f"DROP USER {account}")
