"""Rows of MariaDB's sequences as SQL. A ``BINLOG`` statement with such rows does not work on all versions.

Observed: MariaDB 10.5.23 crashes in ``Rows_log_event::update_sequence``, which reads a bitmap that only the server's own applier sets.
MariaDB 10.11 accepts rows with all columns. It refuses rows of a source with ``binlog_row_image=MINIMAL`` under ``--gtid preserve``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply._native import binlog_statements
from paraply.targets.mysql.preflight.session_dependence import RESET
from paraply.targets.mysql.rows.row_settings import of_equal_settings
from paraply.targets.mysql.sql import identifier

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from paraply._native import Block, ReferenceCheck
    from paraply.targets.mysql.context import MySqlContext

__all__ = ["row_statements", "sequence_statements"]

#: Number of columns of a sequence: next_not_cached_value, minimum_value, maximum_value, start_value, increment, cache_size,
#: cycle_option, cycle_count.
_COLUMNS = 8
_NEXT, _ROUND = 0, 7


def row_statements(context: MySqlContext, source: Block, check: ReferenceCheck | None = None) -> Iterator[bytes]:
    """Yield the statements that apply a block's rows to a target, in order (R31).

    Args:
        context: The target, which must have checked the tables of the block.
        source: The block, or a part of it.
        check: The foreign keys that are checked at the end of the block.
    """
    for settings, part in of_equal_settings(source, context.server, matter=context.checker.session.includes(source)):
        if settings is None:
            yield from _rows_of(context, part, check)
            continue
        yield settings.encode()
        yield from _rows_of(context, part, check)
        yield RESET.encode()


def _rows_of(context: MySqlContext, source: Block, check: ReferenceCheck | None) -> Iterator[bytes]:
    checker = context.checker
    sequences = checker.sequences_of(source)
    yield from binlog_statements(source, context.max_packet, check, checker.row_ends, sequences)
    yield from sequence_statements(source, sequences)


def sequence_statements(block: Block, sequences: Sequence[tuple[str, str]]) -> Iterator[bytes]:
    """Yield the changes of sequences in a block as SQL.

    A row with all columns replaces the state of the sequence, like ``ALTER SEQUENCE``. A row with only the next value, from a source with
    ``binlog_row_image=MINIMAL``, advances the sequence, like ``SETVAL``.
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
