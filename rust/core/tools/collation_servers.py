"""Queries of the tools to a MySQL or MariaDB server about its collations."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import pymysql

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

DATABASE = "paraply_collation"
BATCH = 20_000
CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]


class Server:
    """Connection to a server that answers about weights.

    Args:
        mariadb: Whether it is a MariaDB, which tells levels apart only when asked for each.
        where: What ``pymysql.connect`` takes.
    """

    def __init__(self, mariadb: bool = False, **where: Any) -> None:
        self.mariadb = mariadb
        self.connection = pymysql.connect(charset="utf8mb4", autocommit=True, **where)
        self.cursor = self.connection.cursor()

    def rows(self, sql: str) -> Sequence[tuple[Any, ...]]:
        """Return all rows of a query."""
        self.cursor.execute(sql)
        return list(self.cursor.fetchall())

    def prepare(self) -> None:
        """Make the table of all code points; a server with a binary log does not log it."""
        for sql in ("SET sql_log_bin=0", f"CREATE DATABASE IF NOT EXISTS {DATABASE}", f"USE {DATABASE}"):
            self.cursor.execute(sql)
        if self.rows("SHOW TABLES LIKE 'cp'") and self.rows("SELECT COUNT(*) FROM cp")[0][0] == len(CODE_POINTS):
            return
        self.cursor.execute("DROP TABLE IF EXISTS cp")
        self.cursor.execute("CREATE TABLE cp (n INT PRIMARY KEY, c VARCHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)")
        for batch in batches(CODE_POINTS):
            self.cursor.execute("INSERT INTO cp VALUES " + ",".join(f"({c},x'{chr(c).encode().hex()}')" for c in batch))

    def weight_expressions(self, text: str, collation: str, levels: int) -> list[str]:
        """Return SQL for a text's weights: one expression with all levels (MySQL) or one for each level (MariaDB)."""
        if self.mariadb and levels > 1:
            return [f"WEIGHT_STRING({text} COLLATE {collation} LEVEL {level})" for level in range(1, levels + 1)]
        return [f"WEIGHT_STRING({text} COLLATE {collation})"]

    def split(self, answer: Sequence[Any], levels: int) -> list[tuple[int, ...]]:
        """Return the weights of each level from the results of those expressions."""
        if self.mariadb and levels > 1:
            return [words(bytes(column)) for column in answer]
        return levels_of(bytes(answer[0]), levels)

    def weights(self, collation: str, levels: int, pages: Sequence[int] | None = None) -> dict[int, list[tuple[int, ...]]]:
        """Return the weights of all code points (of the first plane for three-byte sets), or of those on some pages of 256."""
        text, condition = column(collation)
        if pages is not None:
            condition += f" AND n DIV 256 IN ({','.join(map(str, pages))})"
        asked = ",".join(self.weight_expressions(text, collation, levels))
        return {row[0]: self.split(row[1:], levels) for row in self.rows(f"SELECT n,{asked} FROM cp WHERE {condition} ORDER BY n")}

    def signatures(self, collation: str, levels: int) -> dict[int, int]:
        """Return a checksum of the weights of each page of 256 code points."""
        text, condition = column(collation)
        asked = ",'.',".join(self.weight_expressions(text, collation, levels))
        return {
            int(row[0]): int(row[1])
            for row in self.rows(f"SELECT n DIV 256, SUM(CRC32(CONCAT(n,'.',{asked}))) FROM cp WHERE {condition} GROUP BY 1")
        }

    def weights_of(self, collation: str, texts: Sequence[str], levels: int) -> Iterator[list[tuple[int, ...]]]:
        """Yield the weights of some texts."""
        character_set = collation.split("_")[0]
        step = levels if self.mariadb else 1
        for batch in batches(texts, 300):
            asked = [
                expression
                for text in batch
                for expression in self.weight_expressions(
                    f"CONVERT(_utf8mb4 x'{text.encode().hex()}' USING {character_set})", collation, levels
                )
            ]
            row = self.rows("SELECT " + ",".join(asked))[0]
            for start in range(0, len(row), step):
                yield self.split(row[start : start + step], levels)

    def byte_weights(self, character_set: str, collation: str) -> list[bytes]:
        """Return the weight of each of the 256 bytes of a single-byte character set."""
        asked = ",".join(f"WEIGHT_STRING(_{character_set} x'{b:02x}' COLLATE {collation})" for b in range(256))
        return [bytes(w) for w in self.rows(f"SELECT {asked}")[0]]

    def equal(self, character_set: str, collation: str, pairs: Sequence[tuple[bytes, bytes]]) -> Iterator[bool]:
        """Yield for each pair True if the server calls the two byte strings equal, else False."""
        for batch in batches(pairs, 500):
            asked = ",".join(f"_{character_set} x'{a.hex()}' = _{character_set} x'{b.hex()}' COLLATE {collation}" for a, b in batch)
            yield from (bool(v) for v in self.rows(f"SELECT {asked}")[0])


def column(collation: str) -> tuple[str, str]:
    """Return the text column in a collation's character set, and the condition for the rows that it can hold."""
    character_set = collation.split("_")[0]
    text = "c" if character_set == "utf8mb4" else f"CONVERT(c USING {character_set})"
    return text, "n < 65536" if character_set in {"utf8mb3", "ucs2"} else "1"


def batches(items: Sequence[Any], size: int = BATCH) -> Iterator[Sequence[Any]]:
    """Yield the items in consecutive slices."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


def words(weight: bytes) -> tuple[int, ...]:
    """Return a weight string as 16-bit numbers."""
    return struct.unpack(f">{len(weight) // 2}H", weight)


def levels_of(weight: bytes, levels: int) -> list[tuple[int, ...]]:
    """Split a weight string at the zero words between its levels; with one level a zero word is a weight like any other.

    So it is in the first of several levels, where Lithuanian weighs marks together without a letter.
    """
    found = words(weight)
    zeros = [place for place, word in enumerate(found) if word == 0][-(levels - 1) :] if levels > 1 else []
    begins = [0, *(place + 1 for place in zeros)]
    out = [found[begin:end] for begin, end in zip(begins, [*zeros, len(found)], strict=True)]
    return out + [()] * (levels - len(out))
