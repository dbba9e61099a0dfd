"""The texts whose classes of equals are compared with real servers: all characters, and what characters meet in confusable texts.

A corpus belongs to a group of character sets: Unicode's share one, every other set has its own. It is the same in every run.
"""

from __future__ import annotations

import itertools
import random
import sys
import unicodedata
import zlib
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
from collation_proof import BLOCKS, CODECS, FIRST_PLANE, MULTI_BYTE, TOGETHER, changed_text, random_text

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "rust" / "core" / "tools"))

from collation_charsets import characters

RANDOM_TEXTS = 40_000
RANDOM_BYTES = 20_000
# Kana, and marks that are weighed by the kana before them.
JAPANESE = "\u30fc\u309d\u30fd\u304b\u30ab\uff76\u3042\u31f0a\x01 \u3099"
THAI_LETTERS = bytes([*range(0xA1, 0xA6), 0xC3, 0xC5, 0xCE, 0xD0, 0xD1, 0xD2, 0xD4, *range(0xE0, 0xF0), 0xF5, 0xFB])


@dataclass
class Corpus:
    """Texts, which a server holds in a table under their places in the list.

    Attributes:
        name: Of the table.
        texts: For Unicode text, otherwise bytes in ``character_set``.
        character_set: The character set of bytes; None for Unicode text.
    """

    name: str
    texts: list[str] | list[bytes]
    character_set: str | None = None
    _encoded: dict[str, pa.Array] = field(default_factory=dict)

    @property
    def column(self) -> str:
        """The character set of the table's column."""
        return self.character_set or "utf8mb4"

    def literals(self) -> list[str]:
        """The texts as hexadecimal literals in the column's character set."""
        return [f"x'{(text.encode() if isinstance(text, str) else text).hex()}'" for text in self.texts]

    @cached_property
    def in_first_plane(self) -> np.ndarray:
        """For each text, True if a character set with the first plane only has it."""
        return np.fromiter((isinstance(text, bytes) or max(text, default="") <= "\uffff" for text in self.texts), bool, len(self.texts))

    def values(self, character_set: str) -> pa.Array:
        """The texts in a character set, as bytes; null for those that it lacks."""
        if character_set not in self._encoded:
            self._encoded = {character_set: pa.array(self._values(character_set), pa.large_binary())}
        return self._encoded[character_set]

    def _values(self, character_set: str) -> list[bytes | None]:
        if self.character_set is not None:
            return [bytes(text) for text in self.texts]  # type: ignore[arg-type]
        codec, top = CODECS[character_set], "\uffff" if character_set in FIRST_PLANE else "\U0010ffff"
        return [None if max(text, default="") > top else text.encode(codec) for text in self.texts]  # type: ignore[union-attr, arg-type]


