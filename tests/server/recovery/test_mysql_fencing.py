# ruff: noqa: F811
"""Two applies of one channel on MySQL and MariaDB (R25a)."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest
from server.mysql_blocks import Log, apply, some_blocks, without_references
from server.mysql_fixtures import mariadb, mariadb_url, mysql, server  # noqa: F401
from server.waiting import wait_until

from paraply._native import ResultSet
from paraply.errors import AlreadyRunning, ApplyFailed, TemporaryFailure
from paraply.targets.mysql.sql import must_find, to_int

if TYPE_CHECKING:
    from server.mysql_fixtures import Server


def test_r25a_a_session_of_an_older_epoch_cannot_apply(server: Server, truth: Log) -> None:
    blocks = some_blocks(server, truth)
    old = server.opened()
    apply(old, blocks[:-1])
    session = old.session()
    server.opened()
    before = server.checksums()
    with pytest.raises(AlreadyRunning):
        session.apply(blocks[-1])
    with pytest.raises(AlreadyRunning):
        session.execute_statement(blocks[1])
    assert server.checksums() == before


def test_r25a_a_batch_of_an_older_epoch_commits_nothing(server: Server, truth: Log) -> None:
    blocks = some_blocks(server, truth, merge=1)
    old = server.opened()
    without_references(old)  # what is asked at a block's end does not go in batches
    apply(old, blocks[:-4])
    session = old.session()
    first = session.apply_and_commit(blocks[-4:-2])
    assert (first.done, first.error) == (2, None)
    server.opened()
    before = server.checksums()
    second = session.apply_and_commit(blocks[-2:])
    assert (second.done, second.committing) == (0, False)
    assert isinstance(second.error, AlreadyRunning)
    assert server.checksums() == before


@pytest.mark.by_turns
def test_r25_a_batch_ends_at_the_one_that_fails(server: Server, truth: Log) -> None:
    blocks = some_blocks(server, truth, merge=1)
    target = server.opened()
    without_references(target)
    apply(target, blocks[:-2])
    session = target.session()
    outcome = session.apply_and_commit([blocks[-2], blocks[-2], blocks[-1]])
    assert (outcome.done, outcome.committing) == (1, False)
    assert isinstance(outcome.error, ApplyFailed)
    assert outcome.error.gtid == blocks[-2].first_gtid
    session.rollback()
    apply(target, blocks[-1:])
    assert all(block.gtids <= server.target().open(server.plan()).executed for block in blocks)


def waits_for_a_lock(server: Server) -> bool:
    """Return True if some transaction waits for a row. InnoDB shows old states to whoever asks more often than every 0.1 s."""
    time.sleep(0.2)
    return bool(server.sql("SELECT trx_id FROM information_schema.innodb_trx WHERE trx_state='LOCK WAIT'"))


def test_r25a_a_start_waits_for_the_open_transaction_of_an_older_session(server: Server, truth: Log) -> None:
    blocks = some_blocks(server, truth)
    old = server.opened()
    apply(old, blocks[:-1])
    zombie = old.session()
    zombie.apply(blocks[-1])
    found: list[bool] = []

    def start() -> None:
        found.append(blocks[-1].gtids <= server.target().open(server.plan()).executed)

    thread = threading.Thread(target=start)
    thread.start()
    wait_until(lambda: waits_for_a_lock(server), "a start that waits for a lock")
    assert not found, "the start must wait for the transaction that may still commit"
    zombie.commit()
    thread.join(20)
    assert found == [True], "what the older session committed meanwhile must be known"


def test_r25a_a_session_that_comes_late_leaves_the_newer_runs_rows_alone(server: Server, truth: Log) -> None:
    blocks = some_blocks(server, truth)
    old = server.opened()
    apply(old, blocks[:-1])
    new = server.opened()
    apply(new, blocks[-1:])
    slots = "SELECT slot, epoch, executed, ordinal FROM paraply.progress ORDER BY slot"
    before = server.sql(slots)
    assert before
    old.context.sessions._next_slot = to_int(before[0][0])  # the one that the newer run's session has
    with pytest.raises(AlreadyRunning):
        old.session()
    assert server.sql(slots) == before


def test_r25a_a_start_that_gives_up_leaves_the_running_apply_as_it_was(server: Server, truth: Log) -> None:
    blocks = some_blocks(server, truth)
    target = server.opened()
    apply(target, blocks[:-2])
    open_one, other = target.session(), target.session()
    open_one.apply(blocks[-2])
    control = server.connection()
    with pytest.raises(AlreadyRunning, match="have not ended on the target within 1 s"):
        target.context.store.open(control, server.plan().fingerprint, wait=1)
    open_one.commit()
    other.apply(blocks[-1])
    other.commit()
    assert target.owns_channel()
    assert all(block.gtids <= server.target().open(server.plan()).executed for block in blocks)


def test_r25a_a_session_between_raised_epoch_and_cleared_rows_cannot_apply(server: Server, truth: Log) -> None:
    blocks = some_blocks(server, truth)
    target = server.opened()
    apply(target, blocks[:-1])
    session = target.session()
    before = server.checksums()
    target.context.store.open(server.connection(), server.plan().fingerprint)
    with pytest.raises(AlreadyRunning):
        session.apply(blocks[-1])
    assert server.checksums() == before


@pytest.mark.parametrize("older", ["DROP COLUMN epoch", "COMMENT=''"])
def test_r25a_rows_of_progress_without_an_epoch_or_with_none_in_their_key_get_one(server: Server, truth: Log, older: str) -> None:
    blocks = some_blocks(server, truth, merge=1)
    apply(server.opened(), blocks[:-1])
    server.sql(f"ALTER TABLE paraply.progress DROP PRIMARY KEY, ADD PRIMARY KEY (channel, slot), {older}")
    target = server.opened()
    without_references(target)
    assert all(block.gtids <= target.context.ledger.executed() for block in blocks[:-1])
    assert target.session().apply_and_commit(blocks[-1:]).done == 1
    assert blocks[-1].gtids <= server.target().open(server.plan()).executed


def test_r25a_a_single_statement_of_an_older_epoch_changes_nothing(server: Server, truth: Log) -> None:
    """Its rows are in, by the newer run: it must not say that they are there already, nor look for the one."""
    blocks = some_blocks(server, truth, merge=1)
    old = server.opened()
    without_references(old)
    apply(old, blocks[:-1])
    session = old.session()
    apply(server.opened(), blocks[-1:])
    before = server.checksums()
    outcome = session.apply_and_commit(blocks[-1:])
    assert isinstance(outcome.error, AlreadyRunning)
    assert server.checksums() == before


def test_r25_a_row_of_progress_that_a_row_event_does_not_find_is_no_other_apply(server: Server, truth: Log) -> None:
    blocks = some_blocks(server, truth, merge=1)
    target = server.opened()
    without_references(target)
    apply(target, blocks[:-1])
    session = target.session()
    before = server.checksums()
    server.sql("DELETE FROM paraply.progress")
    outcome = session.apply_and_commit(blocks[-1:])
    assert (outcome.done, type(outcome.error)) == (0, TemporaryFailure)
    assert server.checksums() == before


@pytest.mark.parametrize("merge", [1, 16])
def test_r25a_an_older_session_that_meets_the_newer_runs_rows_says_why(server: Server, truth: Log, merge: int) -> None:
    blocks = some_blocks(server, truth, merge=merge)
    old = server.opened()
    apply(old, blocks[:-1])
    session = old.session()
    apply(server.opened(), blocks[-1:])
    with pytest.raises(AlreadyRunning):
        session.apply(blocks[-1])


def test_r25_a_row_of_progress_that_is_not_found_is_no_other_apply(server: Server, truth: Log) -> None:
    """MariaDB answers an UPDATE that KILL QUERY hits as one that finds nothing; nothing may then be committed."""
    blocks = some_blocks(server, truth)
    target = server.opened()
    apply(target, blocks[:-1])
    session, before = target.session(), server.checksums()
    server.sql("DELETE FROM paraply.progress")
    with pytest.raises(TemporaryFailure, match="interrupted"):
        session.apply(blocks[-1])
    session.rollback()
    assert server.checksums() == before
    with pytest.raises(TemporaryFailure, match="interrupted"):
        must_find([ResultSet([], [], 1), ResultSet([], [], 0)])
