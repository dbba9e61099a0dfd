"""Changes of a column's type that mean the same in MySQL and in PostgreSQL."""

from __future__ import annotations

from paraply.target.pg_types import ColumnMapping, quote_identifier

__all__ = ["retype"]

_NUMBERS = frozenset({"integer", "unsigned", "decimal"})
_TEXTS = frozenset({"text", "enum"})


def retype(old: ColumnMapping, new: ColumnMapping) -> str | None:
    """The expression that turns the column's old values (under its new name) into new ones; None where the servers may differ.

    What does not fit the new type is an error in the target, as it is in the source in strict mode.

    >>> from paraply.target.pg_types import ColumnMapping
    >>> retype(ColumnMapping("n", "integer", "integer"), ColumnMapping("n", "integer", "bigint"))
    '"n"'
    """
    column = quote_identifier(new.name)
    if old.kind == new.kind:
        return column if _same_kind(old, new) else _padded(column, old, new)
    if old.kind in _NUMBERS and new.kind in _NUMBERS | {"double"}:
        return column
    if (old.kind, new.kind) in {("real", "double"), ("double", "real"), ("year", "integer"), ("date", "timestamp")}:
        return column
    if old.kind in _NUMBERS and new.kind == "text":
        return f"{column}::text"
    if old.kind in _TEXTS and new.kind == "text":
        return column
    if (old.kind, new.kind) == ("binary", "varbinary"):
        return column
    return None


def _same_kind(old: ColumnMapping, new: ColumnMapping) -> bool:
    """Whether values stay what they are when only the column's details change."""
    match old.kind:
        case "enum" | "set":
            return set(old.labels) <= set(new.labels) and (old.kind == "enum" or new.labels[: len(old.labels)] == old.labels)
        case "binary":
            return old.length == new.length
        case "bit":
            return old.sql_type == new.sql_type
        case _:
            return True


def _padded(column: str, old: ColumnMapping, new: ColumnMapping) -> str | None:
    """A wider BINARY gets zero bytes at its end."""
    if old.kind == "binary" and (old.length or 1) < (new.length or 1):
        missing = (new.length or 1) - (old.length or 1)
        return f"{column} || '\\x{'00' * missing}'::bytea"
    return None
