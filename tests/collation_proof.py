"""Compares equality forms with what real servers call equal, collation by collation.

Used by ``tools/collations.py``, which asks much and writes the table of the documentation, and by the tests, which ask a sample.
Values are pairs: a random text out of characters that are often equal or weigh together, beside a copy that was changed in a way
that some collation does not see. The server's ``=`` decides.
"""

from __future__ import annotations

import random
import unicodedata
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from paraply import _native
from paraply.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pymysql

Pair = tuple[bytes, bytes]
CODECS = {"utf8mb4": "utf-8", "utf8mb3": "utf-8", "ucs2": "utf-16-be", "utf16": "utf-16-be", "utf16le": "utf-16-le", "utf32": "utf-32-be"}
FIRST_PLANE = {"utf8mb3", "ucs2"}
MULTI_BYTE = {
    "big5": "big5", "gb2312": "gb2312", "gbk": "gbk", "gb18030": "gb18030", "sjis": "shift_jis", "cp932": "cp932", "ujis": "euc_jp",
    "eucjpms": "euc_jp", "euckr": "euc_kr",
}  # fmt: skip
BATCH = 400
IGNORED = [0x00, 0x01, 0x09, 0x20, 0xA0, 0xAD, 0x300, 0x301, 0x302, 0x307, 0x34F, 0x200B, 0x200D, 0x3000, 0x30FC, 0xFE0F, 0xE0101]
# Letters that some language weighs together, or apart from their base letter.
TOGETHER = ["aA", "cChHsSzZ", "dDzZsS\u017d\u017e", "gGyY", "lLjJ\xb7lLyY", "nNjJgGyY", "sSzZ", "tTyY", "uU", "oOeE", "iI\u0130\u0131"]
# Blocks whose characters combine, expand, reorder or are ignored somewhere.
BLOCKS = [
    (0x00, 0x1F), (0x20, 0x7F), (0xC0, 0x24F), (0x300, 0x345), (0x370, 0x3FF), (0x400, 0x4FF),
    (0x620, 0x6D3), (0x900, 0xDFF), (0xD80, 0xDFF), (0xE00, 0xEDF), (0xF40, 0xFBC), (0x1000, 0x104F),
    (0x1100, 0x11FF), (0x1B00, 0x1B4B), (0x1E00, 0x1FFF), (0x2000, 0x206F), (0x2100, 0x214F), (0x2460, 0x24FF),
    (0x3041, 0x30FF), (0x4E00, 0x4EFF), (0xAA80, 0xAADF), (0xAC00, 0xAC80), (0xF900, 0xFA6D), (0xFB00, 0xFB4F),
    (0xFE70, 0xFEFC), (0xFF01, 0xFFDC), (0x11080, 0x110C0), (0x1D400, 0x1D4FF), (0x1F1E6, 0x1F1FF), (0xE0100, 0xE01EF),
]  # fmt: skip


@dataclass
class Result:
    """Findings about one collation."""

    collation: str
    character_set: str
    known: str
    asked: int = 0
    equal: int = 0
    missed: list[Pair] = field(default_factory=list)
    """Equal on the server and different here: never allowed."""
    coarsened: list[Pair] = field(default_factory=list)
    """Different on the server and equal here: none for an exact collation."""
    texts: int = 0
    """Texts whose classes were compared, each with all others."""
    formless: int = 0
    """Texts without a form here: they make a key count as one value."""
    sequences: int = 0
    """Sequences of characters that were tried for being weighed together."""
    odd: list[tuple[str, str]] = field(default_factory=list)
    """Sequences that one side weighs together and the other does not."""
    unlike: int = 0
    """Pairs of which ``=`` says otherwise than ``WEIGHT_STRING``."""


