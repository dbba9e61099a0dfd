"""State of a run: the executed set, also where commits leave gaps."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from paraply._native import GtidSet
from paraply.applier.commit.consistency import Consistency
from paraply.applier.execute.retry import RetryPolicy
from paraply.applier.execute.run_state import RunState


class Block:
    """One transaction of one row."""

    def __init__(self, number: int, gtid: str) -> None:
        self.id, self.gtids = number, GtidSet(gtid)

    @staticmethod
    def sums(blocks: Sequence[Block]) -> SimpleNamespace:
        gtids = GtidSet(",".join(str(block.gtids) for block in blocks))
        none = dict.fromkeys(("filtered", "named", "own_left_out", "skipped", "merged"), 0)
        return SimpleNamespace(transactions=len(blocks), rows=len(blocks), gtids=gtids, **none)


def block(number: int, gtid: str) -> Any:
    return Block(number, gtid)


class Commits:
    """A run in which blocks commit in any order."""

    def __init__(self, count: int, executed: str, *, mariadb: bool) -> None:
        begun = GtidSet(executed)
        self.run = RunState(Any, begun, RetryPolicy(), None, consistency=Consistency.EVENTUAL, low=begun if mariadb else None)
        self.tickets = [self.run.order.register() for _ in range(count)]
        self.begun = begun

    def count_committed(self, number: int, gtid: str) -> None:
        ticket = self.tickets[number - 1]
        self.run.order.wait_turn(ticket)
        self.run.count_committed(block(number, gtid))
        self.run.order.finish(ticket)


def test_of_mariadb_only_what_has_no_gap_is_told():
    commits = Commits(3, "0-1-10", mariadb=True)
    commits.count_committed(2, "0-1-12")
    commits.count_committed(3, "0-1-13")
    assert commits.run.executed_text() == "0-1-10"
    commits.count_committed(1, "0-1-11")
    assert commits.run.executed_text() == "0-1-13"


def test_of_mysql_everything_is_told():
    uuid = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
    commits = Commits(3, f"{uuid}:1-10", mariadb=False)
    commits.count_committed(2, f"{uuid}:12")
    commits.count_committed(3, f"{uuid}:13")
    assert commits.run.executed_text() == f"{uuid}:1-10:12-13"
    assert commits.run.executed() == GtidSet(f"{uuid}:1-10:12-13")
    assert str(commits.begun) == f"{uuid}:1-10"


@pytest.mark.parametrize("asked", [True, False])
def test_a_long_gap_is_not_looked_over_with_each_commit(asked, monkeypatch):
    commits, count = Commits(4000, "0-1-10", mariadb=True), 4000
    looks: list[int] = []
    look = RunState._raise
    monkeypatch.setattr(RunState, "_raise", lambda run, low: (looks.append(len(run._early)), look(run, low))[1])
    for number in range(2, count + 1):
        commits.count_committed(number, f"0-1-{10 + number}")
    assert sum(looks) < 3 * count
    if asked:
        assert commits.run.executed_text() == "0-1-10"
    commits.count_committed(1, "0-1-11")
    assert commits.run.executed_text() == f"0-1-{10 + count}"
    assert str(commits.begun) == "0-1-10"


def test_r24_the_first_times_of_a_cold_target_do_not_delay_the_search_for_blockers():
    run = Commits(1, "", mariadb=False).run
    for seconds in [0.008, 0.0004, 0.0005, 0.0004]:
        run.apply_took(seconds)
    assert run.apply_seconds == 0.0004
    for _ in range(200):
        run.apply_took(0.02)  # the target became slow
    assert 0.01 < run.apply_seconds < 0.03
