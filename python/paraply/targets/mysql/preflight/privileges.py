"""Privileges of the target's user on MySQL and MariaDB, checked before the first write; each missing one with its GRANT statement."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from paraply.errors import ApplyFailed, ServerError, UsageError
from paraply.targets.mysql.gtid_mode import ACCESS_DENIED
from paraply.targets.mysql.sql import identifier, rows_of, to_int, to_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from paraply._native import Block, TableMap
    from paraply.targets.mysql.gtid_mode import GtidMode
    from paraply.targets.mysql.server_version import ServerKind
    from paraply.targets.mysql.sql import Connection

__all__ = ["Grants", "Lack", "RowPrivileges", "account", "check_user", "lack_message", "parse_grants", "read_grants"]

_ALL = "ALL PRIVILEGES"
_NAME = r"(?:\*|`(?:[^`]|``)+`)"
_GRANT = re.compile(rf"(GRANT|REVOKE) (.+?) ON (?:TABLE )?({_NAME})\.({_NAME}) (?:TO|FROM) ", re.DOTALL)
_ROLE = re.compile(r"GRANT [`'][^ ]+ TO |SET DEFAULT ROLE |GRANT (?:PROXY|EXECUTE|.*ALTER ROUTINE).* ON (?:PROCEDURE|FUNCTION|PACKAGE|')")
_PROGRESS = ("SELECT", "INSERT", "UPDATE", "DELETE")
_ROWS = ("INSERT", "UPDATE", "DELETE")
#: Privileges for a replication connection of MariaDB, each with those that replace it.
_OF_REPLICATION = {
    ("REPLICATION SLAVE ADMIN", "REPLICATION REPLICA ADMIN", "SUPER"): "to make the replication connection",
    ("SLAVE MONITOR", "REPLICA MONITOR", "SUPER"): "to see the state of the replication connection",
    ("RELOAD",): "to remove the replication connection",
}
_TABLES = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema='paraply' AND table_name IN ('channel','progress')"


@dataclass(frozen=True, slots=True)
class Lack:
    """A missing privilege.

    Attributes:
        privilege: Name of the privilege.
        scope: Object of the privilege, in the syntax of GRANT.
        purpose: Purpose of the privilege, for the message.
    """

    privilege: str
    scope: str
    purpose: str


@dataclass(slots=True)
class Grants:
    """The privileges in SHOW GRANTS, including the privileges of active roles.

    Attributes:
        known: True if all lines were parsed; if not, no user is refused here, and the server itself reports a missing privilege.
        everywhere: Privileges on ``*.*``.
        databases: Patterns of databases' names, with the privileges on them.
        tables: Database and table, with the privileges on the table.
        revoked: Databases with the privileges that are revoked for them (MySQL's partial revokes).
    """

    known: bool = True
    everywhere: set[str] = field(default_factory=set)
    databases: list[tuple[re.Pattern[str], set[str]]] = field(default_factory=list)
    tables: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    revoked: dict[str, set[str]] = field(default_factory=dict)

    def has(self, privilege: str, database: str | None = None, table: str | None = None) -> bool:
        """Return True if the user has a privilege, on everything or on a table."""
        if not self.known:
            return True
        if database is None:
            return bool({privilege, _ALL} & self.everywhere)
        if {privilege, _ALL} & self.everywhere and not {privilege, _ALL} & self.revoked.get(database, set()):
            return True
        if any({privilege, _ALL} & granted for pattern, granted in self.databases if pattern.fullmatch(database)):
            return True
        return table is not None and bool({privilege, _ALL} & self.tables.get((database, table), set()))

    def has_any(self, *privileges: str) -> bool:
        """Return True if the user has at least one of the privileges on everything."""
        return any(self.has(privilege) for privilege in privileges)


def parse_grants(lines: Iterable[str]) -> Grants:
    r"""Parse the lines of SHOW GRANTS.

    >>> grants = parse_grants(["GRANT SELECT, INSERT ON `shop\\_1`.* TO `app`@`%`", "GRANT `role`@`%` TO `app`@`%`"])
    >>> grants.has("INSERT", "shop_1", "item"), grants.has("INSERT", "shopx1", "item"), grants.has("DELETE", "shop_1", "item")
    (True, False, False)
    """
    grants = Grants()
    for line in lines:
        match = _GRANT.match(line)
        if match is None:
            grants.known = grants.known and _ROLE.match(line) is not None
            continue
        verb, words, database, table = match.groups()
        privileges = {word.strip().upper() for word in re.sub(r"\([^)]*\)", "()", words).split(",")}
        privileges = {word for word in privileges if not word.endswith(")")}  # privileges on single columns do not cover a table
        _take(grants, verb, privileges, _unquoted(database), _unquoted(table))
    return grants


def _take(grants: Grants, verb: str, privileges: set[str], database: str, table: str) -> None:
    if verb == "REVOKE":
        grants.revoked.setdefault(database, set()).update(privileges)
    elif database == "*":
        grants.everywhere |= privileges
    elif table == "*":
        grants.databases.append((_pattern(database), privileges))
    else:
        grants.tables.setdefault((database, table), set()).update(privileges)


def _unquoted(name: str) -> str:
    return name if name == "*" else name[1:-1].replace("``", "`")


def _pattern(database: str) -> re.Pattern[str]:
    """Return the pattern for a database's name in a grant, in which ``_`` and ``%`` are wildcards unless escaped by a backslash."""
    parts = re.findall(r"\\.|.", database, re.DOTALL)
    wild = {"_": ".", "%": ".*"}
    return re.compile("".join(wild.get(part) or re.escape(part[-1]) for part in parts), re.DOTALL)


def read_grants(connection: Connection) -> Grants:
    """Return the grants of the connection's user."""
    try:
        rows = rows_of(connection.query("SHOW GRANTS"))
    except ServerError:
        return Grants(known=False)
    return parse_grants(to_text(row[0]) for row in rows)


def check_user(connection: Connection, server: ServerKind, mode: GtidMode) -> Grants:
    """Check the privileges that an apply in this mode needs, except for the log's own tables; write nothing.

    Returns:
        The privileges of the user.

    Raises:
        UsageError: Privileges are missing; the message names all of them with their GRANT statements.
    """
    grants = read_grants(connection)
    lacks = _lacks_mariadb(connection, grants, mode) if server.mariadb else _lacks_mysql(connection, server, grants, mode)
    lacks += _lacks_progress(connection, grants)
    if lacks:
        raise UsageError(lack_message(lacks, account(connection)))
    return grants


def lack_message(lacks: list[Lack], who: str) -> str:
    """Return the message about missing privileges, with the statements that grant them.

    >>> lack_message([Lack("BINLOG ADMIN", "*.*", "to leave the binlog out")], "'app'@'%'")
    "the target's user 'app'@'%' lacks BINLOG ADMIN (to leave the binlog out): run there GRANT BINLOG ADMIN ON *.* TO 'app'@'%'"
    """
    what = ", ".join(f"{lack.privilege}{'' if lack.scope == '*.*' else f' on {lack.scope}'} ({lack.purpose})" for lack in lacks)
    scopes = dict.fromkeys(lack.scope for lack in lacks)
    statements = [
        f"GRANT {', '.join(dict.fromkeys(lack.privilege for lack in lacks if lack.scope == scope))} ON {scope} TO {who}" for scope in scopes
    ]
    return f"the target's user {who} lacks {what}: run there {'; '.join(statements)}"


def account(connection: Connection) -> str:
    """Return the account whose privileges are in force, in the syntax of GRANT."""
    user, _, host = to_text(rows_of(connection.query("SELECT CURRENT_USER()"))[0][0]).rpartition("@")
    return "@".join("'" + part.replace("\\", "\\\\").replace("'", "''") + "'" for part in (user, host))


def _lacks_mysql(connection: Connection, server: ServerKind, grants: Grants, mode: GtidMode) -> list[Lack]:
    if server.version < (8, 0, 0):
        missing = not _may_binlog(connection) or not grants.has("SUPER")
        return [Lack("SUPER", "*.*", "to hand over row events")] if missing else []
    lacks = []
    if not _may_binlog(connection):
        name = "REPLICATION_APPLIER" if server.version >= (8, 0, 18) else "BINLOG_ADMIN"
        lacks.append(Lack(name, "*.*", "to hand over row events"))
    if not grants.has_any("SYSTEM_VARIABLES_ADMIN", "SUPER"):
        purpose = "for the variables that a logged statement ran under"
        if mode.name == "record":
            lacks.append(Lack("SYSTEM_VARIABLES_ADMIN", "*.*", "to leave the binlog out, and to record the GTIDs at the end"))
        elif not grants.has("SESSION_VARIABLES_ADMIN"):
            lacks.append(
                Lack("SYSTEM_VARIABLES_ADMIN", "*.*", f"to leave the binlog out, and {purpose}" if mode.name == "preserve" else purpose)
            )
    return lacks


def _lacks_mariadb(connection: Connection, grants: Grants, mode: GtidMode) -> list[Lack]:
    lacks = []
    if not _may_binlog(connection):
        lacks.append(Lack("BINLOG REPLAY", "*.*", "to hand over row events"))
    if mode.name in ("record", "preserve") and not grants.has_any("BINLOG ADMIN", "SUPER"):
        lacks.append(Lack("BINLOG ADMIN", "*.*", "to leave the binlog out"))
    if mode.name == "record" and not grants.has_any("REPLICATION SLAVE ADMIN", "REPLICATION REPLICA ADMIN", "SUPER"):
        lacks.append(Lack("REPLICATION SLAVE ADMIN", "*.*", "to record the GTIDs at the end"))
    if mode.by_replication:
        lacks += [Lack(names[0], "*.*", purpose) for names, purpose in _OF_REPLICATION.items() if not grants.has_any(*names)]
    return lacks


def _may_binlog(connection: Connection) -> bool:
    """Return True if the user may run BINLOG, tested with an empty one.

    Without the privilege, the server reports another error; privileges through roles count.

    A user without the privilege, even through roles, gets another error.
    """
    try:
        connection.query("BINLOG ''")
    except ServerError as error:
        return error.code not in ACCESS_DENIED
    return True


def _lacks_progress(connection: Connection, grants: Grants) -> list[Lack]:
    """Return the privileges missing for the progress tables. The privilege CREATE is not needed if both tables exist."""
    there = to_int(rows_of(connection.query(_TABLES))[0][0]) == 2
    needed = _PROGRESS if there else (*_PROGRESS, "CREATE")
    missing = [name for name in needed if not all(grants.has(name, "paraply", table) for table in ("channel", "progress"))]
    return [Lack(name, "paraply.*", "to keep the progress" if name != "CREATE" else "to make its tables") for name in missing]


class RowPrivileges:
    """The check of privileges for changing rows of the log's tables. MySQL only reports "Unknown error" if such a privilege is missing.

    Args:
        grants: The privileges of the user.
    """

    def __init__(self, grants: Grants) -> None:
        self._grants = grants
        self._lacking: dict[tuple[str, str], frozenset[str]] = {}
        self.everything = not grants.revoked and all(grants.has(name) for name in _ROWS)
        """True if the user may change rows of every table."""

    def check(self, connect: Callable[[], Connection], block: Block, maps: Sequence[TableMap]) -> None:
        """Check the privileges on the tables of a block, before its rows are applied.

        Args:
            connect: Returns any connection to the target.
            block: The block.
            maps: Its table maps.

        Raises:
            ApplyFailed: A privilege is missing for a row of the block; the message names it with its GRANT statement.
        """
        if self.everything:
            return
        for table_map in maps:
            database, table = table_map.database, table_map.table
            lacking = self._of(database, table)
            if lacking and (missing := lacking & _kinds(block, database, table)):
                scope = f"{identifier(database)}.{identifier(table)}"
                message = lack_message([Lack(name, scope, "for rows of the log") for name in sorted(missing)], account(connect()))
                raise ApplyFailed(message, table=f"{database}.{table}")

    def _of(self, database: str, table: str) -> frozenset[str]:
        key = (database, table)
        if key not in self._lacking:
            self._lacking[key] = frozenset(name for name in _ROWS if not self._grants.has(name, database, table))
        return self._lacking[key]


def _kinds(block: Block, database: str, table: str) -> set[str]:
    kinds = {(True, False): "DELETE", (False, True): "INSERT", (True, True): "UPDATE"}
    changes = block.changes(database, table, [], block.rows)
    return {kinds[before is not None, after is not None] for before, after in changes if before is not None or after is not None}
