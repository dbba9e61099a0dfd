"""Reading of logs by the data source: options, columns of each mode, and the rows of a part."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql.datasource import InputPartition

from paraply._native import Selection
from paraply.analysis.parts import LogPart, check_unchanged, cut, mark_of
from paraply.analysis.rows import EventSource, RowSource, columns_of, table_filter, values_of
from paraply.analysis.trace import SCHEMES, TraceSource
from paraply.errors import UsageError
from paraply.logs import log_paths
from paraply.schema.readers.dump import read_dump
from paraply.spark.failures import reporting

if TYPE_CHECKING:
    import pyarrow as pa

    from paraply.schema.model import Table

__all__ = ["MODES", "LogPartition", "Options", "found_logs", "read_part", "schema_text"]

SPLIT = 128 << 20
IMAGE = "map<string,string>"

TRANSACTIONS = {
    "position": "bigint", "gtid": "string", "origin": "string", "session": "bigint", "committed_at": "timestamp", "kind": "string",
    "tables": "array<string>", "write_set": "array<bigint>", "reads": "array<bigint>", "snapshot": "string", "rows": "int",
    "bytes": "bigint", "last_committed": "bigint", "sequence_number": "bigint", "server_id": "bigint", "file": "string",
    "offset": "bigint", "barrier": "boolean",
}  # fmt: skip
ROWS = {
    "position": "bigint", "gtid": "string", "committed_at": "timestamp", "server_id": "bigint", "session": "bigint",
    "database": "string", "table": "string", "operation": "string", "row": "bigint", "key": IMAGE, "before": IMAGE, "after": IMAGE,
    "file": "string", "offset": "bigint",
}  # fmt: skip
EVENTS = {
    "file": "string", "offset": "bigint", "type": "string", "type_code": "int", "size": "bigint", "server_id": "bigint",
    "timestamp": "timestamp", "gtid": "string", "end_position": "bigint", "flags": "int",
}  # fmt: skip
MODES = {"transactions": TRANSACTIONS, "rows": ROWS, "events": EVENTS}
KNOWN = ("path", "paths", "mode", "columns", "tables", "scheme", "schema_dump", "values", "split", "max_bytes")


@dataclass
class LogPartition(InputPartition):
    """Partition of one task."""

    part: LogPart


@dataclass(frozen=True)
class Options:
    """The options of the source.

    Attributes:
        paths: Logs, folders or patterns.
        mode: ``transactions``, ``rows`` or ``events``.
        columns: The requested columns; empty for all.
        tables: The requested databases and tables; empty for all.
        scheme: Scheme of the write sets.
        schema_dump: Dump of the tables at the start of the logs.
        values: ``text`` or ``typed``.
        split: Size of a part in bytes.
        max_bytes: Most bytes in a batch of a stream; None for all available bytes.
    """

    paths: tuple[str, ...] = ()
    mode: str = "transactions"
    columns: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    scheme: str = "fine"
    schema_dump: str | None = None
    values: str = "text"
    split: int = SPLIT
    max_bytes: int | None = None

    @classmethod
    def of(cls, options: dict[str, str]) -> Options:
        """Read the options.

        Raises:
            UsageError: An option is wrong.
        """
        given = {name.lower(): value for name, value in options.items()}
        unknown = [name for name in given if name not in KNOWN]
        if unknown:
            raise UsageError(f"unknown option `{unknown[0]}`: the source binlog has {', '.join(KNOWN[2:])}")
        made = cls(
            paths=paths_of(given),
            mode=given.get("mode", "transactions"),
            columns=names_of(given.get("columns")),
            tables=names_of(given.get("tables")),
            scheme=given.get("scheme", "fine"),
            schema_dump=given.get("schema_dump"),
            values=values_of(given.get("values", "text")),
            split=bytes_of("split", given.get("split")) or SPLIT,
            max_bytes=bytes_of("max_bytes", given.get("max_bytes")),
        )
        made.check()
        return made

    def check(self) -> None:
        """Raise ``UsageError`` if options do not fit together."""
        if self.mode not in MODES:
            raise UsageError(f"unknown mode `{self.mode}`: it is {', '.join(MODES)}")
        if self.scheme not in SCHEMES:
            raise UsageError(f"unknown scheme `{self.scheme}`: it is {' or '.join(SCHEMES)}")
        for name in self.columns:
            if name not in MODES[self.mode]:
                raise UsageError(f"mode {self.mode} has no column `{name}`; it has {', '.join(MODES[self.mode])}")
        if self.tables and self.mode == "events":
            raise UsageError("mode events cannot select tables; use mode rows")
        if self.values == "typed" and self.mode != "rows":
            raise UsageError("values=typed needs mode rows")
        table_filter(self.tables)

    def dumped(self) -> list[Table]:
        """Return the tables of the dump, if there is one."""
        return list(read_dump(Path(self.schema_dump))) if self.schema_dump else []

    def cut(self, paths: Sequence[str]) -> list[LogPart]:
        """Divide logs into parts."""
        events = self.mode == "events"
        if len(paths) == 1 and Path(paths[0]).stat().st_size <= self.split:
            return [LogPart(list(paths), tables=self.dumped(), marks=(mark_of(paths[0]),))]
        return cut(paths, self.dumped(), self.split, events=events)


def paths_of(given: dict[str, str]) -> tuple[str, ...]:
    """Return the paths of ``load(path)`` or ``load([path, ...])``, which Spark passes as JSON text.

    >>> paths_of({"paths": '["a.1", "b.1"]'})
    ('a.1', 'b.1')
    """
    several = json.loads(given.get("paths", "[]"))
    return (*([given["path"]] if given.get("path") else []), *(str(path) for path in several))


def names_of(option: str | None) -> tuple[str, ...]:
    """Return the names in an option, which are separated by commas."""
    return tuple(name.strip() for name in (option or "").split(",") if name.strip())


def bytes_of(name: str, option: str | None) -> int | None:
    """Return a number of bytes written as ``67108864``, ``64m`` or ``1g``.

    Raises:
        UsageError: The text is not such a number.
    """
    if option is None:
        return None
    text = option.strip().lower().removesuffix("b")
    unit = {"k": 10, "m": 20, "g": 30}.get(text[-1:], 0)
    digits = text[:-1] if unit else text
    if not digits.isdigit() or int(digits) == 0:
        raise UsageError(f"{name}={option}: write a number of bytes, such as 67108864 or 64m")
    return int(digits) << unit


def schema_text(options: Options) -> str:
    """Return the columns of a mode as Spark's DDL."""
    kinds = dict(MODES[options.mode])
    if options.values == "typed":
        typed = columns_of(found_logs(options.paths), options.dumped(), options.tables)
        image = ",".join(f"`{column.name.replace('`', '``')}`:{column.type}" for column in typed)
        kinds |= {"before": f"struct<{image}>", "after": f"struct<{image}>"}
    return ", ".join(f"`{name}` {kinds[name]}" for name in options.columns or kinds)


