"""The blocks of a log that a server's own family wrote, and how a session takes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from server.native_blocks import read_blocks

from paraply._native import Block
from paraply.targets.mysql.target import MySqlTarget

if TYPE_CHECKING:
    from server.mysql_fixtures import Server

    from paraply.targets.mysql.rows.foreign_keys import References

__all__ = ["SOME", "Log", "apply", "log_of", "some_blocks", "without_references"]

Log = Callable[[str], Path]
# The first transactions of each log make the schema and fill it.
SOME = 400


def log_of(server: Server, truth: Log) -> Path:
    return truth("mariadb-binlog/plain.binlog" if server.mariadb else "mysql-binlog/single-session.binlog")


def apply(target: MySqlTarget, blocks: list[Block]) -> None:
    session = target.session()
    for block in blocks:
        if block.kind == "dml":
            session.apply(block)
            session.commit()
        else:
            session.execute_statement(block)
    session.close()


def some_blocks(server: Server, truth: Log, count: int = SOME, merge: int = 16) -> list[Block]:
    blocks = []
    for block in read_blocks(log_of(server, truth), merge):
        blocks.append(block)
        if block.ordinal >= count:
            break
    return blocks


def without_references(target: MySqlTarget, references: References | None = None) -> None:
    """Have new sessions of an open target ask nothing about foreign keys at a block's end, or ask what is given."""
    target._context = replace(target.context, references=references)
