"""A seed that fails becomes a small case that fails in the same way; concurrent readers find a wrong order by themselves."""

from __future__ import annotations

import random

import pytest
from simulation.checks import Watch
from simulation.command import main
from simulation.database import Commit, Fault
from simulation.mutants import MUTANTS, planted
from simulation.plans import SEEDS_OF_A_HISTORY, draw_plan, history_of
from simulation.runs import simulate
from simulation.shrink import Case, shrink


def _mutant(part: str) -> object:
    (found,) = [one for one in MUTANTS if part in one.name]
    return found


def _failing(least: int) -> tuple[int, Exception]:
    """Return a seed of a history of so many transactions that fails, and its error."""
    for seed in range(0, 4000, 3):
        if draw_plan(seed).shape.transactions >= least:
            try:
                simulate(seed)
            except Exception as error:
                return seed, error
    raise AssertionError("no seed fails")


def test_a_planted_fault_shrinks_to_a_few_transactions() -> None:
    with planted(_mutant("return self._queue[0] is ticket -> return True")):  # type: ignore[arg-type]
        seed, error = _failing(least=30)
        case = Case.of(seed)
        small = shrink(case, error, most_runs=600)
        assert small.failure() is not None
        assert small.size[0] <= 5
        assert small.size[0] * 5 <= case.size[0]
        assert small.size[1] == 1
        assert "Fault: " in small.describe()
    assert small.failure() is None


def test_a_smaller_history_is_one_that_a_source_can_have() -> None:
    history = history_of(3)[0]
    case = Case.of(3 * SEEDS_OF_A_HISTORY)
    from simulation.shrink import _without

    for first in range(1, len(history.transactions) - 3, 3):
        smaller = _without(case, range(first, first + 3))
        assert smaller is not None
        state: dict[object, object] = {}
        for transaction in smaller.history.transactions:
            for change in transaction.changes:
                if change.before is not None:
                    assert state.pop((change.table, change.before[0])) == change.before
                if change.after is not None:
                    assert (change.table, change.after[0]) not in state
                    state[change.table, change.after[0]] = change.after


def test_the_command_shrinks_and_says_that_nothing_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seeds", "0-3", "--shrink"]) == 0
    assert "none of the 4 seeds fails" in capsys.readouterr().out


def test_a_reader_at_any_time_finds_commits_out_of_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the check at each commit, only readers are left to see them."""

    def note(self: Watch, commit: Commit) -> None:
        self.seen.update(commit.numbers)

    monkeypatch.setattr(Watch, "committed", note)
    seeds = [
        seed for seed in range(1200) if any(life.readers and life.options["consistency"] == "any-time" for life in draw_plan(seed).lives)
    ]
    found = []
    with planted(_mutant("return self._queue[0] is ticket -> return True")):  # type: ignore[arg-type]
        for seed in seeds:
            try:
                simulate(seed)
            except Fault as error:
                if str(error).startswith("a reader sees"):
                    found.append(seed)
                    break
            except Exception:
                continue
    assert found


def test_a_snapshot_with_a_gap_is_refused_at_any_time_only() -> None:
    history = history_of(0)[0]
    watch = Watch(history, random.Random(0))
    watch.ordered = True
    watch.check_snapshot(frozenset({1, 2}))
    with pytest.raises(Fault, match="a reader sees 3 without 2"):
        watch.check_snapshot(frozenset({1, 3}))
    watch.left = frozenset({3})
    needed = history.transactions[2]
    if needed.needs <= {1}:
        watch.check_snapshot(frozenset({1, 3}))
