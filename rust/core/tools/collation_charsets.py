"""The tables of character sets that are not Unicode's own: weights of bytes, characters that equal others, gb18030's code points."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from collation_servers import batches

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from collation_servers import Server

CASE_FOLDING = {
    "big5": "big5_chinese_ci",
    "gb2312": "gb2312_chinese_ci",
    "gbk": "gbk_chinese_ci",
    "gb18030": "gb18030_chinese_ci",
    "sjis": "sjis_japanese_ci",
    "cp932": "cp932_japanese_ci",
    "ujis": "ujis_japanese_ci",
    "eucjpms": "eucjpms_japanese_ci",
    "euckr": "euckr_korean_ci",
}
# Bytes in the middle of a word, weighed in four passes of which the last sees every byte.
BY_LAST_PASS = "latin2_czech_cs"


def between(low: int, high: int) -> range:
    """Return all numbers from ``low`` to ``high``."""
    return range(low, high + 1)


def two_bytes(first: Iterable[int], second: Sequence[int]) -> list[bytes]:
    """Return all sequences of a first and a second byte."""
    return [bytes([a, b]) for a in first for b in second]


def characters(character_set: str) -> list[bytes]:
    """Return all well-formed characters of a multi-byte character set, assigned or not."""
    ascii_characters = [bytes([b]) for b in range(128)]
    halves = [*between(0x40, 0x7E), *between(0x80, 0xFE)]
    upper = between(0xA1, 0xFE)
    digits = between(0x30, 0x39)
    if character_set == "big5":
        return ascii_characters + two_bytes(between(0xA1, 0xF9), [*between(0x40, 0x7E), *upper])
    if character_set == "gb2312":
        return ascii_characters + two_bytes(between(0xA1, 0xF7), upper)
    if character_set == "gbk":
        return ascii_characters + two_bytes(between(0x81, 0xFE), halves)
    if character_set in {"sjis", "cp932"}:
        kana = [bytes([b]) for b in between(0xA1, 0xDF)]
        firsts = [*between(0x81, 0x9F), *between(0xE0, 0xFC)]
        return ascii_characters + kana + two_bytes(firsts, [*between(0x40, 0x7E), *between(0x80, 0xFC)])
    if character_set == "euckr":
        return ascii_characters + two_bytes(between(0x81, 0xFE), [*between(0x41, 0x5A), *between(0x61, 0x7A), *between(0x81, 0xFE)])
    if character_set in {"ujis", "eucjpms"}:
        two = two_bytes(upper, upper)
        return ascii_characters + two + two_bytes([0x8E], between(0xA1, 0xDF)) + [b"\x8f" + c for c in two]
    if character_set == "gb18030":
        half = two_bytes(between(0x81, 0xFE), digits)
        return ascii_characters + two_bytes(between(0x81, 0xFE), halves) + [a + b for a in half for b in half]
    raise ValueError(character_set)


def ask_characters(server: Server, texts: Sequence[bytes], expression: str) -> list[bytes | None]:
    """Return the result of an expression over the bytes ``c`` for each text."""
    server.cursor.execute("CREATE TEMPORARY TABLE IF NOT EXISTS mb (n INT PRIMARY KEY, c VARBINARY(16))")
    out: list[bytes | None] = []
    for batch in batches(texts):
        server.cursor.execute("DELETE FROM mb")
        server.cursor.execute("INSERT INTO mb VALUES " + ",".join(f"({n},x'{c.hex()}')" for n, c in enumerate(batch)))
        out += [None if row[0] is None else bytes(row[0]) for row in server.rows(f"SELECT {expression} FROM mb ORDER BY n")]
    return out


def fold(server: Server, character_set: str) -> dict[bytes, bytes]:
    """Return the characters that equal a lesser one (fewer bytes first), with the least such character."""
    texts = characters(character_set)
    collation = CASE_FOLDING[character_set]
    answers = ask_characters(server, texts, f"WEIGHT_STRING(CAST(c AS CHAR CHARACTER SET {character_set}) COLLATE {collation})")
    groups: dict[bytes | None, list[bytes]] = defaultdict(list)
    for text, weight in zip(texts, answers, strict=True):
        groups[weight].append(text)
    if None in groups or b"" in groups:
        raise SystemExit(f"{collation}: some character has no weight")
    equal: dict[bytes, bytes] = {}
    for group in groups.values():
        # Characters with one weight need not be equal: some of these collations compare long characters by their bytes.
        for first, text in equal_pairs(server, character_set, collation, group) if len(group) > 1 else []:
            equal.setdefault(text, equal.get(first, first))
    return equal


def equal_pairs(server: Server, character_set: str, collation: str, texts: Sequence[bytes]) -> list[tuple[bytes, bytes]]:
    """Return the pairs among some texts that the server calls equal, in order."""
    if len(texts) < 10:
        pairs = [(a, b) for n, a in enumerate(texts) for b in texts[n + 1 :]]
        return [pair for pair, is_equal in zip(pairs, server.equal(character_set, collation, pairs), strict=True) if is_equal]
    for table in ("one", "other"):
        server.cursor.execute(f"DROP TEMPORARY TABLE IF EXISTS {table}")
        server.cursor.execute(f"CREATE TEMPORARY TABLE {table} (n INT, c CHAR(1) CHARACTER SET {character_set} COLLATE {collation})")
        server.cursor.execute(f"INSERT INTO {table} VALUES " + ",".join(f"({n},x'{c.hex()}')" for n, c in enumerate(texts)))
    # Not with =, which joins by hashes of weights.
    rows = server.rows("SELECT one.n, other.n FROM one JOIN other ON one.n < other.n WHERE STRCMP(one.c, other.c) = 0 ORDER BY 1, 2")
    return [(texts[a], texts[b]) for a, b in rows]


def encode_folds(folds: dict[str, dict[bytes, bytes]]) -> bytes:
    """Return the lines that ``collation/fold.rs`` reads."""
    lines = []
    for collation, pairs in folds.items():
        lines += [f"{collation} {text.hex()} {equal.hex()}" for text, equal in sorted(pairs.items())]
    return "\n".join(lines).encode()


def gb18030_code_points(server: Server) -> bytes:
    """Return the code points of all characters with two bytes and of those with four below the supplementary planes; 0 for none."""
    texts = [text for text in characters("gb18030") if len(text) == 2]
    half = two_bytes(between(0x81, 0x84), between(0x30, 0x39))
    texts += [a + b for a in half for b in two_bytes(between(0x81, 0xFE), between(0x30, 0x39))][:39_420]
    converted = ask_characters(server, texts, "CAST(CONVERT(CAST(c AS CHAR CHARACTER SET gb18030) USING utf32) AS BINARY)")
    out = bytearray()
    for text, answer in zip(texts, converted, strict=True):
        code_point = int.from_bytes(answer or b"", "big")
        if code_point > 0xFFFF:
            raise SystemExit(f"gb18030 {text.hex()} is {code_point:x}, beyond the first plane")
        out += (0 if code_point == 0x3F else code_point).to_bytes(2, "little")
    return bytes(out)


def byte_tables(mysql: Server, mariadb: Server) -> dict[str, list[bytes]]:
    """Return the weights of all collations of single-byte character sets that weigh byte by byte."""
    sql = (
        "SELECT COLLATION_NAME, CHARACTER_SET_NAME FROM information_schema.COLLATIONS JOIN information_schema.CHARACTER_SETS "
        "USING (CHARACTER_SET_NAME) WHERE MAXLEN = 1 AND CHARACTER_SET_NAME <> 'binary' AND COLLATION_NAME NOT LIKE '%\\_bin' ORDER BY ID"
    )
    tables: dict[str, list[bytes]] = {}
    known = {str(row[0]) for row in mariadb.rows("SHOW COLLATION")}
    for collation, character_set in mysql.rows(sql):
        table = mysql.byte_weights(character_set, collation)
        every = bytes(range(1, 256))
        whole = bytes(mysql.rows(f"SELECT WEIGHT_STRING(_{character_set} x'{every.hex()}' COLLATE {collation})")[0][0])
        if whole != b"".join(table[1:]) or max(map(len, table)) > 2:
            print(f"{collation}: not byte by byte, left out")
        elif collation in known and mariadb.byte_weights(character_set, collation) != table:
            print(f"{collation}: MariaDB weighs otherwise, left out")
        else:
            tables[collation] = table
    tables[BY_LAST_PASS] = last_pass(mysql, "latin2", BY_LAST_PASS)
    tables["euckr_korean_ci"] = by_byte(mysql, "euckr", "euckr_korean_ci")
    return tables


def last_pass(server: Server, character_set: str, collation: str) -> list[bytes]:
    """Return for each byte the least one with the same weight in the middle of a word."""
    asked = ",".join(f"WEIGHT_STRING(_{character_set} x'78{b:02x}79' COLLATE {collation})" for b in range(256))
    answers = [bytes(w) for w in server.rows(f"SELECT {asked}")[0]]
    # A tab counts as a space, whose byte has to stand for both because spaces at the end are told by it.
    return [b" " if answer == answers[0x20] else bytes([answers.index(answer)]) for answer in answers]


def by_byte(server: Server, character_set: str, collation: str) -> list[bytes]:
    """Return for each byte the least one equal to it by ``=``: alone for ASCII, else within a character of two bytes."""
    wide = [b"\xa1%c" % byte if byte > 0x80 else bytes([byte]) for byte in range(255)]
    del wide[0x80]
    pairs = [(a, b) for n, b in enumerate(wide) for a in wide[:n] if len(a) == len(b)]
    least = {text: text for text in wide}
    for (a, b), equal in zip(pairs, server.equal(character_set, collation, pairs), strict=True):
        if equal and least[b] == b:
            least[b] = a
    found = {text[-1]: least[text][-1:] for text in wide}
    return [found.get(byte, bytes([byte])) for byte in range(256)]


def encode_bytes(tables: dict[str, list[bytes]]) -> bytes:
    """Return the format that ``collation/bytes.rs`` reads."""
    data = bytearray()
    for collation, table in tables.items():
        data += bytes([len(collation)]) + collation.encode() + b"".join(bytes([len(w)]) + w for w in table)
    return bytes(data)
