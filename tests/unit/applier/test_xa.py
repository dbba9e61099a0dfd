"""XA transactions of a log, looked at before the first write (R35)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from paraply import GtidSet
from paraply.applier.commit.consistency import Consistency
from paraply.applier.options import Options
from paraply.applier.preflight.xa import check_xa, left_note
from paraply.applier.schedule.policy import policy_kind
from paraply.applier.selection.filters import Filters
from paraply.errors import LogNotUnderstood, UsageError
from paraply.targets.xid import canonical_xid, xid_of_parts

if TYPE_CHECKING:
    from paraply._native import LoggedXaPart

UUID = "aaaaaaaa-0000-0000-0000-000000000001"
ONE, TWO = "X'61',X'',1", "X'62',X'',1"
OPTIONS = Options(
    paths=("binlog.000001",), workers=0, policy=policy_kind("dependency"), consistency=Consistency.ANY_TIME, merge="auto", gtid="auto",
    channel="main", start_after=None, allow_nontransactional=False, ddl_decision=None, filters=Filters(),
)  # fmt: skip


def part(number: int, xid: str, *, ends: bool = False, gtid: bool = True) -> LoggedXaPart:
    """Return a part as a scan of the logs gives it."""
    found = SimpleNamespace(
        file="binlog.000001", offset=100 * number, end=(0, 100 * number + 90), gtid=f"{UUID}:{number}" if gtid else None,
        xid=xid, ends=ends, tables=[] if ends else [("d", "t")],
    )  # fmt: skip
    return cast("LoggedXaPart", found)


PREPARES_AND_ENDS = [part(1, ONE), part(2, TWO), part(3, TWO, ends=True), part(4, ONE, ends=True)]


def check(found: list[LoggedXaPart], held: frozenset[str] | None, skip: str = "", place: tuple[int, int] | None = None) -> None:
    check_xa(OPTIONS, found, GtidSet(skip), place, held)


def test_r35_a_log_with_both_parts_of_each_is_taken() -> None:
    check(PREPARES_AND_ENDS, frozenset())


def test_r35_a_name_may_come_again() -> None:
    check([*PREPARES_AND_ENDS, part(5, ONE), part(6, ONE, ends=True)], frozenset())
    with pytest.raises(UsageError, match="X'61'"):
        check([*PREPARES_AND_ENDS, part(6, ONE, ends=True)], frozenset())


def test_r35_an_end_needs_its_beginning_in_the_target() -> None:
    with pytest.raises(UsageError, match="does not hold it prepared") as caught:
        check(PREPARES_AND_ENDS, frozenset(), f"{UUID}:1-2")
    assert (caught.value.position, caught.value.gtid) == (300, f"{UUID}:3")
    check(PREPARES_AND_ENDS, frozenset({ONE, TWO}), f"{UUID}:1-2")
    check(PREPARES_AND_ENDS, frozenset(), f"{UUID}:1-4")


def test_r35_without_gtids_the_place_says_what_is_passed() -> None:
    found = [part(1, ONE, gtid=False), part(2, ONE, ends=True, gtid=False)]
    with pytest.raises(UsageError):
        check(found, frozenset(), place=(0, 190))
    check(found, frozenset(), place=(0, 189))
    check(found, frozenset(), place=(0, 290))


def test_r35_a_target_that_cannot_refuses_the_first_that_is_left() -> None:
    with pytest.raises(LogNotUnderstood) as caught:
        check(PREPARES_AND_ENDS, None, f"{UUID}:1")
    assert caught.value.gtid == f"{UUID}:2"
    check(PREPARES_AND_ENDS, None, f"{UUID}:1-4")


@pytest.mark.parametrize("text", ["", "'a'", "X'6'", "X'61',X'',1; DROP TABLE t", f"X'{'61' * 65}',X'',1", "X'61',X'',-1"])
def test_r35_a_name_in_another_form_never_becomes_sql(text: str) -> None:
    with pytest.raises(LogNotUnderstood):
        canonical_xid(text)


def test_r35_servers_take_an_empty_name() -> None:
    assert canonical_xid("X'',X'',1") == "X'',X'',1"


def test_r35_the_servers_list_and_the_log_name_alike() -> None:
    data = b"\x00\xff'\"\\\n\xc0\xa8"
    assert xid_of_parts(2147483647, 6, 2, data) == canonical_xid("X'00FF27225C0A',X'C0A8',2147483647")


def test_r35_what_is_left_is_named() -> None:
    assert left_note([]) == []
    assert ONE in left_note([ONE])[0]
    assert "2 XA transactions" in left_note([ONE, TWO])[0]
