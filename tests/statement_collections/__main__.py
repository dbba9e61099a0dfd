"""Run the statement collections below a folder: ``python -m tests.statement_collections FOLDER``."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import command_line
from mariadb_versions import MARIADB_VERSIONS, mariadb_of_version
from own_mysql import running_mysql

from paraply.targets.postgres.embedded import EmbeddedPostgres

from .binlogs import FileResult, binlog_files, is_of_mariadb, replay_file
from .found import Unit, units
from .reasons import READING, reason_of
from .replay import Family, FamilyTarget, PostgresTarget, Result, Source, Target, refusals, replay_unit, totals
from .server_tests import LEFT_OUT

LIMIT = 0.95
#: Longest time of one command.
SECONDS = 600
#: The servers are thrown away, so nothing has to be on the disk.
_FAST = ("--innodb-flush-log-at-trx-commit=0", "--sync-binlog=0", "--innodb-doublewrite=0", "--innodb-flush-method=nosync")
Results = dict[tuple[str, str], list[Result]]


def main() -> int:
    """Run the collections, print the table and return the exit code: 1 if anything is different or too much is refused."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="copies of public repositories")
    parser.add_argument("--family", choices=["mysql", "mariadb"], action="append", help="only sources of this family")
    parser.add_argument("--only", default="", help="only files whose name contains this text")
    parser.add_argument(
        "--mariadb-source",
        choices=MARIADB_VERSIONS,
        default=MARIADB_VERSIONS[-1],
        help=f"version of the MariaDB that makes the logs; the target is {MARIADB_VERSIONS[-1]}",
    )
    parser.add_argument("-o", "--output", type=Path, help="write all results as JSON")
    options = parser.parse_args()
    command_line.SECONDS = SECONDS
    found = [unit for unit in units(options.folder) if options.only in f"{unit.collection} {unit.name}"]
    files = [(name, path) for name, path in binlog_files(options.folder) if options.only in f"binlog files {path}"]
    if not found and not files:
        parser.error(f"no statement collection and no binlog file below {options.folder}")
    results: Results = defaultdict(list)
    lines: list[str] = []
    with tempfile.TemporaryDirectory(prefix="paraply-collections-") as folder, contextlib.ExitStack() as stack:
        server = stack.enter_context(EmbeddedPostgres(Path(folder) / "postgres"))
        postgres = PostgresTarget(server.uri, server.uri_of)
        for name in options.family or ["mysql", "mariadb"]:
            source, family = _pair(stack, name, options.mariadb_source)
            for unit, target, result in _replayed(found, name, Source(source, Path(folder) / "logs"), [family, postgres]):
                results[unit.collection, f"{source.name} to {target.name}"].append(result)
                _report(source.name, unit, target, result)
            for collection, path in files:
                if is_of_mariadb(path) == source.mariadb:
                    _replay_file(collection, path, replay_file(path, family, postgres, Path(folder) / "file"), results, lines)
    if options.output:
        named = [{"collection": key[0], "pair": key[1], "results": [asdict(each) for each in every]} for key, every in results.items()]
        options.output.write_text(json.dumps(named, indent=1))
    _print_files(lines)
    _print_not_logged(results)
    return max(print_reasons(results), _print_table(results))


def _replayed(found: list[Unit], name: str, source: Source, targets: list[Target]) -> Iterator[tuple[Unit, Target, Result]]:
    for unit in found:
        if name in unit.families:
            for each in targets:
                yield unit, each, replay_unit(unit, source, each)


def _replay_file(collection: str, path: Path, every: list[FileResult], results: Results, lines: list[str]) -> None:
    for each in every:
        results[f"binlog files, {collection}", each.way].append(each.as_result())
        left_out = f", {each.filtered} of the server's own databases left out" if each.filtered else ""
        done = f"{each.transactions} transactions{left_out}" + ("" if each.rows is None else f", {each.rows} rows")
        outcome = (
            f"DIFFERENT: {'; '.join(each.different)}"
            if each.different
            else f"refused: {each.refused.error}: {each.refused.message}"
            if each.refused
            else done
        )
        lines.append(f"| {path.name} | {each.way} | {outcome.replace(str(path), path.name)} |")
        print(lines[-1], flush=True)