@reporting
def read_part(part: LogPart, options: Options, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a part with the columns that Spark requests, in its types.

    Raises:
        UsageError: A file has changed since it was divided.
    """
    for path, mark in zip(part.paths, part.marks, strict=False):
        check_unchanged(path, mark)
    wanted = schema.names
    for batch in source_of(part, options, schema):
        if batch.num_rows:
            yield batch.select(wanted).cast(schema)


def source_of(part: LogPart, options: Options, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the native batches of a part."""
    if options.mode == "events":
        yield from EventSource(part)
        return
    tables = table_filter(options.tables)
    selection = Selection(tables=tables)
    if options.mode == "transactions":
        yield from TraceSource(
            part.paths,
            options.scheme,
            None,
            tables=part.tables,
            position=part.position,
            piece=part.piece,
            selection=selection,
            sizes=part.sizes,
        )
        return
    yield from RowSource(
        part,
        columns=schema.names,
        tables=tables,
        values=values_in(schema) if options.values == "typed" else None,
        selection=selection,
    )


def values_in(schema: pa.Schema) -> list[tuple[str, bool]]:
    """Return the columns of the images that Spark requests, each with True if it holds bytes."""
    import pyarrow as pa

    image = next((schema.field(name).type for name in ("before", "after") if name in schema.names), None)
    return [] if image is None else [(column.name, pa.types.is_binary(column.type)) for column in image]


def found_logs(patterns: Sequence[str]) -> list[str]:
    """Return the logs of paths or patterns, those of each in the order of their names, without index files.

    Raises:
        UsageError: There is none.
    """
    if not patterns:
        raise UsageError("name a log, a folder or a pattern: load(PATH)")
    paths: dict[str, None] = {}
    for pattern in patterns:
        found = [path for path in matching(pattern) if not path.endswith(".index")]
        paths.update(dict.fromkeys(found or [pattern]))
    return log_paths(list(paths))


def matching(pattern: str) -> list[str]:
    """Return the files of one path or pattern."""
    paths = [pattern] if Path(pattern).exists() else glob(pattern)  # noqa: PTH207  absolute patterns too
    if len(paths) == 1 and Path(paths[0]).is_dir():
        paths = [str(path) for path in Path(paths[0]).iterdir() if path.is_file() and not path.name.startswith(".")]
    return sorted(paths, key=in_order)


def in_order(path: str) -> tuple[str, int, str]:
    """Return a sort key by which logs of one name follow one another by the numbers at the end.

    >>> sorted(["b.1000000", "b.999999", "b.index"], key=in_order)
    ['b.999999', 'b.1000000', 'b.index']
    """
    stem, _, number = path.rpartition(".")
    return (stem, int(number) if number.isdigit() else 1 << 62, path)
