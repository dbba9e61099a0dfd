"""Rows and statements of a log that would change paraply's own tables on the target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply.errors import UsageError
from paraply.schema.ddl.lexer import DdlSyntaxError
from paraply.schema.ddl.parse import parse
from paraply.schema.ddl.spelling import database_of, names_of
from paraply.schema.ddl.statement_kind import StatementKind
from paraply.schema.model import OWN_DATABASE
from paraply.wording import option_text

if TYPE_CHECKING:
    from paraply.schema.ddl.rules import Rules

__all__ = ["check_own_rows", "check_own_statement"]

_CHANGES = frozenset({"ALTER", "CREATE", "DROP", "RENAME", "TRUNCATE"})
_HARMLESS = frozenset({"DATABASE", "SCHEMA", "TABLE"})
"""Objects whose plain CREATE changes nothing that exists."""
_UNDO_HISTORY = "undo_history"
_PROGRESS = "where an apply into the source keeps its progress, as this one does in the target"


def check_own_rows(database: str, table: str) -> None:
    """Check that rows are none of paraply's own of the source: the progress of applies into it, or the history of its undos.

    They would overwrite those of the target, such as the progress of this run.

    Raises:
        UsageError: They are.
    """
    if database.lower() == OWN_DATABASE:
        content = "where paraply undo records what it took back in the source" if table.lower() == _UNDO_HISTORY else _PROGRESS
        raise _refused(f"rows of {database}.{table}", database, f"{database}.{table}", content=content)


def check_own_statement(text: str, default: str | None, rules: Rules, position: int) -> None:
    """Check that a statement does not change paraply's own tables, such as those of an apply into the source.

    A plain CREATE DATABASE or CREATE TABLE is allowed: it does nothing to a table that exists.

    Args:
        text: The statement.
        default: Its default database.
        rules: Rules by which the server parses it.
        position: Its offset in the log.

    Raises:
        UsageError: It changes one of them, or may change one.
    """
    if OWN_DATABASE not in text.lower() and (default or "").lower() != OWN_DATABASE:
        return
    kind = StatementKind.read(text, rules)
    if kind is not None and (kind.verb not in _CHANGES or _is_plain_create(kind)):
        return
    databases = _databases(text, default, rules, kind)
    if any(name.lower() == OWN_DATABASE for name in databases):
        shown = " ".join(text.split())
        shown = shown if len(shown) <= 80 else f"{shown[:77]}..."
        raise _refused(f"a statement on the database {OWN_DATABASE} ({shown})", OWN_DATABASE, None, position)


def _is_plain_create(kind: StatementKind) -> bool:
    return kind.verb == "CREATE" and kind.object_at == 1 and kind.object in _HARMLESS


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


def _refused(what: str, database: str, table: str | None, position: int | None = None, *, content: str = _PROGRESS) -> UsageError:
    return UsageError(
        f"the log has {what}, {content}: leave it out with {option_text('--exclude-database', database)}, also on the channel in use; this"
        " needs --via sessions",
        table=table,
        position=position,
    )
