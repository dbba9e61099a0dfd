"""Run the statement collections below a folder: ``python -m tests.statement_collections FOLDER``."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from mariadb_versions import mariadb_of_version
from own_mysql import running_mysql

from paraply.target.embedded import EmbeddedPostgres

from .found import Unit, units
from .replay import Family, FamilyTarget, PostgresTarget, Result, Target, replay_unit, totals

LIMIT = 0.95


def main() -> int:
    """Run the collections, print the table and return the exit code: 1 if anything is different or too much is refused."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="copies of public repositories")
    parser.add_argument("--family", choices=["mysql", "mariadb"], action="append", help="only sources of this family")
    parser.add_argument("--only", default="", help="only files whose name contains this text")
    parser.add_argument("-o", "--output", type=Path, help="write all results as JSON")
    options = parser.parse_args()
    found = [unit for unit in units(options.folder) if options.only in f"{unit.collection} {unit.name}"]
    if not found:
        parser.error(f"no statement collection below {options.folder}")
    results: dict[tuple[str, str], list[Result]] = defaultdict(list)
    for name, unit, target, result in _replayed(found, options.family or ["mysql", "mariadb"]):
        results[unit.collection, f"{name} to {target.name}"].append(result)
        _report(name, unit, target, result)
    if options.output:
        named = [{"collection": key[0], "pair": key[1], "results": [asdict(each) for each in every]} for key, every in results.items()]
        options.output.write_text(json.dumps(named, indent=1))
    return _print_table(results)


def _replayed(found: list[Unit], families: list[str]) -> Iterator[tuple[str, Unit, Target, Result]]:
    with tempfile.TemporaryDirectory(prefix="paraply-collections-") as folder, contextlib.ExitStack() as stack:
        postgres = stack.enter_context(EmbeddedPostgres(Path(folder) / "postgres"))
        for name in families:
            source, target, url = _pair(stack, name)
            targets: list[Target] = [FamilyTarget(target, url), PostgresTarget(postgres.uri, postgres.uri_of)]
            for unit in found:
                if name in unit.families:
                    for each in targets:
                        yield source.name, unit, each, replay_unit(unit, source, each, Path(folder) / "logs")


def _pair(stack: contextlib.ExitStack, name: str) -> tuple[Family, Family, str]:
    if name == "mysql":
        options = ["--log-bin-trust-function-creators=1", "--event-scheduler=OFF", "--secure-file-priv=NULL"]
        source, target = (stack.enter_context(running_mysql(options)) for _ in range(2))
        return Family("MySQL", False, source), Family("MySQL", False, target), target.url
    options = ["--log-bin=binlog", "--binlog-format=ROW", "--log-bin-trust-function-creators=1", "--secure-file-priv=/nowhere"]
    here, there = (stack.enter_context(mariadb_of_version("11.8", [*options, f"--server-id={number}"])) for number in (1, 2))
    return Family("MariaDB", True, here), Family("MariaDB", True, there), there.url


def _report(name: str, unit: Unit, target: Target, result: Result) -> None:
    print(f"{name} to {target.name}: {unit.name}: {result.same} of {result.statements}", flush=True)
    for statement, reason in result.refused:
        print(f"    refused: {' '.join(statement.split())[:160]}\n        {reason}")
    for line in result.different:
        print(f"    DIFFERENT: {line}")


def _print_table(results: dict[tuple[str, str], list[Result]]) -> int:
    failed = False
    print("\n| collection | pair | statements | same | refused | different |\n|---|---|---:|---:|---:|---:|")
    for (collection, pair), every in sorted(results.items()):
        counts = totals(every)
        print(f"| {collection} | {pair} | {counts['statements']} | {counts['same']} | {counts['refused']} | {counts['different']} |")
        too_few = "PostgreSQL" not in pair and counts["same"] < LIMIT * counts["statements"]
        failed = failed or too_few or counts["different"] > 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
