"""The value that the rows of a table get in a new column."""

from __future__ import annotations

import ipaddress
import uuid
from typing import TYPE_CHECKING

from paraply.target.pg_types import ColumnMapping, quote_literal

if TYPE_CHECKING:
    from paraply.schema.model import Column

__all__ = ["fill_of"]

_LITERAL_KINDS = frozenset(
    {"integer", "unsigned", "decimal", "real", "double", "text", "enum", "set", "date", "timestamp", "interval", "year"}
)
"""Kinds whose default, as text, means the same in both servers."""

_ADDRESSES = frozenset({"uuid", "inet4", "inet6"})

_IMPLICIT = dict.fromkeys(("integer", "unsigned", "decimal", "real", "double", "year"), "0") | {
    "text": "",
    "set": "",
    "interval": "00:00:00",
    "uuid": "00000000-0000-0000-0000-000000000000",
    "inet4": "0.0.0.0",
    "inet6": "::",
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
    if default is None or default.kind in {"automatic", "expression"} or column.generated is not None:
        return None
    if default.kind == "literal" and default.text is not None:
        if mapping.kind in _ADDRESSES:
            return _address(mapping.kind, default.text)
        usable = mapping.kind in _LITERAL_KINDS and not default.text.startswith("0000-")
        return quote_literal(default.text) if usable else None
    return "NULL" if column.nullable else _implicit(mapping)


def _address(kind: str, text: str) -> str | None:
    """The literal of a UUID or an address; None where its text may mean something else in the target.

    MariaDB takes hyphens anywhere in a UUID, and zeros in front of a part of an INET4, which it reads as decimal.

    >>> print(_address("uuid", "6CCD780CBABA1026-95645B8C656024DB"), _address("inet4", "010.1.2.3"), _address("inet6", "1.2.3.4"))
    '6ccd780c-baba-1026-9564-5b8c656024db' '10.1.2.3' '::ffff:1.2.3.4'
    """
    try:
        if kind == "uuid":
            return quote_literal(str(uuid.UUID(hex=text.replace("-", ""))))
        if kind == "inet4" or ":" not in text:
            address = ipaddress.IPv4Address(".".join(str(int(part)) for part in text.split(".")))
            return quote_literal(f"{'' if kind == 'inet4' else '::ffff:'}{address}")
        return quote_literal(str(ipaddress.IPv6Address(text)))
    except ValueError:
        return None


def _implicit(mapping: ColumnMapping) -> str | None:
    if mapping.kind == "enum":
        return quote_literal(mapping.labels[0])
    if mapping.kind == "varbinary":
        return r"'\x'"
    if mapping.kind == "binary":
        return "'\\x" + "00" * (mapping.length or 0) + "'"
    text = _IMPLICIT.get(mapping.kind)
    return quote_literal(text) if text is not None else None
