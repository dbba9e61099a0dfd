"""Collapsing of changes: the difference between the rows before a batch and those after it, by a dictionary as the oracle."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

from paraply.errors import ValueNotStorable
from paraply.lake.collapse import Collapsed, collapse

ROW = pa.struct([("a", pa.int32()), ("b", pa.string()), ("value", pa.int64())])
SCHEMA = pa.schema([("operation", pa.string()), ("before", ROW), ("after", ROW)])
Row = dict[str, Any]


def changes(*found: tuple[str, Row | None, Row | None]) -> pa.Table:
    """Return changes as the decoder gives them."""
    return pa.Table.from_pylist([{"operation": o, "before": b, "after": a} for o, b, a in found], schema=SCHEMA)


def row(a: int, b: str, value: int) -> Row:
    return {"a": a, "b": b, "value": value}


def applied(rows: dict[tuple[int, str], Row], done: Collapsed) -> dict[tuple[int, str], Row]:
    """Return the rows after collapsed changes; a change that does not fit the rows fails."""
    rows = dict(rows)
    for key in done.deletes.to_pylist():
        del rows[key["a"], key["b"]]
    for changed in done.updates.to_pylist():
        assert (changed["a"], changed["b"]) in rows
        rows[changed["a"], changed["b"]] = changed
    for added in done.inserts.to_pylist():
        assert (added["a"], added["b"]) not in rows
        rows[added["a"], added["b"]] = added
    return rows


@pytest.mark.parametrize("seed", range(20))
def test_random_changes_end_in_the_rows_of_a_dictionary(seed: int) -> None:
    chance = random.Random(seed)
    before = {(a, "x"): row(a, "x", a) for a in range(6)}
    now, found = dict(before), []
    for value in range(chance.randrange(1, 80)):
        key = (chance.randrange(9), chance.choice("xyé"))
        new = row(*key, value)
        if key not in now and (not now or chance.random() < 0.4):
            found.append(("insert", None, new))
        elif key in now and chance.random() < 0.3:
            found.append(("delete", now.pop(key), None))
            continue
        elif key in now:
            found.append(("update", now[key], new))
        else:
            old = chance.choice(sorted(now))
            found.append(("update", now.pop(old), new))
        now[key] = new
    done = collapse(changes(*found), ["a", "b"])
    assert applied(before, done) == now
    assert done.rows <= len(found) * 2


def test_what_is_inserted_and_deleted_in_a_batch_leaves_nothing() -> None:
    done = collapse(changes(("insert", None, row(1, "x", 1)), ("delete", row(1, "x", 1), None)), ["a", "b"])
    assert done.rows == 0


def test_two_rows_change_their_keys_with_each_other() -> None:
    one, two = row(1, "x", 10), row(2, "x", 20)
    found = changes(("update", one, row(9, "x", 10)), ("update", two, row(1, "x", 20)), ("update", row(9, "x", 10), row(2, "x", 10)))
    done = collapse(found, ["a", "b"])
    assert (done.inserts.num_rows, done.deletes.num_rows) == (0, 0)
    assert sorted((r["a"], r["value"]) for r in done.updates.to_pylist()) == [(1, 20), (2, 10)]


def test_no_changes() -> None:
    assert collapse(SCHEMA.empty_table(), ["a"]).rows == 0


def test_a_key_without_a_value_is_refused() -> None:
    with pytest.raises(ValueNotStorable, match="column b"):
        collapse(changes(("insert", None, {"a": 1, "b": None, "value": 1})), ["a", "b"])
