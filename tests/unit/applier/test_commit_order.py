from __future__ import annotations

import random
import threading
import time

import pytest
from unit.applier import fakes  # noqa: F401
from unit.steps import until, until_waiting

from paraply.applier.commit.commit_order import CommitOrder, RollbackRequested, Ticket, TicketState
from paraply.applier.commit.consistency import Consistency
from paraply.errors import ApplyFailed, PrecedingFailed


def in_thread(body):
    outcome = []

    def run():
        try:
            outcome.append(body())
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()

    def result():
        thread.join(5)
        assert not thread.is_alive(), "still waiting"
        return outcome[0]

    result.thread = thread
    return result


def test_r17_commits_come_in_the_order_of_registration():
    order = CommitOrder()
    tickets = [order.register() for _ in range(200)]
    commits = []

    def commit(mine):
        for ticket in mine:
            time.sleep(random.random() / 2000)
            order.wait_turn(ticket)
            commits.append(ticket.sequence)
            order.finish(ticket)

    results = [in_thread(lambda n=n: commit(tickets[n::8])) for n in range(8)]
    assert [result() for result in results] == [None] * 8
    assert commits == list(range(1, 201))
    assert order.low_water_mark == 200


def test_r17_the_state_shown_while_waiting():
    order = CommitOrder()
    first, second = order.register(), order.register()
    result = in_thread(lambda: order.wait_turn(second))
    until(lambda: second.state is TicketState.WAITING)
    assert second.state.value == "Waiting for preceding transaction to commit"
    assert order.waiting() == [second]
    assert order.oldest() is first
    order.wait_turn(first)
    order.finish(first)
    assert result() is None
    assert second.state is TicketState.TURN


def test_r18_every_younger_one_stops_and_knows_the_root_cause():
    order = CommitOrder()
    first, *younger = [order.register() for _ in range(5)]
    results = [in_thread(lambda t=t: order.wait_turn(t)) for t in younger[:3]]
    until(lambda: len(order.waiting()) == 3)
    order.wait_turn(first)
    cause = ApplyFailed("the culprit")
    order.finish(first, cause)
    for result in results:
        error = result()
        assert isinstance(error, PrecedingFailed)
        assert error.__cause__ is cause
    with pytest.raises(PrecedingFailed):
        order.wait_turn(younger[3])
    with pytest.raises(PrecedingFailed):
        order.register()
    assert order.failure is cause
    order.finish(younger[2], PrecedingFailed("rolled back"))
    order.finish(younger[0], PrecedingFailed("rolled back"))
    assert order.failure is cause
    assert order.low_water_mark == 0


def test_r24_a_younger_one_is_told_to_give_its_locks_back():
    order = CommitOrder()
    first, second, third = (order.register() for _ in range(3))
    result = in_thread(lambda: order.wait_turn(third))
    until(lambda: third.state is TicketState.WAITING)
    assert order.request_rollback(third, first.sequence)
    error = result()
    assert isinstance(error, RollbackRequested)
    assert error.older == first.sequence
    again = in_thread(lambda: order.wait_for(third, error.older))
    order.wait_turn(first)
    order.finish(first)
    assert again() is None
    result = in_thread(lambda: order.wait_turn(third))
    order.wait_turn(second)
    order.finish(second)
    assert result() is None


def test_r24_a_request_while_it_applies_is_met_when_it_comes_to_wait():
    order = CommitOrder()
    first, second = order.register(), order.register()
    assert order.request_rollback(second, first.sequence)
    with pytest.raises(RollbackRequested):
        order.wait_turn(second)
    assert not second.rollback_requested


def test_r24_neither_an_older_one_nor_one_that_commits_is_rolled_back():
    order = CommitOrder()
    first, second = order.register(), order.register()
    assert not order.request_rollback(first, second.sequence)
    assert not order.request_rollback(first, first.sequence)
    order.wait_turn(first)
    assert not order.request_rollback(first, 0)
    order.finish(first)
    order.wait_turn(second)
    assert not order.request_rollback(second, first.sequence)


