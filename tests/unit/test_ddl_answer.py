"""The answer ``--ddl-done``: for the first statement of a run, and for no other."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

from paraply.errors import LogNotUnderstood, TypeNotMapped
from paraply.targets.ddl_answer import DdlAnswer, name_way_on

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
