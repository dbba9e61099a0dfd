"""The answer ``--ddl-done``: for the first statement of a run, and for no other."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from paraply.errors import ApplyFailed, LogNotUnderstood, PrivilegeMissing, ServerError, TargetUnable, TypeNotMapped
from paraply.targets.ddl_answer import DdlAnswer, name_way_on
from paraply.targets.mysql.errors import explain
from paraply.targets.postgres.errors import SqlError, failure

if TYPE_CHECKING:
    from paraply._native import Block


def block(ordinal: int) -> Block:
    return cast("Block", SimpleNamespace(ordinal=ordinal))


def test_r25b_it_covers_the_first_statement_also_when_that_is_tried_again() -> None:
    answer = DdlAnswer(given=True)
    answer.meet(block(7))
    answer.meet(block(8))
    assert [answer.covers(block(number)) for number in (7, 8, 7)] == [True, False, True]


def test_r25b_rows_before_a_statement_use_it_up() -> None:
    answer = DdlAnswer(given=True)
    assert answer.meet_rows()
    assert not answer.meet_rows()
    answer.meet(block(7))
    assert not answer.covers(block(7))


def test_r25b_without_it_no_statement_is_covered() -> None:
    answer = DdlAnswer()
    answer.meet(block(7))
    assert not answer.covers(block(7))


def test_r25b_a_statement_that_an_earlier_run_began_uses_it_up() -> None:
    answer = DdlAnswer(given=True)
    answer.close()
    answer.meet(block(7))
    assert not answer.covers(block(7))


def test_no_way_on_is_named_for_a_table_that_the_target_cannot_have() -> None:
    error = TypeNotMapped("no counterpart")
    name_way_on(error)
    assert error.message == "no counterpart"


def test_the_way_on_is_named_once() -> None:
    error = LogNotUnderstood("no")
    name_way_on(error)
    name_way_on(error)
    assert error.message.count("--ddl-done") == 1


@pytest.mark.parametrize("code", [1044, 1142, 1143, 1227, 1370, "42501"])
def test_no_way_on_is_named_where_a_privilege_is_missing_whatever_the_servers_language(code: int | str) -> None:
    check_nothing_is_named(code, PrivilegeMissing)


@pytest.mark.parametrize("code", [1021, 1114, 1290, 1836, "25006", "53100"])
def test_no_way_on_is_named_where_the_target_is_read_only_or_full(code: int | str) -> None:
    check_nothing_is_named(code, TargetUnable)


def check_nothing_is_named(code: int | str, kind: type[ApplyFailed]) -> None:
    error = explain(ServerError("Zugriff verweigert", code)) if isinstance(code, int) else failure(SqlError(code, "verweigert"))
    assert type(error) is kind
    name_way_on(error)
    assert "--ddl-done" not in error.message


def test_the_way_on_is_named_where_the_words_of_a_table_sound_like_a_missing_privilege() -> None:
    error = explain(ServerError("Table 'privilege' cannot be denied", 1050))
    name_way_on(error)
    assert "--ddl-done" in error.message


def test_a_full_disk_inside_of_another_error_is_one() -> None:
    error = explain(ServerError("Error writing file (OS errno 28 - No space left on device)", 3))
    assert type(error) is TargetUnable
