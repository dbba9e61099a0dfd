"""Runs an applier over stand-ins, and never waits for ever."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from unit.applier import fakes
from unit.applier.fakes import LOG, Transaction

from paraply.applier.applier import Applier
from paraply.applier.execute.lock_watchdog import Patience
from paraply.applier.execute.retry import RetryPolicy
from paraply.logs.feed import FeedLimits

if TYPE_CHECKING:
    from unit.applier.fake_database import Target

    from paraply.observe.counters import ApplyReport

QUICK = RetryPolicy(limit=10, base=0.001, cap=0.01, reconnects=5, reconnect_base=0.001, reconnect_cap=0.01)
IMPATIENT = Patience(shortest=0.003, factor=2.0, longest=0.02, coarse=0.15, coarse_factor=2.0, foreign=0.05)


def make_applier(log: list[Any], target: Target, **options: Any) -> Applier:
    fakes.LogReader.logs = {LOG: log}
    options.setdefault("workers", 4)
    options.setdefault("retries", QUICK)
    options.setdefault("patience", IMPATIENT)
    options.setdefault("limits", FeedLimits(batch_transactions=16))
    return Applier([LOG], target, **options)


def run_within(applier: Applier, seconds: float = 20.0) -> ApplyReport | BaseException:
    """The report, or the error that the run ended with; fails if the run hangs."""
    outcome: list[ApplyReport | BaseException] = []

    def body() -> None:
        try:
            outcome.append(applier.run())
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=body, daemon=True)
    thread.start()
    thread.join(seconds)
    assert not thread.is_alive(), f"the run hangs: {applier.counters()}"
    return outcome[0]


def apply(log: list[Any], target: Target, **options: Any) -> ApplyReport:
    outcome = run_within(make_applier(log, target, **options))
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


def check_gaps(target: Target, log: list[Transaction]) -> None:
    """Check that each transaction is applied at most once, in its session's order, and that the rows are those of serial apply."""
    database = target.database
    assert len(database.applied) == len(set(database.applied))
    applied = set(database.applied)
    assert database.rows == database.serial([t for t in log if t.ordinal in applied])
    session_of = {t.ordinal: (t.server_id, t.session) for t in log}
    for session in set(session_of.values()):
        mine = [number for number in database.applied if session_of[number] == session]
        assert mine == sorted(mine), "reordered within a session"
        assert mine == [t.ordinal for t in log if session_of[t.ordinal] == session][: len(mine)], "a gap within a session"
    assert not database.owners, "locks left behind"


def check_serial(target: Target, log: list[Transaction]) -> None:
    """Exactly these are applied, in this order, each once, and the rows are as serial apply leaves them."""
    database = target.database
    assert database.applied == [t.ordinal for t in log]
    assert database.rows == database.serial(log)
    assert not database.owners, "locks left behind"
    assert all(session.closed for session in target.sessions)
