"""Note about scheduled events that the replayed log makes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from paraply._native import Statement

__all__ = ["logged_event"]

_DEFINER = rb"DEFINER\s*=\s*(?:`[^`]*`|'[^']*'|\"[^\"]*\"|[^\s`'\"])+\s+"
_EVENT = re.compile(
    rb"\s*(?:/\*.*?\*/\s*)*(?:CREATE|ALTER)\s+(?:OR\s+REPLACE\s+)?(?:" + _DEFINER + rb")?EVENT\s", re.IGNORECASE | re.DOTALL
)


def logged_event(statements: list[Statement], place: str) -> str | None:
    """Return a remark about statements after which a target with an active event scheduler may run an event.

    Args:
        statements: Statements that have run on the target.
        place: Name of their transaction for people, such as a GTID.

    Returns:
        The remark; None for statements that make or change no event.
    """
    if not any(_EVENT.match(statement.sql) for statement in statements):
        return None
    return (
        f"the log made or changed a scheduled event ({place}), and the target's event scheduler is on: what the event changes is in the"
        " log's rows already; run SET GLOBAL event_scheduler=OFF on it until the replay has ended"
    )