@dataclass
class Asker:
    """A connection to one server.

    Args:
        connection: The connection.
        mariadb: True if it is a MariaDB.
    """

    connection: pymysql.Connection[Any]
    mariadb: bool

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        with self.connection.cursor() as cursor:
            cursor.execute(sql)
            return list(cursor.fetchall())

    def collations(self) -> list[tuple[str, str]]:
        """Full names and character sets of all collations."""
        if self.mariadb:
            sql = "SELECT FULL_COLLATION_NAME, CHARACTER_SET_NAME FROM information_schema.COLLATION_CHARACTER_SET_APPLICABILITY"
        else:
            sql = "SELECT COLLATION_NAME, CHARACTER_SET_NAME FROM information_schema.COLLATIONS"
        return sorted((str(name), str(character_set)) for name, character_set in self.rows(sql))

    def equal(self, character_set: str, collation: str, pairs: Sequence[Pair]) -> list[bool]:
        """Return for each pair True if the server calls its two values equal."""
        out: list[bool] = []
        for start in range(0, len(pairs), BATCH):
            asked = ",".join(
                f"_{character_set} x'{a.hex()}' = _{character_set} x'{b.hex()}'{collate(collation)}"
                for a, b in pairs[start : start + BATCH]
            )
            out += [bool(answer) for answer in self.rows(f"SELECT {asked}")[0]]
        return out

    def weights(self, character_set: str, collation: str, texts: Sequence[bytes]) -> list[bytes]:
        """The weight string of each text."""
        out: list[bytes] = []
        for start in range(0, len(texts), BATCH):
            asked = ",".join(
                f"WEIGHT_STRING(_{character_set} x'{text.hex()}'{collate(collation)})" for text in texts[start : start + BATCH]
            )
            out += [bytes(answer or b"") for answer in self.rows(f"SELECT {asked}")[0]]
        return out


def collate(collation: str) -> str:
    """The clause that gives a value a collation; MySQL does not take it for binary strings."""
    return "" if collation == "binary" else f" COLLATE {collation}"


def form(collation: str, value: bytes, mariadb: bool) -> bytes | None:
    """The equality form; None where there is none, because the value is no text or the collation is not known."""
    try:
        return _native.equality_form(collation, value, mariadb)
    except UsageError:
        return None


def prove(asker: Asker, collation: str, character_set: str, count: int, seed: str = "") -> Result:
    """Asks the server about ``count`` pairs and compares."""
    result = Result(collation, character_set, _native.collation_class(collation, asker.mariadb))
    rng = random.Random(f"{collation}{seed}")
    pairs = make_pairs(asker, collation, character_set, count, rng)
    compare(asker, result, pairs)
    return result


def compare(asker: Asker, result: Result, pairs: Sequence[Pair]) -> None:
    """Adds to a result what the server and the forms say of some pairs."""
    answers = asker.equal(result.character_set, result.collation, pairs)
    for (a, b), equal in zip(pairs, answers, strict=True):
        one, other = form(result.collation, a, asker.mariadb), form(result.collation, b, asker.mariadb)
        if one is None or other is None:
            continue
        result.asked += 1
        result.equal += equal
        if equal and one != other:
            result.missed.append((a, b))
        elif not equal and one == other:
            result.coarsened.append((a, b))


def make_pairs(asker: Asker, collation: str, character_set: str, count: int, rng: random.Random) -> list[Pair]:
    """Pairs of values of a collation's character set."""
    if character_set in CODECS:
        return unicode_pairs(asker, collation, character_set, count, rng)
    if character_set in MULTI_BYTE:
        letters = multi_byte_letters(character_set, rng)
    else:
        letters = [bytes([b]) for b in range(0x80 if character_set == "ascii" else 0x100)]
    twins = twins_of(asker, collation, character_set, letters)
    pairs = []
    for _ in range(count):
        text = [rng.choice(letters if rng.random() < 0.6 else COMMON) for _ in range(rng.randint(0, 6))]
        other = [rng.choice(twins.get(c, [c])) if rng.random() < 0.8 else c for c in text]
        pairs.append((b"".join(text), b"".join(changed_bytes(other, letters, rng))))
    return pairs


COMMON = [bytes([b]) for b in b"aAbBcChHsSzZyY~ \t\x00"]


def changed_bytes(text: list[bytes], letters: Sequence[bytes], rng: random.Random) -> list[bytes]:
    """A text with spaces after it, a letter more, or two changed places."""
    chance = rng.random()
    if chance < 0.25:
        return [*text, *[rng.choice([b" ", b" ", b"\t", b"\x00"])] * rng.randint(1, 3)]
    if chance < 0.35:
        return [rng.choice(letters), *text]
    if chance < 0.5 and len(text) > 1:
        at = rng.randrange(len(text) - 1)
        return [*text[:at], text[at + 1], text[at], *text[at + 2 :]]
    if chance < 0.6:
        return [c for c in text if rng.random() < 0.8]
    return text


