"""A MySQL or MariaDB server to check: its version, its variables, and questions to it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from paraply.cli.doctor.finding import MOST_NAMES, Finding, error, few, good, warning
from paraply.errors import ServerError
from paraply.targets.mysql.preflight.privileges import read_grants
from paraply.targets.mysql.server_version import ServerKind
from paraply.targets.mysql.sql import identifier, name_literal, rows_of, to_text
from paraply.wording import counted, name_for_people

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paraply.targets.mysql.sql import Connection

__all__ = ["CheckedServer", "clock_finding"]

_OLDEST = {False: (5, 7, 0), True: (10, 4, 0)}
_SYSTEM = "('mysql','sys','information_schema','performance_schema','paraply')"
_TABLES = (
    "SELECT t.table_schema, t.table_name FROM information_schema.tables t"
    f" WHERE t.table_type='BASE TABLE' AND t.table_schema NOT IN {_SYSTEM}"
)
_CLOCK_SECONDS = 2.0


class CheckedServer:
    """A MySQL or MariaDB server; its connection stays with the caller."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.kind = ServerKind.parse(connection.server_version)
        self.grants = read_grants(connection)
        self.variables = {to_text(name).lower(): to_text(value) for name, value in self.rows("SHOW GLOBAL VARIABLES")}

    @property
    def connection(self) -> Connection:
        """The connection."""
        return self._connection

    def rows(self, select: str) -> list[tuple[Any, ...]]:
        """Return the rows of a question."""
        return rows_of(self._connection.query(select))

    def names(self, select: str) -> list[str]:
        """Return the first column as text; empty if the user may not ask."""
        try:
            return [to_text(row[0]) for row in self.rows(select)]
        except ServerError:
            return []

    def tables(self, select: str) -> list[tuple[str, str]]:
        """Return databases and tables, the first two columns; empty if the user may not ask."""
        try:
            return [(to_text(row[0]), to_text(row[1])) for row in self.rows(select)]
        except ServerError:
            return []

    def is_on(self, name: str) -> bool:
        """Return True if a variable is on."""
        return self.variables.get(name, "OFF").upper() in ("ON", "1", "YES")

    def set_statement(self, name: str, value: str) -> str:
        """Return the statement that sets a variable, also after a restart where the server can keep it."""
        if not self.kind.mariadb and self.kind.version >= (8, 0, 0):
            return f"SET PERSIST {name}={value}"
        return f"SET GLOBAL {name}={value} -- and {name}={value} in the option file, for the next start"

    def gtid_statements(self) -> str:
        """Return the statements that switch GTIDs of a MySQL on, one step after the other as the server wants it."""
        steps = ("enforce_gtid_consistency=ON", "gtid_mode=OFF_PERMISSIVE", "gtid_mode=ON_PERMISSIVE", "gtid_mode=ON")
        done = {"OFF_PERMISSIVE": 2, "ON_PERMISSIVE": 3}.get(self.variables.get("gtid_mode", "OFF").upper(), 0)
        word = "PERSIST" if self.kind.version >= (8, 0, 0) else "GLOBAL"
        return "; ".join(f"SET {word} {step}" for step in steps[done:])

    def version_finding(self) -> Finding:
        """Check the version."""
        name = "MariaDB" if self.kind.mariadb else "MySQL"
        text = f"{name} {'.'.join(map(str, self.kind.version))}"
        if self.kind.version < _OLDEST[self.kind.mariadb]:
            oldest = ".".join(map(str, _OLDEST[self.kind.mariadb][:2]))
            return error("version", f"{text} is older than {oldest}, the oldest that paraply was made for")
        return good("version", text)

    def clock_findings(self) -> list[Finding]:
        """Compare the server's clock with the one of this machine."""
        before = time.time()
        there = float(to_text(self.rows("SELECT CAST(UNIX_TIMESTAMP(NOW(6)) AS CHAR)")[0][0]))
        return clock_finding(there, before, time.time())

    def table_findings(self) -> list[Finding]:
        """Look for tables without transactions and tables without keys."""
        found = []
        plain = self.tables(
            f"{_TABLES} AND t.engine NOT IN (SELECT engine FROM information_schema.engines WHERE transactions='YES')"
            " ORDER BY t.table_schema, t.table_name"
        )
        if plain:
            many = counted(len(plain), "table has", "tables have")
            text = f"{many} no transactions, refused without --allow-nontransactional: {few(_names(plain))}"
            found.append(error("engines", text, f"ALTER TABLE {_quoted(plain[0])} ENGINE=InnoDB"))
        keyless = self.tables(
            f"{_TABLES} AND NOT EXISTS (SELECT 1 FROM information_schema.statistics s WHERE s.table_schema=t.table_schema"
            " AND s.table_name=t.table_name AND s.non_unique=0 GROUP BY s.index_name HAVING SUM(s.nullable='YES')=0)"
            " ORDER BY t.table_schema, t.table_name"
        )
        if keyless:
            many = counted(len(keyless), "table has", "tables have")
            mends = [f"ALTER TABLE {_quoted(table)} ADD PRIMARY KEY ({self._key_columns(*table)})" for table in keyless[:MOST_NAMES]]
            found.append(
                warning(
                    "keys",
                    f"{many} no unique key of NOT NULL columns; transactions on such a table run"
                    f" one after the other, and each changed row is searched for in the whole table: {few(_names(keyless))}",
                    "; ".join(mends),
                )
            )
        return found or [good("tables", self._all_well())]

    def _key_columns(self, database: str, table: str) -> str:
        """Return the columns of a unique key that takes NULL, which becomes the primary key if no row has a NULL; else three dots."""
        keys: dict[str, list[str]] = {}
        where = f"table_schema={name_literal(database)} AND table_name={name_literal(table)} AND non_unique=0"
        select = (
            f"SELECT index_name, column_name, sub_part FROM information_schema.statistics WHERE {where} ORDER BY index_name, seq_in_index"
        )
        for name, column, part in self.rows(select):
            keys.setdefault(to_text(name), []).append("" if column is None or part is not None else identifier(to_text(column)))
        return next((", ".join(columns) for columns in keys.values() if all(columns)), "...")

    def _all_well(self) -> str:
        """Return the text for tables without faults; the server shows a user only tables on which it has a privilege."""
        seen = len(self.tables(_TABLES))
        if not seen:
            return "this user sees none: either there are none, or it has no privilege on them, and they were not checked"
        return f"all {seen:,} that this user sees have transactions and a key"


def clock_finding(there: float, before: float, after: float) -> list[Finding]:
    """Compare a server's clock with the one of this machine, which was read before and after the question.

    >>> clock_finding(100.0, 99.9, 100.1)[0].level, clock_finding(70.0, 99.9, 100.1)[0].text
    ('good', "the server's clock is 29.9 s behind the one of this machine; lag, and times to stop at, are wrong by that")
    """
    apart = max(before - there, there - after, 0.0)
    if apart <= _CLOCK_SECONDS:
        return [good("clock", "agrees with the one of this machine")]
    side = "behind" if there < before else "ahead of"
    text = f"the server's clock is {apart:.1f} s {side} the one of this machine; lag, and times to stop at, are wrong by that"
    return [warning("clock", text, "$ chronyc makestep")]


def _names(tables: Sequence[tuple[str, str]]) -> list[str]:
    return [name_for_people(*table) for table in tables]


def _quoted(table: tuple[str, str]) -> str:
    return ".".join(map(identifier, table))
