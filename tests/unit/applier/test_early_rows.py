"""Rows that need not wait go in before those that must (R21: C3 within C4), and give way like any other (R24)."""

from __future__ import annotations

import threading

import pytest
from unit.applier.fake_database import Database, Target
from unit.applier.fakes import Block, make
from unit.applier.harness import apply, check_serial
from unit.steps import until

from paraply.applier.commit.commit_order import CommitOrder, RollbackRequested, Ticket, TicketState
from paraply.applier.execute.lock_watchdog import Patience
from paraply.applier.schedule.early_rows import steps_of
from paraply.errors import ApplyFailed, PrecedingFailed

INDEPENDENT = 5
#: Nobody is asked to give way, however slow the machine is.
PATIENT = Patience(shortest=60.0, longest=60.0, coarse=60.0, foreign=60.0)


def log_of_two_blocks():
    """The second block begins with a transaction on a row of the first; the others have rows of their own."""
    first = [make(n, f"a{n}") for n in range(1, 1 + INDEPENDENT)]
    return [*first, make(INDEPENDENT + 1, "a1"), *[make(n, f"b{n}") for n in range(INDEPENDENT + 2, 2 * INDEPENDENT + 1)]]


def test_c3_rows_of_a_merged_block_do_not_wait_for_what_others_of_it_wait_for():
    log = log_of_two_blocks()
    database = Database(lock_timeout=60.0)
    last = log[-1]
    # The first block is not through before the last transaction of the second one is in.
    database.waits_for[1] = lambda: f"row {last.keys[0]}" in database.owners
    report = apply(log, target := Target(database), workers=2, merge=INDEPENDENT, patience=PATIENT)
    assert database.waited_in_vain == []
    check_serial(target, log)
    assert (report.transactions, report.commits, report.retries) == (2 * INDEPENDENT, 2, 0)
    assert database.steps == 2


@pytest.mark.parametrize("options", [{"workers": 1}, {"workers": 0}, {"consistency": "eventual"}, {"policy": "barrier"}, {"merge": 1}])
def test_early_rows_are_for_merged_blocks_of_several_workers_that_commit_in_order_and_know_the_dependencies(options):
    log = log_of_two_blocks()
    target = Target()
    apply(log, target, **{"workers": 2, "merge": INDEPENDENT} | options)
    assert target.database.steps == 0
    assert target.database.rows == target.database.serial(log)


def test_r24_a_block_between_two_groups_of_early_rows_gives_its_locks_back_to_an_older_one():
    log = log_of_two_blocks()
    database = Database(lock_timeout=5.0)
    # A gap lock, which no write set tells: the younger block has it while it waits for the older one, which needs it to go on.
    log[-1].gaps = ("g",)
    log[1].gaps = ("g",)
    database.waits_for[2] = lambda: "gap g" in database.owners
    report = apply(log, target := Target(database), workers=2, merge=INDEPENDENT)
    check_serial(target, log)
    assert report.transactions == len(log)
    assert report.rollbacks >= 1


def test_what_may_go_in_together_comes_in_one_part():
    block = Block(9, [make(n, f"k{n}") for n in range(5)], waits=[0, 4, 6, 8, 6])
    mark, waited, parts = 4, [], []

    def wait(older: int) -> None:
        nonlocal mark
        waited.append((older, len(parts)))
        mark = older

    for part in steps_of(block, lambda: mark, wait):
        parts.append([t.ordinal for t in part.transactions])
    assert parts == [[0, 1], [2, 4], [3]]
    assert waited == [(6, 1), (8, 2)]


class TestWaitCommitted:
    @pytest.fixture
    def order(self):
        order = CommitOrder()
        self.tickets = [order.register() for _ in range(4)]
        return order

    def wait_in_thread(self, order: CommitOrder, ticket: Ticket, older: int) -> tuple[threading.Thread, list[object]]:
        outcome: list[object] = []

        def body() -> None:
            try:
                order.wait_committed(ticket, older)
                outcome.append("through")
            except (RollbackRequested, PrecedingFailed) as error:
                outcome.append(error)

        thread = threading.Thread(target=body, daemon=True)
        thread.start()
        until(lambda: ticket.state is TicketState.WAITING)
        return thread, outcome

    def finish(self, order: CommitOrder, *tickets: Ticket) -> None:
        for ticket in tickets:
            order.wait_turn(ticket)
            order.finish(ticket)

    def test_it_ends_when_the_older_one_is_through_and_is_no_turn(self, order):
        thread, outcome = self.wait_in_thread(order, self.tickets[3], 2)
        assert order.waiting() == [self.tickets[3]], "the watchdog sees who holds locks"
        self.finish(order, *self.tickets[:2])
        thread.join(5)
        assert outcome == ["through"]
        assert self.tickets[3].state is TicketState.REGISTERED

    def test_r24_a_request_to_roll_back_ends_it(self, order):
        thread, outcome = self.wait_in_thread(order, self.tickets[3], 2)
        assert order.request_rollback(self.tickets[3], 1)
        thread.join(5)
        assert [error.older for error in outcome] == [1]

    def test_a_request_for_one_that_is_not_through_yet_is_kept(self, order):
        self.finish(order, *self.tickets[:2])
        order.request_rollback(self.tickets[3], 3)
        order.wait_committed(self.tickets[3], 2)
        assert order.take_request(self.tickets[3]) == 3

    def test_a_request_for_one_that_is_through_is_met(self, order):
        order.request_rollback(self.tickets[3], 1)
        self.finish(order, *self.tickets[:2])
        order.wait_committed(self.tickets[3], 2)
        assert order.take_request(self.tickets[3]) is None

    def test_r18_a_failure_of_an_older_one_ends_it(self, order):
        thread, outcome = self.wait_in_thread(order, self.tickets[3], 2)
        order.wait_turn(self.tickets[0])
        order.finish(self.tickets[0], ApplyFailed("no"))
        thread.join(5)
        assert [type(error) for error in outcome] == [PrecedingFailed]
