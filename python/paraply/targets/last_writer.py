"""Changed rows of a block for policy ``unordered``, where the last writer of a row wins by a timestamp column."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from paraply.errors import LogNotUnderstood, SchemaMismatch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paraply._native import Block

__all__ = ["Row", "check_definition", "rows_of_table", "tables_of"]

Image = dict[int, Any]


class Row(NamedTuple):
    """A changed row with all its columns.

    Attributes:
        gone: The old image if the change frees its key; None if the key stays or there was no row.
        kept: The row after the change; None for a delete.
    """

    gone: Image | None
    kept: Image | None


def tables_of(block: Block) -> list[tuple[str, str, int]]:
    """Return database, name and number of columns of each table that the block changes, in order of appearance.

    Raises:
        SchemaMismatch: A table appears with two different numbers of columns.
    """
    found: dict[tuple[str, str], int] = {}
    for table_map in block.table_maps():
        place = table_map.database, table_map.table
        count = len(table_map.columns)
        if found.setdefault(place, count) != count:
            raise SchemaMismatch("the log has the table with two different numbers of columns in one block", table=".".join(place))
    return [(database, table, count) for (database, table), count in found.items()]


def rows_of_table(block: Block, database: str, table: str, columns: int, key: Sequence[int]) -> Iterator[Row]:
    """Yield the changed rows of a table in log order.

    Args:
        block: The block.
        database: The database.
        table: The table.
        columns: Number of columns of the table in the log.
        key: The columns of the primary key by index.

    Raises:
        LogNotUnderstood: An image does not hold every column.
    """
    for before, after in block.changes(database, table, range(columns), max(1, block.rows)):
        for image in (before, after):
            if image is not None and len(image) != columns:
                raise LogNotUnderstood(
                    "policy 'unordered' writes whole rows, and the log lacks columns of a row of this table:"
                    " set binlog_row_image=FULL on the source, or use --policy dependency (MariaDB from 11.x on never logs the"
                    " generated columns of updates and deletes)",
                    table=f"{database}.{table}",
                )
        moved = before is not None and (after is None or any(before[index] != after[index] for index in key))
        yield Row(before if moved else None, after)


def check_definition(table: str, known: int, logged: int, *, key: Sequence[int], timestamp: int | None, column: str) -> int:
    """Return the index of the timestamp column, after checking that policy ``unordered`` can write the table.

    Raises:
        SchemaMismatch: The policy cannot write the table.
    """
    if known != logged:
        raise SchemaMismatch(f"the log's table has {logged} columns and the target's has {known}", table=table)
    if not key:
        raise SchemaMismatch("policy 'unordered' needs a primary key of whole columns", table=table)
    if timestamp is None:
        raise SchemaMismatch(f"policy 'unordered' needs the column {column} in every table", table=table)
    return timestamp