def multi_byte_letters(character_set: str, rng: random.Random) -> list[bytes]:
    """Some hundred characters of a set, with its letters of all scripts."""
    points = [*range(0x20, 0x7F), *range(0xA1, 0x180), *range(0x386, 0x460), *range(0x2160, 0x217A), *range(0x3041, 0x30FF, 3)]
    points += [*range(0xFF01, 0xFF9F), *(rng.randrange(0x4E00, 0x9FA0) for _ in range(200))]
    encoded = [chr(point).encode(MULTI_BYTE[character_set], "ignore") for point in points]
    if character_set == "gb18030":
        encoded += [chr(rng.randrange(0x1000, 0x3000)).encode("gb18030") for _ in range(100)]
    known = f"{character_set}_bin"
    return [c for c in dict.fromkeys(encoded) if c and form(known, c, False) is not None]


def twins_of(asker: Asker, collation: str, character_set: str, letters: Sequence[bytes]) -> dict[bytes, list[bytes]]:
    """For each character those that the server weighs alike."""
    groups: dict[bytes, list[bytes]] = defaultdict(list)
    for letter, weight in zip(letters, asker.weights(character_set, collation, letters), strict=True):
        groups[weight].append(letter)
    return {letter: group for group in groups.values() if len(group) > 1 for letter in group}


def unicode_pairs(asker: Asker, collation: str, character_set: str, count: int, rng: random.Random) -> list[Pair]:
    """Pairs in one of Unicode's character sets."""
    codec = CODECS[character_set]
    top = 0x10000 if character_set in FIRST_PLANE else 0x110000
    sample = [point for low, high in rng.sample(BLOCKS, 6) for point in range(low, high + 1) if point < top]
    letters = [chr(point) for point in rng.sample(sample, min(len(sample), 300))] + list("aAbBcChHsSzZ")
    found = twins_of(asker, collation, character_set, [letter.encode(codec) for letter in letters])
    twins = {letter.decode(codec): [twin.decode(codec) for twin in group] for letter, group in found.items()}
    alphabet = [*twins, *letters]
    pairs = []
    for _ in range(count):
        text = random_text(alphabet, rng)
        other = changed_text(text, twins, rng)
        pair = tuple("".join(c for c in one if ord(c) < top).encode(codec) for one in (text, other))
        pairs.append((pair[0], pair[1]))
    return pairs


def random_text(alphabet: Sequence[str], rng: random.Random) -> str:
    """A short text out of few blocks, so that marks, jamo and vowel signs meet what they might combine with."""
    chance = rng.random()
    if chance < 0.25:
        letters = rng.choice(TOGETHER)
        marks = "".join(chr(c) for c in (0x301, 0x302, 0x307, 0x30C, 0x323))
        return "".join(rng.choice(letters if rng.random() < 0.8 else marks) for _ in range(rng.randint(1, 6)))
    if chance < 0.6:
        return "".join(rng.choice(alphabet) for _ in range(rng.randint(0, 6)))
    low, high = rng.choice(BLOCKS)
    return "".join(chr(rng.randint(low, high)) for _ in range(rng.randint(1, 6)))


def changed_text(text: str, twins: dict[str, list[str]], rng: random.Random) -> str:
    """A copy with letters replaced by equal ones, normalized, without case, with something ignored added, or with spaces after it."""
    chance = rng.random()
    if chance < 0.2:
        text = unicodedata.normalize(rng.choice(["NFC", "NFD", "NFKC", "NFKD"]), text)
    elif chance < 0.35:
        text = rng.choice([text.upper(), text.lower(), text.swapcase(), text.title()])
    elif chance < 0.45:
        text = "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))
    else:
        text = "".join(rng.choice(twins.get(c, [c])) if rng.random() < 0.7 else c for c in text)
    if rng.random() < 0.25:
        at = rng.randint(0, len(text))
        text = text[:at] + chr(rng.choice(IGNORED)) + text[at:]
    if rng.random() < 0.2:
        text += rng.choice([" ", " ", "\u00a0", "\t", "\0", "\u3000"]) * rng.randint(1, 3)
    return "".join(c for c in text if not 0xD800 <= ord(c) < 0xE000)
