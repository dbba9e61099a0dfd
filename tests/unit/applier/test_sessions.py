"""Transactions of one session of the source keep their order (R23)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from paraply._native import SourceSession
from paraply.applier.schedule.session_order import SessionOrder

A, B, UNKNOWN = (1, 7), (2, 7), (1, None)


@dataclass
class Numbered:
    id: int
    sessions: list[SourceSession]


def before(order: SessionOrder, number: int, *sessions: tuple[int, int | None], committed: int = 0) -> tuple[int, ...]:
    block: Any = Numbered(number, [SourceSession(*session) for session in sessions])
    return tuple(sorted(order.before(block, committed)))


def test_r23_a_block_waits_for_the_last_one_of_each_of_its_sessions() -> None:
    order = SessionOrder()
    assert before(order, 1, A) == ()
    assert before(order, 2, B) == ()
    assert before(order, 3, A) == (1,)
    assert before(order, 4, A, B) == (2, 3)
    assert before(order, 5, B) == (4,)
    assert before(order, 6, A, B) == (4, 5)


def test_r23_what_is_committed_is_not_waited_for() -> None:
    order = SessionOrder()
    before(order, 1, A)
    assert before(order, 2, A, committed=1) == ()
    assert before(order, 3, A, B, committed=1) == (2,)


def test_r23_a_block_of_one_session_twice_does_not_wait_for_itself() -> None:
    order = SessionOrder()
    assert before(order, 1, A, A) == ()
    assert before(order, 2, A) == (1,)


def test_r23_sessions_are_forgotten_only_when_their_last_block_is_committed() -> None:
    order = SessionOrder()
    for number in range(1, 10001):
        assert before(order, number, (number, 1), committed=number // 2) == ()
    assert before(order, 10001, (9000, 1), committed=5000) == (9000,)


def test_r23_a_session_that_the_log_does_not_tell_is_said_once() -> None:
    messages: list[int] = []
    order = SessionOrder(lambda: messages.append(1))
    before(order, 1, A)
    assert messages == []
    before(order, 2, UNKNOWN)
    assert before(order, 3, UNKNOWN) == (2,)
    assert messages == [1]


def test_r23_blocks_that_come_together_wait_for_each_other_too() -> None:
    order = SessionOrder()
    before(order, 1, A)
    blocks: Any = [Numbered(2, [B]), Numbered(3, [A]), Numbered(4, [A, B]), Numbered(5, [B])]
    assert [tuple(sorted(older)) for older in order.before_all(blocks, 1)] == [(), (), (2, 3), (4,)]
