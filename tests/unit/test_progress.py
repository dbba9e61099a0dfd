from __future__ import annotations

import random
from dataclasses import dataclass

import pytest

from paraply import GtidSet
from paraply.targets.progress.file_ledger import PlaceLedger, PositionRow, read_positions
from paraply.targets.progress.gtid_ledger import GapLedger, ProgressLedger, make_ledger, read_executed


@dataclass
class Transaction:
    gtid: str
    file: str = "/logs/binlog.000001"
    end_offset: int = 0


class Block:
    """Transactions with consecutive numbers; ``skipped`` more stood before them in the log."""

    def __init__(self, ordinal: int, *gtids: str, skipped: int = 0) -> None:
        first = ordinal - len(gtids) + 1
        self.transactions = [Transaction(gtid, end_offset=(first + place) * 100) for place, gtid in enumerate(gtids)]
        self.transaction_count = len(gtids)
        self.skipped = skipped
        self.ordinal = ordinal
        self.end_file, self.end_offset = "/logs/binlog.000001", ordinal * 100
        parts = [tuple(map(int, gtid.split("-"))) for gtid in gtids if gtid.count("-") == 2]
        self.numbers = [(domain, number, server) for domain, server, number in parts]
        self.gtids = GtidSet("")
        for gtid in filter(None, gtids):
            self.gtids.add(gtid)


def gap_ledger(*texts: str) -> ProgressLedger:
    return make_ledger(read_executed(texts, GtidSet), mariadb=True, gaps=True)


def row_ledger(pieces: int, *texts: str) -> ProgressLedger:
    return GapLedger(read_executed(texts, GtidSet), most_pieces=pieces)


def has(executed: GtidSet, *numbers: int) -> bool:
    return all(f"0-1-{number}" in executed for number in numbers)


def has_number(executed: GtidSet, number: int) -> bool:
    return any(f"0-{server}-{number}" in executed for server in (1, 2, 3))


def test_r25_a_position_is_the_text_of_what_has_no_gap():
    ledger = gap_ledger("0-1-3")
    assert isinstance(ledger, GapLedger)
    ledger.acknowledge(Block(1, "0-1-4"))
    assert read_executed([ledger.mark(Block(2, "0-2-5")).executed], GtidSet).text() == "0-2-5"


def test_r25_the_rows_of_the_sessions_hold_gaps_of_mariadbs_numbers():
    ledger = gap_ledger("0-1-3")
    first, second, third = Block(1, "0-1-4"), Block(3, "0-1-5", "0-1-6"), Block(4, "0-2-7")
    row = ledger.mark(second).executed
    executed = read_executed([row], GtidSet)
    assert has(executed.gtids, 1, 2, 3, 5, 6)
    assert not has(executed.gtids, 4)
    ledger.acknowledge(second)
    executed = read_executed([row, ledger.mark(third).executed], GtidSet)
    assert has(executed.gtids, 5, 6, 7)
    assert not has(executed.gtids, 4)
    ledger.acknowledge(third)
    ledger.acknowledge(first)
    assert read_executed([ledger.mark(Block(5, "0-1-8")).executed], GtidSet).text() == "0-1-8"


def test_r25_a_run_that_resumes_keeps_the_gaps_that_it_found():
    found = gap_ledger("0-1-3").mark(Block(4, "0-2-7")).executed
    ledger = make_ledger(read_executed([found], GtidSet), mariadb=True, gaps=False)
    # The first three of the log were applied before, so was the seventh, which stands before the last block.
    executed = read_executed([ledger.mark(Block(4, "0-1-4", skipped=3)).executed], GtidSet)
    assert has(executed.gtids, 4, 7)
    assert not has(executed.gtids, 5)
    ledger.acknowledge(Block(4, "0-1-4", skipped=3))
    ledger.acknowledge(Block(6, "0-1-5", "0-1-6"))
    executed = read_executed([ledger.mark(Block(8, "0-1-8", skipped=1)).executed], GtidSet)
    assert executed.text() == "0-1-8"


def test_r25_mysqls_sets_hold_gaps_by_themselves():
    uuid = "11111111-1111-1111-1111-111111111111"
    executed = read_executed([f"{uuid}:1-3:7"], GtidSet)
    assert not isinstance(make_ledger(executed, mariadb=False, gaps=True), GapLedger)
    assert executed.text() == f"{uuid}:1-3:7"


