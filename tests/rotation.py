"""Rotation of the tests that run by turns, a part each day: tests that are marked ``slow``, and pairs of versions.

``PARAPLY_SLOW=1`` runs all slow tests. ``PARAPLY_SLOW=share`` runs those of the day, so that all of them run within ``DAYS`` days; none
begins later than ``PARAPLY_SLOW_SECONDS`` after the first. Without the variable they are skipped.

Of a test marked ``by_turns``, one variant runs a day where a lack of servers fails (``PARAPLY_TEST_REQUIRE_ALL``), or so many as the mark
says; all run elsewhere, and with ``PARAPLY_SLOW=1``.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence

import pytest
from _pytest.terminal import TerminalReporter

__all__ = ["DAYS", "Share", "choose_slow", "choose_turns", "day_of_run", "share_of", "turn_of"]

#: So many shares make up all slow tests.
DAYS = 14
SECONDS_OF_A_DAY = 86_400


def day_of_run() -> int:
    """Return the number of the day that rotations follow: ``PARAPLY_TEST_DAY``, or today's since 1970."""
    return int(os.environ.get("PARAPLY_TEST_DAY") or time.time() // SECONDS_OF_A_DAY)


def share_of(tests: Iterable[str], day: int) -> list[str]:
    """Return the tests of a day in the order in which they run.

    Neighbours come on different days. Each time that a share is due it begins elsewhere, so that other tests are those without time.

    Args:
        tests: The ids of all slow tests.
        day: Any number.
    """
    share = sorted(tests)[day % DAYS :: DAYS]
    begin = day // DAYS * 5 % len(share) if share else 0
    return share[begin:] + share[:begin]


def turn_of(variants: Sequence[str], day: int, wanted: int) -> list[str]:
    """Return the variants of a test that run on a day: the next ones behind those of the day before.

    >>> turn_of(["a", "b", "c"], 0, 2), turn_of(["a", "b", "c"], 1, 2)
    (['a', 'b'], ['c', 'a'])
    """
    number = len(variants)
    return [variants[(day * wanted + place) % number] for place in range(min(wanted, number))]


def choose_turns(items: Sequence[pytest.Item]) -> None:
    """Skip the variants of tests marked ``by_turns`` that run on other days.

    Args:
        items: The tests.
    """
    if not os.environ.get("PARAPLY_TEST_REQUIRE_ALL") or os.environ.get("PARAPLY_SLOW"):
        return
    tests: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("by_turns") is not None and item.get_closest_marker("slow") is None:
            tests[item.nodeid.partition("[")[0]].append(item)
    for variants in tests.values():
        mark = variants[0].get_closest_marker("by_turns")
        wanted = int(mark.args[0]) if mark is not None and mark.args else 1
        chosen = turn_of([item.nodeid for item in variants], day_of_run(), wanted)
        for item in variants:
            if item.nodeid not in chosen:
                item.add_marker(pytest.mark.skip(reason="by turns: another day runs it, and so does make test"))


class Share:
    """A plugin that runs the slow tests of a day and reports which ran.

    Args:
        seconds: No test begins later than that after the first.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._began: float | None = None
        self._ran: list[str] = []
        self._left: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Skip a test for which there is no time."""
        now = time.monotonic()
        self._began = now if self._began is None else self._began
        if now - self._began > self._seconds:
            self._left.append(item.nodeid)
            pytest.skip(f"the slow tests before it took {self._seconds:.0f} s")
        self._ran.append(item.nodeid)

    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> None:
        """Print which tests ran."""
        terminalreporter.section(f"slow tests, share {day_of_run() % DAYS + 1} of {DAYS}")
        for title, tests in (("ran", self._ran), ("no time for", self._left)):
            for test in tests:
                terminalreporter.write_line(f"{title}: {test}")


def choose_slow(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip the slow tests, keep nothing but a share of them, or leave everything as it is.

    A test marked ``slow(share=False)`` takes too long for a share, or compares times.

    Args:
        config: Where the plugin of a share goes.
        items: The tests; changed in place.
    """
    wanted = os.environ.get("PARAPLY_SLOW", "")
    slow = {item.nodeid: item for item in items if item.get_closest_marker("slow") is not None}
    if wanted == "share":
        shared = [name for name, item in slow.items() if all(mark.kwargs.get("share", True) for mark in item.iter_markers("slow"))]
        chosen = share_of(shared, day_of_run())
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in chosen])
        items[:] = [slow[name] for name in chosen]
        config.pluginmanager.register(Share(float(os.environ.get("PARAPLY_SLOW_SECONDS") or 180)))
    elif not wanted:
        for item in slow.values():
            item.add_marker(pytest.mark.skip(reason="slow: make test-slow runs it"))
