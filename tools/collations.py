"""Test of the equality forms of all collations against real servers; writes ``docs/reference/collations.md``.

Run by ``make collations``. Needs a MySQL 9 server (``PARAPLY_TEST_MYSQL=mysql://user:password@host:port``), on which it makes databases of
its own, and MariaDB's server programs, which it starts itself. For every collation it makes classes of equal texts, from all code points
and confusable texts, once by the server's weights and once by the forms, and compares them. It asks the server's ``=`` about pairs, and
searches for sequences of characters that are weighed together. It takes about an hour on two free cores; with ``--keep`` a later run
continues. A line each minute shows the progress.

Ends with status 1 if two values that the server calls equal have different forms, or if values different on the server have the same form
in an exact collation.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import pickle
import random
import re
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pymysql

from paraply import _native

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from collation_classes import Classes, Leader  # noqa: E402
from collation_proof import CODECS, Asker, Result, compare, make_pairs  # noqa: E402
from collation_sequences import has_sequences, prove_sequences  # noqa: E402
from collation_texts import Corpus, corpus_for  # noqa: E402
from servers import running_mariadb  # noqa: E402

PAGE = ROOT / "docs" / "reference" / "collations.md"
HEAD = """# Collations

`make collations` writes this page. For each collation it compares the equality of values in paraply with that of real servers. The
classes are explained in [Write sets and certification](../concepts/write-sets.md#collations).

- **exact**: values have one form if and only if the server calls them equal.
- **safe**: values that the server calls equal have one form; some others have it too.
- **whole-key**: no form is known, so all values of a key with such a column count as one.

| column | meaning |
|---|---|
| texts | texts of which each was compared with all others (see below) |
| sequences | sequences of characters that were tested for being weighed together |
| asked, equal | pairs of values that the server compared with `=`, and those that it called equal |
| missed | values that are equal on the server and different here: there must be none |
| coarsened | values that are different on the server and equal here: an exact collation has none |

A row stands for the collation of that name in all the listed character sets, with and without padding (`nopad`).

The texts are every character alone, its normalized forms, letters with marks, sequences that are weighed together, and random texts of
similar characters: {count:,} in all for Unicode. A smaller number is a sample.
"""
SAMPLE = 12_000
"""Number of texts for collations that are left when the time is over."""
PAIRS = 100
"""Random pairs for each collation, made of letters that this collation calls equal."""


def main() -> int:
    """Compare with both servers, print the table and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mysql", default=os.environ.get("PARAPLY_TEST_MYSQL"), help="mysql://user:password@host:port")
    parser.add_argument("--pairs", type=int, default=1000, help="pairs of each kind to compare with =, for each collation")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2, help="processes for each server")
    parser.add_argument("--keep", type=Path, help="a folder for finished results, which later runs with it do not repeat")
    parser.add_argument(
        "--minutes", type=float, default=1e9, help="after this time, the remaining Unicode collations get a sample of texts"
    )
    parser.add_argument("--match", default="", help="only collations whose name matches this regular expression; writes no page")
    parser.add_argument("--no-sequences", action="store_true", help="do not search for sequences that are weighed together; writes no page")
    arguments = parser.parse_args()
    if not arguments.mysql:
        parser.error("needs a MySQL server: --mysql or PARAPLY_TEST_MYSQL")
    parts = urlsplit(arguments.mysql)
    mysql = {"host": parts.hostname, "port": parts.port or 3306, "user": parts.username or "", "password": parts.password or ""}
    if arguments.keep:
        arguments.keep.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    with running_mariadb(["--max-allowed-packet=256M"]) as server:
        mariadb = {"host": "127.0.0.1", "port": server.port, "user": "app", "password": "app"}
        jobs = [(where, bool(family), part, arguments) for part in range(arguments.jobs) for family, where in enumerate((mysql, mariadb))]
        with multiprocessing.Pool(len(jobs)) as pool:
            answers = pool.map(prove_part, jobs, chunksize=1)
    found: dict[str, list[Result]] = defaultdict(list)
    for title, results in answers:
        found[title] += results
    good, text = True, HEAD.format(count=len(corpus_for("utf8mb4").texts)) if not arguments.match else ""
    for title, results in sorted(found.items(), reverse=True):
        good &= report(title, results)
        text += f"\n## {title}\n\n{summary(results)}\n\n{table(results)}\n"
    print(f"{(time.monotonic() - begun) / 60:.0f} minutes")
    if not arguments.match and not arguments.no_sequences:
        PAGE.write_text(text, encoding="utf-8")
        print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0 if good else 1


