"""Column types: parser for declared types, and the types that the server makes from them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from paraply._native import NO_TEXT, decode_text
from paraply.errors import UsageError
from paraply.schema.collations import CLIENT_CODECS, canonical_charset, canonical_collation
from paraply.schema.ddl.cursor import Cursor
from paraply.schema.ddl.lexer import DdlSyntaxError
from paraply.schema.ddl.literals import read_bytes, read_string, to_charset
from paraply.schema.ddl.rules import MODE_MAXDB, MODE_ORACLE, MODE_REAL_AS_FLOAT, Rules

__all__ = ["SURROGATES", "TypeSpec", "accept_compressed", "convert_charset", "read_type", "resolve_type"]

SYNONYMS = {
    "INT1": "tinyint", "INT2": "smallint", "INT3": "mediumint", "MIDDLEINT": "mediumint", "INT4": "int", "INTEGER": "int",
    "INT8": "bigint", "BOOL": "tinyint", "BOOLEAN": "tinyint", "DEC": "decimal", "NUMERIC": "decimal", "FIXED": "decimal",
    "FLOAT4": "float", "FLOAT8": "double", "CHARACTER": "char", "NCHAR": "char", "VARCHARACTER": "varchar", "NVARCHAR": "varchar",
    "GEOMCOLLECTION": "geometrycollection",
}  # fmt: skip
INTEGERS = {"tinyint", "smallint", "mediumint", "int", "bigint"}
CHARACTER = {"char", "varchar", "tinytext", "text", "mediumtext", "longtext", "enum", "set"}
BINARY = {"binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"}
TIMES = {"time", "datetime", "timestamp"}
SPATIAL = {"geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon", "geometrycollection"}
OTHER = {"float", "double", "real", "decimal", "bit", "year", "date", "json", "vector", "serial", "long", "national"}
MARIADB_ONLY = {"uuid", "inet4", "inet6"}
KNOWN = INTEGERS | CHARACTER | BINARY | TIMES | SPATIAL | OTHER
CAPACITY = {"tiny": 255, "": 65535, "medium": 16777215, "long": 4294967295}
SURROGATES = re.compile("[\udc80-\udcff]")
"""Bytes of a dump that are no UTF-8."""
IN_BINARY = {"char": "binary", "varchar": "varbinary"}


@dataclass(frozen=True, slots=True)
class TypeSpec:
    """A type as written, without a resolved character set (fields as in ``model.Column``).

    Attributes:
        binary_collation: True if a character type has the BINARY attribute.
        serial: True if the type is SERIAL, which also implies attributes.
    """

    type: str
    length: int | None = None
    scale: int | None = None
    unsigned: bool = False
    zerofill: bool = False
    charset: str | None = None
    collation: str | None = None
    binary_collation: bool = False
    labels: tuple[str | bytes, ...] = ()
    serial: bool = False

    @property
    def text_labels(self) -> tuple[str, ...]:
        """The labels as text; only after the character set is resolved."""
        return tuple(_text_of(label, self.charset) for label in self.labels)


def read_type(cursor: Cursor) -> TypeSpec:
    """Read a type and the attributes that directly belong to it.

    Raises:
        DdlSyntaxError: This server family does not have the type.

    >>> spec = read_type(Cursor("NUMERIC(8,2) UNSIGNED", Rules()))
    >>> spec.type, spec.length, spec.scale, spec.unsigned
    ('decimal', 8, 2, True)
    >>> read_type(Cursor("mariadb_schema.timestamp(3)", Rules(mariadb=True, sql_mode=MODE_MAXDB))).type
    'timestamp'
    """
    is_own = cursor.rules.mariadb and _accept_own_schema(cursor)
    if cursor.rules.has(MODE_ORACLE) and cursor.rules.mariadb and not is_own:
        cursor.fail("a type outside of sql_mode ORACLE")
    name, charset = ("timestamp", None) if is_own and cursor.accept("TIMESTAMP") else _type_name(cursor)
    spec = _with_arguments(cursor, name)
    if charset:
        spec = replace(spec, charset=charset)
    return _with_attributes(cursor, spec)


def _accept_own_schema(cursor: Cursor) -> bool:
    """Accept ``mariadb_schema.``, by which MariaDB names its own type where sql_mode gives the name another meaning."""
    if not cursor.accept("MARIADB_SCHEMA"):
        return False
    cursor.expect(".")
    return True


def _type_name(cursor: Cursor) -> tuple[str, str | None]:
    """Return the resolved name, and the character set if the type implies one."""
    word = cursor.token.upper
    name = SYNONYMS.get(word, word.lower())
    if name not in KNOWN and not (cursor.rules.mariadb and name in MARIADB_ONLY):
        cursor.fail("a column type")
    cursor.next()
    if word == "TIMESTAMP" and cursor.rules.has(MODE_MAXDB):  # seen on MariaDB 11.8; MySQL has had no such mode since 8.0
        return "datetime", None
    if word == "NATIONAL":
        inner = cursor.accept_any(("CHAR", "CHARACTER", "VARCHAR", "VARCHARACTER"))
        if inner is None:
            cursor.fail("CHAR or VARCHAR")
        return ("varchar" if "VAR" in inner or cursor.accept("VARYING") else "char"), "utf8mb3"
    if word in ("NCHAR", "NVARCHAR"):
        varying = word == "NVARCHAR" or cursor.accept_any(("VARCHAR", "VARCHARACTER", "VARYING"))
        return ("varchar" if varying else "char"), "utf8mb3"
    if word == "LONG":
        if cursor.accept("VARBINARY"):
            return "mediumblob", None
        if not (cursor.accept("VARCHAR") or cursor.accept("VARCHARACTER")) and cursor.accept_any(("CHAR", "CHARACTER")):
            cursor.expect("VARYING")
        return "mediumtext", None
    if name == "char" and cursor.accept("VARYING"):
        return "varchar", None
    if word == "DOUBLE":
        cursor.accept("PRECISION")
    if word == "REAL":
        return ("float" if cursor.rules.has(MODE_REAL_AS_FLOAT) else "double"), None
    return name, None


def _with_arguments(cursor: Cursor, name: str) -> TypeSpec:
    if name in ("enum", "set"):
        return TypeSpec(name, labels=tuple(cursor.items(lambda: _label(cursor))))
    numbers = _numbers(cursor) if cursor.at("(") else []
    first = numbers[0] if numbers else None
    if name in TIMES:
        return TypeSpec(name, scale=first or 0)
    if name == "decimal":
        return TypeSpec(name, length=first or 10, scale=numbers[1] if len(numbers) > 1 else 0)
    if name == "bit":
        return TypeSpec(name, length=first or 1)  # MariaDB treats BIT(0) as BIT(1), MySQL refuses it
    if name in ("char", "binary"):
        return TypeSpec(name, length=1 if first is None else first)
    if name == "varchar" or name == "varbinary":
        return TypeSpec(name, length=first)
    if name == "vector":
        return TypeSpec(name, length=first or 2048)
    if name == "float" and len(numbers) == 1 and first is not None and first > 24:
        return TypeSpec("double")
    if name in ("float", "double") and len(numbers) == 2:
        return TypeSpec(name, length=first, scale=numbers[1])
    if name == "serial":
        return TypeSpec("bigint", unsigned=True, serial=True)
    if name == "blob" and first:
        return TypeSpec(_sized("blob", first))
    return TypeSpec(name, length=first if name == "text" else None)


def _numbers(cursor: Cursor) -> list[int]:
    """Read length and digits. The servers ignore the decimals of a single number."""
    numbers = cursor.items(cursor.cut_number)
    if len(numbers) == 1:
        return [number for number, _ in numbers]
    if any(cut for _, cut in numbers):
        cursor.fail("whole numbers")
    return [number for number, _ in numbers]


def _label(cursor: Cursor) -> str | bytes:
    """Read a label: a string, or bytes of text in the column's character set, which is not known yet."""
    found = read_bytes(cursor)
    return read_string(cursor).rstrip(" ") if found is None else bytes.fromhex(found.text or "")


