"""Finds the sequences of characters that a Unicode collation weighs together (contractions).

A sequence is one if it weighs otherwise than with a character of no weight between its parts, which keeps them apart.
All pairs out of groups of characters that meet in some language's rules are asked, then what pairs can grow into.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from collation_servers import Server

APART = "\x01"
MARKS = [*range(0x300, 0x314), 0x31B, *range(0x323, 0x332), 0x335, 0x337, 0x338, 0x342, 0x345]
LETTERS = [*range(0x41, 0x5B), *range(0x61, 0x7B), *range(0xC0, 0x180), 0x18F, 0x1A0, 0x1A1, 0x1AF, 0x1B0]
# Characters that meet in the rules of some language.
GROUPS = [
    [0x2D, 0xB7, 0x387, 0x2019, *LETTERS, *range(0x180, 0x250), *MARKS],
    [*range(0x370, 0x530), *MARKS],
    [*range(0x5B0, 0x700)],
    [*range(0xD80, 0xE00)],
    [*range(0xE00, 0xF00)],
    [*range(0xF70, 0xFC0)],
    [*range(0x1000, 0x10A0), *range(0xAA60, 0xAA80)],
    [*range(0x1100, 0x1200, 4)],
    [*range(0x3040, 0x3100), *range(0x31F0, 0x3200), *range(0xFF65, 0xFFA0)],
]  # fmt: skip


def every_group() -> list[list[int]]:
    """Return all assigned characters with their neighbours, and letters with all marks: for collations without known contractions."""
    pages = defaultdict(list)
    for code_point in (*range(0x80, 0x3400), *range(0xA000, 0xAC00), *range(0xF900, 0x17000), *range(0x1B000, 0x1F000)):
        if unicodedata.category(chr(code_point)) not in {"Cn", "Cs", "Co"} and not 0x12000 <= code_point < 0x15000:
            pages[code_point // 256].append(code_point)
    return [*GROUPS, *pages.values(), [*LETTERS, *range(0x300, 0x370), *range(0x1E00, 0x1F00)]]


def find(server: Server, collation: str, levels: int, groups: Sequence[Sequence[int]], likely: Iterable[str] = ()) -> list[str]:
    """Return the contractions of a collation, shortest first; ``likely`` ones are tried besides the groups."""
    pairs = [chr(a) + chr(b) for a, b in pairs_apart(server, collation, levels, groups)]
    found = set(pairs)
    for _, texts in groupby(sorted(likely, key=len), key=len):
        found |= set(apart(server, collation, levels, list(texts), found))
    tails = sorted({c for pair in pairs for c in pair} | {chr(c) for c in MARKS})
    tried: set[str] = {pair + tail for pair in pairs for tail in tails}
    # Not all begin with one of two: ddz in Hungarian weighs as dz twice.
    tried |= {head + pair for pair in pairs for head in {pair[0] for pair in pairs}}
    # Nor does a Burmese vowel before a consonant that is killed or stacked; vowels of several signs are tried as one.
    vowels = ["\u1027", "\u1029", "\u102b", "\u102c"]
    vowels += [f"{first}\u1031{last}" for first in ["", *map(chr, range(0x1021, 0x102B))] for last in "\u102b\u102c"]
    killed = [text for text in (*pairs, "\u1004\u103a\u1039") if text[-1] in "\u1039\u103a"]
    tried |= {vowel + text for vowel in vowels for text in killed}
    heads = [chr(c) for c in LETTERS if c < 0x180]
    marks = [chr(c) for c in MARKS]
    tried |= {a + b + c for a in heads for b in marks for c in marks} if collation_has_marks(collation) else set()
    tried |= {unicodedata.normalize("NFD", chr(c)) for c in range(0xC0, 0x2FA1E) if not 0xAC00 <= c < 0xE000}
    longer = set(apart(server, collation, levels, sorted(t for t in tried if len(t) > 2), found))
    found |= longer
    while longer:
        grown = {a + b for a in longer for b in tails} | {b[0] + a for a in longer for b in pairs}
        longer = set(apart(server, collation, levels, sorted(grown), found))
        found |= longer
    return sorted(found, key=lambda text: (len(text), text))


def collation_has_marks(collation: str) -> bool:
    """Return True if a collation may weigh a letter and two marks together; the oldest rules have no marks in contractions."""
    return "0900" in collation or "uca1400" in collation


def pairs_apart(server: Server, collation: str, levels: int, groups: Sequence[Sequence[int]]) -> Iterable[tuple[int, int]]:
    """Return the pairs of characters of one group whose weights change with a weightless character between them."""
    server.cursor.execute("CREATE TEMPORARY TABLE IF NOT EXISTS grp (g INT, n INT, c VARCHAR(1) CHARACTER SET utf8mb4, KEY (g))")
    server.cursor.execute("CREATE TEMPORARY TABLE IF NOT EXISTS grp2 LIKE grp")
    for table in ("grp", "grp2"):
        server.cursor.execute(f"DELETE FROM {table}")
        for number, group in enumerate(groups):
            values = ",".join(f"({number},{c},x'{chr(c).encode().hex()}')" for c in dict.fromkeys(group) if not 0xD800 <= c < 0xE000)
            server.cursor.execute(f"INSERT INTO {table} VALUES {values}")
    character_set = collation.split("_")[0]
    together = server.weight_expressions(f"CONVERT(CONCAT(a.c,b.c) USING {character_set})", collation, levels)
    separate = server.weight_expressions(f"CONVERT(CONCAT(a.c,x'01',b.c) USING {character_set})", collation, levels)
    condition = " OR ".join(f"{t} <> {s}" for t, s in zip(together, separate, strict=True))
    return [(int(a), int(b)) for a, b in server.rows(f"SELECT a.n, b.n FROM grp a JOIN grp2 b ON a.g = b.g WHERE {condition}")]


def apart(server: Server, collation: str, levels: int, texts: Sequence[str], known: set[str]) -> list[str]:
    """Return the texts whose weights differ from those of their parts, as far as the parts are known."""
    asked = [text for text in texts if text not in known]
    separate = [APART.join(parts(text, known)) for text in asked]
    answers = zip(asked, weights(server, collation, levels, asked), weights(server, collation, levels, separate), strict=True)
    return [text for text, whole, split in answers if whole != split]


def weights(server: Server, collation: str, levels: int, texts: Sequence[str]) -> list[tuple[bytes, ...]]:
    """Return the server's answer for each text."""
    character_set = collation.split("_")[0]
    out: list[tuple[bytes, ...]] = []
    server.cursor.execute("CREATE TEMPORARY TABLE IF NOT EXISTS seq (i INT PRIMARY KEY, c VARCHAR(12) CHARACTER SET utf8mb4)")
    for start in range(0, len(texts), 20_000):
        batch = texts[start : start + 20_000]
        server.cursor.execute("DELETE FROM seq")
        server.cursor.execute("INSERT INTO seq VALUES " + ",".join(f"({i},x'{t.encode().hex()}')" for i, t in enumerate(batch)))
        expressions = ",".join(server.weight_expressions(f"CONVERT(c USING {character_set})", collation, levels))
        out += [tuple(map(bytes, row)) for row in server.rows(f"SELECT {expressions} FROM seq ORDER BY i")]
    return out


def parts(text: str, known: set[str]) -> list[str]:
    """Split a text as a server does: the longest known contraction first."""
    out = []
    at = 0
    while at < len(text):
        length = next((n for n in range(min(6, len(text) - at), 1, -1) if text[at : at + n] in known), 1)
        out.append(text[at : at + length])
        at += length
    return out
