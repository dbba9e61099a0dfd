"""The last change of each row of a table in a batch of changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paraply.errors import ValueNotStorable

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

__all__ = ["Collapsed", "collapse"]


@dataclass(frozen=True, slots=True)
class Collapsed:
    """Changes of a table with at most one for each key.

    Attributes:
        inserts: Rows whose keys did not exist before the batch.
        updates: Rows whose keys existed before.
        deletes: Keys that existed before, and do not any more.
    """

    inserts: pa.Table
    updates: pa.Table
    deletes: pa.Table

    @property
    def rows(self) -> int:
        """Number of changed keys."""
        return int(self.inserts.num_rows + self.updates.num_rows + self.deletes.num_rows)


def collapse(changes: pa.Table, key: Sequence[str], table: str = "") -> Collapsed:
    """Return the last change of each key, as the difference between the rows before the batch and those after it.

    An update of a key counts as the deletion of the old key and the insertion of the new one.

    Args:
        changes: Columns ``operation``, ``before`` and ``after`` in the log's order; the last two are structs of the table's columns.
        key: Names of the columns of the key.
        table: Name of the table, for errors.

    Raises:
        ValueNotStorable: A column of a key has a value that has no form in the lake, such as a date with the month 0.

    >>> import pyarrow as pa
    >>> row = pa.struct([("id", pa.int32()), ("name", pa.string())])
    >>> a, b = {"id": 1, "name": "a"}, {"id": 2, "name": "b"}
    >>> operations = pa.array(["update"])
    >>> images = {"before": pa.array([a], row), "after": pa.array([b], row)}
    >>> done = collapse(pa.table({"operation": operations, **images}), ["id"])
    >>> done.inserts.num_rows, done.updates.num_rows, done.deletes.to_pylist()
    (1, 0, [{'id': 1}])
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    operation = changes["operation"].combine_chunks()
    before, after = (_fields(changes[name]) for name in ("before", "after"))
    numbers = pa.array(range(len(operation)), pa.int64()) if len(operation) == 0 else _count(len(operation))
    inserted, deleted = pc.equal(operation, "insert"), pc.equal(operation, "delete")
    moved = pc.and_(pc.equal(operation, "update"), _differs(before.select(key), after.select(key)))
    # Each change is one or two steps: the end of an old key at an even number, the row of a key at an odd one.
    ends = pc.or_(deleted, moved)
    old = before.select(key).filter(ends).append_column("step", pc.multiply(numbers.filter(ends), 2))
    new = after.select(key).filter(pc.invert(deleted)).append_column("step", pc.add(pc.multiply(numbers.filter(pc.invert(deleted)), 2), 1))
    steps = pa.concat_tables([old, new]).combine_chunks()
    for name in key:
        if steps[name].null_count:
            raise ValueNotStorable(
                f"a row's key has a value of column {name} that has no form in the lake, such as a date with the month 0;"
                " correct the row on the source, or leave the table out with --exclude-table",
                table=table or None,
            )
    grouped = steps.group_by(list(key), use_threads=False).aggregate([("step", "min"), ("step", "max")])
    first, last = grouped["step_min"].combine_chunks(), grouped["step_max"].combine_chunks()
    # A key whose first step is the row of an insertion, or of an update from another key, did not exist before.
    appears = pc.or_(inserted, moved)
    existed = pc.if_else(pc.equal(pc.bit_wise_and(first, 1), 0), True, pc.invert(appears.take(pc.shift_right(first, 1))))
    remains = pc.equal(pc.bit_wise_and(last, 1), 1)
    rows = after.take(pc.shift_right(last, 1).filter(remains))
    known = existed.filter(remains)
    gone = pc.and_(pc.invert(remains), existed)
    return Collapsed(rows.filter(pc.invert(known)), rows.filter(known), grouped.select(list(key)).filter(gone))


def _count(number: int) -> Any:
    """Return the numbers from 0 as an Arrow array."""
    import numpy as np
    import pyarrow as pa

    return pa.array(np.arange(number, dtype=np.int64))


def _fields(images: pa.ChunkedArray) -> pa.Table:
    """Return the fields of a column of structs as a table; those of a null struct are null."""
    import pyarrow as pa

    struct = images.combine_chunks()
    if isinstance(struct, pa.ChunkedArray):
        struct = pa.concat_arrays(struct.chunks)
    return pa.Table.from_arrays(struct.flatten(), names=[field.name for field in struct.type])


def _differs(before: pa.Table, after: pa.Table) -> Any:
    """Return True for each row in which a column differs."""
    import pyarrow as pa
    import pyarrow.compute as pc

    different = pa.array([False]).take(pa.array([0] * before.num_rows, pa.int64())) if before.num_rows == 0 else None
    for name in before.column_names:
        one = pc.fill_null(pc.not_equal(before[name], after[name]), False).combine_chunks()
        different = one if different is None else pc.or_(different, one)
    return different
