"""Changes of a column's type with the same effect in MySQL and in PostgreSQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply.targets.postgres.types import SINGLE_BYTE, UNICODE, ColumnMapping, quote_identifier

if TYPE_CHECKING:
    from paraply.schema.model import Column

__all__ = ["keeps_values", "retype"]

_NUMBERS = frozenset({"integer", "unsigned", "decimal"})
_TEXTS = frozenset({"text", "enum", "set"})


_FRACTIONS = frozenset({"time", "datetime", "timestamp"})
_BITS = {"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}
#: Digits of the largest number of each integer type, with a sign and UNSIGNED.
_DIGITS = {"tinyint": (3, 3), "smallint": (5, 5), "mediumint": (7, 8), "int": (10, 10), "bigint": (19, 20)}
#: Largest number of bytes in each type.
_BYTES = {"tinyblob": 255, "blob": 65535, "mediumblob": 16777215, "longblob": 4294967295}
#: Guaranteed and largest number of characters in each type.
_CAPACITIES = {
    "tinytext": (63, 255),
    "text": (16383, 65535),
    "mediumtext": (4194303, 16777215),
    "longtext": (1073741823, 4294967295),
}


def keeps_values(old: Column, new: Column, *, strict: bool) -> bool:
    """Return True if the source converts the rows of a column to the same values as ``retype``.

    When a column loses fractional digits of a second, MySQL rounds and MariaDB truncates. Under a strict sql_mode, a value that does not
    fit is an error on the source, so no log has such a statement. Otherwise, the source changes the value.

    Args:
        old: The source's column before the change.
        new: The source's column after the change.
        strict: True if the statement ran under a strict sql_mode.

    >>> from paraply.schema.model import Column
    >>> number, unsigned = Column("n", "int"), Column("n", "int", unsigned=True)
    >>> keeps_values(number, unsigned, strict=True), keeps_values(number, unsigned, strict=False)
    (True, False)
    >>> keeps_values(Column("n", "int", unsigned=True, zerofill=True), Column("n", "varchar", 10, charset="utf8mb4"), strict=True)
    False
    >>> keeps_values(Column("t", "time", scale=3), Column("t", "time"), strict=True)
    False
    """
    if old.zerofill and new.charset is not None:  # the source stores the zeros that it showed before
        return False
    if old.type in _FRACTIONS and new.type in _FRACTIONS and (new.scale or 0) < (old.scale or 0):
        return False
    return strict or _fits(old, new)


def _fits(old: Column, new: Column) -> bool:
    """Return True if every value of the old type fits into the new one."""
    if (old.type, old.length, old.scale, old.unsigned, old.charset) == (new.type, new.length, new.scale, new.unsigned, new.charset):
        return set(old.labels) <= set(new.labels)
    if old.type in _BITS and new.type in _BITS:
        more = _BITS[new.type] - _BITS[old.type]
        return more >= 0 if old.unsigned == new.unsigned else more > 0 and old.unsigned
    if _is_number(old):
        return _fits_numbers(old, new)
    if old.charset not in (new.charset, None) and new.charset != "utf8mb4":
        return False
    bytes_before, bytes_after = _most_bytes(old), _most_bytes(new)
    if bytes_before is not None and bytes_after is not None:
        return bytes_before <= bytes_after
    capacity = _capacity(new)
    if capacity is not None:
        longest = _longest_label(old) if old.labels else (_capacity(old) or (0, capacity[0] + 1))[1]
        return longest <= capacity[0]
    if (old.type, new.type) in {("date", "datetime"), ("year", "smallint"), ("year", "mediumint"), ("year", "int"), ("year", "bigint")}:
        return True
    return old.type in _FRACTIONS and old.type == new.type


def _is_number(column: Column) -> bool:
    return column.type in _BITS or column.type in {"decimal", "float", "double"}


def _fits_numbers(old: Column, new: Column) -> bool:
    """Return True if a type other than a shorter or longer integer holds every number of the old type."""
    if new.unsigned and not old.unsigned:
        return False
    if new.type == "double" and new.length is None:
        return True
    if old.type not in _BITS and old.type != "decimal":
        return False
    scale = (old.scale or 0) if old.type == "decimal" else 0
    whole = (old.length or 10) - scale if old.type == "decimal" else _DIGITS[old.type][old.unsigned]
    if new.type == "decimal":
        return (new.length or 10) - (new.scale or 0) >= whole and (new.scale or 0) >= scale
    capacity = _capacity(new)
    return capacity is not None and max(whole, 1) + (scale and scale + 1) + (not old.unsigned) <= capacity[0]


def _longest_label(column: Column) -> int:
    """Return the number of characters in the longest value of an ENUM or SET."""
    if column.type == "set":
        return sum(map(len, column.labels)) + len(column.labels) - 1
    return max(map(len, column.labels))


def _most_bytes(column: Column) -> int | None:
    """Return the largest number of bytes in a column of bytes, or None for other types."""
    if column.type in {"binary", "varbinary"} or (column.charset == "binary" and column.type in {"char", "varchar"}):
        return 1 if column.length is None else column.length
    return _BYTES.get(column.type)


def _capacity(column: Column) -> tuple[int, int] | None:
    """Return the guaranteed and the largest number of characters in a text column, or None for other types."""
    if column.type in {"char", "varchar"}:
        length = 1 if column.length is None else column.length
        return length, length
    return _CAPACITIES.get(column.type)


def retype(old: ColumnMapping, new: ColumnMapping) -> str | None:
    """Return the expression that converts the column's old values, under its new name; None if the servers may differ.

    A value that does not fit the new type is an error in the target, like on the source in strict mode.

    >>> from paraply.targets.postgres.types import ColumnMapping
    >>> retype(ColumnMapping("n", "integer", "integer"), ColumnMapping("n", "integer", "bigint"))
    '"n"'
    """
    column = quote_identifier(new.name)
    if old.kind == new.kind:
        return column if _same_kind(old, new) else _padded(column, old, new)
    if old.kind in _NUMBERS and new.kind in _NUMBERS | {"double"}:
        return column
    if (old.kind, new.kind) in {("real", "double"), ("double", "real"), ("year", "integer"), ("year", "unsigned"), ("date", "timestamp")}:
        return column
    if old.kind in _NUMBERS and new.kind == "text":
        return f"{column}::text"
    if old.kind in _TEXTS and new.kind == "text":
        return column
    if (old.kind, new.kind) == ("binary", "varbinary"):
        return column
    return _address(column, old, new)


def _address(column: str, old: ColumnMapping, new: ColumnMapping) -> str | None:
    """Return the expression for a change from or to MariaDB's UUID, INET4 and INET6.

    The text of an INET6 differs between the servers: `1::2:3:4:5:6:7` in MariaDB is `1:0:2:3:4:5:6:7` in PostgreSQL. The apply ends at a
    text that PostgreSQL does not accept as a UUID.
    """
    bytes_of_uuid = old.kind == "binary" and old.length == 16
    match old.kind, new.kind:
        case "uuid", "text":
            return f"{column}::text"
        case "inet4", "text":
            return f"host({column})"
        case "text", "uuid":
            return f"{column}::uuid"
        case ("uuid", "binary") if new.length == 16:
            return f"uuid_send({column})"
        case "uuid", "varbinary":
            return f"uuid_send({column})"
        case ("binary", "uuid") if bytes_of_uuid:
            return f"encode({column}, 'hex')::uuid"
        case "inet4", "inet6":
            return f"('::ffff:' || host({column}))::inet"
        case _:
            return None


def _same_kind(old: ColumnMapping, new: ColumnMapping) -> bool:
    """Return True if the change of the column's details does not change any value.

    Some multi-byte character sets map several characters of Unicode to one, without an error: the tildes U+301C and U+FF5E in sjis.
    """
    match old.kind:
        case "enum" | "set":
            return set(old.labels) <= set(new.labels) and (old.kind == "enum" or new.labels[: len(old.labels)] == old.labels)
        case "binary":
            return old.length == new.length
        case "bit":
            return old.sql_type == new.sql_type
        case "text":
            return old.charset == new.charset or new.charset is None or new.charset in UNICODE | SINGLE_BYTE
        case _:
            return True


def _padded(column: str, old: ColumnMapping, new: ColumnMapping) -> str | None:
    """Return the expression that appends zero bytes for a wider BINARY, or None for other changes."""
    missing = (new.length or 0) - (old.length or 0)
    if old.kind == "binary" and missing > 0:
        return f"{column} || '\\x{'00' * missing}'::bytea"
    return None
