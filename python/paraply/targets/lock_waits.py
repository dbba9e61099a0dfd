"""Reports about the connections that hold the locks a transaction waits for (R24)."""

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
"""Stands for a connection that is not known yet: some connection waits for a row lock, and the server does not report the holder yet."""

_log = logging.getLogger("paraply.targets")

_PATIENCE = 3.0
_LONGEST = 120
#: A secret in the text of a statement; the server may have truncated the text.
_SECRET = re.compile(
    r"""(\bIDENTIFIED\b.*?\b(?:BY|AS)|\bPASSWORD|\bREPLACE)(\s*[=(]?\s*)('(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|['"].*$)""",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Holder:
    """A blocking connection.

    Attributes:
        connection: Connection number for the server's KILL statement; 0 for a prepared transaction that belongs to no connection.
        user: Account as ``user@host``; empty if not visible.
        since: Start of its transaction by the server's clock; empty if it has no transaction, or the start is not visible.
        idle: True if no statement is running.
        statement: Current or last statement; empty if not visible.
    """

    connection: int
    user: str = ""
    since: str = ""
    idle: bool = False
    statement: str = ""

    def __str__(self) -> str:
        r"""Return the description that is shown to users.

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
    """Return the second part of a sentence about a lock wait, or an empty text if no wait is known.

    Args:
        holders: Blocking connections that do not belong to this process.
        wait: The server's name for the wait, for a server that does not report the holders.
        advice: How to make the server report the holders.

    >>> sentence([Holder(17), Holder(18)])
    'waits for locks of other connections: 17, 18; end them or let them commit'
    >>> sentence([], "Waiting for table metadata lock")
    'waits for a lock (Waiting for table metadata lock), and the server does not report its holder'
    >>> sentence([])
    ''
    """
    if holders:
        return f"waits for locks of other connections: {', '.join(map(str, holders))}; end them or let them commit"
    if not wait:
        return ""
    return f"waits for a lock ({wait}), and the server does not report its holder" + (f": {advice}" if advice else "")


@contextlib.contextmanager
def telling(describe: Callable[[], str], doing: str) -> Iterator[list[str]]:
    """Report which connection blocks another one, if the ``with`` block takes longer than a few seconds.

    Args:
        describe: Returns the ``sentence`` about the wait, using another connection; called in another thread.
        doing: Subject of the sentence: the activity that waits.

    Yields:
        The reports so far; each is also logged as a warning.

    >>> with telling(lambda: "waits for a lock", "the start") as reports:
    ...     pass
    >>> reports
    []
    """
    reports: list[str] = []

    def report() -> None:
        with contextlib.suppress(ParaplyError):
            text = describe()
            if text:
                reports.append(f"{doing} {text}")
                _log.warning("%s", reports[-1])

    timer = threading.Timer(_PATIENCE, report)
    timer.daemon = True
    timer.start()
    try:
        yield reports
    finally:
        timer.cancel()