def _text_of(label: str | bytes, charset: str | None) -> str:
    """Return a label as text; one that is no text, or has a NUL character, as ``NO_TEXT`` and the hexadecimal digits of its bytes.

    A server may store bytes that are no text in the column's character set (``ENUM(0xE4)`` in utf8mb4, seen on MySQL 9.7). Neither these
    nor a NUL character are text in PostgreSQL: only rows with this label are refused.

    Raises:
        DdlSyntaxError: The label is bytes of a character set that is not supported here, or text that it may not have.
    """
    text = _decoded(label, charset)
    if text is None or "\0" in text:
        return NO_TEXT + _bytes_of(label, text, charset).rstrip(b" ").hex().upper()
    return text


def _bytes_of(label: str | bytes, text: str | None, charset: str | None) -> bytes:
    """Return the bytes of a label in the column's character set; those of a dump where it is no text."""
    if isinstance(label, bytes):
        return label
    return label.encode("utf-8", "surrogateescape") if text is None else text.encode(CLIENT_CODECS.get(charset or "", "utf-8"))


def _decoded(label: str | bytes, charset: str | None) -> str | None:
    """Return a label as text, of bytes without trailing spaces; None if it is no text."""
    if isinstance(label, str):
        return None if SURROGATES.search(label) else to_charset(label, charset)
    try:
        text = decode_text(charset or "", label)
    except UsageError:
        raise DdlSyntaxError(f"a label in hexadecimal or binary in the character set {charset}") from None
    return None if text is None else text.rstrip(" ")


