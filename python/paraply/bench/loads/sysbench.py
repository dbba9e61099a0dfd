"""Three loads of sysbench, made without it: the tables and statements of its ``oltp_*.lua`` (https://github.com/akopytov/sysbench).

The schema, the texts and the statements are those of ``oltp_common.lua`` for MySQL: eight tables ``sbtest1`` to ``sbtest8`` with ``id``,
``k``, ``c`` and ``pad``, and an index on ``k`` that is made after the rows. Ids are drawn uniformly, the default of sysbench since 1.1
(``--rand-type=uniform``); 1.0 draws a part of them more often. The preparation is part of the log.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from random import Random

from paraply.bench.loads.load import Load, Session, rows

__all__ = ["TABLE_SIZE", "sysbench_loads"]

TABLE_SIZE = 10_000
"""Default number of rows of a table, as sysbench's ``--table-size``."""
_TABLES = 8
_TABLE = (
    "CREATE TABLE sbtest{n} (id INTEGER NOT NULL AUTO_INCREMENT, k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL,"
    " pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id))"
)


def sysbench_loads(table_size: int = TABLE_SIZE) -> tuple[Load, ...]:
    """Return the loads ``oltp_write_only``, ``oltp_update_index`` and ``oltp_insert``.

    Args:
        table_size: Rows of each table at the start.

    >>> [load.name for load in sysbench_loads()]
    ['sysbench-write-only', 'sysbench-update-index', 'sysbench-insert']
    """
    schema = ";".join(_TABLE.format(n=number) for number in range(1, _TABLES + 1))
    fill = partial(_fill, table_size)
    kinds = (
        ("sysbench-write-only", "sysbench write only", _write_only),
        ("sysbench-update-index", "sysbench update index", _update_index),
        ("sysbench-insert", "sysbench insert", _insert),
    )
    return tuple(Load(name, title, 1.0, schema, fill, partial(kind, table_size)) for name, title, kind in kinds)


def digits(draw: Random, groups: int) -> str:
    """Return groups of eleven digits, as sysbench's templates of ``c`` (ten groups) and ``pad`` (five).

    >>> len(digits(Random(1), 10)), len(digits(Random(1), 5))
    (119, 59)
    """
    return "-".join(f"{draw.randrange(10**11):011}" for _ in range(groups))


def _fill(table_size: int) -> Iterator[str]:
    """Yield the inserts of each table, and its index."""
    draw = Random(1)
    for number in range(1, _TABLES + 1):
        values = [f"({draw.randint(1, table_size)},'{digits(draw, 10)}','{digits(draw, 5)}')" for _ in range(table_size)]
        yield from rows(f"sbtest{number} (k, c, pad)", values)
        yield f"CREATE INDEX k_{number} ON sbtest{number} (k)"


def _table(session: Session) -> str:
    return f"sbtest{session.draw.randint(1, _TABLES)}"


def _write_only(table_size: int, session: Session) -> list[str]:
    """Return a transaction: an update with and one without the index, a delete, and an insert of the same id."""
    draw = session.draw
    table, row, k = _table(session), draw.randint(1, table_size), draw.randint(1, table_size)
    return [
        *_update_index(table_size, session),
        f"UPDATE {_table(session)} SET c='{digits(draw, 10)}' WHERE id={draw.randint(1, table_size)}",
        f"DELETE FROM {table} WHERE id={row}",
        f"INSERT INTO {table} (id, k, c, pad) VALUES ({row},{k},'{digits(draw, 10)}','{digits(draw, 5)}')",
    ]


def _update_index(table_size: int, session: Session) -> list[str]:
    return [f"UPDATE {_table(session)} SET k=k+1 WHERE id={session.draw.randint(1, table_size)}"]


def _insert(table_size: int, session: Session) -> list[str]:
    draw = session.draw
    values = f"({draw.randint(1, table_size)},'{digits(draw, 10)}','{digits(draw, 5)}')"
    return [f"INSERT INTO {_table(session)} (k, c, pad) VALUES {values}"]
