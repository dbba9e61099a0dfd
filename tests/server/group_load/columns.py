"""Column types with small pools of values, among them many that a collation or a type calls equal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

__all__ = ["COARSE_COLLATIONS", "EXACT_COLLATIONS", "ColumnType", "quoted", "random_type", "text_type"]

EXACT_COLLATIONS = (
    "utf8mb4_0900_ai_ci", "utf8mb4_0900_as_ci", "utf8mb4_0900_as_cs", "utf8mb4_general_ci", "utf8mb4_unicode_ci",
    "utf8mb4_unicode_520_ci", "utf8mb4_bin", "utf8mb4_0900_bin", "utf8mb3_general_ci", "utf8mb3_unicode_ci", "utf8mb3_bin",
    "latin1_swedish_ci", "latin1_general_cs", "latin1_german1_ci", "latin1_bin", "ascii_general_ci", "ascii_bin", "latin2_general_ci",
    "cp1250_general_ci", "koi8r_general_ci", "latin5_turkish_ci",
)  # fmt: skip
COARSE_COLLATIONS = (
    "utf8mb4_de_pb_0900_ai_ci", "utf8mb4_ja_0900_as_cs", "utf8mb4_sv_0900_ai_ci", "utf8mb4_german2_ci", "utf8mb4_tr_0900_ai_ci",
    "gbk_chinese_ci", "big5_chinese_ci", "cp932_japanese_ci", "utf16_general_ci", "ucs2_unicode_ci", "gb18030_chinese_ci",
)  # fmt: skip
CODECS = {
    "utf8mb4": "utf-8", "utf8mb3": "utf-8", "latin1": "cp1252", "ascii": "ascii", "latin2": "iso8859-2", "cp1250": "cp1250",
    "koi8r": "koi8-r", "latin5": "iso8859-9", "gbk": "gbk", "big5": "big5", "cp932": "cp932", "utf16": "utf-16", "ucs2": "utf-16",
    "gb18030": "gb18030",
}  # fmt: skip
WORDS = (
    "a", "A", "á", "Á", "ä", "a ", "A  ", "a\t", "ae", "æ", "Æ", "ß", "ss", "SS", "i", "I", "ı", "İ", "é", "e\u0301", "E", "ﬁ", "fi", "FI",
    "straße", "STRASSE", "Strasse", "résumé", "Resume", "RESUME", "日本", "にほん", "ニホン", "я", "Я", "ё", "е", "Å", "A\u030a", "☕",
    "☕\ufe0f", "𝒜", "", " ", "zz\u200bz", "zzz", "ZZZ", "apple pie", "Apple Pie", "apple pies", "ŀ", "l·", "ő", "Ö", "x-1", "x1", "ñ", "n",
)  # fmt: skip
LONG_WORDS = tuple(
    f"{start} {middle}{end}" for start in ("the quick brown fox", "The quick brown fox", "a a a a a a a a a a")
    for middle in ("jumps over the", "Jumps over the")
    for end in (" lazy dog", " lazy Dog", " lazy dogs", " läzy dog", "                dog", "")
)  # fmt: skip
"""Texts that differ behind what the server hashes of a TEXT."""


def quoted(text: str) -> str:
    """A string literal of SQL in the usual sql_mode."""
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A column type.

    Attributes:
        sql: The type as it is declared, with its collation.
        pool: Literals of its values.
        prefix: Lengths that a key's prefix may have; empty if a prefix is not allowed.
        whole: True if the whole column may be a part of a key.
        family: ``text``, ``binary``, ``number``, ``time`` or ``other``.
    """

    sql: str
    pool: tuple[str, ...]
    prefix: tuple[int, ...] = ()
    whole: bool = True
    family: str = "other"


def text_type(r: Random, collations: tuple[str, ...], base: str | None = None) -> ColumnType:
    """CHAR, VARCHAR or one of the TEXTs in one of these collations."""
    collation = r.choice(collations)
    charset = collation.split("_", 1)[0]
    codec = CODECS[charset]
    base = base or r.choice(("char(14)", "varchar(14)", "varchar(60)", "varchar(60)", "tinytext", "text", "mediumtext", "longtext"))
    words = [word for word in WORDS if _fits(word, codec, charset)]
    words = r.sample(words, min(len(words), r.randint(8, 30)))
    if "(14)" not in base and r.random() < 0.6:
        words += r.sample([word for word in LONG_WORDS if _fits(word, codec, charset)], 8)
    sql = f"{base} character set {charset} collate {collation}"
    return ColumnType(sql, tuple(map(quoted, words)), (1, 2, 3, 5, 50), "text" not in base, "text")


def _fits(word: str, codec: str, charset: str) -> bool:
    if charset in ("utf8mb3", "ucs2") and any(ord(letter) > 0xFFFF for letter in word):
        return False
    try:
        word.encode(codec)
    except UnicodeEncodeError:
        return False
    return True


def _integer(r: Random) -> ColumnType:
    name, bits = r.choice((("tinyint", 8), ("smallint", 16), ("mediumint", 24), ("int", 32), ("bigint", 64)))
    unsigned = r.random() < 0.5
    low, high = (0, 2**bits - 1) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    numbers = {low, low + 1, high, high - 1, *(r.randint(0, 100) for _ in range(20))}
    return ColumnType(f"{name}{' unsigned' * unsigned}", tuple(map(str, sorted(numbers))), family="number")


