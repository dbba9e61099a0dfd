"""Note about scheduled events that the replayed log makes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply.schema.ddl.rules import Rules
from paraply.schema.ddl.statement_kind import StatementKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from paraply._native import Format, Statement

__all__ = ["logged_event"]


def logged_event(statements: Iterable[Statement], log: Format, place: str) -> str | None:
    """Return a remark about statements after which a target with an active event scheduler may run an event.

    Args:
        statements: Statements that have run on the target.
        log: Format of their log.
        place: Name of their transaction for people, such as a GTID.

    Returns:
        The remark; None for statements that make or change no event.
    """
    if not any(_makes_event(statement, log) for statement in statements):
        return None
    return (
        f"the log made or changed a scheduled event ({place}), and the target's event scheduler is on: what the event changes is in the"
        " log's rows already; run SET GLOBAL event_scheduler=OFF on it until the replay has ended"
    )


def _makes_event(statement: Statement, log: Format) -> bool:
    rules = Rules.of(statement.context, mariadb=log.mariadb, version=log.version)
    kind = StatementKind.read(statement.sql.decode("utf-8", "replace"), rules)
    return kind is not None and kind.verb in ("CREATE", "ALTER") and kind.object == "EVENT"
