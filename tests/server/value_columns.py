"""Column types with values at their edges, and how a server is asked for them as text."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import paraply

__all__ = [
    "BYTES",
    "MARIADB",
    "MYSQL",
    "NUMBER",
    "PLAIN",
    "Kind",
    "log_of",
    "shown_by_rows",
    "shown_by_server",
    "statements_of",
    "texts_of_charsets",
]

PLAIN, BYTES, NUMBER = "CONVERT({} USING utf8mb4)", "HEX({})", "{}+0"
DOUBLES = ("0.1", "-0.5", "1e15", "123456789012345", "1.7976931348623157e308", "2.2250738585072014e-308", "1e-15", "1e-16", "0", "3")


@dataclass(frozen=True)
class Kind:
    """A column's type.

    Attributes:
        type: As declared.
        values: Expressions that are inserted, each in a row of its own.
        ask: How the server is asked for the value, with ``{}`` for the column.
    """

    type: str
    values: tuple[str, ...]
    ask: str = PLAIN


COMMON = (
    Kind("TINYINT", ("-128", "127")),
    Kind("TINYINT UNSIGNED", ("0", "255")),
    Kind("SMALLINT UNSIGNED", ("65535",)),
    Kind("MEDIUMINT", ("-8388608", "8388607")),
    Kind("INT", ("-2147483648",)),
    Kind("BIGINT", ("-9223372036854775808",)),
    Kind("BIGINT UNSIGNED", ("18446744073709551615",)),
    Kind("DECIMAL(65,30)", ("-12345678901234567890123456789012345.000000000000000000000000000001", "0")),
    Kind("DECIMAL(5,0)", ("-99999",)),
    Kind("FLOAT", ("0.1", "-1.5", "1e10", "3.40282e38", "1e-20", "0")),
    Kind("DOUBLE", DOUBLES),
    Kind("BIT(1)", ("b'0'", "b'1'"), NUMBER),
    Kind("BIT(64)", ("b'1'", "~0"), NUMBER),
    Kind("YEAR", ("0", "1901", "2155")),
    Kind("DATE", ("'0000-00-00'", "'2024-02-00'", "'9999-12-31'")),
    Kind("TIME", ("'-838:59:59'", "'00:00:00'", "'838:59:59'")),
    Kind("TIME(6)", ("'-838:59:58.999999'", "'-00:00:00.000001'")),
    Kind("DATETIME", ("'0000-00-00'", "'1000-01-01'", "'9999-12-31 23:59:59'")),
    Kind("DATETIME(3)", ("'2024-02-29 12:34:56.789'",)),
    Kind("TIMESTAMP NULL", ("'1970-01-01 00:00:01'", "'2038-01-19 03:14:07'", "0")),
    Kind("TIMESTAMP(5) NULL", ("'2001-02-03 04:05:06.07'",)),
    Kind("CHAR(5)", ("''", "'é'", "'a  '")),
    Kind("CHAR(0)", ("''", "NULL")),
    Kind("VARCHAR(0)", ("''",)),
    Kind("VARCHAR(9)", ("'a  '", "'日本😀'")),
    Kind("CHAR(3) CHARACTER SET ucs2", ("'é '", "'日'")),
    Kind("TINYTEXT", ("'x'",)),
    Kind("LONGTEXT", ("REPEAT('ß', 70000)",)),
    Kind("BINARY(4)", ("x'00ff0000'", "x''", "'a'"), BYTES),
    Kind("BINARY(0)", ("x''", "NULL"), BYTES),
    Kind("VARBINARY(0)", ("x''",), BYTES),
    Kind("VARBINARY(9)", ("x'00'", "x'ff00'", "x''"), BYTES),
    Kind("TINYBLOB", ("x'80'",), BYTES),
    Kind("MEDIUMBLOB", ("REPEAT(x'ff', 70000)",), BYTES),
    Kind("ENUM('a','é','')", ("1", "2", "3")),
    Kind("ENUM('ä','ö') CHARACTER SET latin1", ("'ö'",)),
    Kind("SET('a','b','ü')", ("''", "'a,ü'", "7")),
    Kind("GEOMETRY", ("POINT(1,2)", "ST_GeomFromText('POLYGON((0 0,0 1,1 1,0 0))')"), BYTES),
    Kind("POINT", ("POINT(-1,0.5)",), BYTES),
)

MYSQL = (
    *COMMON,
    Kind("JSON", ("""'{"a":[1,1.5,null,"é"],"b":{}}'""", "'1e300'", "CAST(CAST('2024-01-01' AS DATE) AS JSON)")),
    Kind("VECTOR(2)", ("STRING_TO_VECTOR('[1,2]')", "STRING_TO_VECTOR('[0,0]')"), BYTES),
)

INET6 = Kind(
    "INET6",
    (
        "'::'", "'::1'", "'2001:db8::1'", "'::1.2.3.4'", "'::ffff:1.2.3.4'", "'::0.1.0.0'", "'1:0:2:3:4:5:6:7'", "'1:0:0:2:0:0:3:4'",
        "'1:0:0:2:0:0:0:0'", "'0:2:3:4:5:6:7:8'", "'1:2:3:4:5:6:7:0'", "'0:0:0:0:ffff:0:1:2'", "'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'",
    ),
)  # fmt: skip
UUIDS = Kind(
    "UUID",
    (
        "'00000000-0000-0000-0000-000000000000'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'", "'6ccd780c-baba-1026-9564-5b8c656024db'",
        "'f47ac10b-58cc-4372-a567-0e02b2c3d479'", "'1ec9414c-232a-6b00-b3c8-9f6bdeced846'", "'01a21fb4-fa5d-76ec-8265-1f13d37a905e'",
        "'320c3d4d-cc00-875b-8ec9-32d5f69181c0'", "'6ccd780c-baba-1026-9564-5b8c65602400'", "'6ccd780c-baba-1026-1564-5b8c656024db'",
        "'6CCD780CBABA102695645B8C65600000'",
    ),
)  # fmt: skip
INET4 = Kind("INET4", ("'0.0.0.0'", "'255.1.2.3'", "'1.2.0.0'", "'255.255.255.255'"))
VECTOR = Kind("VECTOR(2)", ("VEC_FromText('[1,2]')", "VEC_FromText('[0,0]')"), BYTES)
OLD_MARIADB = (
    *COMMON,
    Kind("JSON", ("""'{"a" : [1, "é"]}'""",)),
    Kind("VARCHAR(99) COMPRESSED", ("REPEAT('ä', 99)", "''")),
    Kind("BLOB COMPRESSED", ("REPEAT(x'ff', 999)",), BYTES),
    INET6,
)
MARIADB = {
    "10.5": OLD_MARIADB,
    "10.11": (*OLD_MARIADB, UUIDS, INET4),
    "11.8": (*OLD_MARIADB, UUIDS, INET4, VECTOR),
}

Sql = Callable[..., Sequence[tuple[Any, ...]]]


def log_of(sql: Sql, data: Path, folder: Path, statements: Sequence[str], *, flush: bool = True) -> Path:
    """Return a copy of the log that these statements make.

    Args:
        sql: Runs statements on a server in one session.
        data: The folder with the server's logs.
        folder: Where the copy goes.
        statements: The statements.
        flush: Begin a new file; else the present one must have been begun just now.
    """
    if flush:
        sql("FLUSH BINARY LOGS")
    name = str(sql("SHOW BINARY LOGS")[-1][0])
    sql(*statements)
    sql("FLUSH BINARY LOGS")
    return Path(shutil.copyfile(data / name, folder / name))


def statements_of(kinds: Sequence[Kind]) -> list[str]:
    """Return the statements that make a table for each kind, with its values."""
    made = ["SET NAMES utf8mb4", "SET sql_mode=''", "SET time_zone='+00:00'", "CREATE DATABASE v CHARACTER SET utf8mb4"]
    for number, kind in enumerate(kinds):
        made.append(f"CREATE TABLE v.t{number} (id INT PRIMARY KEY, v {kind.type})")
        made += [f"INSERT INTO v.t{number} VALUES ({row}, {value})" for row, value in enumerate(kind.values)]
    return made


def shown_by_server(sql: Sql, kinds: Sequence[Kind]) -> dict[tuple[str, str], str | None]:
    """Return each value as the server shows it, by type and number of the row."""
    shown: dict[tuple[str, str], str | None] = {}
    for number, kind in enumerate(kinds):
        for row, value in sql("SET time_zone='+00:00'", f"SELECT id, {kind.ask.format('v')} FROM v.t{number}"):
            text = value.decode() if isinstance(value, bytes) else value
            shown[kind.type, str(row)] = None if text is None else str(text)
    return shown


def shown_by_rows(log: Path, kinds: Sequence[Kind]) -> dict[tuple[str, str], str | None]:
    """Return each value as ``paraply.rows`` shows it, by type and number of the row."""
    shown: dict[tuple[str, str], str | None] = {}
    for change in paraply.rows(log, tables=["v"]).read_all().to_pylist():
        row = list(dict(change["after"]).values())
        shown[kinds[int(change["table"][1:])].type, row[0]] = row[1]
    return shown


def texts_of_charsets(sql: Sql, data: Path, folder: Path) -> dict[str, list[tuple[str, str | None, str | None]]]:
    """Return, for each character set of single bytes, every character's byte, what the server shows, and what ``paraply.rows`` shows."""
    names = [str(name) for (name,) in sql("SELECT character_set_name FROM information_schema.character_sets WHERE maxlen=1")]
    statements = ["CREATE DATABASE v CHARACTER SET utf8mb4"]
    names.remove("binary")
    for name in names:
        statements.append(f"CREATE TABLE v.{name} (id VARCHAR(2) CHARACTER SET ascii PRIMARY KEY, v VARCHAR(1) CHARACTER SET {name})")
        known = [code for code in range(256) if code == 0x3F or _is_character(sql, name, code)]
        statements.append(f"INSERT INTO v.{name} VALUES " + ", ".join(f"('{c:02X}', CONVERT(x'{c:02x}' USING {name}))" for c in known))
    log = log_of(sql, data, folder, statements)
    decoded: dict[tuple[str, str], str | None] = {}
    for change in paraply.rows(log).read_all().to_pylist():
        row = dict(change["after"])
        decoded[change["table"], row["id"]] = row["v"]
    return {
        name: [
            (code, text, decoded[name, code])
            for code, text in sql("SET NAMES utf8mb4", f"SELECT id, CONVERT(v USING utf8mb4) FROM v.{name}")
        ]
        for name in names
    }


def _is_character(sql: Sql, name: str, code: int) -> bool:
    """Return True if the server knows a character for this byte; it shows others as a question mark, or as U+FFFD."""
    ((text,),) = sql(f"SELECT HEX(CONVERT(CONVERT(x'{code:02x}' USING {name}) USING utf32))")
    return text not in (None, "0000003F", "0000FFFD")
