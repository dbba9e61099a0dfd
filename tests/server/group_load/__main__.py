"""Runs seeds against a group and prints a table of what ``verify`` says."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from paraply.errors import ParaplyError

from .members import Group, GroupBroken, Member
from .seeds import Result, run_seed, verify_kept

COLUMNS = ("seed", "mode", "tables", "transactions", "rejected", "different", "missed", "by_r4", "fallbacks", "collections", "seconds")


def members_of(urls: str, folders: str) -> Group:
    """The group that the environment or the command line names."""
    return Group([Member(url, Path(folder)) for url, folder in zip(urls.split(","), folders.split(","), strict=True)])


def row(values: Sequence[object]) -> str:
    """One line of a table in Markdown."""
    return "| " + " | ".join(str(value) for value in values) + " |"


def seeds_of(text: str) -> list[int]:
    """``1-3,7`` as numbers."""
    parts = (part.partition("-") for part in text.split(","))
    return [number for low, _, high in parts for number in range(int(low), int(high or low) + 1)]


def main() -> int:
    """The command line; 1 if some seed has a difference that no coarser form explains."""
    parser = argparse.ArgumentParser(prog="python -m tests.server.group_load", description=__doc__)
    parser.add_argument("--group", default=os.environ.get("PARAPLY_TEST_GROUP"), help="URLs of the members, the last one only applies")
    parser.add_argument("--logs", default=os.environ.get("PARAPLY_TEST_GROUP_LOGS"), help="folders of their relay logs, in the same order")
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--transactions", type=int, default=10_000, help="about so many for each seed")
    parser.add_argument("--sessions", type=int, default=6)
    parser.add_argument("--coarse", action="store_true", help="also collations and expression keys that are not known exactly")
    parser.add_argument("--ddl", action="store_true", help="change the schema under the load")
    parser.add_argument("--renew", help="a command that makes the group anew after a seed whose load broke it")
    parser.add_argument("--keep", type=Path, help="keep the relay logs in this folder")
    parser.add_argument("--again", action="store_true", help="only compare once more what --keep has kept")
    options = parser.parse_args()
    if options.again:
        return compare_again(options.keep)
    if not options.group or not options.logs:
        parser.error("--group and --logs (or PARAPLY_TEST_GROUP and PARAPLY_TEST_GROUP_LOGS) say where the group is")
    group = members_of(options.group, options.logs)
    bad = 0
    print(row(COLUMNS), "|" + "---|" * len(COLUMNS), sep="\n", flush=True)
    with tempfile.TemporaryDirectory(prefix="paraply-group-") as scratch:
        for seed in seeds_of(options.seeds):
            try:
                result = run_seed(
                    group, seed, options.keep or Path(scratch), transactions=options.transactions, sessions=options.sessions,
                    coarse=options.coarse, with_ddl=options.ddl,
                )  # fmt: skip
            except (GroupBroken, ParaplyError) as error:
                print(f"| {seed} | {error} |", flush=True)
                if options.renew is None:
                    return 1
                subprocess.run(options.renew, shell=True, check=True, stdout=subprocess.DEVNULL)
                group = members_of(options.group, options.logs)
                continue
            report(result)
            bad += not result.explained
            if result.broken and options.renew is not None:
                subprocess.run(options.renew, shell=True, check=True, stdout=subprocess.DEVNULL)
                group = members_of(options.group, options.logs)
    return 1 if bad else 0


def compare_again(folder: Path) -> int:
    """Verifies kept logs; 1 if some seed has a difference that no coarser form explains."""
    print(row(COLUMNS), "|" + "---|" * len(COLUMNS), sep="\n", flush=True)
    found = sorted(folder.glob("*/seed.json"), key=lambda path: int(path.parent.name.removeprefix("seed")))
    results = []
    for path in found:
        results.append(verify_kept(path.parent))
        report(results[-1])
    sums = {column: sum(getattr(result, column) for result in results) for column in COLUMNS[2:]}
    print(row(["all", len(results), *(round(value) for value in sums.values())]), flush=True)
    return int(any(not result.explained for result in results))


def report(result: Result) -> None:
    """Prints one seed's line, and what is different below it."""
    print(row([getattr(result, column) for column in COLUMNS]), flush=True)
    for line in result.remarks:
        print("    " + line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
