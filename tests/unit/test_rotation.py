"""Slow tests come by turns, all of them in so many days."""

from __future__ import annotations

from pathlib import Path

import pytest
from rotation import DAYS, day_of_run, share_of, turn_of

pytest_plugins = ["pytester"]

TESTS = [f"tests/server/test_a.py::test_{number:03}" for number in range(100)]
FILE = """
import pytest

@pytest.mark.slow
@pytest.mark.parametrize("number", range(28))
def test_slow(number):
    pass

@pytest.mark.slow(share=False)
def test_of_hours():
    raise AssertionError

def test_quick():
    pass
"""
TURNS = """
import pytest

@pytest.mark.by_turns
@pytest.mark.parametrize("number", [0, 1, pytest.param(2, marks=pytest.mark.slow)])
def test_one(number):
    pass

@pytest.mark.by_turns(2)
@pytest.mark.parametrize("number", range(5))
def test_two(number):
    pass

def test_always():
    pass
"""
CONFTEST = """
from rotation import choose_slow

def pytest_collection_modifyitems(config, items):
    choose_slow(config, items)
"""


def test_all_tests_have_their_day_and_each_only_one() -> None:
    shares = [share_of(TESTS, day) for day in range(20_000, 20_000 + DAYS)]
    assert sorted(test for share in shares for test in share) == TESTS
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_a_share_that_is_due_again_begins_with_another_test() -> None:
    turns = [share_of(TESTS, 3 + DAYS * turn) for turn in range(7)]
    assert len({tuple(sorted(share)) for share in turns}) == 1
    assert {share[0] for share in turns} == set(turns[0])


def test_without_slow_tests_a_share_is_empty() -> None:
    assert share_of([], 5) == []


def test_the_day_may_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARAPLY_TEST_DAY", "17")
    assert day_of_run() == 17
    monkeypatch.delenv("PARAPLY_TEST_DAY")
    assert day_of_run() > 20_000


@pytest.mark.parametrize(("number", "wanted"), [(5, 1), (12, 4), (7, 3), (2, 4)])
def test_all_variants_have_their_turn(number: int, wanted: int) -> None:
    variants = [f"test[{one}]" for one in range(number)]
    turns = [turn_of(variants, day, wanted) for day in range(20_000, 20_000 + number)]
    assert {variant for turn in turns for variant in turn} == set(variants)
    assert {len(set(turn)) for turn in turns} == {min(number, wanted)}


@pytest.mark.parametrize(
    ("required", "slow", "passed", "skipped"), [("", "", 8, 1), ("1", "", 1 + 3, 1 + 4), ("1", "1", 9, 0)], ids=["here", "ci", "all"]
)
def test_in_ci_the_variants_of_a_test_take_turns(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, required: str, slow: str, passed: int, skipped: int
) -> None:
    monkeypatch.setenv("PARAPLY_TEST_REQUIRE_ALL", required)
    monkeypatch.setenv("PARAPLY_SLOW", slow)
    monkeypatch.syspath_prepend(Path(__file__).parent.parent)
    pytester.makeconftest(CONFTEST.replace("import choose_slow", "import choose_slow, choose_turns") + "    choose_turns(items)\n")
    pytester.makeini("[pytest]\nmarkers =\n  slow\n  by_turns\n")
    pytester.makepyfile(TURNS)
    pytester.runpytest_inprocess("-p", "no:xdist", "-p", "no:cacheprovider").assert_outcomes(passed=passed, skipped=skipped)


@pytest.mark.parametrize(
    ("slow", "seconds", "passed", "skipped", "deselected"),
    [("", "", 1, 29, 0), ("share", "100", 2, 0, 28), ("share", "-1", 0, 2, 28)],
)
def test_what_runs(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, slow: str, seconds: str, passed: int, skipped: int, deselected: int
) -> None:
    monkeypatch.setenv("PARAPLY_SLOW", slow)
    monkeypatch.setenv("PARAPLY_SLOW_SECONDS", seconds)
    monkeypatch.setenv("PARAPLY_TEST_DAY", "20000")
    monkeypatch.syspath_prepend(Path(__file__).parent.parent)
    pytester.makeconftest(CONFTEST)
    pytester.makeini("[pytest]\nmarkers = slow\n")
    pytester.makepyfile(FILE)
    result = pytester.runpytest_inprocess("-p", "no:xdist", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=passed, skipped=skipped, deselected=deselected)
    if slow:
        result.stdout.fnmatch_lines(["ran: *test_slow*" if passed else "no time for: *test_slow*"])
