"""Fixtures that all tests share: the logs of real servers."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
from _pytest.terminal import TerminalReporter
from hypothesis import HealthCheck, settings
from processes import longest_first, make_scheduler, mysql_only_for
from required import absent_modules, check_modules, missing
from rotation import choose_slow, choose_turns, day_of_run
from truth_logs import plain_log, truth_folder, unpack
from versions.kinds import PAIRS

ROOT = Path(__file__).parent.parent

# All processes of a run follow the same day, even at midnight.
os.environ.setdefault("PARAPLY_TEST_DAY", str(day_of_run()))
# Commands of the tests are short and many; they keep compiled modules, which halves their time.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

settings.register_profile("fast", max_examples=50, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("thorough", max_examples=1000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("PARAPLY_HYPOTHESIS", "fast"))

Log = Callable[[str], Path]


def pytest_configure(config: pytest.Config) -> None:
    """Fail at once where a module is missing without which files of tests would skip.

    Only where one is missing may a module be one that cannot be imported: with pytest's option for it, a file of tests with a wrong import
    is left out without a word.
    """
    check_modules()
    config.option.doctest_ignore_import_errors = bool(absent_modules())


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Choose the slow tests and the variants that run; with several processes, put first what takes long."""
    choose_slow(config, items)
    choose_turns(items)
    if "PYTEST_XDIST_WORKER" in os.environ:
        longest_first(items)


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """Print the pairs of versions whose features ran."""
    tests = [report.nodeid for report in terminalreporter.stats.get("passed", []) + terminalreporter.stats.get("failed", [])]
    pairs = [pair.name for pair in PAIRS if any(f"[{pair.name}-" in test for test in tests)]
    if pairs:
        terminalreporter.section(f"pairs of versions of day {day_of_run()}")
        terminalreporter.write_line(", ".join(pairs))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    return make_scheduler(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    with mysql_only_for(item.nodeid):
        return (yield)


@pytest.fixture(scope="session")
def demo_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real group relay log: 6,856 transactions in certification order."""
    return unpack(ROOT / "tests" / "data" / "demo.relay.xz", tmp_path_factory.mktemp("demo") / "demo.relay")


@pytest.fixture(scope="session")
def truth() -> Log:
    """A log of a real server by its name below the folder of such logs, unpacked."""
    folder = truth_folder()
    if folder is None:
        missing("NO LOGS OF REAL SERVERS: name their folder in PARAPLY_TRUTH")
    return functools.partial(plain_log, folder)
