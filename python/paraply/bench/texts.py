"""How fast keys of text are hashed under a collation, beside the bytewise hash of the same rows (rule R12)."""

from __future__ import annotations

import struct
import tempfile
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from paraply._native import Catalog, LogReader, TransactionBatch
from paraply.schema.model import Column, Key, KeyPart, Table

__all__ = ["SCRIPTS", "TextResult", "measure_texts"]

SCRIPTS = {
    "ASCII": ("anna", "Bertil", "cecilia", "David"),
    "Latin with accents": ("åsa", "Jörg", "Zoë", "Björn", "Renée"),
    "Cyrillic": ("анна", "Борис", "Иван"),
    "CJK": ("张伟", "王秀英", "李娜"),
    "Kana": ("さくら", "サクラ", "がぎ"),
    "Hangul": ("김민준", "이서연", "박지"),
    "emoji": ("😀🚀", "👍", "❤🎉"),
}
"""What people put into unique columns, by script."""
COLLATIONS = (
    "utf8mb4_bin", "utf8mb4_0900_ai_ci", "utf8mb4_0900_as_cs", "utf8mb4_general_ci", "utf8mb4_unicode_ci", "latin1_swedish_ci"
)  # fmt: skip
LATIN1 = ("ASCII", "Latin with accents")

TRANSACTIONS = 50
ROWS = 200
ROUNDS = 11
MAGIC = b"\xfebin"
QUERY, XID, TABLE_MAP, WRITE_ROWS, GTID = 2, 16, 19, 30, 33
CHARACTERS = 100


@dataclass(frozen=True, slots=True)
class TextResult:
    """The rate of hashing rows whose key is text, reading their images included.

    Attributes:
        script: What the texts are made of.
        collation: The column's collation.
        megabytes: Millions of bytes of text a second.
        keys: Millions of keys a second.
        ratio: How many times slower than hashing the same rows by their bytes.
    """

    script: str
    collation: str
    megabytes: float
    keys: float
    ratio: float

    def as_json(self) -> dict[str, object]:
        """For the results file."""
        return asdict(self) | {"ratio": round(self.ratio, 2)}


def measure_texts(log: Path) -> Iterator[TextResult]:
    """Measures each collation on each script that its character set has.

    Args:
        log: A log of MySQL, whose format description the rows are written under.

    Yields:
        The best of some interleaved rounds of both hashes.
    """
    with log.open("rb") as source:
        head = source.read(4096)
    size = int.from_bytes(head[13:17], "little")
    format_description = head[4 : 4 + size]
    with tempfile.TemporaryDirectory(prefix="paraply-bench-") as folder:
        for script, words in SCRIPTS.items():
            texts = [f"{words[n % len(words)]} {words[n // 7 % len(words)]} {n}" for n in range(ROWS * TRANSACTIONS)]
            for collation in COLLATIONS:
                charset = collation.split("_", 1)[0]
                if charset == "utf8mb4" or script in LATIN1:
                    values = [text.encode("latin-1" if charset == "latin1" else "utf-8") for text in texts]
                    path = Path(folder) / "texts.binlog"
                    path.write_bytes(text_log(format_description, values))
                    yield _measure(script, collation, path, values)


def _measure(script: str, collation: str, log: Path, values: Sequence[bytes]) -> TextResult:
    catalog = Catalog()
    catalog.put(names_table(collation))
    reader = LogReader([str(log)])
    batches: list[TransactionBatch] = []
    while (batch := reader.next_batch()) is not None:
        batches.append(batch)

    def seconds(*, bytewise: bool) -> float:
        # The thread's own time: what else the machine does counts less.
        started = time.thread_time()
        keys = sum(batch.write_sets(catalog, bytewise=bytewise).key_count for batch in batches)
        taken = time.thread_time() - started
        if keys != len(values):
            raise ValueError(f"{keys} keys of {len(values)} rows")
        return taken

    rounds = [(seconds(bytewise=True), seconds(bytewise=False)) for _ in range(ROUNDS)]
    plain, exact = (min(times) for times in zip(*rounds, strict=True))
    return TextResult(script, collation, sum(map(len, values)) / exact / 1e6, len(values) / exact / 1e6, exact / plain)


def names_table(collation: str) -> Table:
    """The table of ``text_log``: one column, which is the primary key."""
    column = Column("name", "varchar", CHARACTERS, nullable=False, charset=collation.split("_", 1)[0], collation=collation)
    return Table("bench", "names", (column,), (Key("PRIMARY", (KeyPart("name"),), unique=True),))


def text_log(format_description: bytes, values: Sequence[bytes]) -> bytes:
    """A binlog of inserts of these values into one table, some hundred rows a transaction."""
    parts = [MAGIC, format_description]
    # The algorithm stands before the format description's own checksum.
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
