"""Proves the equality forms of all collations against real servers and writes ``docs/reference/collations.md``.

Run by ``make collations``. Needs a MySQL 9 server (``PARAPLY_TEST_MYSQL=mysql://user:password@host:port``) and MariaDB's server
programs, which it starts itself. For every collation of both it asks the server's ``=`` about pairs of values (``--pairs``), and for
each table of weights it compares all code points by themselves (left out with ``--no-characters``). Ends with status 1 if a value that
the server calls equal got another form, or a form of an exact collation merged what the server tells apart.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections import defaultdict
from pathlib import Path
from urllib.parse import urlsplit

import pymysql

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from collation_proof import Asker, Result, prove, prove_characters  # noqa: E402
from servers import running_mariadb  # noqa: E402

PAGE = ROOT / "docs" / "reference" / "collations.md"
HEAD = """# Collations

How well paraply knows what each collation of MySQL and MariaDB calls equal, as `make collations` found it out and wrote it here.
What the classes mean for write sets is told in [Write sets and certification](../concepts/write-sets.md#collations).

- **exact**: values have one form if and only if the server calls them equal.
- **safe**: values that the server calls equal have one form; some others have it too.
- **whole-key**: no form is known, so all values of a key with such a column count as one.

*Asked* counts the pairs of values whose equality the server was asked about{characters}.
*Equal* of the pairs were equal on the server. *Missed* are those equal on the server and different here, which must not be;
*coarsened* are those different on the server and equal here, which an exact collation has none of. A row stands for the
collation of that name in all the character sets it is listed with, with and without padding (`nopad`).
"""


def main() -> int:
    """Asks both servers, prints the table and writes the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mysql", default=os.environ.get("PARAPLY_TEST_MYSQL"), help="mysql://user:password@host:port")
    parser.add_argument("--pairs", type=int, default=1000, help="pairs of values for each collation")
    parser.add_argument("--no-characters", action="store_true", help="leave out the comparison of all code points")
    parser.add_argument("--match", default="", help="only collations whose name has this regular expression in it; writes no page")
    arguments = parser.parse_args()
    if not arguments.mysql:
        parser.error("needs a MySQL server: --mysql or PARAPLY_TEST_MYSQL")
    parts = urlsplit(arguments.mysql)
    mysql = pymysql.connect(
        host=parts.hostname, port=parts.port or 3306, user=parts.username or "", password=parts.password or "", charset="utf8mb4"
    )
    characters = "" if arguments.no_characters else ", and the code points whose weights were compared one by one"
    text, good = HEAD.replace("{characters}", characters), True
    with running_mariadb() as server:
        for asker in (Asker(mysql, mariadb=False), Asker(server.connect(), mariadb=True)):
            version = str(asker.rows("SELECT VERSION()")[0][0]).split("-")[0]
            title = f"{'MariaDB' if asker.mariadb else 'MySQL'} {version}"
            results = ask_all(asker, arguments.pairs, arguments.match, characters=not arguments.no_characters)
            good &= report(title, results)
            text += f"\n## {title}\n\n{summary(results)}\n\n{table(results)}\n"
    if not arguments.match:
        PAGE.write_text(text, encoding="utf-8")
        print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0 if good else 1


def ask_all(asker: Asker, pairs: int, match: str, characters: bool) -> list[Result]:
    """Results of all collations of a server."""
    results = []
    begun = time.monotonic()
    for collation, character_set in asker.collations():
        if not re.search(match, collation):
            continue
        result = prove(asker, collation, character_set, pairs)
        if characters and character_set == "utf8mb4" and "_nopad_" not in collation:
            prove_characters(asker, result)
        results.append(result)
        print(f"\r{len(results)} collations, {time.monotonic() - begun:.0f} s ", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return results


def report(title: str, results: list[Result]) -> bool:
    """Prints what was found; whether nothing is wrong."""
    wrong = [r for r in results if r.missed or (r.known == "exact" and r.coarsened)]
    print(f"{title}: {summary(results)}")
    for result in wrong:
        examples = [f"{a.hex(' ')} | {b.hex(' ')}" for a, b in (result.missed + result.coarsened)[:2]]
        print(f"  {result.collation}: {len(result.missed)} missed, {len(result.coarsened)} coarsened of {result.asked}: {examples}")
    return not wrong


def summary(results: list[Result]) -> str:
    """One sentence with all figures."""
    classes = {known: sum(r.known == known for r in results) for known in ("exact", "safe", "whole-key")}
    figures = [sum(r.asked for r in results), sum(r.equal for r in results), sum(len(r.missed) for r in results)]
    coarsened = sum(len(r.coarsened) for r in results)
    kinds = ", ".join(f"{count} {known}" for known, count in classes.items())
    return f"{len(results)} collations: {kinds}. {figures[0]:,} asked, {figures[1]:,} equal, {figures[2]} missed, {coarsened} coarsened."


def table(results: list[Result]) -> str:
    """The table, one row for the collations that differ in character set or padding only."""
    rows: dict[tuple[str, str], list[Result]] = defaultdict(list)
    for result in results:
        suffix = result.collation.removeprefix(f"{result.character_set}_").replace("nopad_", "")
        rows[suffix, result.known].append(result)
    lines = ["| collation | character sets | class | asked | equal | missed | coarsened |", "|---|---|---|--:|--:|--:|--:|"]
    for (suffix, known), group in sorted(rows.items()):
        sets = ", ".join(sorted({result.character_set for result in group}))
        figures = [sum(r.asked for r in group), sum(r.equal for r in group), sum(len(r.missed) for r in group)]
        coarsened = sum(len(r.coarsened) for r in group)
        lines.append(f"| {suffix} | {sets} | {known} | {figures[0]:,} | {figures[1]:,} | {figures[2]} | {coarsened} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
