"""Missing requirements skip a test, and fail it in continuous integration."""

from __future__ import annotations

import pytest
from required import absent_modules, missing, required_module, required_variable


@pytest.fixture(params=[False, True], ids=["here", "in .ci/run"])
def expected(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> type[BaseException]:
    if request.param:
        monkeypatch.setenv("PARAPLY_TEST_REQUIRE_ALL", "1")
        monkeypatch.delenv("PARAPLY_TEST_MAY_LACK", raising=False)
        return pytest.fail.Exception
    monkeypatch.delenv("PARAPLY_TEST_REQUIRE_ALL", raising=False)
    return pytest.skip.Exception


def test_a_server_that_is_missing(expected: type[BaseException]) -> None:
    with pytest.raises(expected, match="NO SERVER"):
        missing("NO SERVER: install one")


def test_a_module_that_is_missing(expected: type[BaseException]) -> None:
    assert required_module("json").dumps(1) == "1"
    with pytest.raises(expected, match="no_such_module"):
        required_module("no_such_module")


def test_a_variable_that_is_missing(expected: type[BaseException], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARAPLY_SOME", "x")
    assert required_variable("PARAPLY_SOME", "NO SOME") == "x"
    monkeypatch.setenv("PARAPLY_SOME", "")
    with pytest.raises(expected, match="NO SOME: set PARAPLY_SOME"):
        required_variable("PARAPLY_SOME", "NO SOME")


@pytest.mark.parametrize(("lacks", "reason"), [("PARAPLY_SOME", "PARAPLY_SOME_DATA"), ("PARAPLY_A PARAPLY_SOME", "PARAPLY_SOME")])
def test_what_a_machine_may_lack_skips(monkeypatch: pytest.MonkeyPatch, lacks: str, reason: str) -> None:
    monkeypatch.setenv("PARAPLY_TEST_REQUIRE_ALL", "1")
    monkeypatch.setenv("PARAPLY_TEST_MAY_LACK", lacks)
    with pytest.raises(pytest.skip.Exception):
        required_variable(reason, "NO SOME")
    with pytest.raises(pytest.fail.Exception):
        required_variable("PARAPLY_OTHER", "NO OTHER")


def test_a_file_of_tests_with_a_wrong_import_is_an_error(pytestconfig: pytest.Config) -> None:
    assert pytestconfig.option.doctest_ignore_import_errors == bool(absent_modules())