def prove_part(job: tuple[dict[str, Any], bool, int, argparse.Namespace]) -> tuple[str, list[Result]]:
    """Compare one process's share of a server's collations; return the server's title, and the results."""
    where, mariadb, part, arguments = job
    asker = Asker(pymysql.connect(charset="utf8mb4", autocommit=True, **where), mariadb)
    title = f"{'MariaDB' if mariadb else 'MySQL'} {str(asker.rows('SELECT VERSION()')[0][0]).split('-')[0]}"
    kin: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for collation, character_set in asker.collations():
        unicode = character_set in CODECS
        # The languages of one character set with bytes share the table of its texts.
        kin[collation.removeprefix(f"{character_set}_") if unicode else character_set].append((collation, character_set))
    names = [name for n, name in enumerate(sorted(kin)) if n % arguments.jobs == part]
    proof = Proof(Classes(asker, f"paraply_collations_{os.getpid()}"), arguments, title, Kept(arguments.keep, title, part))
    for n, name in enumerate(names):
        chosen = [pair for pair in kin[name] if re.search(arguments.match, pair[0])]
        if chosen and chosen[0][1] in CODECS:
            proof.leader(chosen)
        elif chosen:
            proof.of_bytes(chosen)
        proof.print_progress(n + 1, len(names))
    proof.followers()
    proof.classes.close()
    return title, proof.results


class Kept:
    """Results of earlier runs, and the file for new ones.

    Args:
        folder: Folder of the files; None keeps nothing.
        title: Title of the server.
        part: Number of this process.
    """

    def __init__(self, folder: Path | None, title: str, part: int) -> None:
        self.known: dict[str, tuple[Result, Leader | None]] = {}
        self.file = folder / f"{title} {part}" if folder else None
        for path in folder.glob(f"{title} *") if folder else []:
            with path.open("rb") as file, contextlib.suppress(EOFError, pickle.UnpicklingError):
                while True:
                    result, leader = pickle.load(file)  # noqa: S301 - written by this program
                    self.known[result.collation] = (result, leader)

    def add(self, result: Result, leader: Leader | None = None) -> None:
        """Keep a result."""
        if self.file:
            with self.file.open("ab") as file:
                pickle.dump((result, leader), file)


class Proof:
    """Work of one process on one server."""

    def __init__(self, classes: Classes, arguments: argparse.Namespace, title: str, kept: Kept) -> None:
        self.classes = classes
        self.arguments = arguments
        self.title = title
        self.kept = kept
        self.results: list[Result] = []
        self.corpus: Corpus | None = None
        self.few: Corpus | None = None
        self.waiting: dict[str, list[tuple[str, Leader | None, str]]] = defaultdict(list)
        self.printed = self.begun = time.monotonic()

    def print_progress(self, done: int, of: int, what: str = "groups") -> None:
        """Print the progress, once a minute."""
        now = time.monotonic()
        if now - self.printed > 60 or done == of:
            self.printed = now
            bad = sum(len(r.missed) for r in self.results)
            print(f"{self.title}: {done} of {of} {what}, {now - self.begun:.0f} s, {bad} missed", file=sys.stderr, flush=True)

    def empty(self, collation: str, character_set: str) -> Result:
        """Return a result without figures."""
        return Result(collation, character_set, _native.collation_class(collation, self.classes.asker.mariadb))

    def of_bytes(self, collations: list[tuple[str, str]]) -> None:
        """Compare the collations of a character set that is not one of Unicode's."""
        self.results += [self.kept.known[name][0] for name, _ in collations if name in self.kept.known]
        collations = [pair for pair in collations if pair[0] not in self.kept.known]
        if not collations:
            return
        corpus = corpus_for(collations[0][1])
        for collation, character_set in collations:
            result = self.empty(collation, character_set)
            self.classes.compare(result, corpus, self.arguments.pairs * 10)
            self.random_pairs(result)
            self.results.append(result)
            self.kept.add(result)
        self.classes.drop(corpus)

    def leader(self, collations: list[tuple[str, str]]) -> None:
        """Compare one of the collations that differ only in the Unicode character set; the others are compared later."""
        (name, character_set), *others = sorted(collations, key=lambda pair: pair[1] != "utf8mb4")
        result, leader = self.kept.known.get(name, (self.empty(name, character_set), None))
        if leader is None and self.late():
            self.briefly(result)
        elif leader is None:
            self.corpus = self.corpus or corpus_for("utf8mb4")
            leader = self.classes.compare(result, self.corpus, self.arguments.pairs)
            self.random_pairs(result)
            if has_sequences(name) and not self.arguments.no_sequences:
                prove_sequences(self.classes, result, wide=False)
            self.kept.add(result, leader)
        self.results.append(result)
        for other, its_set in others:
            self.waiting[its_set].append((other, leader, name))

    def followers(self) -> None:
        """Compare the other collations, one character set after the other."""
        done, of = 0, sum(map(len, self.waiting.values()))
        for character_set, collations in self.waiting.items():
            for collation, leader, leading in collations:
                result, _ = self.kept.known.get(collation, (None, None))
                if result is None:
                    result = self.empty(collation, character_set)
                    if leader is None or self.late():
                        self.briefly(result)
                    else:
                        self.corpus = self.corpus or corpus_for("utf8mb4")
                        if not self.classes.follow(result, self.corpus, leader, leading):
                            self.classes.compare(result, self.corpus, self.arguments.pairs)
                        self.kept.add(result)
                self.results.append(result)
                done += 1
                self.print_progress(done, of, "of the same in other character sets")

    def late(self) -> bool:
        """Return True if the time is over."""
        return time.monotonic() - self.begun > self.arguments.minutes * 60

    def briefly(self, result: Result) -> None:
        """Compare a sample of texts only."""
        if self.few is None:
            self.few = corpus_for("utf8mb4", sample=SAMPLE)
            self.few.name = "unicode_sample"
        self.classes.compare(result, self.few, 100)

    def random_pairs(self, result: Result) -> None:
        """Compare random pairs of texts that this collation calls equal."""
        rng = random.Random(result.collation)
        pairs = make_pairs(self.classes.asker, result.collation, result.character_set, PAIRS, rng)
        compare(self.classes.asker, result, pairs)


