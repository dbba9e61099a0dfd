"""The interface of the renderer, which writes rows as SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from paraply._native import Block, RenderedStatement
    from paraply.schema.model import Table
    from paraply.targets.postgres.types import TableMapping

__all__ = ["Renderer"]


class Renderer(Protocol):
    """The interface of the native renderer. Any thread may call it; ``define`` and ``forget`` only between blocks."""

    def define(self, table: Table, mapping: TableMapping) -> None:
        """Set the mapping for a table's rows."""

    def forget(self, database: str, table: str) -> None:
        """Remove a table."""

    def render(self, block: Block, *, sets: bool) -> list[RenderedStatement]:
        """Return the statements of a block: few ones for many rows, or statements in the log's order."""

    def preparation(self, name: str) -> bytes | None:
        """Return the statement that prepares the one of this name, or None if there is none."""

    def set_repeated(self, database: str, table: str) -> None:
        """Count a set of a table that failed where its rows, one after the other, did not; after some, sets leave it out."""
