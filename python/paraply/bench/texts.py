"""Hashing of text keys under a collation, beside the bytewise hash of the same rows (R12)."""

from __future__ import annotations

import struct
import tempfile
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from paraply._native import Catalog, LogReader, TransactionBatch, collation_class
from paraply.schema.model import Column, Key, KeyPart, Table

__all__ = ["SCRIPTS", "TextResult", "measure_texts"]

SCRIPTS = {
    "ASCII": ("anna", "Bertil", "cecilia", "David"),
    "Latin with accents": ("åsa", "Jörg", "Zoë", "Björn", "Renée"),
    "Cyrillic": ("анна", "Борис", "Иван"),
    "CJK": ("张伟", "王秀英", "李娜"),
    "Kana": ("さくら", "サクラ", "がぎ"),
    "Hangul": ("김민준", "이서연", "박지"),
    "Thai": ("สมชาย", "เกรียงไกร", "แก้วใจ"),
    "emoji": ("😀🚀", "👍", "❤🎉"),
}
"""Typical texts in unique columns, by script."""
COLLATIONS = {
    "bytes": ["utf8mb4_bin", "utf8mb4_0900_bin", "latin1_bin"],
    "8-bit": ["latin1_swedish_ci", "latin1_german2_ci", "latin2_czech_cs", "cp1251_general_ci", "tis620_thai_ci"],
    "multi-byte": [
        "gbk_chinese_ci", "big5_chinese_ci", "gb18030_chinese_ci", "gb18030_unicode_520_ci", "cp932_japanese_ci", "ujis_japanese_ci",
        "euckr_korean_ci", "gbk_bin",
    ],
    "wide": ["utf16_bin", "ucs2_general_ci", "utf16_unicode_ci", "utf16le_general_ci", "utf32_unicode_520_ci"],
    "general": ["utf8mb4_general_ci", "utf8mb3_general_ci", "utf8mb3_tolower_ci"],
    "Unicode 4.0 and 5.2": ["utf8mb4_unicode_ci", "utf8mb3_unicode_ci", "utf8mb4_unicode_520_ci", "utf8mb4_thai_520_w2"],
    "their languages": [
        "utf8mb4_german2_ci", "utf8mb4_spanish2_ci", "utf8mb4_czech_ci", "utf8mb4_danish_ci", "utf8mb4_hungarian_ci", "utf8mb4_croatian_ci",
        "utf8mb4_myanmar_ci", "utf8mb4_vietnamese_ci",
    ],
    "0900": ["utf8mb4_0900_ai_ci", "utf8mb4_0900_as_ci", "utf8mb4_0900_as_cs"],
    "languages of 0900": [
        "utf8mb4_da_0900_ai_ci", "utf8mb4_hu_0900_as_cs", "utf8mb4_ru_0900_ai_ci", "utf8mb4_zh_0900_as_cs", "utf8mb4_ja_0900_as_cs",
        "utf8mb4_ja_0900_as_cs_ks", "utf8mb4_vi_0900_ai_ci",
    ],
    "uca1400": [
        "utf8mb4_uca1400_ai_ci", "utf8mb4_uca1400_as_ci", "utf8mb4_uca1400_nopad_as_cs", "utf8mb4_uca1400_swedish_ai_cs",
        "utf8mb4_uca1400_czech_as_cs", "utf8mb3_uca1400_ai_ci", "utf16_uca1400_as_ci",
    ],
}  # fmt: skip
"""Collations of every kind, of both server families."""
CODECS = {
    "utf8mb4": "utf-8", "utf8mb3": "utf-8", "ucs2": "utf-16-be", "utf16": "utf-16-be", "utf16le": "utf-16-le", "utf32": "utf-32-be",
    "latin1": "latin-1", "latin2": "iso8859-2", "tis620": "iso8859-11", "ujis": "euc_jp", "euckr": "euc_kr",
}  # fmt: skip
"""Python's names of character sets, if they differ."""
FIRST_PLANE = {"utf8mb3", "ucs2"}

TRANSACTIONS = 50
ROWS = 200
ROUNDS = 2
SWEEPS = 24
MAGIC = b"\xfebin"
QUERY, XID, TABLE_MAP, WRITE_ROWS, GTID = 2, 16, 19, 30, 33
CHARACTERS = 100


@dataclass(frozen=True, slots=True)
class TextResult:
    """Rate of hashing rows with a text key, including the reading of their images.

    Attributes:
        script: Script of the texts.
        collation: The column's collation.
        megabytes: Millions of bytes of text per second.
        keys: Millions of keys per second.
        ratio: Time as a multiple of the bytewise hash of the same rows.
    """

    script: str
    collation: str
    megabytes: float
    keys: float
    ratio: float

    def as_json(self) -> dict[str, object]:
        """Return the fields for the results file."""
        return asdict(self) | {"ratio": round(self.ratio, 2)}


