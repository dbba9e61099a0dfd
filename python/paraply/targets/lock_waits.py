"""Telling who holds the locks that a transaction waits for (R24)."""

from __future__ import annotations

import contextlib
import logging
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from paraply.errors import ParaplyError

__all__ = ["UNTOLD", "Holder", "sentence", "telling"]

UNTOLD = -1
"""In place of a connection: somebody waits for a row lock, and the server does not tell yet who holds it."""

_log = logging.getLogger("paraply.targets")

_PATIENCE = 3.0
_LONGEST = 120
#: A secret in somebody's statement, whose text the server may have cut off.
_SECRET = re.compile(
    r"""(\bIDENTIFIED\b.*?\b(?:BY|AS)|\bPASSWORD|\bREPLACE)(\s*[=(]?\s*)('(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|['"].*$)""",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Holder:
    """A connection that is in the way.

    Attributes:
        connection: Its number, as the server's KILL takes it; 0 for a prepared transaction, which no connection has.
        user: Whose it is: ``user@host``; empty if that cannot be seen.
        since: When its transaction began, on the server's clock; empty if it has none, or that cannot be seen.
        idle: Whether it runs nothing at the moment.
        statement: What it runs, or ran last; empty if that cannot be seen.
    """

    connection: int
    user: str = ""
    since: str = ""
    idle: bool = False
    statement: str = ""

    def __str__(self) -> str:
        r"""For people.

        >>> str(Holder(17, "app@db1", "2026-03-01 14:07:00", True, "UPDATE  t\n SET a=1"))
        '17 (app@db1, in a transaction since 2026-03-01 14:07:00, idle after: UPDATE t SET a=1)'
        >>> str(Holder(17)), str(Holder(18, "app@db1", statement="ALTER TABLE t ADD b INT"))
        ('17', '18 (app@db1, runs: ALTER TABLE t ADD b INT)')
        >>> str(Holder(19, statement="ALTER USER a IDENTIFIED WITH x BY 'it''s' REPLACE 'old', b IDENTIFIED BY \"two\""))
        "19 (runs: ALTER USER a IDENTIFIED WITH x BY '...' REPLACE '...', b IDENTIFIED BY '...')"
        """
        statement = _SECRET.sub(r"\1\2'...'", " ".join(self.statement.split()))
        if len(statement) > _LONGEST:
            statement = statement[: _LONGEST - 3] + "..."
        known = [self.user, f"in a transaction since {self.since}" if self.since else ""]
        known.append(f"{'idle after' if self.idle else 'runs'}: {statement}" if statement else "idle" if self.idle else "")
        text = ", ".join(part for part in known if part)
        if not self.connection:
            return f"a prepared transaction that no connection has ({self.statement})"
        return f"{self.connection} ({text})" if text else str(self.connection)


def sentence(holders: Sequence[Holder], wait: str = "", advice: str = "") -> str:
    """What is said of a wait; empty where nothing is known of one.

    Args:
        holders: Those in the way that are not ours.
        wait: The server's own word for the wait, where it does not tell who is in the way.
        advice: What would make it tell.

    >>> sentence([Holder(17), Holder(18)])
    'waits for locks of connections that are not ours: 17, 18; end them or let them commit'
    >>> sentence([], "Waiting for table metadata lock")
    'waits for a lock that others hold (Waiting for table metadata lock), and the server does not tell who'
    >>> sentence([])
    ''
    """
    if holders:
        return f"waits for locks of connections that are not ours: {', '.join(map(str, holders))}; end them or let them commit"
    if not wait:
        return ""
    return f"waits for a lock that others hold ({wait}), and the server does not tell who" + (f": {advice}" if advice else "")


@contextlib.contextmanager
def telling(describe: Callable[[], str], doing: str) -> Iterator[list[str]]:
    """Says who holds a connection up that is at work while the block lasts, where that takes long.

    Args:
        describe: Finds the ``sentence`` about the wait, over another connection; called in another thread.
        doing: What is said to wait.

    Yields:
        What was said, also to the log.

    >>> with telling(lambda: "waits for a lock", "the start") as said:
    ...     pass
    >>> said
    []
    """
    said: list[str] = []

    def look() -> None:
        with contextlib.suppress(ParaplyError):
            text = describe()
            if text:
                said.append(f"{doing} {text}")
                _log.warning("%s", said[-1])

    timer = threading.Timer(_PATIENCE, look)
    timer.daemon = True
    timer.start()
    try:
        yield said
    finally:
        timer.cancel()
