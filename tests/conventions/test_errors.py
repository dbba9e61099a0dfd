"""Exceptions: each has an exit code of the contract, and the reference says which."""

from __future__ import annotations

import inspect
import re

import pytest
from conventions.repository import ROOT

from paraply import errors

EXCEPTIONS = [getattr(errors, name) for name in errors.__all__]
ROW = re.compile(r"^\| `(\w+)` \| `(\w+)` \| (\d) \| \S", re.MULTILINE)


def documented() -> dict[str, tuple[str, int]]:
    """Base and exit code of each exception in the reference."""
    text = (ROOT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")
    return {name: (base, int(code)) for name, base, code in ROW.findall(text)}


@pytest.mark.parametrize("exception", EXCEPTIONS, ids=lambda exception: exception.__name__)
def test_every_exception_is_a_paraply_error_with_an_exit_code(exception: type[errors.ParaplyError]) -> None:
    assert issubclass(exception, errors.ParaplyError)
    assert exception.exit_code in (1, 2, 3, 4)


@pytest.mark.parametrize("exception", EXCEPTIONS, ids=lambda exception: exception.__name__)
def test_the_reference_names_every_exception(exception: type[errors.ParaplyError]) -> None:
    assert documented().get(exception.__name__) == (exception.__bases__[0].__name__, exception.exit_code)


def test_the_reference_names_no_other() -> None:
    assert set(documented()) == set(errors.__all__)


def test_all_names_every_exception_that_is_defined() -> None:
    defined = {name for name, thing in vars(errors).items() if inspect.isclass(thing) and issubclass(thing, Exception)}
    assert defined == set(errors.__all__)