def measure_texts(log: Path) -> Iterator[TextResult]:
    """Measure each collation on each script that its character set contains.

    All are measured in several sweeps, so that a slow period of the machine does not affect a single collation.

    Args:
        log: A log of MySQL, whose format description is used for the rows.

    Yields:
        The best of all rounds of either hash; the two alternate.
    """
    with log.open("rb") as source:
        head = source.read(4096)
    size = int.from_bytes(head[13:17], "little")
    format_description = head[4 : 4 + size]
    best: dict[tuple[str, str], tuple[float, float]] = {}
    with tempfile.TemporaryDirectory(prefix="paraply-bench-") as folder:
        logs = Logs(Path(folder), format_description)
        for sweep in range(SWEEPS):
            for script, collation in ((script, collation) for group in COLLATIONS.values() for collation in group for script in SCRIPTS):
                if (found := logs.of(script, collation)) is None:
                    continue
                path, count, size = found
                seconds = _measure(collation, path, count)
                known = best.get((script, collation), seconds)
                plain, exact = best[script, collation] = min(seconds[0], known[0]), min(seconds[1], known[1])
                if sweep == SWEEPS - 1:
                    yield TextResult(script, collation, size / exact / 1e6, count / exact / 1e6, exact / plain)


class Logs:
    """Logs for each script in each character set, written when first requested."""

    def __init__(self, folder: Path, format_description: bytes) -> None:
        self._folder = folder
        self._format_description = format_description
        self._logs: dict[tuple[str, str], tuple[Path, int, int] | None] = {}

    def of(self, script: str, collation: str) -> tuple[Path, int, int] | None:
        """Return a log, its number of texts and their bytes; None if the character set lacks a character."""
        charset = collation.split("_", 1)[0]
        if (script, charset) not in self._logs:
            self._logs[script, charset] = self._written(script, charset)
        return self._logs[script, charset]

    def _written(self, script: str, charset: str) -> tuple[Path, int, int] | None:
        if not (values := encoded(SCRIPTS[script], charset)):
            return None
        path = self._folder / f"{charset}-{script.replace(' ', '-')}.binlog"
        path.write_bytes(text_log(self._format_description, values))
        return path, len(values), sum(map(len, values))


def encoded(words: Sequence[str], charset: str) -> list[bytes]:
    """Return texts made of some words in a character set; none if it lacks a character."""
    if charset in FIRST_PLANE and max("".join(words)) > "\uffff":
        return []
    texts = (f"{words[n % len(words)]} {words[n // 7 % len(words)]} {n}" for n in range(ROWS * TRANSACTIONS))
    try:
        return [text.encode(CODECS.get(charset, charset)) for text in texts]
    except UnicodeEncodeError:
        return []


def _measure(collation: str, log: Path, count: int) -> tuple[float, float]:
    """Return the seconds of hashing a log's keys by bytes, and by collation: the best of some alternating rounds."""
    catalog = Catalog()
    catalog.put(names_table(collation))
    reader = LogReader([str(log)])
    batches: list[TransactionBatch] = []
    while (batch := reader.next_batch()) is not None:
        batches.append(batch)

    def seconds(*, bytewise: bool) -> float:
        # The thread's own CPU time, which depends less on other processes.
        started = time.thread_time()
        keys = sum(batch.write_sets(catalog, bytewise=bytewise).key_count for batch in batches)
        taken = time.thread_time() - started
        if keys != count and collation_class(collation) == "exact":
            raise ValueError(f"{keys} keys of {count} rows")
        return taken

    plain, exact = zip(*((seconds(bytewise=True), seconds(bytewise=False)) for _ in range(ROUNDS)), strict=True)
    return min(plain), min(exact)


def names_table(collation: str) -> Table:
    """Return the table of ``text_log``: one column, which is the primary key."""
    column = Column("name", "varchar", CHARACTERS, nullable=False, charset=collation.split("_", 1)[0], collation=collation)
    return Table("bench", "names", (column,), (Key("PRIMARY", (KeyPart("name"),), unique=True),))


def text_log(format_description: bytes, values: Sequence[bytes]) -> bytes:
    """Return a binlog of inserts of these values into one table, some hundred rows in each transaction."""
    parts = [MAGIC, format_description]
    # The checksum algorithm is stored before the format description's own checksum.
    checksums = format_description[-5] == 1
    position = 4 + len(format_description)
    for first in range(0, len(values), ROWS):
        number = first // ROWS + 1
        gtid = struct.pack("<B16sQBqq", 1, bytes(16), number, 2, number - 1, number)
        begin = struct.pack("<IIBHH", 1, 0, 5, 0, 0) + b"bench\0BEGIN"
        table = struct.pack("<IHH", 1, 0, 1) + b"\5bench\0\5names\0" + struct.pack("<BBBHB", 1, 15, 2, CHARACTERS * 4, 0)
        rows = b"".join(b"\0" + struct.pack("<H", len(value)) + value for value in values[first : first + ROWS])
        write = struct.pack("<IHHH", 1, 0, 1, 2) + b"\1\1" + rows
        for code, body in ((GTID, gtid), (QUERY, begin), (TABLE_MAP, table), (WRITE_ROWS, write), (XID, struct.pack("<Q", number))):
            size = 19 + len(body) + 4 * checksums
            position += size
            event = struct.pack("<IBIIIH", 1, code, 1, size, position, 0) + body
            parts.append(event + struct.pack("<I", zlib.crc32(event)) if checksums else event)
    return b"".join(parts)
