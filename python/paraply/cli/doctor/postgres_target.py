"""Checks of a PostgreSQL target."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from paraply.cli.doctor.finding import MOST_NAMES, Finding, error, few, good, warning
from paraply.cli.doctor.server import clock_finding
from paraply.errors import ParaplyError
from paraply.targets.postgres.privileges import check_user
from paraply.wording import counted

if TYPE_CHECKING:
    from paraply.targets.postgres.connection import PgConnection

__all__ = ["check_postgres_target"]

_OLDEST = 140_000
_STATEMENT = re.compile(r": run there (GRANT .*)")
_SCHEMAS = "n.nspname NOT IN ('pg_catalog', 'information_schema', 'paraply') AND n.nspname NOT LIKE 'pg\\_%'"
_KEYLESS = (
    "SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
    f" WHERE c.relkind = 'r' AND {_SCHEMAS} AND NOT EXISTS (SELECT 1 FROM pg_index i WHERE i.indrelid = c.oid AND i.indisunique) ORDER BY 1"
)
_TRIGGERS = (
    "SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname) || ': ' || quote_ident(t.tgname)"
    " FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid"
    f" JOIN pg_namespace n ON n.oid = c.relnamespace WHERE NOT t.tgisinternal AND t.tgenabled IN ('O', 'A') AND {_SCHEMAS} ORDER BY 1"
)


def check_postgres_target(connection: PgConnection) -> list[Finding]:
    """Return the findings on a target."""
    found = [*_server(connection), *_privileges(connection), *_clock(connection)]
    keyless = _column(connection, _KEYLESS)
    if keyless:
        many = counted(len(keyless), "table has", "tables have")
        text = f"{many} no unique key; each changed row is searched for in the whole table: {few(keyless)}"
        found.append(warning("keys", text, "; ".join(f"ALTER TABLE {name} ADD PRIMARY KEY (...)" for name in keyless[:MOST_NAMES])))
    triggers = _column(connection, _TRIGGERS)
    if triggers:
        table, _, name = triggers[0].partition(": ")
        text = f"{counted(len(triggers), 'trigger is', 'triggers are')} on, and a log with rows of their tables is refused: {few(triggers)}"
        found.append(error("triggers", text, f"ALTER TABLE {table} DISABLE TRIGGER {name}"))
    return found


def _server(connection: PgConnection) -> list[Finding]:
    version = int(_column(connection, "SHOW server_version_num")[0])
    text = f"PostgreSQL {version // 10_000}.{version % 10_000}"
    found = [good("version", text) if version >= _OLDEST else error("version", f"{text} is older than 14, which paraply was made for")]
    encoding = _column(connection, "SHOW server_encoding")[0]
    if encoding != "UTF8":
        database = _column(connection, "SELECT quote_ident(current_database() || '_utf8')")[0]
        mend = f"CREATE DATABASE {database} ENCODING 'UTF8' TEMPLATE template0"
        found.append(error("encoding", f"the database's encoding is {encoding}, not UTF8", mend))
    if _column(connection, "SHOW default_transaction_read_only")[0] == "on" or _column(connection, "SELECT pg_is_in_recovery()")[0] == "t":
        found.append(error("read only", "the server is a standby, or writes are off by default", "SELECT pg_promote()"))
    if _column(connection, "SHOW max_prepared_transactions")[0] == "0":
        found.append(good("max_prepared_transactions", "is 0, which is enough for every policy but row"))
    return found


def _privileges(connection: PgConnection) -> list[Finding]:
    try:
        check_user(connection)
    except ParaplyError as refusal:
        match = _STATEMENT.search(str(refusal))
        text = str(refusal)[: match.start()] if match is not None else str(refusal)
        return [error("privileges", text, match[1] if match is not None else None)]
    return [good("privileges", "sufficient for the progress; those on existing tables are checked before their first row")]


def _clock(connection: PgConnection) -> list[Finding]:
    before = time.time()
    there = float(_column(connection, "SELECT extract(epoch FROM clock_timestamp())")[0])
    return clock_finding(there, before, time.time())


def _column(connection: PgConnection, select: str) -> list[str]:
    """Return the first column of a question as text."""
    result = connection.run([select.encode()])[0]
    return [(result.get_value(row, 0) or b"").decode() for row in range(result.ntuples)]
