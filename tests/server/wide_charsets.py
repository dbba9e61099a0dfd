"""Every character of the character sets with several bytes a character, as a server shows it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import product
from pathlib import Path
from typing import Any

from server.value_columns import log_of

import paraply

__all__ = ["WIDE", "characters", "shown"]

WIDE = ("big5", "cp932", "eucjpms", "euckr", "gb2312", "gbk", "sjis", "ujis", "gb18030")
#: First bytes of four-byte characters that are tried: both ends of each range that has characters of its own.
_FIRST_OF_FOUR = (0x81, 0x84, 0x90, 0xE3, 0xFD)
_NO_CHARACTER = ("0000003F", "0000FFFD")
Sql = Callable[..., list[tuple[Any, ...]]]


def characters(sql: Sql, charset: str) -> tuple[list[bytes], list[bytes]]:
    """Return the codes that stand for one character of Unicode, and those that the server takes but knows no character for."""
    known, unknown = [], []
    for part in _codes(charset):
        values = ", ".join(f"(x'{code.hex()}')" for code in part)
        answer = sql(
            "CREATE DATABASE IF NOT EXISTS codes", "DROP TABLE IF EXISTS codes.c", "CREATE TABLE codes.c (b VARBINARY(4))",
            f"INSERT INTO codes.c VALUES {values}",
            f"SELECT HEX(b), HEX(CONVERT(b USING {charset})), HEX(CONVERT(CONVERT(b USING {charset}) USING utf32)) FROM codes.c",
        )  # fmt: skip
        for code, kept, character in answer:
            if code == kept and character is not None and len(character) == 8:
                (unknown if character in _NO_CHARACTER else known).append(bytes.fromhex(code))
    return known, unknown


def _codes(charset: str) -> Iterable[list[bytes]]:
    yield [bytes(pair) for pair in product(range(0x80, 0x100), range(0x40, 0x100))]
    if charset in ("ujis", "eucjpms"):
        yield [bytes((0x8F, *pair)) for pair in product(range(0xA1, 0xFF), range(0xA1, 0xFF))]
    if charset == "gb18030":
        for first in _FIRST_OF_FOUR:
            yield [bytes((first, *rest)) for rest in product(range(0x30, 0x3A), range(0x81, 0xFF), range(0x30, 0x3A))]


def shown(sql: Sql, data: Path, folder: Path, charset: str, codes: list[bytes]) -> list[tuple[str, str | None, str | None]]:
    """Return the characters by their first byte: the byte, the server's text, and the one of ``paraply.rows``."""
    rows: dict[int, list[bytes]] = defaultdict(list)
    for code in codes:
        rows[code[0]].append(code)
    made = [
        "DROP DATABASE IF EXISTS w",
        "CREATE DATABASE w",
        f"CREATE TABLE w.t (id INT PRIMARY KEY, v MEDIUMTEXT CHARACTER SET {charset})",
    ]
    made += [f"INSERT INTO w.t VALUES ({first}, CONVERT(x'{b''.join(every).hex()}' USING {charset}))" for first, every in rows.items()]
    log = log_of(sql, data, folder, made)
    decoded = {row["id"]: row["v"] for row in (dict(change["after"]) for change in paraply.rows(log).read_all().to_pylist())}
    answer = sql("SET NAMES utf8mb4", "SELECT CAST(id AS CHAR), CONVERT(v USING utf8mb4) FROM w.t ORDER BY id")
    return [(first, text, decoded[first]) for first, text in answer]
