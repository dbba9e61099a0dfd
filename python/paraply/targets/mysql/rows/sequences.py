"""Rows of MariaDB's sequences as SQL, because a ``BINLOG`` statement with such rows does not work everywhere.

Observed: MariaDB 10.5.23 ends itself, in ``Rows_log_event::update_sequence``, which reads a bitmap that only the server's own applier sets.
10.11 takes rows that hold all columns, and refuses those of a source with ``binlog_row_image=MINIMAL`` under ``--gtid preserve``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply._native import binlog_statements
from paraply.targets.mysql.sql import identifier

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from paraply._native import Block, ReferenceCheck
    from paraply.targets.mysql.context import MySqlContext

__all__ = ["row_statements", "sequence_statements"]

#: The columns of every sequence: next_not_cached_value, minimum_value, maximum_value, start_value, increment, cache_size, cycle_option,
#: cycle_count.
_COLUMNS = 8
_NEXT, _ROUND = 0, 7


def row_statements(context: MySqlContext, source: Block, check: ReferenceCheck | None = None) -> Iterator[bytes]:
    """Return the statements that bring a block's rows into a target, one after the other (rule R31).

    Args:
        context: The target; the tables of the block are checked.
        source: The block, or a part of it.
        check: The foreign keys that are checked at the end of the block.
    """
    checker = context.checker
    sequences = checker.sequences_of(source)
    yield from binlog_statements(source, context.max_packet, check, checker.row_ends, sequences)
    yield from sequence_statements(source, sequences)


def sequence_statements(block: Block, sequences: Sequence[tuple[str, str]]) -> Iterator[bytes]:
    """Return the changes of some sequences in a block as SQL.

    A row that holds all columns replaces the sequence's state, as ``ALTER SEQUENCE`` does. One with the next value only, of a source with
    ``binlog_row_image=MINIMAL``, moves the sequence forward, as ``SETVAL`` does.
    """
    for database, table in sequences:
        name = f"{identifier(database)}.{identifier(table)}"
        for _, after in block.changes(database, table, range(_COLUMNS), max(1, block.rows)):
            if after is None:
                continue
            if len(after) == _COLUMNS:
                values = ",".join(str(after[column]) for column in range(_COLUMNS))
                yield f"INSERT INTO {name} VALUES ({values})".encode()
            else:
                yield f"DO SETVAL({name},{after[_NEXT]},0,{after.get(_ROUND, 0)})".encode()
