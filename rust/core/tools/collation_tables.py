"""Asks real servers for their collation weights and writes the tables that ``paraply-core`` compiles in.

Run it again when a server release changes a collation::

    python rust/core/tools/collation_tables.py --mysql 127.0.0.1:13301 --mariadb-socket /path/to/socket

Every weight comes from ``WEIGHT_STRING`` on the MySQL server. The script stops with an error where the assumptions of the Rust code
do not hold: that a string's weights are its characters' weights one after the other (no contractions), and that MariaDB gives
the same weights under the same name.

Needs ``pymysql`` and ``pyarrow`` (for zstd). Writes ``rust/core/data/*.zst`` and ``rust/core/tests/data/collation_pairs.zst``.
"""

from __future__ import annotations

import argparse
import random
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pymysql

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CORE = Path(__file__).resolve().parent.parent
DATABASE = "paraply_collation"
PAGE = 256
BATCH = 20_000
CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
# File name, collation that is asked, levels in its answer.
FAMILIES = [
    ("general", "utf8mb4_general_ci", 1),
    ("uca400", "utf8mb4_unicode_ci", 1),
    ("uca520", "utf8mb4_unicode_520_ci", 1),
    ("uca900", "utf8mb4_0900_as_cs", 3),
]
# Collations that must give the weights of the same family, cut after so many levels.
SAME_WEIGHTS = [
    ("utf8mb4_0900_ai_ci", "uca900", 1),
    ("utf8mb4_0900_as_ci", "uca900", 2),
    ("utf8mb3_general_ci", "general", 1),
    ("utf8mb3_unicode_ci", "uca400", 1),
    ("utf8mb3_unicode_520_ci", "uca520", 1),
]
SAME_IN_MARIADB = [
    ("utf8mb4_general_ci", "general"),
    ("utf8mb4_unicode_ci", "uca400"),
    ("utf8mb4_unicode_520_ci", "uca520"),
    ("utf8mb3_general_ci", "general"),
    ("utf8mb3_unicode_ci", "uca400"),
    ("utf8mb3_unicode_520_ci", "uca520"),
    ("utf8mb4_general_nopad_ci", "general"),
    ("utf8mb4_unicode_nopad_ci", "uca400"),
    ("utf8mb4_unicode_520_nopad_ci", "uca520"),
]
# Blocks whose characters combine, expand, reorder or are ignored somewhere.
CONFUSABLE = [
    (0x00, 0x1F), (0x20, 0x7F), (0xC0, 0x24F), (0x300, 0x36F), (0x400, 0x480), (0x6C0, 0x700), (0x980, 0xDFF), (0xE00, 0xE7F),
    (0xE80, 0xEFF), (0xF00, 0xFFF), (0x1000, 0x109F), (0x1100, 0x11FF), (0x1980, 0x19DF), (0x1B00, 0x1B7F), (0x1E00, 0x1EFF),
    (0x2000, 0x206F), (0x3040, 0x30FF), (0x4E00, 0x4E40), (0xA000, 0xA0FF), (0xAA80, 0xAADF), (0xAC00, 0xD7A3), (0xFB00, 0xFDFF),
    (0xFE00, 0xFE0F), (0xFF00, 0xFFEF), (0x10000, 0x1FFFF), (0x11000, 0x11FFF), (0x1F1E6, 0x1F1FF), (0xE0100, 0xE01EF),
]  # fmt: skip

Weights = list[list[tuple[int, ...]]]
"""Per level, per code point of ``CODE_POINTS``: the weights."""


class Server:
    """One connection to a server that answers about weights."""

    def __init__(self, **where: Any) -> None:
        self.connection = pymysql.connect(charset="utf8mb4", autocommit=True, **where)
        self.cursor = self.connection.cursor()

    def rows(self, sql: str) -> Sequence[tuple[Any, ...]]:
        """All rows of a query."""
        self.cursor.execute(sql)
        return list(self.cursor.fetchall())

    def prepare(self) -> None:
        """Makes the table of all code points; nothing of it is logged on a server that keeps a binary log."""
        for sql in ("SET sql_log_bin=0", f"CREATE DATABASE IF NOT EXISTS {DATABASE}", f"USE {DATABASE}"):
            self.cursor.execute(sql)
        self.cursor.execute("DROP TABLE IF EXISTS cp")
        self.cursor.execute("CREATE TABLE cp (n INT PRIMARY KEY, c VARCHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)")
        for batch in batches(CODE_POINTS):
            self.cursor.execute("INSERT INTO cp VALUES " + ",".join(f"({c},x'{chr(c).encode().hex()}')" for c in batch))

    def weights(self, collation: str) -> list[bytes]:
        """The weight string of every code point (of the first plane for utf8mb3)."""
        text, where = ("CONVERT(c USING utf8mb3)", "WHERE n < 65536") if collation.startswith("utf8mb3") else ("c", "")
        return [bytes(row[0]) for row in self.rows(f"SELECT WEIGHT_STRING({text} COLLATE {collation}) FROM cp {where} ORDER BY n")]

    def weights_of(self, collation: str, texts: Sequence[str]) -> Iterator[bytes]:
        """The weight strings of some texts."""
        for batch in batches(texts, 500):
            asked = ",".join(f"WEIGHT_STRING(_utf8mb4 x'{t.encode().hex()}' COLLATE {collation})" for t in batch)
            yield from (bytes(w) for w in self.rows(f"SELECT {asked}")[0])

    def byte_weights(self, character_set: str, collation: str) -> list[bytes]:
        """The weight of each of the 256 bytes of a single-byte character set."""
        asked = ",".join(f"WEIGHT_STRING(_{character_set} x'{b:02x}' COLLATE {collation})" for b in range(256))
        return [bytes(w) for w in self.rows(f"SELECT {asked}")[0]]

    def equal(self, character_set: str, collation: str, pairs: Sequence[tuple[bytes, bytes]]) -> Iterator[bool]:
        """Whether the server calls the two byte strings of each pair equal."""
        for batch in batches(pairs, 500):
            asked = ",".join(f"_{character_set} x'{a.hex()}' = _{character_set} x'{b.hex()}' COLLATE {collation}" for a, b in batch)
            yield from (bool(v) for v in self.rows(f"SELECT {asked}")[0])


