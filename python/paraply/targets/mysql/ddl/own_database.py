"""Rows and statements of a log on the database of paraply's own tables in the target.

Those on these tables themselves are left out before (``Filters``). What remains is about other tables and objects of the database.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply.errors import UsageError
from paraply.schema.ddl.lexer import DdlSyntaxError
from paraply.schema.ddl.parse import parse
from paraply.schema.ddl.spelling import database_of, names_of
from paraply.schema.ddl.statement_kind import StatementKind
from paraply.schema.model import OWN_DATABASE, is_own_table
from paraply.wording import option_text

if TYPE_CHECKING:
    from paraply.schema.ddl.rules import Rules

__all__ = ["check_own_rows", "check_own_statement"]

_CHANGES = frozenset({"ALTER", "CREATE", "DROP", "RENAME", "TRUNCATE"})


def check_own_rows(database: str, table: str) -> None:
    """Check that rows are of no table in the database of paraply's own tables.

    Raises:
        UsageError: They are.
    """
    if database.lower() == OWN_DATABASE:
        raise _refused(f"rows of {database}.{table}", database, f"{database}.{table}")


def check_own_statement(text: str, default: str | None, rules: Rules, position: int) -> None:
    """Check that a statement does not change the database of paraply's own tables, or objects in it.

    A plain CREATE DATABASE, or CREATE TABLE of one of these tables, is allowed: it does nothing to what exists.

    Args:
        text: The statement.
        default: Its default database.
        rules: Rules by which the server parses it.
        position: Its offset in the log.

    Raises:
        UsageError: It changes it, or may change it.
    """
    if OWN_DATABASE not in text.lower() and (default or "").lower() != OWN_DATABASE:
        return
    kind = StatementKind.read(text, rules)
    if kind is not None and (kind.verb not in _CHANGES or _is_plain_create(text, default, rules, kind)):
        return
    databases = _databases(text, default, rules, kind)
    if any(name.lower() == OWN_DATABASE for name in databases):
        shown = " ".join(text.split())
        shown = shown if len(shown) <= 80 else f"{shown[:77]}..."
        raise _refused(f"a statement on the database {OWN_DATABASE} ({shown})", OWN_DATABASE, None, position)


def _is_plain_create(text: str, default: str | None, rules: Rules, kind: StatementKind) -> bool:
    if kind.verb != "CREATE" or kind.object_at != 1:
        return False
    if kind.object in ("DATABASE", "SCHEMA"):
        return True
    if kind.object != "TABLE":
        return False
    try:
        names = names_of(parse(text, rules))
    except (DdlSyntaxError, RecursionError):
        return False
    return all((owner or default or "").lower() != OWN_DATABASE or is_own_table(owner or default or "", name) for owner, name in names)


def _databases(text: str, default: str | None, rules: Rules, kind: StatementKind | None) -> list[str]:
    """Return the databases that a statement names; all its words if it cannot be parsed."""
    try:
        statement = parse(text, rules)
    except (DdlSyntaxError, RecursionError):
        return [default or "", *(token.text for token in kind.tokens)] if kind is not None else [OWN_DATABASE]
    if (name := database_of(statement)) is not None:
        return [name]
    found = [owner or default or "" for owner, _ in names_of(statement)]
    if not found and kind is not None and kind.is_about_stored_object:
        names = kind.object_names()
        found = [names[0] if len(names) > 1 else default or ""]
    return found


def _refused(what: str, database: str, table: str | None, position: int | None = None) -> UsageError:
    return UsageError(
        f"the log has {what}; paraply keeps its own tables in a database of that name in the target, and applies nothing to others there:"
        f" leave the database out with {option_text('--exclude-database', database)}, also on the channel in use (this needs --via"
        " sessions); to replicate other tables of it, move them to another database on the source",
        table=table,
        position=position,
    )
