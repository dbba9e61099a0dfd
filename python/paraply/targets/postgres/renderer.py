"""The interface of the renderer, which writes rows as SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from paraply._native import Block
    from paraply.schema.model import Table
    from paraply.targets.postgres.types import TableMapping

__all__ = ["Rendered", "Renderer"]

Rendered = tuple[bytes, int, str]
"""SQL text, the number of rows that it must affect, the table."""


class Renderer(Protocol):
    """The interface of the native renderer. Any thread may call it; ``define`` and ``forget`` only between blocks."""

    def define(self, table: Table, mapping: TableMapping) -> None:
        """Set the mapping for a table's rows."""

    def forget(self, database: str, table: str) -> None:
        """Remove a table."""

    def render(self, block: Block) -> list[Rendered]:
        """Return the statements of a block."""