def test_a_turn_that_came_meanwhile_goes_before_a_request():
    order = CommitOrder()
    first, second = order.register(), order.register()
    order.request_rollback(second, first.sequence)
    order.wait_turn(first)
    order.finish(first)
    order.wait_turn(second)
    assert second.state is TicketState.TURN
    assert not second.rollback_requested


def test_r24_whoever_holds_no_locks_waits_on_when_it_is_asked_to_roll_back():
    """The coordinator passes over transactions that an earlier run has committed: it waits for a turn without a lock."""
    order = CommitOrder()
    first, second = order.register(), order.register()
    order.hold_back(first.sequence)
    result = in_thread(lambda: order.wait_turn(second, holds_locks=False))
    order.wait_turn(first)
    order.hold_back(first.sequence)
    order.finish(first)
    assert result() is None
    assert not second.rollback_requested
    order.finish(second)
    assert order.low_water_mark == 2


def test_hold_back_reaches_every_younger_one():
    order = CommitOrder()
    tickets = [order.register() for _ in range(4)]
    order.hold_back(tickets[1].sequence)
    assert [t.rollback_requested for t in tickets] == [False, False, True, True]


def test_an_abort_wakes_everyone_however_they_wait():
    order = CommitOrder()
    tickets = [order.register() for _ in range(4)]
    results = [
        in_thread(lambda: order.wait_turn(tickets[1])),
        in_thread(lambda: order.wait_for(tickets[2], 1)),
        in_thread(lambda: order.pause(tickets[3], 60)),
    ]
    for result, function in zip(results, ("wait_turn", "wait_for", "pause"), strict=True):
        until_waiting(result.thread, function)
    order.abort(RuntimeError("a defect"))
    assert all(isinstance(result(), PrecedingFailed) for result in results)


def test_a_commit_under_way_may_finish_after_an_abort():
    order = CommitOrder()
    first = order.register()
    order.wait_turn(first)
    order.abort(RuntimeError("a defect"))
    order.finish(first)
    assert order.low_water_mark == 1


def test_misuse_is_an_error_not_a_wrong_order():
    order = CommitOrder()
    first, second = order.register(), order.register(Ticket())
    with pytest.raises(ValueError):
        order.register(first)
    with pytest.raises(ValueError):
        order.finish(second)
    with pytest.raises(ValueError):
        order.finish(first)


def test_withdrawn_tickets_leave_no_gap():
    order = CommitOrder()
    first, second, third = (order.register() for _ in range(3))
    order.withdraw(second)
    order.withdraw(third)
    order.wait_turn(first)
    order.finish(first)
    assert order.oldest() is None
    assert order.low_water_mark == 1


def test_r20_an_optimistic_commit_waits_for_those_under_way_when_its_rows_went_in():
    """Such a commit may fail and give its locks away; who got one of them must not be through before it."""
    order = CommitOrder(Consistency.MOST_OF_THE_TIME, optimistic=True)
    first, before, behind = order.register(), order.register(), order.register()
    early = in_thread(lambda: order.wait_turn(before))  # its rows are in before the older one's commit is sent
    until(lambda: before.state is TicketState.WAITING)
    order.wait_turn(first)
    order.sent(first)
    assert early() is None
    order.sent(before)
    late = in_thread(lambda: order.wait_turn(behind))
    until(lambda: behind.state is TicketState.WAITING)
    order.finish(before)
    assert behind.state is TicketState.WAITING
    order.finish(first)
    assert late() is None


def test_r17_tickets_of_several_follow_each_other():
    order = CommitOrder()
    first, second, third = order.register(), *order.register_all([(), (1,)])
    assert [ticket.sequence for ticket in (first, second, third, order.register())] == [1, 2, 3, 4]
    assert third.after == (1,)
    for ticket in (first, second, third):
        order.wait_turn(ticket)
        order.finish(ticket)
    order.abort(ApplyFailed("root"))
    with pytest.raises(PrecedingFailed):
        order.register_all([()])