def batches(items: Sequence[Any], size: int = BATCH) -> Iterator[Sequence[Any]]:
    """The items in consecutive slices."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


def index(code_point: int) -> int:
    """Where a code point stands in ``CODE_POINTS``."""
    return code_point if code_point < 0xD800 else code_point - 0x800


def words(weight: bytes) -> tuple[int, ...]:
    """A weight string as 16-bit numbers."""
    return struct.unpack(f">{len(weight) // 2}H", weight)


def levels_of(weight: bytes, levels: int) -> list[tuple[int, ...]]:
    """Splits a weight string at the zero words between its levels; with one level a zero word is a weight like any other."""
    if levels == 1:
        return [words(weight)]
    out: list[list[int]] = [[]]
    for word in words(weight):
        if word == 0:
            out.append([])
        else:
            out[-1].append(word)
    out += [[] for _ in range(levels - len(out))]
    return [tuple(level) for level in out]


def by_level(answer: Sequence[bytes], levels: int) -> Weights:
    """Turns the answers for all code points into one list a level."""
    split = [levels_of(weight, levels) for weight in answer]
    return [[one[level] for one in split] for level in range(levels)]


def encode(weights: Weights) -> bytes:
    """The file format that ``collation/weights.rs`` reads (before compression)."""
    out = bytearray([len(weights)])
    for level in weights:
        for start in range(0, 0x110000, PAGE):
            surrogates = 0xD800 <= start < 0xE000
            out += encode_page([()] * PAGE if surrogates else level[index(start) : index(start) + PAGE])
    return bytes(out)


def encode_page(page: Sequence[tuple[int, ...]]) -> bytes:
    """A page whose weights grow evenly as start and step, any other as counts and differences."""
    count = len(page[0])
    if all(len(entry) == count for entry in page):
        steps = [(page[1][i] - page[0][i]) % 65536 for i in range(count)]
        if all((page[n + 1][i] - page[n][i]) % 65536 == steps[i] for n in range(PAGE - 1) for i in range(count)):
            return bytes([0, count]) + b"".join(struct.pack("<HH", page[0][i], steps[i]) for i in range(count))
    out = bytearray([1]) + bytearray(len(entry) for entry in page)
    last = 0
    for weight in (weight for entry in page for weight in entry):
        out += struct.pack("<H", (weight - last) % 65536)
        last = weight
    return bytes(out)


def random_texts(rng: random.Random, count: int) -> list[str]:
    """Short texts out of few blocks, so that marks, jamo and vowel signs meet what they might combine with."""
    texts = []
    for _ in range(count):
        base = rng.choice(CONFUSABLE)
        points = []
        for _ in range(rng.randint(1, 6)):
            point = rng.randint(*(base if rng.random() < 0.6 else rng.choice(CONFUSABLE)))
            point = rng.randint(0, 0x10FFFF) if rng.random() < 0.05 else point
            points.append(0x41 if 0xD800 <= point < 0xE000 else point)
        texts.append("".join(map(chr, points)))
    return texts


def check_concatenation(server: Server, collation: str, weights: Weights, rng: random.Random, count: int) -> None:
    """Stops if some text's weights are not its characters' weights one after the other."""
    texts = random_texts(rng, count)
    for text, answer in zip(texts, server.weights_of(collation, texts), strict=True):
        expected = [tuple(w for c in text for w in level[index(ord(c))]) for level in weights]
        if levels_of(answer, len(weights)) != expected:
            raise SystemExit(f"{collation} does not weigh characters one by one: {[hex(ord(c)) for c in text]}")


def save(path: Path, data: bytes) -> None:
    """Compresses and writes one file."""
    packed = pa.Codec("zstd", compression_level=19).compress(data, asbytes=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(packed)
    print(f"{path.relative_to(CORE)}: {len(packed)} bytes ({len(data)} unpacked)", flush=True)


def unicode_tables(mysql: Server, mariadb: Server | None) -> dict[str, Weights]:
    """Asks for the Unicode families, checks them, writes them."""
    families: dict[str, Weights] = {}
    for name, collation, levels in FAMILIES:
        families[name] = by_level(mysql.weights(collation), levels)
        check_concatenation(mysql, collation, families[name], random.Random(name), 30_000)
        save(CORE / "data" / f"{name}.zst", encode(families[name]))
    for collation, family, levels in SAME_WEIGHTS:
        same(mysql, collation, families[family][:levels])
    for collation, family in SAME_IN_MARIADB if mariadb else []:
        assert mariadb is not None
        same(mariadb, collation, families[family])
        if collation.startswith("utf8mb4"):
            check_concatenation(mariadb, collation, families[family], random.Random(collation), 10_000)
    return families


def same(server: Server, collation: str, weights: Weights) -> None:
    """Stops if a collation's weights are not the given ones."""
    answer = by_level(server.weights(collation), len(weights))
    if any(level != known[: len(level)] for level, known in zip(answer, weights, strict=True)):
        raise SystemExit(f"{collation} has other weights than its family")


