"""Values of a row image as SQL conditions, and as text for messages."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from paraply.targets.mysql.sql import bytes_literal, identifier, text_literal, to_int, to_text

__all__ = ["KeyColumn", "condition", "literal", "shown"]

_BITS = {"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}
_APPROXIMATE = frozenset({"float", "double", "json", "vector"})
_GEOMETRIES = frozenset({"geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon",
                         "geomcollection", "geometrycollection"})  # fmt: skip
#: Python's names of character sets whose values are shown as text; other values are shown as bytes.
_CODECS = {"utf8mb4": "utf-8", "utf8mb3": "utf-8", "utf8": "utf-8", "ascii": "ascii", "latin1": "cp1252", "utf16": "utf-16-be",
           "utf32": "utf-32-be", "ucs2": "utf-16-be", "utf16le": "utf-16-le", "cp1251": "cp1251", "koi8r": "koi8-r", "sjis": "shift-jis",
           "gbk": "gbk", "gb18030": "gb18030", "big5": "big5", "latin2": "iso8859-2", "greek": "iso8859-7", "ujis": "euc-jp",
           "euckr": "euc-kr", "cp932": "cp932", "cp1250": "cp1250", "latin5": "iso8859-9"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """A column of the target.

    Attributes:
        position: Index in the row image.
        name: The name.
        data_type: Name of the type, such as ``int``.
        unsigned: True if a number is UNSIGNED.
        length: Maximum length in characters, or in bytes for a binary column.
        charset: Character set, or None.
    """

    position: int
    name: str
    data_type: str
    unsigned: bool = False
    length: int = 0
    charset: str | None = None

    @classmethod
    def of(cls, position: int, row: tuple[Any, ...]) -> KeyColumn:
        """Convert a row of information_schema: name, type, declaration, length, character set."""
        name, data_type, declared, length, charset = row
        kind = to_text(data_type).lower()
        unsigned = kind in _BITS and "unsigned" in to_text(declared).lower()
        return cls(position, to_text(name), kind, unsigned, to_int(length), to_text(charset) or None)

    @property
    def comparable(self) -> bool:
        """True if ``=`` finds a logged value again."""
        return self.data_type not in _APPROXIMATE and self.data_type not in _GEOMETRIES

    def value(self, logged: Any) -> Any:
        """Return the value that a logged value has in the column. Logs may lack the UNSIGNED flag, and omit trailing zero bytes."""
        if isinstance(logged, int) and logged < 0 and self.unsigned:
            return logged + (1 << _BITS[self.data_type])
        if isinstance(logged, bytes) and self.data_type == "binary":
            return logged.ljust(self.length, b"\0")
        return logged


def condition(column: KeyColumn, value: Any) -> str:
    """Return the condition that a column has a value, which may be NULL.

    >>> condition(KeyColumn(0, "id", "int"), 7)
    '`id`<=>7'
    >>> condition(KeyColumn(0, "name", "varchar", charset="latin1"), b"a'")
    "`name`<=>_latin1 X'6127'"
    """
    # ENUM, SET and BIT compare with numbers as numbers.
    return f"{identifier(column.name)}<=>{literal(column, value)}"


def literal(column: KeyColumn, value: Any) -> str:
    """Return a logged value as a literal for the column."""
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return f"_{column.charset} {bytes_literal(value)}" if column.charset else bytes_literal(value)
    if column.data_type == "timestamp":
        return "CAST('0000-00-00' AS DATETIME)" if float(value) == 0 else f"FROM_UNIXTIME({float(value):.6f})"
    if isinstance(value, str):
        return value if column.data_type == "decimal" else text_literal(value)
    return repr(value)


def shown(column: KeyColumn, value: Any) -> str:
    """Return a value as text for messages.

    >>> shown(KeyColumn(0, "name", "varchar", charset="utf8mb4"), b"Ada")
    "'Ada'"
    >>> shown(KeyColumn(0, "at", "timestamp"), "1700000000.5")
    "'2023-11-14 22:13:20.500000+00:00'"
    """
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        codec = _CODECS.get(column.charset or "")
        if codec is not None:
            try:
                return f"'{value.decode(codec)}'"
            except UnicodeDecodeError:
                pass
        return f"0x{value.hex()}"
    if column.data_type == "timestamp":
        return f"'{datetime.fromtimestamp(float(value), UTC)}'"
    if isinstance(value, str) and column.data_type != "decimal":
        return f"'{value}'"
    return str(value)
