"""Blocks of logs without an applier, and statements with any variables, for tests of the MySQL and MariaDB targets by themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paraply._native import Catalog, LogReader, Planner
from paraply.logs.feed import Feed
from paraply.schema.catalog import SchemaCatalog

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from paraply._native import Block, Transaction

__all__ = ["ColumnInfo", "Format", "Statement", "StatementBlock", "read_blocks", "read_log"]


def read_log(path: Path) -> Iterator[Transaction]:
    """The transactions of a log."""
    reader = LogReader([str(path)])
    while (batch := reader.next_batch()) is not None:
        yield from batch


def read_blocks(path: Path, merge: int) -> Iterator[Block]:
    """Blocks of up to ``merge`` row transactions; statements stand alone."""
    planner = Planner()
    for item in Feed(LogReader([str(path)]), SchemaCatalog(), Catalog(), threaded=False):
        yield from planner.plan(item.batch, item.write_sets, merge=merge, max_bytes=1 << 20, committed=0)


@dataclass
class Format:
    """The properties of a log that a statement's variables depend on."""

    server_version: str
    version: tuple[int, int, int]
    mariadb: bool


@dataclass
class Statement:
    """A statement under variables that no server of the tests writes."""

    sql: bytes
    database: str
    timestamp: int
    offset: int
    context: dict[str, Any]


@dataclass
class ColumnInfo:
    """A column of a table map."""

    type_code: int
    metadata: int
    nullable: bool = True
    unsigned: bool | None = None
    name: str | None = None
    collation_id: int | None = None


@dataclass
class StatementTransaction:
    """The one transaction of a block with a statement."""

    statements: list[Statement]


@dataclass
class StatementBlock:
    """A block with a statement, as far as ``StatementRunner`` looks at it."""

    id: int
    statement: Statement
    format: Any
    kind: str = "ddl"
    file: str = "log"
    offset: int = 99
    end_offset: int = 100
    first_gtid: str | None = None
    last_gtid: str | None = None
    has_rows: bool = False

    @property
    def transactions(self) -> list[StatementTransaction]:
        return [StatementTransaction([self.statement])]

    @property
    def ordinal(self) -> int:
        return self.id

    @property
    def end_file(self) -> str:
        return self.file
