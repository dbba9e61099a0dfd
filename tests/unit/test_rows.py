"""Row changes and events of logs, in one process."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

import paraply
from paraply._native import LogReader, Selection, TableFilter, scan_log
from paraply.analysis.parts import LogPart, cut
from paraply.analysis.rows import EventSource, RowSource
from paraply.analysis.trace import TraceSource
from paraply.errors import LogTruncated, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Log

TYPES = "rust/binlog/tests/data/mysql-9.7-types.binlog"
LOGS = [
    "mysql-binlog/eight-sessions.binlog",
    "mysql-binlog/compressed.binlog",
    "mysql-binlog/minimal-image.binlog",
    "mysql-binlog/partial-json.binlog",
    "mariadb-binlog/plain.binlog",
    "mariadb-binlog/compressed.binlog",
    "group-multi-primary/member3.relay",
]


def counted(log: Path) -> int:
    return sum(transaction.rows for transaction in paraply.open_log(log))


@pytest.mark.parametrize("name", LOGS)
@pytest.mark.truth
def test_every_changed_row_of_a_log_is_given_once(truth: Log, name: str) -> None:
    log = truth(name)
    table = paraply.rows(log).read_all()
    assert table.num_rows == counted(log)
    expected = {position: rows for position, rows in enumerate((t.rows for t in paraply.open_log(log)), 1) if rows}
    assert Counter(table["position"].to_pylist()) == expected


def test_the_state_after_all_changes_follows_from_the_images(demo_log: Path) -> None:
    """Each before image is what the changes before it left, column by column."""
    rows: dict[tuple[str, str], dict[str, str | None]] = {}
    seen = 0
    for change in paraply.rows(demo_log, tables=["shop.product"]).read_all().to_pylist():
        key, before, after = (dict(change[name] or {}) for name in ("key", "before", "after"))
        place = (change["table"], json.dumps(key))
        if change["operation"] != "insert" and place in rows:
            assert rows[place] == before
            seen += 1
        if change["operation"] == "delete":
            rows.pop(place, None)
        else:
            rows[place] = after
    assert seen > 1000


def test_images_have_the_names_and_the_text_of_the_server(demo_log: Path) -> None:
    change = next(row for row in paraply.rows(demo_log, tables=["shop.orders"]).read_all().to_pylist() if row["operation"] == "insert")
    after = dict(change["after"])
    assert list(after) == ["id", "customer_id", "placed", "note", "doc"]
    assert change["before"] is None
    assert dict(change["key"]) == {"id": after["id"]}
    assert json.loads(after["doc"]) is not None
    assert after["placed"][:2] == "20"


def test_typed_values_are_those_of_the_text(demo_log: Path) -> None:
    text = paraply.rows(demo_log, tables=["shop.customer"], columns=["after"]).read_all().to_pylist()
    typed = paraply.rows(demo_log, tables=["shop.customer"], columns=["after"], values="typed").read_all()
    assert str(typed.schema.field("after").type.field("balance").type).startswith("decimal128")
    assert typed.num_rows == len(text)
    for row, expected in zip(typed.to_pylist(), text, strict=True):
        if expected["after"] is None:
            assert row["after"] is None
            continue
        values = dict(expected["after"])
        assert row["after"]["id"] == int(values["id"])
        assert row["after"]["balance"] == Decimal(values["balance"])
        assert row["after"]["email"] == values["email"]


@pytest.mark.parametrize("options", [{"values": "typed"}, {"values": "typed", "tables": ["shop"]}, {"values": "x"}, {"columns": ["x"]}])
def test_what_cannot_be_given_is_refused(demo_log: Path, options: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        paraply.rows(demo_log, **options)  # type: ignore[arg-type]


def test_events_are_those_of_the_file(demo_log: Path) -> None:
    table = paraply.events(demo_log).read_all()
    ends = [offset + size for offset, size in zip(table["offset"].to_pylist(), table["size"].to_pylist(), strict=True)]
    assert table["offset"].to_pylist() == [4, *ends[:-1]]
    assert ends[-1] == demo_log.stat().st_size
    gtids = {gtid for gtid in table["gtid"].to_pylist() if gtid}
    assert gtids == {transaction.gtid for transaction in paraply.open_log(demo_log)}
    kinds = Counter(table["type"].to_pylist())
    assert kinds["Gtid"] == 6856


def test_a_torn_log_gives_what_stands_before_the_tear(demo_log: Path, tmp_path: Path) -> None:
    content = demo_log.read_bytes()
    torn = tmp_path / "torn"
    torn.write_bytes(content[: len(content) // 2])
    events = paraply.events(torn)
    assert events.read_next_batch().num_rows > 1000
    with pytest.raises(LogTruncated):
        events.read_all()
    found = scan_log(str(torn), 1 << 40)
    assert isinstance(found.failure, LogTruncated)
    assert sum(count for _, _, count, _ in found.pieces) == len([None for _ in readable(torn)])


def readable(log: Path) -> list[str | None]:
    found = []
    try:
        for transaction in paraply.open_log(log):
            found.append(transaction.gtid)
    except LogTruncated:
        pass
    return found


@pytest.mark.parametrize("split", [1, 10_000, 1 << 20, 1 << 40])
def test_parts_together_are_the_log(demo_log: Path, split: int) -> None:
    parts = cut([str(demo_log)], [], split)
    sample = parts if split > 1 else parts[:40] + parts[-40:]
    whole = paraply.trace(demo_log).read_all()
    for part in sample:
        got = [batch for batch in TraceSource(part, "fine") if batch]
        rows = [row for batch in got for row in batch.to_pylist()]
        assert len(rows) == (part.transactions if part.transactions is not None else whole.num_rows)
        assert rows == whole.slice(part.position, len(rows)).to_pylist()
    assert sum(part.transactions or 0 for part in parts) in {0, whole.num_rows}
    assert len(parts) > {1: 6000, 10_000: 100, 1 << 20: 3, 1 << 40: 0}[split]


@pytest.mark.parametrize("split", [10_000, 1 << 40])
def test_parts_are_of_the_log_as_it_was_when_it_was_cut(demo_log: Path, tmp_path: Path, split: int) -> None:
    content = demo_log.read_bytes()
    begins = [transaction.offset for transaction in paraply.open_log(demo_log)]
    log = tmp_path / "relay.000001"
    log.write_bytes(content[: begins[50]])
    cuts = {events: cut([str(log)], [], split, events=events) for events in (False, True)}
    before = [row for part in cuts[True] for batch in EventSource(part) for row in batch.to_pylist()]
    log.write_bytes(content)
    rows = [row["position"] for part in cuts[False] for batch in RowSource(part) for row in batch.to_pylist()]
    assert max(rows) <= 50
    source = [TraceSource(part, "fine") for part in cuts[False]]
    assert sum(batch.num_rows for each in source for batch in each) == 50
    assert [row for part in cuts[True] for batch in EventSource(part) for row in batch.to_pylist()] == before


def test_a_log_cut_within_a_transaction_ends_there_however_much_it_grows(demo_log: Path, tmp_path: Path) -> None:
    content = demo_log.read_bytes()
    ends = [transaction.end_offset for transaction in paraply.open_log(demo_log)]
    log = tmp_path / "relay.000001"
    log.write_bytes(content[: ends[50] - 7])
    (part,) = cut([str(log)], [], 1 << 40)
    log.write_bytes(content)
    source = RowSource(part)
    with pytest.raises(LogTruncated):
        list(source)


def test_operations_choose_row_changes(demo_log: Path) -> None:
    whole = paraply.rows(demo_log, columns=["operation"]).read_all()["operation"].to_pylist()
    source = RowSource(LogPart([str(demo_log)]), columns=["operation"], operations=["delete"])
    assert [row["operation"] for batch in source for row in batch.to_pylist()] == ["delete"] * whole.count("delete")


def test_rows_and_events_of_parts_together_are_those_of_the_log(demo_log: Path) -> None:
    rows = [row for part in cut([str(demo_log)], [], 700_000) for batch in RowSource(part) for row in batch.to_pylist()]
    assert rows == paraply.rows(demo_log).read_all().to_pylist()
    parts = cut([str(demo_log)], [], 700_000, events=True)
    assert len(parts) > 5
    events = [row for part in parts for batch in EventSource(part) for row in batch.to_pylist()]
    assert events == paraply.events(demo_log).read_all().to_pylist()


def test_a_table_that_changes_is_read_as_it_was(tmp_path: Path, demo_log: Path) -> None:
    from conftest import ROOT

    log = tmp_path / "types"
    shutil.copy(ROOT / TYPES, log)
    changes = paraply.rows(log).read_all()
    assert changes.num_rows == counted(log)
    assert {row["table"] for row in changes.to_pylist()}


def test_only_transactions_that_meet_conditions_are_given(demo_log: Path) -> None:
    whole = paraply.trace(demo_log).read_all().to_pylist()
    chosen = Selection(positions=(100, 2000), kinds=["dml"], server_ids=[whole[500]["server_id"]])
    got = [row for batch in TraceSource(LogPart([str(demo_log)]), "fine", selection=chosen) for row in batch.to_pylist()]
    assert got == [r for r in whole if 100 <= r["position"] <= 2000 and r["kind"] == "dml" and r["server_id"] == whole[500]["server_id"]]
    assert 0 < len(got) < 1901
    gtid = whole[1234]["gtid"]
    (row,) = [
        row for batch in TraceSource(LogPart([str(demo_log)]), "fine", selection=Selection(gtids=[gtid])) for row in batch.to_pylist()
    ]
    assert row == whole[1234]


def test_transactions_of_chosen_tables_keep_their_whole_write_sets(demo_log: Path) -> None:
    whole = paraply.trace(demo_log).read_all().to_pylist()
    chosen = Selection(tables=TableFilter(tables=[("shop", "orders")]))
    got = [row for batch in TraceSource(LogPart([str(demo_log)]), "fine", selection=chosen) for row in batch.to_pylist()]
    assert got == [row for row in whole if "shop.orders" in row["tables"] and row["kind"] != "ddl"]
    assert any(len(row["tables"]) > 1 for row in got)


def test_what_is_no_condition_is_refused() -> None:
    with pytest.raises(UsageError):
        Selection(gtids=["x"])
    with pytest.raises(UsageError):
        Selection(kinds=["x"])


def test_a_reader_counts_positions_from_where_it_begins(demo_log: Path) -> None:
    reader = LogReader([str(demo_log)], position=41)
    batch = reader.next_batch(5)
    assert batch is not None
    assert len(batch) <= 5


@pytest.mark.parametrize("events", [False, True])
def test_a_log_is_cut_again_where_it_ended_when_it_was_shorter(demo_log: Path, tmp_path: Path, events: bool) -> None:
    content = demo_log.read_bytes()
    shorter = tmp_path / "shorter"
    ends = []
    for length in [200, 300, 500, 1000, *range(7_001, 400_000, 30_011)]:
        shorter.write_bytes(content[:length])
        ends.append(scan_log(str(shorter), 1 << 40, events=events).end[0])
    shorter.write_bytes(content)
    pieces = scan_log(str(shorter), 1 << 40, cuts=ends, events=events).pieces
    assert {end for end in ends if end > 4} <= {end for _, end, _, _ in pieces}
    assert [start[0] for start, *_ in pieces[1:]] == [end for _, end, _, _ in pieces[:-1]]
