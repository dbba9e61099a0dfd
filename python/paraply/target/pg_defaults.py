"""The value that the rows of a table get in a new column."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply.target.pg_types import ColumnMapping, quote_literal

if TYPE_CHECKING:
    from paraply.schema.model import Column

__all__ = ["fill_of"]

_LITERAL_KINDS = frozenset(
    {"integer", "unsigned", "decimal", "real", "double", "text", "enum", "set", "date", "timestamp", "interval", "year"}
)
"""Kinds whose default, as text, means the same in both servers."""

_IMPLICIT = dict.fromkeys(("integer", "unsigned", "decimal", "real", "double", "year"), "0") | {
    "text": "",
    "set": "",
    "interval": "00:00:00",
}
"""What a NOT NULL column without DEFAULT clause gets (reference manual, Data Type Default Values)."""


def fill_of(column: Column, mapping: ColumnMapping) -> str | None:
    """The value of existing rows in a new column, as a literal; None where only the source knows it.

    Args:
        column: The new column in the source.
        mapping: Its counterpart.

    >>> from paraply.schema.model import Column
    >>> from paraply.target.pg_types import ColumnMapping
    >>> fill_of(Column("n", "int"), ColumnMapping("n", "integer", "integer")) is None
    True
    """
    default = column.default
    if default is None or default.kind == "expression" or column.generated is not None:
        return None
    if default.kind == "literal" and default.text is not None:
        usable = mapping.kind in _LITERAL_KINDS and not default.text.startswith("0000-")
        return quote_literal(default.text) if usable else None
    return "NULL" if column.nullable else _implicit(mapping)


def _implicit(mapping: ColumnMapping) -> str | None:
    if mapping.kind == "enum":
        return quote_literal(mapping.labels[0])
    if mapping.kind == "varbinary":
        return r"'\x'"
    if mapping.kind == "binary":
        return "'\\x" + "00" * (mapping.length or 1) + "'"
    text = _IMPLICIT.get(mapping.kind)
    return quote_literal(text) if text is not None else None