@pytest.mark.parametrize(("with_slot", "pieces"), [(False, 16), (True, 16), (True, 2), (True, 0)])
def test_r25_any_order_of_commits_and_any_moment(with_slot: bool, pieces: int):
    """The rows say exactly what is committed, whenever they are read; a session that is lost leaves its row to nobody."""
    draw = random.Random(1)
    for _ in range(100):
        before = ["0-1-10", '{"low":"0-1-10","beyond":{"0":[[13,14,2]]}}']
        ledger, rows = row_ledger(pieces, *before), dict(enumerate(before, -2))
        number, ordinal, open_blocks, committed = 10, 0, {}, {*range(1, 11), 13, 14}
        slots, skipped = [1, 2, 3, 4], 0
        for _ in range(30):
            place = draw.randrange(4)
            slot = slots[place]
            if slot in open_blocks:
                block, text = open_blocks.pop(slot)
                rows[slot] = text
                committed.update(int(t.gtid.split("-")[2]) for t in block.transactions)
                executed = read_executed(rows.values(), GtidSet)
                assert {n for n in range(1, number + 1) if has_number(executed.gtids, n)} == committed & {*range(1, number + 1)}
                if draw.random() < 0.2:
                    ledger.acknowledge(block)
                    slots[place] = max(slots) + 1
                else:
                    ledger.acknowledge(block, slot if with_slot else None)
            else:
                if number == 12:
                    number, ordinal, skipped = 14, ordinal + 2, 2
                size = draw.randint(1, 2 if number < 12 else 3)
                size = min(size, 12 - number) if number < 12 else size
                gtids = [f"0-{draw.randint(1, 3)}-{number + place}" for place in range(1, size + 1)]
                number, ordinal = number + size, ordinal + size
                block = Block(ordinal, *gtids, skipped=skipped)
                skipped = 0
                open_blocks[slot] = (block, ledger.mark(block, slot if with_slot else None).executed)


def test_r25_rows_stay_short_behind_a_long_gap():
    """Batches of three sessions in turn, one of which is lost with a row that it was told to make whole."""
    draw = random.Random(3)
    ledger, rows, longest = gap_ledger("0-1-10"), {-1: "0-1-10"}, 0
    slots, ordinal, committed = [0, 1, 2], 1, {*range(1, 11)}
    for turn in range(600):
        place = draw.randrange(3)
        blocks = [Block(ordinal + more, f"0-{draw.randint(1, 3)}-{10 + ordinal + more}") for more in (1, 3)]
        other = Block(ordinal + 2, f"0-1-{10 + ordinal + 2}")
        ordinal += 3
        marks = ledger.marks(blocks, slots[place])
        other_mark = ledger.mark(other, slots[place - 1])
        done = draw.randint(0, 1) if draw.random() < 0.02 else 2
        if done:
            rows[slots[place]] = marks[done - 1].executed
        committed.update(block.numbers[0][1] for block in blocks[:done])
        ledger.acknowledge_all(blocks[:done], slots[place])
        for block in blocks[done:]:  # its connection is lost, and another session gets it in
            slots[place] = max(slots) + 1
            rows[slots[place]] = ledger.mark(block, slots[place]).executed
            committed.add(block.numbers[0][1])
            ledger.acknowledge(block, slots[place])
        rows[slots[place - 1]] = other_mark.executed
        committed.add(other.numbers[0][1])
        ledger.acknowledge(other, slots[place - 1])
        if turn % 20 == 0:
            executed = read_executed(rows.values(), GtidSet).gtids
            assert {number for number in range(1, 11 + ordinal) if has_number(executed, number)} == committed
        longest = max(longest, len(other_mark.executed))
    assert longest < 1000, "with each of its own numbers in it, hundreds in the end, a row would have several thousand"
    ledger.acknowledge(Block(1, "0-1-11"))
    assert read_executed([ledger.mark(Block(ordinal + 1, f"0-1-{11 + ordinal}"), 0).executed], GtidSet).text() == f"0-1-{11 + ordinal}"


def test_r25_places_in_any_order_of_commits_and_at_any_moment():
    """Without GTIDs, over several runs, each of which may commit in order or not."""
    draw = random.Random(2)
    for _ in range(100):
        kept, committed, total = None, set(), 40
        for _ in range(3):
            rows: dict[int, PositionRow] = {}
            places = read_positions(kept, [])
            ledger = PlaceLedger(places, GtidSet(""), ordered=draw.random() < 0.3)
            done = {offset // 100 for _, offset in places.done}
            reached = (places.offset or 0) // 100
            assert {*range(1, reached + 1), *done} == committed
            # A transaction that is done is a block that is passed over, what stands before the place is skipped.
            left, skipped, ordinal = [], reached, reached
            while ordinal < total:
                size = 1 if done else draw.randint(1, 3)
                ordinal = min(total, ordinal + size)
                left.append(Block(ordinal, *[""] * (ordinal - (left[-1].ordinal if left else reached)), skipped=skipped))
                skipped = 0
            flight: dict[int, tuple[Block, PositionRow]] = {}
            for _ in range(draw.randint(0, 20)):
                slot = 1 if ledger._ordered else draw.randint(1, 4)
                if slot in flight:
                    block, row = flight.pop(slot)
                    rows[slot] = row
                    committed.update(t.end_offset // 100 for t in block.transactions)
                    ledger.acknowledge(block)
                    if ledger._ordered:
                        committed.update(n for n in done if n <= block.ordinal)
                elif left:
                    block = left.pop(0)
                    if block.ordinal in done:
                        ledger.acknowledge(block)
                        done.discard(block.ordinal)
                        continue
                    mark = ledger.mark(block)
                    flight[slot] = (block, PositionRow(mark.executed, mark.file, mark.offset, mark.ordinal))
                now = read_positions(kept, rows.values())
                low = (now.offset or 0) // 100
                assert {*range(1, low + 1), *(offset // 100 for _, offset in now.done)} == committed
            now = read_positions(kept, rows.values())
            kept = PositionRow(now.text(), now.file, now.offset, now.ordinal)