def _pair(stack: contextlib.ExitStack, name: str, version: str) -> tuple[Family, FamilyTarget]:
    if name == "mysql":
        options = [*_FAST, "--log-bin-trust-function-creators=1", "--event-scheduler=OFF", "--secure-file-priv=NULL"]
        source, target = (stack.enter_context(running_mysql(options)) for _ in range(2))
        return Family("MySQL", False, source), FamilyTarget(Family("MySQL", False, target), target.url)
    options = [*_FAST, "--log-bin=binlog", "--binlog-format=ROW", "--log-bin-trust-function-creators=1", "--secure-file-priv=/mnt"]
    newest = MARIADB_VERSIONS[-1]
    servers = [(version, 1), (newest, 2)]
    here, there = (stack.enter_context(mariadb_of_version(each, [*options, f"--server-id={number}"])) for each, number in servers)
    named = "MariaDB" if version == newest else f"MariaDB {version}"
    return Family(named, True, here), FamilyTarget(Family("MariaDB", True, there), there.url, other_version=version != newest)


def _report(name: str, unit: Unit, target: Target, result: Result) -> None:
    print(f"{name} to {target.name}: {unit.name}: {result.same} of {result.statements}", flush=True)
    for each in result.refused:
        print(f"    refused: {' '.join(each.statement.split())[:160]}\n        {each.error}: {each.message}")
    for line in result.different:
        print(f"    DIFFERENT: {line}")


def _print_files(lines: list[str]) -> None:
    if lines:
        print("\n| binlog file | way | outcome |\n|---|---|---|")
        print("\n".join(lines))


def print_reasons(results: Results) -> int:
    """Print the refusals by reason; return 1 if a reason is in no document, or in none for its target."""
    numbers: Counter[tuple[str, str]] = Counter()
    unnamed = []
    for (_, pair), every in results.items():
        target = pair.rpartition("to ")[2]
        for each in refusals(every):
            title = reason_of(each, READING if target == pair else target)
            numbers[title or "NOT DOCUMENTED", pair] += 1
            unnamed += [f"{pair}: {each.file} {each.error}: {each.message}"] if title is None else []
    print("\n| documented reason of refusals | pair | refusals |\n|---|---|---:|")
    for (title, pair), number in sorted(numbers.items()):
        print(f"| {title} | {pair} | {number} |")
    for line in unnamed:
        print(f"    NOT DOCUMENTED: {line}")
    return 1 if unnamed else 0


def _print_not_logged(results: Results) -> None:
    """Print why statements of the collections left nothing in the source's log; the same for each target."""
    numbers: Counter[tuple[str, str, str]] = Counter()
    for (collection, pair), every in results.items():
        source, _, target = pair.partition(" to ")
        if target != "PostgreSQL":
            numbers.update((collection, source, reason) for result in every for _, reason in result.not_logged)
    print("\n| collection | source | not logged, because the statement or the server says | statements |\n|---|---|---|---:|")
    for (collection, source, reason), number in sorted(numbers.items(), key=lambda each: (each[0][:2], -each[1])):
        print(f"| {collection} | {source} | {reason} | {number} |")


def _print_table(results: Results) -> int:
    failed = False
    print(
        "\n| collection | pair | in the files | not logged | statements | same | refused | different | after a stop |\n|---|---|"
        + "---:|" * 7
    )
    for (collection, pair), every in sorted(results.items()):
        counts = totals(every)
        numbers = (counts[name] for name in ("files", "not_logged", "statements", "same", "refused", "different", "after"))
        print(f"| {collection} | {pair} | {' | '.join(map(str, numbers))} |")
        same_family = "PostgreSQL" not in pair and not collection.startswith("binlog files")
        too_few = same_family and counts["same"] < LIMIT * counts["statements"]
        failed = failed or too_few or counts["different"] > 0
    print(f"\nstatements = same + refused + after a stop, or some different. {LEFT_OUT}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
