"""How the target has rows written as SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from paraply._native import Block
    from paraply.schema.model import Table
    from paraply.targets.postgres.types import TableMapping

__all__ = ["Rendered", "Renderer"]

Rendered = tuple[bytes, int, str]
"""SQL text, the rows that it must affect, the table."""


class Renderer(Protocol):
    """What the target needs of the native renderer. Any thread may call it; ``define`` and ``forget`` only between blocks."""

    def define(self, table: Table, mapping: TableMapping) -> None:
        """Says how a table's rows are written."""

    def forget(self, database: str, table: str) -> None:
        """A table is gone."""

    def render(self, block: Block) -> list[Rendered]:
        """The statements of a block."""