def corpus_for(character_set: str, *, sample: int | None = None) -> Corpus:
    """The corpus of a character set.

    Args:
        character_set: Its name.
        sample: So many texts by chance, half of them longer than a character; None for all.
    """
    if character_set in CODECS:
        corpus = Corpus("unicode_texts", unicode_texts(sample))
    elif character_set in MULTI_BYTE:
        corpus = Corpus(f"{character_set}_texts", multi_byte_texts(character_set), character_set)
    else:
        corpus = Corpus(f"{character_set}_texts", byte_texts(character_set), character_set)
    if sample is not None and sample < len(corpus.texts):
        rng = random.Random(1)
        longer = [text for text in corpus.texts if len(text) > 1]
        chosen = [*rng.sample(longer, min(sample // 2, len(longer))), *rng.sample(corpus.texts, sample // 2)]  # type: ignore[type-var]
        corpus.texts = list(dict.fromkeys(chosen))  # type: ignore[assignment]
    return corpus


def unicode_texts(sample: int | None = None) -> list[str]:
    """All code points; what they are normalized to; pairs of letters with a mark; random texts and changed copies of them.

    Args:
        sample: Makes about so many of each kind.
    """
    points = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    rng = random.Random("unicode")
    if sample is not None:
        points = [*rng.sample(points[:0x3400], sample // 4), *rng.sample(points, sample // 4)]
    texts = dict.fromkeys(points)
    texts[""] = None
    for c in points:
        for form in ("NFD", "NFKD", "NFC"):
            texts[unicodedata.normalize(form, c)] = None
        texts |= dict.fromkeys((c.upper(), c.lower(), c.title(), c.casefold()))
    marks = [chr(c) for c in (*range(0x300, 0x346), 0x5B0, 0x5BC, 0x64B, 0x654, 0x1, 0xAD, 0x20, 0x200D, 0x3099, 0x309A, 0x30FC)]
    letters = list(map(chr, (*range(0x41, 0x7B), *range(0xC0, 0x250), *range(0x386, 0x482), *range(0x3041, 0x30FF))))
    texts |= dict.fromkeys(a + b for a in letters for b in marks)
    texts |= dict.fromkeys(f"x{c}x" for c in map(chr, (*range(0x3400), *range(0xA000, 0xAC00), *range(0xF900, 0xFFFE))))
    for group in TOGETHER:
        texts |= dict.fromkeys("".join(text) for n in (2, 3, 4) for text in itertools.product(group[:8], repeat=n))
    texts |= dict.fromkeys("".join(text) for n in (2, 3, 4) for text in itertools.product(JAPANESE, repeat=n))
    twins = confusable([chr(c) for low, high in BLOCKS for c in range(low, high + 1) if not 0xD800 <= c < 0xE000])
    for _ in range(RANDOM_TEXTS if sample is None else sample // 6):
        text = random_text(letters, rng)
        texts[text] = None
        for _ in range(3):
            texts[changed_text(text, twins, rng)] = None
    return [text for text in texts if not any(0xD800 <= ord(c) < 0xE000 for c in text)]


def confusable(letters: list[str]) -> dict[str, list[str]]:
    """For each letter those that some collation may take for it."""
    groups: dict[str, list[str]] = {}
    for letter in letters:
        plain = "".join(c for c in unicodedata.normalize("NFKD", letter.casefold()) if not unicodedata.combining(c))
        groups.setdefault(plain, []).append(letter)
    return {letter: group for group in groups.values() if len(group) > 1 for letter in group}


def multi_byte_texts(character_set: str) -> list[bytes]:
    """All characters of a set, alone and between others; random texts of those that are letters."""
    every = characters(character_set)
    texts = dict.fromkeys([b"", *every])
    short = [c for c in every if len(c) < 4]
    texts |= dict.fromkeys(b"x" + c + b"Y" for c in short)
    letters = [c for c in short if is_letter(c, character_set)]
    if character_set == "gb18030":
        letters += [c for c in every if len(c) == 4 and is_letter(c, character_set)]
    rng = random.Random(character_set)
    ascii_letters = [bytes([c]) for c in b"aAbBzZ ~\0\t"]
    for _ in range(RANDOM_TEXTS):
        text = [rng.choice(letters if rng.random() < 0.6 else ascii_letters) for _ in range(rng.randint(1, 4))]
        texts[b"".join(text)] = None
        texts[b"".join(other_case(c, character_set, rng) for c in text) + b" " * rng.randint(0, 1)] = None
    return list(texts)


def is_letter(character: bytes, character_set: str) -> bool:
    """Return True if a character has two cases, or is one in some hundred others."""
    text = decoded(character, character_set)
    return text.swapcase() != text or zlib.crc32(character) % 200 == 0


def other_case(character: bytes, character_set: str, rng: random.Random) -> bytes:
    """Sometimes the same letter in the other case, if the set has it."""
    if rng.random() < 0.4:
        return character
    return decoded(character, character_set).swapcase().encode(MULTI_BYTE[character_set], "ignore") or character


def decoded(character: bytes, character_set: str) -> str:
    """A character of a multi-byte set; empty where nothing is assigned to it: of such, only a part might be decoded."""
    try:
        return character.decode(MULTI_BYTE[character_set])
    except UnicodeDecodeError:
        return ""


def byte_texts(character_set: str) -> list[bytes]:
    """All bytes and pairs of bytes; triples of letters that some language weighs together; random texts."""
    every = range(0x80 if character_set == "ascii" else 0x100)
    texts = dict.fromkeys([b"", *(bytes([a]) for a in every), *(bytes([a, b]) for a in every for b in every)])
    letters = THAI_LETTERS if character_set == "tis620" else b"aAcCdDhHsSzZ \t\0\xc4\xe4\xdf\xd6\xf6\xdc\xfc\xe8\xc8"
    letters = bytes(c for c in letters if c in every)
    texts |= dict.fromkeys(bytes(text) for text in itertools.product(letters, repeat=3))
    rng = random.Random(character_set)
    for _ in range(RANDOM_BYTES):
        text = bytes(rng.choice(letters if rng.random() < 0.7 else every) for _ in range(rng.randint(3, 7)))
        texts |= dict.fromkeys((text, text.swapcase(), text + b" ", text + b"\0"))
    return list(texts)
