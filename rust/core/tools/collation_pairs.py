"""Makes the Rust test's pairs of values: what real servers say about their equality, for each rule and padding of the list."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from collation_charsets import CASE_FOLDING
from collation_names import Listed
from collation_tables import CORE, save

if TYPE_CHECKING:
    from collation_servers import Server

PAIRS = 70
# What most columns have is asked more about.
COMMON = {
    "utf8mb4_0900_ai_ci",
    "utf8mb4_general_ci",
    "utf8mb4_unicode_ci",
    "utf8mb4_uca1400_ai_ci",
    "latin1_swedish_ci",
    "utf8mb3_general_ci",
}


def one_of_each(collations: list[Listed]) -> list[Listed]:
    """Return the first collation of each rule, padding and kind of character set."""
    found: dict[tuple[str, bool, str], Listed] = {}
    for collation in sorted(collations, key=lambda collation: collation.character_set != "utf8mb4"):
        wide = collation.character_set in {"ucs2", "utf16", "utf16le", "utf32", *CASE_FOLDING}
        kind = collation.character_set if wide and collation.rule in {"identity", "unicode uca400 1", "unicode uca900 1"} else ""
        found.setdefault((collation.rule, collation.pads, kind), collation)
    return list(found.values())


def write_pairs(mysql: Server, mariadb: Server, collations: list[Listed]) -> None:
    """Ask the servers about pairs that are often equal; write lines of server family, collation, both values, 1 for equal."""
    sys.path.insert(0, str(CORE.parents[1] / "tests"))
    from random import Random

    from collation_proof import Asker, make_pairs

    lines = []
    for server in (mysql, mariadb):
        asker = Asker(server.connection, server.mariadb)
        family = "mariadb" if server.mariadb else "mysql"
        for collation in one_of_each([c for c in collations if c.family == family and c.rule != "unknown" and c.name != "binary"]):
            count = PAIRS * 8 if collation.name in COMMON else PAIRS
            pairs = make_pairs(asker, collation.name, collation.character_set, count, Random(collation.name))
            answers = asker.equal(collation.character_set, collation.name, pairs)
            lines += [f"{family}\t{collation.name}\t{a.hex()}\t{b.hex()}\t{int(e)}" for (a, b), e in zip(pairs, answers, strict=True)]
    print(f"{len(lines)} pairs")
    save(CORE / "tests" / "data" / "collation_pairs.zst", "\n".join(lines).encode())