def report(title: str, results: list[Result]) -> bool:
    """Print the results; return True if there is no error."""
    wrong = [r for r in results if r.missed or r.odd or (r.known == "exact" and r.coarsened)]
    print(f"{title}: {summary(results)}")
    for result in wrong:
        examples = [f"{a.hex(' ')} | {b.hex(' ')}" for a, b in (result.missed + result.coarsened)[:2]]
        print(f"  {result.collation}: {len(result.missed)} missed, {len(result.coarsened)} coarsened, {result.odd[:2]} odd: {examples}")
    return not wrong


def summary(results: list[Result]) -> str:
    """Return a sentence with all figures."""
    classes = {known: sum(r.known == known for r in results) for known in ("exact", "safe", "whole-key")}
    figures = [sum(r.asked for r in results), sum(r.equal for r in results), sum(len(r.missed) for r in results)]
    coarsened = sum(len(r.coarsened) for r in results)
    texts, sequences, odd = sum(r.texts for r in results), sum(r.sequences for r in results), sum(len(r.odd) for r in results)
    kinds = ", ".join(f"{count} {known}" for known, count in classes.items())
    return (
        f"{len(results)} collations: {kinds}. {texts:,} texts and {sequences:,} sequences compared, {odd} of these weighed together on one "
        f"side only; {figures[0]:,} pairs asked, {figures[1]:,} equal, {figures[2]} missed, {coarsened} coarsened."
    )


def table(results: list[Result]) -> str:
    """Return the table, one row for the collations that differ only in character set or padding."""
    rows: dict[tuple[str, str], list[Result]] = defaultdict(list)
    for result in results:
        suffix = result.collation.removeprefix(f"{result.character_set}_").replace("nopad_", "")
        rows[suffix, result.known].append(result)
    lines = [
        "| collation | character sets | class | texts | sequences | asked | equal | missed | coarsened |",
        "|---|---|---|--:|--:|--:|--:|--:|--:|",
    ]
    for (suffix, known), group in sorted(rows.items()):
        sets = ", ".join(sorted({result.character_set for result in group}))
        figures = [sum(r.asked for r in group), sum(r.equal for r in group), sum(len(r.missed) for r in group)]
        coarsened = sum(len(r.coarsened) for r in group)
        texts = f"{sum(r.texts for r in group):,} | {sum(r.sequences for r in group):,}"
        lines.append(f"| {suffix} | {sets} | {known} | {texts} | {figures[0]:,} | {figures[1]:,} | {figures[2]} | {coarsened} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
