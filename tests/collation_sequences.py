"""Finds sequences of characters that a server weighs together and the equality forms do not, or the other way round.

A sequence is weighed together if it weighs otherwise than with a character of no weight between its parts. So one text with a head
before each of a hundred tails, once with that character between and once without, tells whether the head is weighed together with
any of them; only heads of which server and forms say otherwise, or both say so, are asked again tail by tail.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from collation_classes import collate, levels_of
from collation_texts import Corpus

from paraply import _native

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from collation_classes import Classes
    from collation_proof import Result

APART = "\x01"
HEAD = "\U0010fffd"
"""Stands for the head in a pattern."""
TEXTS_AT_ONCE = 200
SECONDS_AT_ONCE = 100
"""Characters in one text: what MariaDB takes for ``REPLACE`` grows with the square of its length."""


@cache
def tails() -> tuple[str, ...]:
    """Every mark, and the letters that some rule puts behind another: those of Latin, Greek and Cyrillic, Thai, Lao, jamo, kana."""
    ranges = [(0x2D, 0x2E), (0x41, 0x7B), (0xB7, 0x250), (0x370, 0x530), (0x5D0, 0x5EB), (0x620, 0x6D4), (0xE01, 0xE5C), (0xE81, 0xEE0)]
    ranges += [(0x1100, 0x1200), (0x1980, 0x19DF), (0x2010, 0x2040), (0x3041, 0x3100), (0x31F0, 0x3200), (0xAA80, 0xAADF), (0xFF65, 0xFFA0)]
    letters = [c for low, high in ranges for c in range(low, high)]
    letters += [c for c in range(0x30000) if unicodedata.category(chr(c)) in {"Mn", "Mc"}]
    return tuple(chr(c) for c in dict.fromkeys(letters) if unicodedata.category(chr(c)) != "Cs")


@cache
def heads() -> tuple[str, ...]:
    """Every assigned character but those of scripts with no rules of their own: ideographs, syllables, hieroglyphs."""
    plain = ("CJK", "HANGUL SYLLABLE", "TANGUT", "EGYPTIAN", "CUNEIFORM", "ANATOLIAN", "BAMUM", "YI ", "LINEAR", "NUSHU", "KHITAN")
    points = (c for c in range(0x20000) if unicodedata.category(chr(c)) not in {"Cn", "Cs", "Co"})
    return tuple(chr(c) for c in points if not unicodedata.name(chr(c), "").startswith(plain))


@cache
def few() -> tuple[str, ...]:
    """The characters that a language's own rules may weigh together: letters and marks of the scripts that have such rules."""
    ranges = [(0x2D, 0x2E), (0x41, 0x5B), (0x61, 0x7B), (0xB7, 0xB8), (0xC0, 0x250), (0x300, 0x346), (0x370, 0x530), (0x5D0, 0x5EB)]
    ranges += [(0x620, 0x655), (0xD80, 0xE00), (0xE01, 0xE5C), (0x1000, 0x1060), (0x1100, 0x1113), (0x1E00, 0x1F00), (0x2010, 0x201A)]
    ranges += [(0x3041, 0x3100), (0x31F0, 0x3200), (0xFF65, 0xFFA0)]
    return tuple(chr(c) for low, high in ranges for c in range(low, high))


def has_sequences(collation: str) -> bool:
    """Return True if a collation is the one of its rules to search for sequences: of utf8mb4, with all levels, padding."""
    if not collation.startswith("utf8mb4_") or "_nopad_" in collation or collation.endswith(("_bin", "_general_ci")):
        return False
    return "_as_cs" in collation or ("_0900_" not in collation and "_uca1400_" not in collation)


def prove_sequences(classes: Classes, result: Result, *, wide: bool) -> None:
    """Tries all sequences of two characters out of wide alphabets, and of three where two are weighed together.

    Then the classes of the sequences that were found are compared, beside the texts of their parts.

    Args:
        classes: The server.
        result: Names a collation of utf8mb4.
        wide: True if nothing is known of the collation's rules, so that every assigned character is a head and a tail.
    """
    first = heads() if wide else few()
    found = together(classes, result, first, tails() if wide else few(), behind=True)
    if wide:
        found |= together(classes, result, tails(), heads(), behind=True)
    texts = dict.fromkeys(text for a, b in sorted(found) for text in (a + b, a + APART + b, a, b, b + a))
    longer = together(classes, result, sorted({a + b for a, b in found}), tails(), behind=True)
    longer |= together(classes, result, sorted({a + b for a, b in found}), few(), behind=False)
    texts |= dict.fromkeys(text for pair in sorted(longer) for text in ("".join(pair), APART.join(pair)))
    texts |= dict.fromkeys(threes(found))
    corpus = Corpus("sequences", list(texts))
    classes.compare(result, corpus, 1000)
    classes.drop(corpus)


