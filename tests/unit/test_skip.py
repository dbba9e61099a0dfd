"""``--skip``: XA transactions as a whole, and tables that differ after a skipped statement."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from unit.stamp_history import UUID, write_statements

from paraply._native import GtidSet, LogReader
from paraply.applier.preflight.stop_position import check_position
from paraply.applier.selection.skip import SkippedXa, XaPart, check_skip
from paraply.errors import UsageError
from paraply.logs.file_order import read_heads
from paraply.logs.skipping import Diverged, Skipping
from paraply.logs.transaction_set import TransactionSet
from paraply.schema.advance import advance
from paraply.schema.catalog import SchemaCatalog

X = "X'61',X'',1"


def part(number: int, *, ends: bool = False, skipped: bool = False, passed: bool = False) -> XaPart:
    return XaPart(X, f"{UUID}:{number}", ends, skipped, passed, "binlog.000001", 100 * number)


def test_r35_both_parts_are_left_out_or_none() -> None:
    assert [SkippedXa().leaves_out(one) for one in (part(1), part(2, ends=True))] == [False, False]
    both = SkippedXa()
    assert [both.leaves_out(one) for one in (part(1, skipped=True), part(2, ends=True, skipped=True))] == [True, True]
    # The name may come again, and is then another transaction.
    assert [both.leaves_out(one) for one in (part(3), part(4, ends=True))] == [False, False]


def test_r35_one_half_is_refused_with_both_names() -> None:
    pairs = SkippedXa()
    assert pairs.leaves_out(part(1, skipped=True))
    with pytest.raises(UsageError, match=f"PREPARE {UUID}:1 is left out, and its end {UUID}:2 is not") as caught:
        pairs.leaves_out(part(2, ends=True))
    assert (caught.value.file, caught.value.position, caught.value.gtid) == ("binlog.000001", 200, f"{UUID}:2")
    pairs = SkippedXa()
    pairs.leaves_out(part(1))
    with pytest.raises(UsageError, match=f"its end {UUID}:2 is left out, and its XA PREPARE {UUID}:1 is not"):
        pairs.leaves_out(part(2, ends=True, skipped=True))


def test_r35_the_first_half_may_be_of_an_earlier_run() -> None:
    end = part(2, ends=True, skipped=True)
    assert SkippedXa().leaves_out(end), "an earlier run has skipped its XA PREPARE, whose log is gone"
    with pytest.raises(UsageError, match="only one half"):
        SkippedXa(lambda: [X]).leaves_out(end)
    applied = SkippedXa(lambda: [X])
    assert not applied.leaves_out(part(1, skipped=True, passed=True))
    with pytest.raises(UsageError, match="only one half"):
        applied.leaves_out(end)
    skipped = SkippedXa()
    assert not skipped.leaves_out(part(1, skipped=True, passed=True)), "it is passed already"
    assert skipped.leaves_out(end)


def test_r35_the_target_is_asked_for_prepared_transactions_at_the_first_part() -> None:
    asked: list[str] = []

    def held() -> list[str]:
        asked.append("XA RECOVER")
        return [X]

    pairs = SkippedXa(held)
    assert asked == [], "a log without XA transactions needs no privilege for the question"
    assert not pairs.leaves_out(part(1))
    assert not pairs.leaves_out(part(2, ends=True))
    assert asked == ["XA RECOVER"]
    assert pairs.leaves_out(part(4, ends=True, skipped=True)), "it ended within this log, whatever the target still holds"


@pytest.mark.parametrize(("text", "has_gtids", "mariadb"), [(f"{UUID}:5", True, True), ("0-1-5", True, False), (f"{UUID}:5", False, False)])
def test_names_of_another_family_are_refused(text: str, has_gtids: bool, mariadb: bool) -> None:
    with pytest.raises(UsageError):
        check_skip(TransactionSet.parse("--skip", text), has_gtids=has_gtids, mariadb=mariadb)


def test_a_set_and_a_text_name_transactions() -> None:
    one = GtidSet()
    one.add("0-1-7")
    for names in (one, "0-1-7"):
        found = TransactionSet.of("--skip", names)
        assert found is not None
        assert [gtid in found for gtid in ("0-1-6", "0-1-7", "0-1-8")] == [False, True, False]
    position = TransactionSet.of("--skip", GtidSet("0-1-7"))
    assert position is not None
    assert "0-1-6" in position, "the set stands for everything before it"
    assert TransactionSet.of("--skip", GtidSet()) is None
    assert TransactionSet.parse("--skip", "0-1-5-7,0-2-9").held_by(GtidSet("0-1-6")) == "0-1-5, 0-1-6"


def read(log: Path, skip: str) -> list[Any]:
    """Return each batch of a log."""
    reader = LogReader([str(log)], skip=TransactionSet.parse("--skip", skip).native())
    batches = []
    while (batch := reader.next_batch()) is not None:
        batches.append(batch)
    return batches


CREATE = "CREATE TABLE d.t (id INT PRIMARY KEY, a INT, b INT)"


def schemas(*statements: str) -> SchemaCatalog:
    schema = SchemaCatalog(complete=True)
    for sql in ("CREATE DATABASE d", *statements):
        advance(schema, sql, "", {}, mariadb=False, version=(9, 7, 0))
    return schema


@pytest.mark.parametrize(
    ("statement", "differs"),
    [
        ("ALTER TABLE d.t MODIFY b INT FIRST", True),
        ("ALTER TABLE d.t ADD c INT", True),
        ("ALTER TABLE d.t MODIFY a INT UNSIGNED", True),
        ("ALTER TABLE d.t RENAME TO d.u", True),
        ("ALTER TABLE d.t ADD KEY (a), ADD UNIQUE (b)", False),
        ("ALTER TABLE d.t COMMENT='x'", False),
        ("DROP TABLE d.t", False),
        ("TRUNCATE d.t", False),
        ("CREATE VIEW d.v AS SELECT 1", False),
    ],
)
def test_tables_whose_columns_differ_are_recorded(tmp_path: Path, statement: str, differs: bool) -> None:
    log = write_statements(tmp_path / "binlog.000001", [statement])
    (batch,) = read(log, f"{UUID}:1")
    skipping = Skipping(lambda _: False)
    schema = schemas(CREATE)
    emptied = skipping.look_at(batch, schema)
    assert (emptied[0].kind, emptied[0].skipped, list(emptied[0].statements)) == ("empty", True, [])
    found = skipping.take_change()
    name = "u" if "RENAME" in statement else "t"
    assert found == ([Diverged("d", name, f"{UUID}:1")] if differs else None)
    assert skipping.take_change() is None, "it is told once"


def test_a_table_that_becomes_alike_is_no_longer_recorded(tmp_path: Path) -> None:
    log = write_statements(tmp_path / "binlog.000001", ["ALTER TABLE d.t ADD c INT", "DROP TABLE d.t", CREATE])
    first, drop, create = read(log, f"{UUID}:1")
    skipping, schema = Skipping(lambda _: False), schemas(CREATE)
    skipping.look_at(first, schema)
    assert skipping.take_change() == [Diverged("d", "t", f"{UUID}:1")]
    for batch, statement in ((drop, "DROP TABLE d.t"), (create, CREATE)):
        advance(schema, statement, "", {}, mariadb=False, version=(9, 7, 0))
        skipping.follow(batch[0], schema)
    assert skipping.take_change() == []


def test_a_record_of_an_earlier_run_counts_from_the_first_transaction_to_apply(tmp_path: Path) -> None:
    log = write_statements(tmp_path / "binlog.000001", ["CREATE TABLE d.x (id INT)", "CREATE TABLE d.y (id INT)"])
    passed, later = read(log, f"{UUID}:9")
    recorded = [Diverged("d", "t", f"{UUID}:7")]
    skipping = Skipping(lambda transaction: transaction.gtid == f"{UUID}:1", recorded=recorded)
    schema = schemas(CREATE)
    skipping.look_at(passed, schema)
    assert skipping.refused(later) is None
    skipping.look_at(later, schema)
    advance(schema, "CREATE TABLE d.y (id INT)", "", {}, mariadb=False, version=(9, 7, 0))
    skipping.follow(later[0], schema)
    assert skipping.take_change() is None, "the record stays as it is"


def test_a_stop_is_where_a_transaction_begins(tmp_path: Path) -> None:
    log = write_statements(tmp_path / "binlog.000007", ["CREATE DATABASE d", CREATE, "DROP TABLE d.t"])
    places = [transaction.offset for batch in read(log, f"{UUID}:9") for transaction in batch]
    files = read_heads([str(log)])
    for place in places:
        check_position(("binlog.000007", place), files, lambda _: False)
    with pytest.raises(UsageError, match="holds this transaction already"):
        check_position(("binlog.000007", places[1]), files, lambda _: True)
    with pytest.raises(UsageError, match=f"nearest ones begin at binlog.000007:{places[0]} .*:1. and binlog.000007:{places[1]} "):
        check_position(("binlog.000007", places[0] + 1), files, lambda _: False)
    with pytest.raises(UsageError, match="leave out the files after it"):
        check_position(("binlog.000007", log.stat().st_size), files, lambda _: False)
    with pytest.raises(UsageError, match="none of the logs has this name"):
        check_position(("binlog.000008", 4), files, lambda _: False)
