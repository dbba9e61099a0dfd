"""The prepared statements of one connection."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from paraply.targets.postgres.connection import StatementFailed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paraply._native import RenderedStatement
    from paraply.targets.postgres.connection import PgConnection
    from paraply.targets.postgres.rows.renderer import Renderer

__all__ = ["PreparedStatements"]

MOST_PREPARED = 256
"""Most prepared statements of a connection: each of them holds its plan in the server's memory."""


class PreparedStatements:
    """Prepares statements before their first use on a connection, and drops those that were not used for the longest time.

    Args:
        connection: The connection.
        renderer: Knows the statements by their names.
        most: Most statements that stay prepared.
    """

    def __init__(self, connection: PgConnection, renderer: Renderer, *, most: int = MOST_PREPARED) -> None:
        self._connection = connection
        self._renderer = renderer
        self._most = most
        self._names: OrderedDict[str, None] = OrderedDict()
        self._unknown = False

    def prepare(self, rendered: Sequence[RenderedStatement]) -> None:
        """Prepare what these statements execute.

        Raises:
            StatementFailed: The server refused a statement.
            ConnectionLost: The connection broke.
        """
        needed = dict.fromkeys(each.prepared for each in rendered if each.prepared is not None)
        missing = [name for name in needed if name not in self._names]
        for name in needed.keys() & self._names.keys():
            self._names.move_to_end(name)
        if not missing:
            return
        statements = [b"DEALLOCATE ALL"] if self._unknown else []
        dropped = max(0, len(self._names) + len(missing) - self._most)
        unused = [name for name in self._names if name not in needed][:dropped]
        statements += [f"DEALLOCATE {name}".encode() for name in unused]
        statements += [text for text in map(self._renderer.preparation, missing) if text is not None]
        try:
            self._connection.run(statements)
        except StatementFailed:
            self.forget()
            raise
        self._unknown = False
        for name in unused:
            del self._names[name]
        self._names.update(dict.fromkeys(missing))

    def forget(self) -> None:
        """Forget what is prepared, because the server may know something else; the next ``prepare`` begins anew."""
        self._names.clear()
        self._unknown = True