def threes(found: Iterable[tuple[str, str]]) -> Iterable[str]:
    """Sequences of three out of the characters that are weighed together in one block, together and apart."""
    blocks: dict[int, set[str]] = {}
    for pair in found:
        for c in pair:
            blocks.setdefault(ord(c) >> 7, set()).update(pair)
    for _, block in sorted(blocks.items()):
        letters = sorted(block)[:: max(1, len(block) // 12)]
        for a in letters:
            for b in letters:
                for c in letters:
                    yield a + b + c
                    yield a + APART + b + c
                    yield a + b + APART + c


def together(classes: Classes, result: Result, first: Sequence[str], second: Sequence[str], *, behind: bool) -> set[tuple[str, str]]:
    """The pairs (what stands first, what stands second) that are weighed together, by the server or by the forms.

    Args:
        classes: The server.
        result: Names the collation; gets the number of sequences, and those that one side weighs together and the other not.
        first: Each of these is asked with all of ``second`` in one text.
        second: Characters.
        behind: True if ``second`` stands behind ``first``; else before.
    """
    if not first:
        return set()
    result.sequences += len(first) * len(second)
    order = (HEAD, "{}") if behind else ("{}", HEAD)
    joined, split = ("".join(order) + APART, APART.join(order) + APART)
    some = np.zeros(len(first), bool)
    for start in range(0, len(second), SECONDS_AT_ONCE):
        patterns = ["".join(pattern.format(c) for c in second[start : start + SECONDS_AT_ONCE]) for pattern in (joined, split)]
        some |= marked_by_server(classes, result, first, patterns)
        some |= marked_by_forms(classes, result, first, patterns)
    found = set()
    for place in np.nonzero(some)[0]:
        text = first[place]
        pairs = [(text, c) if behind else (c, text) for c in second]
        # One text a pair: the places of second are those of the answers.
        single = [pattern.replace(HEAD, text) for pattern in (joined, split)]
        server, own = (
            marked_by_server(classes, result, second, single, mark="{}"),
            marked_by_forms(classes, result, second, single, mark="{}"),
        )
        found |= {pairs[n] for n in np.nonzero(server | own)[0]}
        result.odd += [pairs[n] for n in np.nonzero(server != own)[0]]
    return found


def marked_by_server(classes: Classes, result: Result, texts: Sequence[str], patterns: Sequence[str], mark: str = HEAD) -> np.ndarray:
    """Return for each text True if two patterns weigh differently once it replaces ``mark``."""
    corpus = texts_table(classes, texts)
    collation = result.collation
    # Not as literals: MySQL's REPLACE changes one in its place where it stands in a condition.
    values = [f"_utf8mb4 x'{pattern.encode().hex()}' COLLATE utf8mb4_bin" for pattern in patterns]
    classes.execute(f"SET @joined = {values[0]}, @split = {values[1]}")
    filled = [f"REPLACE({pattern},_utf8mb4 x'{mark.encode().hex()}',s)" for pattern in ("@joined", "@split")]
    levels = levels_of(collation) if classes.asker.mariadb else []
    different = [
        f"WEIGHT_STRING({filled[0]}{collate(collation)}{level}) <> WEIGHT_STRING({filled[1]}{collate(collation)}{level})"
        for level in [f" LEVEL {n}" for n in levels] or [""]
    ]
    out = np.zeros(len(texts), bool)
    rows = classes.asker.rows(f"SELECT n FROM {corpus.name} WHERE {' OR '.join(different)}")
    out[[int(row[0]) for row in rows]] = True
    return out


def texts_table(classes: Classes, texts: Sequence[str]) -> Corpus:
    """A table of some texts, made on first use and kept while the same texts are asked for."""
    known: dict[Sequence[str], Corpus] = classes.__dict__.setdefault("lists", {})
    key = tuple(texts)
    if key not in known:
        if len(known) > 12:
            classes.drop(known.pop(next(iter(known))))
        classes.__dict__["lists_made"] = made = classes.__dict__.get("lists_made", 0) + 1
        known[key] = Corpus(f"list_{made}", list(texts))
        classes.hold(known[key])
    return known[key]


def marked_by_forms(classes: Classes, result: Result, texts: Sequence[str], patterns: Sequence[str], mark: str = HEAD) -> np.ndarray:
    """Return for each text True if two patterns have different forms once it replaces ``mark``."""
    out = []
    for start in range(0, len(texts), TEXTS_AT_ONCE):
        one, other = (
            np.asarray(
                _native.equality_hashes(
                    result.collation,
                    pa.array([pattern.replace(mark, text).encode() for text in texts[start : start + TEXTS_AT_ONCE]], pa.large_binary()),
                    classes.asker.mariadb,
                )
            )
            for pattern in patterns
        )
        out.append(one != other)
    return np.concatenate(out)
