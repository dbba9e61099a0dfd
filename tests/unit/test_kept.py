"""Commits that a target has lost, found by comparison with its progress (R25)."""

from __future__ import annotations

import pytest
from unit.test_progress import Block

from paraply import GtidSet
from paraply.errors import CommitsLost
from paraply.targets.progress.file_ledger import FilePositions, PlaceLedger
from paraply.targets.progress.gtid_ledger import ProgressLedger, make_ledger, read_executed

NOTHING = FilePositions()


@pytest.mark.parametrize("gaps", [False, True])
def test_r25_an_acknowledged_gtid_must_be_in_the_target(gaps: bool) -> None:
    ledger: ProgressLedger = make_ledger(read_executed(["0-1-3"], GtidSet), mariadb=True, gaps=gaps)
    ledger.acknowledge(Block(1, "0-1-4"))
    for held in ("0-1-4", "0-1-5,1-1-9"):
        ledger.acknowledged().check(GtidSet(held), NOTHING)
    for held in ("", "0-1-3", "1-1-9"):
        with pytest.raises(CommitsLost, match=r"0-1-4.*run the same command again"):
            ledger.acknowledged().check(GtidSet(held), NOTHING)


def place_ledger(*, ordered: bool) -> PlaceLedger:
    return PlaceLedger(FilePositions(), GtidSet(""), ordered=ordered)


def test_r25_an_acknowledged_position_must_be_in_the_target() -> None:
    ledger = place_ledger(ordered=True)
    for ordinal in (1, 2, 3):
        ledger.acknowledge(Block(ordinal, ""))
    ledger.acknowledged().check(GtidSet(""), FilePositions("binlog.000001", 300, 3))
    with pytest.raises(CommitsLost, match=r"before binlog\.000001:300"):
        ledger.acknowledged().check(GtidSet(""), FilePositions("binlog.000001", 200, 2))


def test_r25_a_position_after_a_gap_counts() -> None:
    ledger = place_ledger(ordered=False)
    ledger.acknowledge(Block(3, ""))
    ledger.acknowledged().check(GtidSet(""), FilePositions(None, None, 0, frozenset([("binlog.000001", 300)])))
    with pytest.raises(CommitsLost):
        ledger.acknowledged().check(GtidSet(""), FilePositions())


def test_r25_a_block_of_an_earlier_run_is_none_of_this_run() -> None:
    ledger = place_ledger(ordered=False)
    ledger.pass_over(Block(1, ""))
    ledger.acknowledged().check(GtidSet(""), FilePositions())
    assert ledger.places().ordinal == 1
