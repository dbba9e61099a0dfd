"""R16 on real binary logs: the source-side tracker's numbers."""

from __future__ import annotations

import pytest
from tests.conftest import Log

from paraply.analysis.verify import verify
from paraply.errors import UsageError

pytestmark = pytest.mark.truth


def test_r16_a_log_of_one_session_verifies_exactly(truth: Log) -> None:
    report = verify(truth("mysql-binlog/single-session.binlog"), scheme="writeset")
    assert (report.transactions, report.different, report.fallbacks) == (5495, 0, 0)
    assert report.checked_exactly == 5489, "only what stands beside the other session's two statements has bounds"


def test_r16_one_statement_of_the_other_session_overlapped(truth: Log) -> None:
    report = verify(truth("mysql-binlog/single-session.binlog"), scheme="writeset", sessions="single")
    assert (report.check, report.different) == ("exact", 1)
    assert report.first_difference is not None
    assert report.first_difference["logged"] == (4382, 4384)


@pytest.mark.parametrize(("name", "transactions"), [("eight-sessions", 13899), ("compressed", 10327), ("partial-json", 8805)])
def test_r16_bounds_hold_where_sessions_overlap(truth: Log, name: str, transactions: int) -> None:
    report = verify(truth(f"mysql-binlog/{name}.binlog"), scheme="writeset")
    assert (report.transactions, report.different, report.check) == (transactions, 0, "bound")
    assert verify(truth(f"mysql-binlog/{name}.binlog"), scheme="writeset", sessions="many").different == 0


def test_r16_the_other_tracking_is_found_out(truth: Log) -> None:
    assert verify(truth("mysql-binlog/single-session.binlog"), scheme="writeset", tracking="commit-order").different > 100
    assert verify(truth("mysql-binlog/single-session.binlog"), scheme="writeset", history=1).different > 100


@pytest.mark.parametrize("options", [{"infer_gc": True}, {"sessions": "few"}, {"tracking": "rows"}, {"history": 0}])
def test_options_that_do_not_fit_are_refused(truth: Log, options: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        verify(truth("mysql-binlog/single-session.binlog"), scheme="writeset", **options)  # type: ignore[arg-type]