def _decimal(r: Random) -> ColumnType:
    precision, scale = r.choice(((3, 0), (5, 2), (9, 9), (10, 4), (18, 9), (30, 10), (65, 30)))
    whole = max(precision - scale, 0)
    top = ("9" * whole or "0") + ("." + "9" * scale if scale else "")
    tail = "." + "0" * (scale - 1) + "1" if scale else ""
    pool = {top, "-" + top, "0", "-0", f"0{tail}", f"-0{tail}"}
    for _ in range(12):
        number = str(r.randint(0, min(10**whole - 1, 60)))
        pool |= {number, f"{number}.0"} if not scale else {number, f"{number}.5", f"-{number}.50"}
    return ColumnType(f"decimal({precision},{scale})", tuple(sorted(pool)), family="number")


def _floating(r: Random) -> ColumnType:
    pool = ["0", "-0e0", "0e0", "1", "-1", "0.1", "1e-30", "-1e-30", "3.4e38", "-3.4e38", "16777217", "16777216", "1.5", "2.25", "1e10"]
    if r.random() < 0.5:
        return ColumnType("float", (*pool, "1.1754944e-38"), family="number")
    return ColumnType("double", (*pool, "1.7976931348623157e308", "2.2250738585072014e-308", "4.9e-324"), family="number")


def _label(r: Random) -> ColumnType:
    labels = ("a", "b", "ä", "c d", "e,f", "x''y", "")
    if r.random() < 0.5:
        return ColumnType("enum('" + "','".join(labels) + "')", tuple(f"'{label}'" for label in labels))
    members = ("a", "b", "c", "ä", *(f"m{n}" for n in range(r.choice((0, 6, 20, 60)))))
    pool = {"''", *(f"'{','.join(r.sample(members, r.randint(1, 3)))}'" for _ in range(15))}
    return ColumnType("set('" + "','".join(members) + "')", tuple(sorted(pool)))


def _bits(r: Random) -> ColumnType:
    bits = r.choice((1, 7, 8, 13, 33, 64))
    pool = {0, 1, 2**bits - 1, 2 ** (bits - 1), *(r.randrange(2**bits) for _ in range(10))}
    return ColumnType(f"bit({bits})", tuple(f"b'{number:b}'" for number in sorted(pool)))


def _year(r: Random) -> ColumnType:
    return ColumnType("year", tuple(str(y) for y in (1901, 2155, 0, *(r.randint(1990, 2020) for _ in range(10)))), family="number")


def _date(r: Random) -> ColumnType:
    days = [f"'20{r.randint(10, 12)}-0{r.randint(1, 3)}-1{r.randint(0, 3)}'" for _ in range(20)]
    return ColumnType("date", ("'1000-01-01'", "'9999-12-31'", *sorted(set(days))), family="time")


def _clock(r: Random, n: int) -> str:
    fraction = "." + r.choice(("0", "5", "50", "000001", "100", "999999", "123456")) if n else ""
    return f"0{r.randint(0, 2)}:0{r.randint(0, 3)}:0{r.randint(0, 3)}{fraction}"


def _time(r: Random) -> ColumnType:
    n = r.choice((0, 0, 1, 2, 3, 4, 5, 6))
    pool = {"'-838:59:59'", "'838:59:59'", "'00:00:00'", "'-00:00:00'", "'-00:00:01'"}
    pool |= {f"'{r.choice(('', '-'))}{_clock(r, n)}'" for _ in range(16)}
    return ColumnType(f"time({n})", tuple(sorted(pool)), family="time")


def _moment(r: Random) -> ColumnType:
    n = r.choice((0, 0, 1, 2, 3, 4, 5, 6))
    name = r.choice(("datetime", "timestamp"))
    limits = ("'1000-01-01'", "'9999-12-31 23:59:58'") if name == "datetime" else ("'1970-01-02 03:00:00'", "'2038-01-18 03:14:07'")
    pool = {*limits, *(f"'2024-0{r.randint(1, 2)}-0{r.randint(1, 3)} {_clock(r, n)}'" for _ in range(16))}
    return ColumnType(f"{name}({n})", tuple(sorted(pool)), family="time")


BYTES = (
    "",
    "00",
    "0000",
    "61",
    "6100",
    "610000",
    "41",
    "6120",
    "ff",
    "ff00",
    "c3a4",
    "616263",
    "61626364",
    "20",
    "2020",
    "c2bd",
    "6162636465666768696a6b6c6d6e",
    "6162636465666768696a6b6c6d6f",
    "31c2bd31",
)


def _binary(r: Random) -> ColumnType:
    base = r.choice(("binary(4)", "binary(7)", "varbinary(4)", "varbinary(30)", "tinyblob", "blob", "mediumblob", "longblob"))
    capacity = int(base[base.index("(") + 1 : -1]) if "(" in base else 99
    pool = tuple(f"x'{value}'" for value in BYTES if len(value) <= 2 * capacity)
    return ColumnType(base, pool, (1, 2, 3) if capacity < 30 else (1, 2, 3, 13), "blob" not in base, "binary")


KINDS: tuple[tuple[int, Callable[[Random], ColumnType]], ...] = (
    (6, _integer), (3, _decimal), (2, _floating), (2, _label), (2, _bits), (1, _year), (1, _date), (2, _time), (3, _moment), (4, _binary),
)  # fmt: skip


def random_type(r: Random, collations: tuple[str, ...]) -> ColumnType:
    """Any type that a key can have."""
    if r.random() < 0.35:
        return text_type(r, collations)
    (make,) = r.choices([make for _, make in KINDS], [weight for weight, _ in KINDS])
    return make(r)
