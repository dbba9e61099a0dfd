"""Logs that do not tell the sessions of their source."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest
from unit.applier.fakes import Format, make

from paraply.applier.commit.consistency import Consistency
from paraply.applier.preflight.session_ids import is_in_order_anyway
from paraply.applier.schedule.policy import policy_kind

MARIADB = Format(mariadb=True)


@dataclass
class Reader:
    """Gives these batches, one after the other."""

    batches: list[list]
    given: int = field(default=0)

    def next_batch(self, most):
        self.given += 1
        return self.batches[self.given - 1][:most] if self.given <= len(self.batches) else None


def options(*, policy="dependency", consistency="eventual", live=False, gtid="record"):
    return SimpleNamespace(policy=policy_kind(policy), consistency=Consistency(consistency), live=live, gtid=gtid)


def rows(count, *, server=7, session=None):
    return [make(number, format=MARIADB, server_id=server, session=session) for number in range(count)]


def asked(*batches, **more):
    return is_in_order_anyway(options(**more), batches[0][0], Reader(list(batches)))


def test_r23_one_server_without_sessions_keeps_its_order():
    assert asked(rows(10))


@pytest.mark.parametrize("more", [rows(10, server=8), rows(10, session=4)])
def test_r23_other_servers_or_sessions_behind_one_large_transaction_are_seen(more):
    assert not asked(rows(1), more)


def test_what_has_no_rows_tells_nothing():
    statements = [make(number, format=MARIADB, server_id=9, kind="ddl", session=None) for number in range(5)]
    assert not asked(statements)
    assert asked(*([statement] for statement in statements), rows(3))


def test_only_the_beginning_of_a_log_is_read():
    reader = Reader([rows(1000)] * 9)
    assert is_in_order_anyway(options(), rows(1)[0], reader)
    assert reader.given == 1
    reader = Reader([rows(1)] * 9)
    assert is_in_order_anyway(options(), rows(1)[0], reader)
    assert reader.given == 4


@pytest.mark.parametrize("more", [{"consistency": "any-time"}, {"policy": "row"}, {"live": True}, {"gtid": "preserve"}])
def test_the_level_stays_where_it_says_nothing_or_gaps_need_no_record(more):
    assert not asked(rows(10), **more)


def test_mysql_tells_the_sessions():
    assert not is_in_order_anyway(options(), make(1), Reader([[make(1)]]))
