"""The weights of the Unicode collations: whole tables for the roots, and for languages what differs from their root."""

from __future__ import annotations

import struct
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from collation_contractions import GROUPS, every_group, find, weights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from collation_servers import Server

PAGE = 256
PAGES = 0x110000 // PAGE
Entry = tuple[int, ...]


@dataclass
class Asked:
    """A table to make: its name in the archive, the collation that is asked, its levels, the root it is stored against."""

    name: str
    collation: str
    levels: int
    root: str | None = None


@dataclass
class Table:
    """A collation's weights: those of its root but for some pages, and the sequences that weigh together."""

    asked: Asked
    pages: dict[int, list[list[Entry]]] = field(default_factory=dict)
    """By page: per level, the weights of its 256 code points."""
    contractions: dict[str, list[Entry]] = field(default_factory=dict)


ROOTS = {
    "general": ("utf8mb4_general_ci", 1),
    "uca400": ("utf8mb4_unicode_ci", 1),
    "uca520": ("utf8mb4_unicode_520_ci", 1),
    "uca900": ("utf8mb4_0900_as_cs", 3),
    "uca1400": ("utf8mb4_uca1400_as_cs", 3),
}


def asked_of(server: Server, names: Sequence[str]) -> list[Asked]:
    """Return the tables that a server's collations need; each is asked in the collation with the most levels."""
    prefix = "mariadb" if server.mariadb else "mysql"
    roots = ["uca1400"] if server.mariadb else ["general", "uca400", "uca520", "uca900"]
    out = [Asked(root, *ROOTS[root]) for root in roots]
    taken = {collation for collation, _ in ROOTS.values()}
    for name in names:
        character_set, _, suffix = name.partition("_")
        if name in taken or "nopad" in name or suffix == "bin" or suffix.endswith("_bin"):
            continue
        if character_set == "utf8mb3" and suffix in {"general_mysql500_ci", "tolower_ci"}:
            out.append(Asked(f"{prefix}.{suffix}", name, 1, "general"))
        elif character_set != "utf8mb4":
            continue
        elif suffix.startswith("uca1400_") and suffix.endswith("_as_cs"):
            out.append(Asked(suffix.removesuffix("_as_cs"), name, 3, "uca1400"))
        elif suffix.endswith(("_0900_as_cs_ks", "_0900_as_cs")):
            if suffix != "ja_0900_as_cs":
                out.append(Asked(suffix.partition("_as_cs")[0], name, 4 if suffix.endswith("_ks") else 3, "uca900"))
        elif suffix.endswith("_520_w2"):
            out.append(Asked(f"{prefix}.{suffix}", name, 2, "uca520"))
        elif "0900" not in suffix and "uca1400" not in suffix:
            root = "uca520" if suffix == "myanmar_ci" else "uca400"
            out.append(Asked(f"{prefix}.{suffix}", name, 1, root))
    return out


def ask(server: Server, asked: Asked, signatures: dict[str, dict[int, int]], root: Table | None) -> Table:
    """Ask for one table; ``signatures`` keeps those of the roots.

    What the root weighs together is asked again, because a language may change the weights.
    """
    table = Table(asked)
    differing = None
    if asked.root is not None:
        collation, levels = ROOTS[asked.root]
        if asked.levels == levels:
            known = signatures.get(asked.root) or signatures.setdefault(asked.root, server.signatures(collation, levels))
            differing = [page for page, value in server.signatures(asked.collation, levels).items() if known[page] != value]
    if differing != []:
        by_page: dict[int, dict[int, list[Entry]]] = defaultdict(dict)
        for code_point, entry in server.weights(asked.collation, asked.levels, differing).items():
            by_page[code_point // PAGE][code_point % PAGE] = entry
        for page, entries in by_page.items():
            empty: list[Entry] = [()] * asked.levels
            table.pages[page] = [[entries.get(n, empty)[level] for n in range(PAGE)] for level in range(asked.levels)]
    if asked.name != "general" and asked.root != "general":
        groups = every_group() if asked.root is None else GROUPS
        sequences = find(server, asked.collation, asked.levels, groups, root.contractions if root else ())
        answers = weights(server, asked.collation, asked.levels, sequences)
        table.contractions = {text: server.split(answer, asked.levels) for text, answer in zip(sequences, answers, strict=True)}
    return table


def encode(table: Table, root: Table | None) -> bytes:
    """Return the format that ``collation/tables.rs`` reads (before compression)."""
    out = bytearray([table.asked.levels])
    for level in range(table.asked.levels):
        for page in range(PAGES):
            own = table.pages.get(page)
            if root is not None and level < root.asked.levels and (own is None or own[level] == page_of(root, page, level)):
                out.append(2)
            else:
                out += encode_page(own[level] if own is not None else [()] * PAGE)
    out += struct.pack("<H", len(table.contractions))
    for text, entry in table.contractions.items():
        out.append(len(text))
        out += b"".join(struct.pack("<I", ord(c))[:3] for c in text)
        for level_weights in entry:
            out += bytes([len(level_weights)]) + struct.pack(f"<{len(level_weights)}H", *level_weights)
    return bytes(out)


def page_of(table: Table, page: int, level: int) -> list[Entry]:
    """Return a root's page."""
    return table.pages[page][level] if page in table.pages else [()] * PAGE


def encode_page(page: Sequence[Entry]) -> bytes:
    """Encode a page: one whose weights grow evenly as start and step, any other as counts and differences."""
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


def same(one: Table, other: Table) -> bool:
    """Return True if two tables with one root give the same weights."""
    return (one.asked.root, one.pages, one.contractions) == (other.asked.root, other.pages, other.contractions)


def merged(name: str, one: Table, other: Table, root: Table) -> Table:
    """Return a table for two collations that differ only in their contractions.

    Wherever a weight stands for characters together, the weights of the single characters are put; then nothing is weighed together
    any more. This maps what either collation calls equal to equal weights, because it replaces weights one by one.
    """
    if one.pages != other.pages or one.asked.levels != 1:
        raise SystemExit(f"{name}: the two collations differ in more than what they weigh together")
    parts: dict[int, Entry] = {}
    for table in (one, other):
        for text, (together,) in table.contractions.items():
            apart = tuple(w for c in text for w in character(table, root, ord(c)))
            if len(together) != 1 or parts.get(together[0], apart) != apart:
                # Letters of both cases have one weight: any of them will do if they weigh the same.
                raise SystemExit(f"{name}: {text!r} has no weight of its own")
            parts[together[0]] = apart
    if any(weight in parts for entry in parts.values() for weight in entry):
        raise SystemExit(f"{name}: parts of what weighs together stand for characters together themselves")
    out = Table(Asked(name, one.asked.collation, 1, one.asked.root))
    for page, levels in one.pages.items():
        out.pages[page] = [[tuple(w for weight in entry for w in parts.get(weight, (weight,))) for entry in levels[0]]]
    return out


def character(table: Table, root: Table, code_point: int) -> Entry:
    """Return a character's first-level weights."""
    pages = table.pages if code_point // PAGE in table.pages else root.pages
    return pages[code_point // PAGE][0][code_point % PAGE]