def _with_attributes(cursor: Cursor, spec: TypeSpec) -> TypeSpec:
    """Read UNSIGNED, ZEROFILL, CHARACTER SET, COLLATE, BINARY and MariaDB's COMPRESSED, in any order."""
    while True:
        if cursor.accept("ZEROFILL"):
            spec = replace(spec, unsigned=True, zerofill=True)
        elif cursor.accept("UNSIGNED"):
            spec = replace(spec, unsigned=True)
        elif cursor.accept("SIGNED") or accept_compressed(cursor):
            pass
        elif spec.type in CHARACTER and (cursor.accept("CHARACTER", "SET") or cursor.accept("CHAR", "SET") or cursor.accept("CHARSET")):
            spec = replace(spec, charset=canonical_charset(_charset_name(cursor)))
        elif cursor.accept("COLLATE"):
            spec = replace(spec, collation=canonical_collation(_charset_name(cursor)))
        elif spec.type in CHARACTER and cursor.accept("BINARY"):
            spec = replace(spec, binary_collation=True)
        elif spec.type in CHARACTER and (word := cursor.accept_any(("ASCII", "UNICODE", "BYTE"))):
            spec = replace(spec, charset={"ASCII": "latin1", "UNICODE": "ucs2", "BYTE": "binary"}[word])
        else:
            return spec


def accept_compressed(cursor: Cursor) -> bool:
    """Read MariaDB's COMPRESSED, with or without a method, and return True for it.

    It comes before the character set or among the attributes.
    """
    if not cursor.accept("COMPRESSED"):
        return False
    if cursor.accept("="):
        cursor.next()
    return True


def _charset_name(cursor: Cursor) -> str:
    return cursor.string() if cursor.token.kind == "string" else cursor.name()


def resolve_type(spec: TypeSpec, table_charset: str | None, table_collation: str | None, rules: Rules) -> TypeSpec:
    """Return the type with its character set and collation resolved, which can change the type: a VARCHAR in ``binary`` is a VARBINARY."""
    if spec.type == "json" and rules.mariadb:
        return TypeSpec("longtext", charset="utf8mb4", collation="utf8mb4_bin")
    if spec.type in BINARY:
        return replace(spec, charset="binary", collation="binary")
    if spec.type not in CHARACTER:
        return replace(spec, charset=None, collation=None)
    charset, collation = resolve_collation(spec, table_charset, table_collation, rules)
    if spec.type == "text" and spec.length:
        spec = replace(spec, type=_sized("text", spec.length * rules.collations.width_of.get(charset or "", 4)))
    if spec.type.endswith("text"):
        spec = replace(spec, length=None)
    if charset == "binary":
        spec = replace(spec, type=IN_BINARY.get(spec.type, spec.type.replace("text", "blob")))
    return _fitting(replace(spec, charset=charset, collation=collation, binary_collation=False), rules)


def resolve_collation(
    spec: TypeSpec, table_charset: str | None, table_collation: str | None, rules: Rules
) -> tuple[str | None, str | None]:
    """Return character set and collation of a character column, from its own attributes or from its table."""
    if spec.collation and spec.collation != "default":
        contextual = spec.collation.startswith("uca1400_")
        charset = (spec.charset or table_charset) if contextual else rules.charset_of(spec.collation)
        return charset, (f"{charset}_{spec.collation}" if contextual else spec.collation)
    charset = spec.charset or table_charset
    if spec.binary_collation and charset:
        return charset, rules.collations.binary_of(charset)
    if spec.charset or spec.collation == "default":
        return charset, rules.default_collation(charset) if charset else None
    return table_charset, table_collation


def convert_charset(spec: TypeSpec, charset: str, collation: str | None, rules: Rules) -> TypeSpec:
    """Return a column's type after CONVERT TO CHARACTER SET. A TEXT becomes larger if the same number of characters needs more bytes."""
    if spec.type not in CHARACTER or spec.charset == "binary":
        return spec
    width = rules.collations.width_of
    if spec.type.endswith("text") and charset != "binary":
        characters = CAPACITY[spec.type[:-4]] // width.get(spec.charset or "", 1)
        spec = replace(spec, type=_sized("text", min(characters * width.get(charset, 4), CAPACITY["long"])))
    if charset == "binary":
        spec = replace(spec, type=IN_BINARY.get(spec.type, spec.type.replace("text", "blob")))
    return _fitting(replace(spec, charset=charset, collation=collation), rules)


def _fitting(spec: TypeSpec, rules: Rules) -> TypeSpec:
    """Return a TEXT for a VARCHAR that is too long for a row. The server does this without strict mode; in strict mode it refuses."""
    if spec.type not in ("varchar", "varbinary") or spec.length is None:
        return spec
    size = spec.length * (rules.collations.width_of.get(spec.charset or "", 1))
    if size <= CAPACITY[""]:
        return spec
    return replace(spec, type=_sized("text" if spec.type == "varchar" else "blob", size), length=None)


def _sized(suffix: str, size: int) -> str:
    """Return the smallest TEXT or BLOB type for this number of bytes."""
    return next((prefix for prefix, capacity in CAPACITY.items() if size <= capacity), "long") + suffix
