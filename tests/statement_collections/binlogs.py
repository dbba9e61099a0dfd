"""Read the public binlog files, and apply those that a target takes."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet
from command_line import Outcome, run_json
from reader_view import postgres_differences, user_databases

import paraply

from .reasons import Refusal
from .replay import FamilyTarget, PostgresTarget, Result
from .source import connect

__all__ = ["FileResult", "binlog_files", "is_of_mariadb", "replay_file"]

MAGIC = b"\xfebin"
#: Rows of the server's own databases are left out, as PostgreSQL leaves them out.
_OPTIONS = ("--allow-nontransactional", "--exclude-database", "mysql")
#: The server's error where a log makes the database that others expect: its server had been started without.
_MADE_BY_THE_LOG = "Can't create database 'test'; database exists"
#: Position and length of the server's version in a file's first event, a format description.
_VERSION = slice(25, 75)


@dataclass
class FileResult:
    """Outcome of one file.

    Attributes:
        way: How it was read, or where it was applied to.
        transactions: Transactions that were read or applied.
        filtered: Transactions of the server's own databases.
        rows: Row changes that were read; None where it was applied.
        refused: The refusal, or None.
        different: What is wrong, a line each.
    """

    way: str
    transactions: int = 0
    filtered: int = 0
    rows: int | None = None
    refused: Refusal | None = None
    different: list[str] = field(default_factory=list)

    def as_result(self) -> Result:
        """Return the same as a line of the table of statements."""
        same = not self.refused and not self.different
        return Result(1, int(same), [self.refused] if self.refused else [], 0, self.different)


def binlog_files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the binlog files below a folder with the name of the repository; files of git and of other forms are passed over."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and ".git" not in path.parts and _content(path, len(MAGIC)) == MAGIC:
            yield path.relative_to(folder).parts[0], path


def is_of_mariadb(path: Path) -> bool:
    """Return True if a MariaDB wrote the file."""
    return b"MariaDB" in _content(path, _VERSION.stop)[_VERSION]


def _content(path: Path, size: int) -> bytes:
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        return file.read(size)


def replay_file(path: Path, family: FamilyTarget, postgres: PostgresTarget, folder: Path) -> list[FileResult]:
    """Read a file by its transactions and by its rows, and apply it to both targets, which have to hold the same afterwards.

    Args:
        path: The file.
        family: A server of the family that wrote it.
        postgres: A PostgreSQL.
        folder: An empty folder for a copy.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    log = folder / path.name.removesuffix(".gz")
    log.write_bytes(gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes())
    read, rows = _traced(log, folder), _rows(log)
    if not read.refused and not rows.refused and read.rows != rows.rows:
        rows.different.append(f"{rows.rows} rows, and {read.rows} in the trace")
    applied = [_applied(log, target, folder) for target in (family, postgres)]
    if not any(each.refused or each.different for each in applied):
        applied[1].different += _differences(family, postgres)
    return [read, rows, *applied]


def _traced(log: Path, folder: Path) -> FileResult:
    output = folder / "trace.parquet"
    outcome = run_json("trace", log, "-o", output, cwd=folder)
    result = FileResult("trace", int(outcome.report.get("transactions") or 0))
    if outcome.code == 0:
        table = pyarrow.parquet.read_table(output)
        result.transactions, result.rows = table.num_rows, sum(table["rows"].to_pylist())
    else:
        _take(outcome, result, log, ("NotALog", "LogDamaged", "LogTruncated", "LogNotUnderstood"))
    return result


def _rows(log: Path) -> FileResult:
    result = FileResult("rows", rows=0)
    try:
        gtids: set[object] = set()
        for batch in paraply.rows(log):
            result.rows = (result.rows or 0) + batch.num_rows
            gtids.update(batch["position"].to_pylist() if "position" in batch.schema.names else ())
        result.transactions = len(gtids)
    except paraply.ParaplyError as error:
        if error.exit_code == 3:
            result.refused = Refusal("", type(error).__name__, str(error), log.name)
        else:
            result.different.append(f"{type(error).__name__}: {error}")
    return result


def _applied(log: Path, target: FamilyTarget | PostgresTarget, folder: Path) -> FileResult:
    options: Sequence[str] = _OPTIONS if isinstance(target, FamilyTarget) else ()
    outcome = _apply(log, target, options, folder, prepared=True)
    if outcome.code != 0 and _MADE_BY_THE_LOG in str(outcome.error["message"]):
        outcome = _apply(log, target, options, folder, prepared=False)
    result = FileResult(f"to {target.name}", int(outcome.report.get("transactions") or 0), int(outcome.report.get("filtered") or 0))
    if outcome.code != 0:
        _take(outcome, result, log, None)
    return result


def _apply(log: Path, target: FamilyTarget | PostgresTarget, options: Sequence[str], folder: Path, *, prepared: bool) -> Outcome:
    url = target.empty()
    if prepared and isinstance(target, FamilyTarget):
        target.prepare()
    return run_json("apply", log, "--to", url, "--workers", 2, "--allow-gap", *options, cwd=folder)


def _take(outcome: Outcome, result: FileResult, log: Path, kinds: tuple[str, ...] | None) -> None:
    kind, message = outcome.error["class"], str(outcome.error["message"])
    if outcome.code in (1, 3) and (kinds is None or kind in kinds):
        result.refused = Refusal("", kind, message, log.name)
    else:
        result.different.append(f"exit code {outcome.code}: {kind}: {message}")


def _differences(family: FamilyTarget, postgres: PostgresTarget) -> list[str]:
    with closing(connect(family.port)) as connection:
        cursor = connection.cursor()
        return postgres_differences(cursor, postgres.url, user_databases(cursor))
