"""Makes the test's pairs of values: what real servers say about their equality, per collation."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from collation_tables import Server, Weights

PAIRS = 700
UNICODE = {
    "utf8mb4_0900_ai_ci": ("uca900", 1),
    "utf8mb4_0900_as_ci": ("uca900", 2),
    "utf8mb4_0900_as_cs": ("uca900", 3),
    "utf8mb4_0900_bin": ("uca900", 3),
    "utf8mb4_bin": ("uca900", 3),
    "utf8mb4_general_ci": ("general", 1),
    "utf8mb4_unicode_ci": ("uca400", 1),
    "utf8mb4_unicode_520_ci": ("uca520", 1),
    "utf8mb3_bin": ("uca400", 1),
    "utf8mb3_general_ci": ("general", 1),
    "utf8mb3_unicode_ci": ("uca400", 1),
    "utf8mb3_unicode_520_ci": ("uca520", 1),
}
MARIADB = {
    "utf8mb4_general_ci": ("general", 1),
    "utf8mb4_unicode_ci": ("uca400", 1),
    "utf8mb4_unicode_520_ci": ("uca520", 1),
    "utf8mb4_bin": ("uca400", 1),
    "utf8mb4_nopad_bin": ("uca400", 1),
    "utf8mb4_general_nopad_ci": ("general", 1),
    "utf8mb4_unicode_nopad_ci": ("uca400", 1),
    "utf8mb4_unicode_520_nopad_ci": ("uca520", 1),
    "utf8mb3_general_ci": ("general", 1),
    "utf8mb3_unicode_ci": ("uca400", 1),
}
BYTES_MARIADB = ["latin1_swedish_ci", "latin1_general_ci", "latin1_german2_ci", "latin1_bin", "latin1_swedish_nopad_ci", "latin1_nopad_bin"]

Pair = tuple[bytes, bytes]


def write_pairs(mysql: Server, mariadb: Server | None, families: dict[str, Weights], tables: dict[str, list[bytes]]) -> None:
    """Asks the servers about pairs that are often equal and writes the answers."""
    from collation_tables import CORE, save

    lines: list[str] = []
    twins = {key: twins_of(families[key[0]][: key[1]]) for key in {*UNICODE.values(), *MARIADB.values()}}
    for server, collations in ((mysql, UNICODE), (mariadb, MARIADB)):
        for collation, family in collations.items() if server else []:
            character_set = collation.split("_")[0]
            assert server is not None
            ask(server, character_set, collation, unicode_pairs(collation, twins[family]), lines)
    for collation, table in tables.items():
        count = PAIRS if collation.startswith(("latin1", "ascii")) else 120
        ask(mysql, collation.split("_")[0], collation, byte_pairs(collation, table, count), lines)
    for collation in BYTES_MARIADB if mariadb else []:
        assert mariadb is not None
        ask(mariadb, "latin1", collation, byte_pairs(collation, tables[collation.replace("_nopad", "")], PAIRS // 2), lines)
    save(CORE / "tests" / "data" / "collation_pairs.zst", "\n".join(lines).encode())


def ask(server: Server, character_set: str, collation: str, pairs: Sequence[Pair], lines: list[str]) -> None:
    """Adds one line a pair: collation, both values in hexadecimal, 1 for equal."""
    answers = list(server.equal(character_set, collation, pairs))
    print(f"{collation}: {sum(answers)} of {len(answers)} pairs are equal", flush=True)
    lines += [f"{collation}\t{a.hex()}\t{b.hex()}\t{int(e)}" for (a, b), e in zip(pairs, answers, strict=True)]


def twins_of(weights: Weights) -> list[list[int]]:
    """Groups of code points with the same weights at all given levels; the large groups are cut."""
    from collation_tables import CODE_POINTS

    groups: dict[tuple[tuple[int, ...], ...], list[int]] = defaultdict(list)
    for position, code_point in enumerate(CODE_POINTS):
        groups[tuple(level[position] for level in weights)].append(code_point)
    return [group if len(group) < 500 else group[:: len(group) // 400] for group in groups.values() if len(group) > 1]


def unicode_pairs(collation: str, twins: list[list[int]]) -> list[Pair]:
    """Texts beside a changed copy: letters replaced by equal ones, characters added, spaces at the end."""
    from collation_tables import random_texts

    rng = random.Random(collation)
    group_of = {code_point: group for group in twins for code_point in group}
    ignored = [0x00, 0x09, 0x20, 0xA0, 0xAD, 0x300, 0x301, 0x34F, 0x200B, 0x200D, 0x3000, 0xFE0F, 0xE0101]
    pairs = []
    for text in random_texts(rng, PAIRS):
        if rng.random() < 0.4:
            text = "".join(chr(rng.choice(rng.choice(twins))) for _ in range(rng.randint(1, 4)))
        other = [rng.choice(group_of.get(ord(c), [ord(c)])) if rng.random() < 0.7 else ord(c) for c in text]
        if rng.random() < 0.3:
            other.insert(rng.randint(0, len(other)), rng.choice(ignored))
        if rng.random() < 0.2:
            other += [rng.choice([0x20, 0x20, 0xA0, 0x09, 0x00, 0x3000])] * rng.randint(1, 3)
        if collation.startswith("utf8mb3"):
            text, other = "".join(c for c in text if c < "\U00010000"), [c for c in other if c < 0x10000]
        pairs.append((text.encode(), "".join(map(chr, other)).encode()))
    return pairs


def byte_pairs(collation: str, table: list[bytes], count: int) -> list[Pair]:
    """The same for single-byte character sets."""
    rng = random.Random(collation)
    same: dict[bytes, list[int]] = defaultdict(list)
    top = 128 if collation.startswith("ascii") else 256
    for byte in range(top):
        same[table[byte]].append(byte)
    pairs = []
    for _ in range(count):
        text = bytes(
            rng.randrange(top) if rng.random() < 0.7 else rng.choice(b"aAsSeEuU \xdf\xc4" if top > 128 else b"aAsS ")
            for _ in range(rng.randint(0, 6))
        )
        other = bytearray(rng.choice(same[table[b]]) if rng.random() < 0.8 else b for b in text)
        if rng.random() < 0.2 and top > 128:
            other = bytearray(bytes(other).replace(b"\xdf", b"ss").replace(b"\xc4", b"ae"))
        if rng.random() < 0.3:
            other += bytes([rng.choice([0x20, 0x20, 0x09, 0x00, 0xA0 % top])]) * rng.randint(1, 3)
        if rng.random() < 0.1:
            other.insert(0, rng.choice([0x00, 0x20]))
        pairs.append((text, bytes(other)))
    return pairs
