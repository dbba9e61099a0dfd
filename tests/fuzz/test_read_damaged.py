"""Damaged logs through the whole native reader: an error of the log or transactions, never a panic, a hang or memory without bound.

``PARAPLY_FUZZ_SECONDS`` says for how long (a second without it), ``PARAPLY_FUZZ_SEED`` where to begin. A failing input is kept and named.
"""

from __future__ import annotations

import os
import random
import resource
import shutil
import tempfile
import time
from pathlib import Path

from paraply._native import Block, Catalog, LogReader, Planner, TableMap, binlog_statements
from paraply.errors import ApplyFailed, LogError
from paraply.schema.model import Column, Key, KeyPart, Table
from tests.conftest import ROOT
from tests.fuzz.damage import damaged
from tests.truth_logs import truth_folder

SECONDS = float(os.environ.get("PARAPLY_FUZZ_SECONDS", "1"))
SEED = int(os.environ.get("PARAPLY_FUZZ_SEED", "0"))
LONGEST_SECONDS = 5.0
MOST_MEMORY = 1 << 30
MOST_BYTES_OF_A_SEED = 20_000
_TYPES = {
    1: "tinyint", 2: "smallint", 3: "int", 4: "float", 5: "double", 8: "bigint", 9: "mediumint", 10: "date", 13: "year", 15: "varchar",
    16: "bit", 17: "timestamp", 18: "datetime", 19: "time", 245: "json", 246: "decimal", 247: "enum", 248: "set", 252: "blob",
    254: "char", 255: "geometry",
}  # fmt: skip


def seeds() -> list[bytes]:
    """Small logs of real servers."""
    folders = [ROOT / "rust" / "binlog" / "tests" / "data", ROOT / "tests" / "data" / "errors"]
    truth = truth_folder()
    if truth is not None:
        folders.append(truth / "public")
    files = [path for folder in folders for path in sorted(folder.glob("*")) if path.suffix not in (".md", ".jsonl")]
    return [content for content in map(Path.read_bytes, filter(Path.is_file, files)) if 30 < len(content) <= MOST_BYTES_OF_A_SEED]


def read(path: Path, *, verify_checksums: bool) -> None:
    """Does with a log what an apply does before its rows go to the target."""
    try:
        reader = LogReader([str(path)], verify_checksums=verify_checksums)
        catalog = Catalog()
        while (batch := reader.next_batch()) is not None:
            for table_map in batch.table_maps():
                catalog.put(keyed(table_map))
            for scheme in ("group", "fine"):
                sets = batch.write_sets(catalog, scheme=scheme)
            for block in Planner().plan(batch, sets, merge=4, max_bytes=1 << 20, committed=0):
                look_at(block)
            for transaction in batch:
                assert transaction.offset < transaction.end_offset
                _ = transaction.tables, [statement.context for statement in transaction.statements]
    except (LogError, ApplyFailed):
        pass


def look_at(block: Block) -> None:
    """Decodes all columns, and makes the statements for MySQL."""
    for table_map in block.table_maps():
        block.changes(table_map.database, table_map.table, range(len(table_map.columns)), 100)
    if block.has_rows:
        for _ in binlog_statements(block, 1 << 24):
            pass


def keyed(table_map: TableMap) -> Table:
    """A table whose columns are all in its key, so that all are hashed where the types can be guessed."""
    made = tuple(
        Column(column.name or f"c{place}", _TYPES.get(column.type_code, "int"), column.metadata or None, unsigned=bool(column.unsigned))
        for place, column in enumerate(table_map.columns)
    )
    return Table(table_map.database, table_map.table, made, (Key("PRIMARY", tuple(KeyPart(column.name) for column in made), unique=True),))


def test_damaged_logs_give_errors_and_nothing_worse() -> None:
    logs, source = seeds(), random.Random(SEED)
    assert logs
    folder = Path(tempfile.mkdtemp(prefix="paraply-fuzz-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    path, deadline, count = folder / "log", time.monotonic() + SECONDS, 0
    while time.monotonic() < deadline:
        path.write_bytes(damaged(source.choice(logs), logs, source))
        for verify_checksums in (True, False):
            before, started = memory(), time.monotonic()
            try:
                read(path, verify_checksums=verify_checksums)
            except BaseException as error:  # a panic of the native side is no Exception
                raise AssertionError(f"input {count} of seed {SEED}, kept as {path}: {error!r}") from error
            assert time.monotonic() - started < LONGEST_SECONDS, f"slow: {path}"
            assert memory() - before < MOST_MEMORY, f"takes too much memory: {path}"
        count += 1
    shutil.rmtree(folder)
    print(f"{count} damaged logs")


def memory() -> int:
    """The most bytes that the process ever held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