def byte_tables(mysql: Server, mariadb: Server | None) -> dict[str, list[bytes]]:
    """Asks for all collations of single-byte character sets and writes those that weigh byte by byte."""
    sql = (
        "SELECT COLLATION_NAME, CHARACTER_SET_NAME FROM information_schema.COLLATIONS JOIN information_schema.CHARACTER_SETS "
        "USING (CHARACTER_SET_NAME) WHERE MAXLEN = 1 AND CHARACTER_SET_NAME <> 'binary' ORDER BY ID"
    )
    tables: dict[str, list[bytes]] = {}
    known = {str(row[0]) for row in mariadb.rows("SHOW COLLATION")} if mariadb else set()
    for collation, character_set in mysql.rows(sql):
        table = mysql.byte_weights(character_set, collation)
        every = bytes(range(1, 256))
        whole = bytes(mysql.rows(f"SELECT WEIGHT_STRING(_{character_set} x'{every.hex()}' COLLATE {collation})")[0][0])
        if whole != b"".join(table[1:]) or max(map(len, table)) > 2:
            print(f"{collation}: not byte by byte, left out")
            continue
        if mariadb and collation in known and mariadb.byte_weights(character_set, collation) != table:
            print(f"{collation}: MariaDB weighs otherwise, left out")
            continue
        tables[collation] = table
    data = bytearray()
    for collation, table in tables.items():
        if not collation.endswith("_bin"):
            data += bytes([len(collation)]) + collation.encode() + b"".join(bytes([len(w)]) + w for w in table)
    save(CORE / "data" / "bytes.zst", bytes(data))
    return tables


def names(mysql: Server, mariadb: Server | None) -> None:
    """Writes the numbers and names of all collations of both families."""
    lines = [
        f"mysql\t{i}\t{n}\t{c}"
        for i, n, c in mysql.rows("SELECT ID, COLLATION_NAME, CHARACTER_SET_NAME FROM information_schema.COLLATIONS ORDER BY ID")
    ]
    if mariadb:
        sql = (
            "SELECT ID, FULL_COLLATION_NAME, CHARACTER_SET_NAME FROM information_schema.COLLATION_CHARACTER_SET_APPLICABILITY "
            "ORDER BY ID, FULL_COLLATION_NAME"
        )
        lines += [f"mariadb\t{i}\t{n}\t{c}" for i, n, c in mariadb.rows(sql)]
    save(CORE / "data" / "names.zst", "\n".join(lines).encode())


def main() -> None:
    """Reads the arguments and writes all files."""
    from collation_pairs import write_pairs

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mysql", default="127.0.0.1:3306", help="host:port of a MySQL 9 server")
    parser.add_argument("--user", default="app")
    parser.add_argument("--password", default="app")
    parser.add_argument("--mariadb-socket", help="socket of a MariaDB 10.10 or later, to check its weights and take its names")
    parser.add_argument("--mariadb-user", default="root")
    arguments = parser.parse_args()
    host, port = arguments.mysql.rsplit(":", 1)
    mysql = Server(host=host, port=int(port), user=arguments.user, password=arguments.password)
    mariadb = Server(unix_socket=arguments.mariadb_socket, user=arguments.mariadb_user) if arguments.mariadb_socket else None
    for server in (mysql, mariadb):
        if server:
            server.prepare()
    names(mysql, mariadb)
    tables = byte_tables(mysql, mariadb)
    families = unicode_tables(mysql, mariadb)
    write_pairs(mysql, mariadb, families, tables)


if __name__ == "__main__":
    main()
