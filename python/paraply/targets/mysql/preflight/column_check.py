"""Comparison of the columns in a table map with the columns of a table (R31)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paraply.errors import SchemaMismatch
from paraply.schema import type_codes as codes
from paraply.targets.mysql.sql import to_int, to_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from paraply._native import ColumnInfo

__all__ = ["TargetColumn", "check_extra", "compare_columns", "may_end_in_hidden", "without_hidden"]

#: Type code and metadata of types with one form.
_FIXED = {
    "tinyint": (codes.TINY, 0), "smallint": (codes.SHORT, 0), "int": (codes.LONG, 0), "float": (codes.FLOAT, 4),
    "double": (codes.DOUBLE, 8), "bigint": (codes.LONGLONG, 0), "mediumint": (codes.INT24, 0), "date": (codes.DATE, 0),
    "year": (codes.YEAR, 0), "json": (codes.JSON, 4), "vector": (codes.VECTOR, 4), "uuid": (codes.STRING, 16),
    "inet6": (codes.STRING, 16), "inet4": (codes.STRING, 4),
}  # fmt: skip
_BLOBS = {"tinyblob": 1, "tinytext": 1, "blob": 2, "text": 2, "mediumblob": 3, "mediumtext": 3, "longblob": 4, "longtext": 4}
_FRACTIONS = {"time": codes.TIME2, "datetime": codes.DATETIME2, "timestamp": codes.TIMESTAMP2}
_GEOMETRIES = frozenset({"geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon",
                         "geomcollection", "geometrycollection"})  # fmt: skip
#: MariaDB's temporal types before 10.1.2 and its compressed columns: another storage format of the same column. The server converts.
_OTHER_STORAGE = {
    codes.TIMESTAMP: codes.TIMESTAMP2,
    codes.TIME: codes.TIME2,
    codes.DATETIME: codes.DATETIME2,
    codes.NEWDATE: codes.DATE,
    codes.BLOB_COMPRESSED: codes.BLOB,
    codes.VARCHAR_COMPRESSED: codes.VARCHAR,
}
#: First and last MySQL whose rows hold the hidden columns of functional indexes.
_LOGS_FUNCTIONAL = ((8, 0, 13), (8, 0, 17))
_NUMBERS = frozenset({
    codes.TINY, codes.SHORT, codes.LONG, codes.FLOAT, codes.DOUBLE, codes.LONGLONG, codes.INT24, codes.NEWDECIMAL,
})  # fmt: skip
_OLD_MODE = (
    "or, between MariaDB servers, give the target the source's old_mode (UTF8_IS_UTF8MB3), under which the name utf8 has another meaning,"
    " before the table is made: no log holds it"
)
#: A default that is no expression, as in the information_schema of MariaDB.
_LITERAL = re.compile(r"NULL|[bxBX]?'(?:[^'\\]|\\.|'')*'|-?[\d.]+(?:[eE][+-]?\d+)?", re.DOTALL)
_LABEL = re.compile(r"'(?:[^']|'')*'")


@dataclass(frozen=True, slots=True)
class TargetColumn:
    """A column of the target, as described in its information_schema.

    Attributes:
        name: The name.
        declared: The declaration, for example ``int unsigned``.
        type_code: Type code in a table-map event; None for a type unknown to this version.
        metadata: Metadata in a table-map event.
        unsigned: True if a number is UNSIGNED.
        charset: Character set, or None.
    """

    name: str
    declared: str
    type_code: int | None
    metadata: int
    unsigned: bool
    charset: str | None

    @classmethod
    def of(cls, row: tuple[Any, ...], *, mariadb: bool = False) -> TargetColumn:
        """Convert a row of the query of ``TableChecker``."""
        name, data_type, declared, octets, precision, scale, fraction, charset = row
        declared, data_type = to_text(declared), to_text(data_type).lower()
        code = _type_code(data_type, declared, to_int(octets), to_int(precision), to_int(scale), to_int(fraction))
        if mariadb and data_type == "vector":
            code = codes.VARCHAR, to_int(octets)
        type_code, metadata = code if code is not None else (None, 0)
        unsigned = "unsigned" in declared.lower() if data_type not in ("enum", "set") else False
        return cls(to_text(name), declared, type_code, metadata, unsigned, to_text(charset) or None)


def _type_code(data_type: str, declared: str, octets: int, precision: int, scale: int, fraction: int) -> tuple[int, int] | None:
    if data_type in _FIXED:
        return _FIXED[data_type]
    if data_type in _BLOBS:
        return codes.BLOB, _BLOBS[data_type]
    if data_type in _FRACTIONS:
        return _FRACTIONS[data_type], fraction
    if data_type in _GEOMETRIES:
        return codes.GEOMETRY, 4
    labels = len(_LABEL.findall(declared))
    others: dict[str, tuple[int, int]] = {
        "decimal": (codes.NEWDECIMAL, precision << 8 | scale),
        "bit": (codes.BIT, precision % 8 << 8 | precision // 8),
        "char": (codes.STRING, octets),
        "binary": (codes.STRING, octets),
        "varchar": (codes.VARCHAR, octets),
        "varbinary": (codes.VARCHAR, octets),
        "enum": (codes.ENUM, 1 if labels < 256 else 2),
        "set": (codes.SET, 8 if labels > 32 else (labels + 7) // 8),
    }
    return others.get(data_type)


def without_hidden(log: list[ColumnInfo], own: int, hashed: int, *, versioned: bool = False) -> list[ColumnInfo]:
    """Return the columns that the table's information_schema shows, without the hidden columns that MariaDB logs after them.

    The hidden columns are, in this order:

    - in a table WITH SYSTEM VERSIONING that names no columns for them, the start and end time of a row version;
    - a hash for each unique key that is too long for an index, or has ``USING HASH``.

    Source: logs of MariaDB 10.11. Its BINLOG statement stores the logged values of both, so that the target has the source's row history.

    Args:
        log: All columns of a table map.
        own: Number of columns that the target's table shows.
        hashed: Number of its unique keys with a hash.
        versioned: True if the table is system-versioned.
    """
    behind = log[own:]
    times = 2 if versioned and len(behind) == hashed + 2 else 0
    are_times = all((column.type_code, column.metadata) == (codes.TIMESTAMP2, 6) for column in behind[:times])
    are_hashes = all(column.type_code == codes.LONGLONG and column.unsigned is not False for column in behind[times:])
    return log[:own] if len(behind) == times + hashed and are_times and are_hashes else log


def may_end_in_hidden(log: list[ColumnInfo], version: tuple[int, int, int], *, mariadb: bool) -> bool:
    """Return True if the last columns of a table map may be hidden ones of the source's table.

    They would be stored in further columns of the target. Where the log has the names of columns, they are compared.

    Args:
        log: All columns of a table map.
        version: Version of the server that wrote the log.
        mariadb: True if it was a MariaDB.
    """
    if not log or log[-1].name is not None:
        return False
    if not mariadb:
        return _LOGS_FUNCTIONAL[0] <= version <= _LOGS_FUNCTIONAL[1]
    last = log[-1]
    is_hash = last.type_code == codes.LONGLONG and last.unsigned is not False
    return is_hash or (last.type_code, last.metadata) == (codes.TIMESTAMP2, 6)


def check_extra(table: str, name: object, expression: object, nullable: object, default: object, *, mariadb: bool) -> None:
    """Check that the target itself fills a column that only it has.

    A MariaDB computes no default for a row event: CURRENT_TIMESTAMP becomes 0 (observed on 10.11, while MySQL 9.7 computes it).

    Args:
        table: ``database.table``.
        name: The column.
        expression: Its generation expression, as in information_schema.
        nullable: ``YES`` if NULL may be stored.
        default: Its default; None for none.
        mariadb: True if the target is a MariaDB.

    Raises:
        SchemaMismatch: The column needs a value, or would get a wrong one.
    """
    if to_text(expression or "").upper() not in ("", "ROW START", "ROW END"):
        return
    if mariadb and default is not None and _LITERAL.fullmatch(to_text(default)) is None:
        raise SchemaMismatch(
            f"the target has the further column {to_text(name)}, whose default a MariaDB does not compute for the rows of a log: give it a"
            " literal default, or NULL",
            table=table,
        )
    if to_text(nullable).upper() == "YES" or default is not None:
        return
    raise SchemaMismatch(
        f"the target has the further column {to_text(name)}, which the log's rows have no value for: give it a default, or let it be NULL",
        table=table,
    )


def compare_columns(table: str, log: list[ColumnInfo], target: list[TargetColumn], charset_of: Callable[[int], str | None]) -> None:
    """Compare a table map's columns with the target's columns, in order.

    Raises:
        SchemaMismatch: A column differs; the message describes the first difference.
    """
    advice = "bring the target's tables to the state that they had where the log begins"
    if len(log) != len(target):
        raise SchemaMismatch(f"the table has {len(log)} columns in the log and {len(target)} on the target: {advice}", table=table)
    for number, (logged, held) in enumerate(zip(log, target, strict=True), 1):
        difference = _difference(logged, held, charset_of)
        if difference is not None:
            if "utf8" in (held.charset or ""):
                advice += f"; {_OLD_MODE}"
            raise SchemaMismatch(f"column {number} ({held.name} {held.declared} on the target) differs from the log's:"
                                 f" {difference}; {advice}", table=table)  # fmt: skip


def _difference(log: ColumnInfo, target: TargetColumn, charset_of: Callable[[int], str | None]) -> str | None:
    if log.name is not None and log.name.lower() != target.name.lower():
        return f"in the log it is {log.name}"
    if target.type_code is None:
        return "its type is not known to this version"
    code = _OTHER_STORAGE.get(log.type_code, log.type_code)
    if code != target.type_code:
        return f"in the log its type has code {log.type_code}, in the target {target.type_code}"
    if code == log.type_code and log.metadata != target.metadata:
        return f"in the log its length or precision is {log.metadata}, in the target {target.metadata}"
    if log.unsigned is not None and code in _NUMBERS and log.unsigned != target.unsigned:
        return "in the log it is UNSIGNED" if log.unsigned else "in the log it is not UNSIGNED"
    if log.collation_id is not None and target.charset is not None:
        charset = charset_of(log.collation_id)
        if charset is not None and charset != target.charset:
            return f"in the log its character set is {charset}"
    return None
