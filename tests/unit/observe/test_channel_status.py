"""Status from the rows of a channel: progress, gaps, and whether its run is alive."""

from __future__ import annotations

import json
from typing import Any

import pytest

from paraply.targets.channel_status import ALIVE_SECONDS, ChannelStatus, LastSign, fill_progress, gtid_union, read_sign, without_progress
from paraply.targets.progress.file_ledger import PositionRow

UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"


def sign(age: float = 1.0, epoch: int = 2, **status: Any) -> LastSign:
    return LastSign(epoch, "2026-03-01T14:07:00.000000Z", age, {"outcome": None, "consistency": "eventual", **status})


def channel(*rows: PositionRow, kept: PositionRow | None = None, complete: bool = False, last: LastSign | None = None) -> ChannelStatus:
    found = ChannelStatus("main", 2, complete, sign=last)
    fill_progress(found, kept, rows)
    return found


@pytest.mark.parametrize(
    ("last", "complete", "state"),
    [
        (None, False, "incomplete"),
        (None, True, "complete"),
        (sign(), False, "running"),
        (sign(age=ALIVE_SECONDS + 1), False, "incomplete"),
        (sign(epoch=1), False, "incomplete"),
        (sign(outcome="stopped"), False, "stopped"),
        (sign(outcome="failed"), False, "failed"),
        (sign(outcome="done"), True, "complete"),
        (sign(outcome="failed"), True, "failed"),
        (sign(outcome="stopped"), True, "complete"),
        (sign(outcome="failed", epoch=1), False, "incomplete"),
    ],
)
def test_the_state_is_told_by_the_run_of_this_epoch(last: LastSign | None, complete: bool, state: str) -> None:
    assert channel(complete=complete, last=last).state == state


def test_the_newest_place_counts() -> None:
    found = channel(
        PositionRow(f"{UUID}:1-7", "binlog.000002", 500, 7),
        PositionRow(f"{UUID}:1-9", "binlog.000002", 700, 9),
        kept=PositionRow(f"{UUID}:1-5", "binlog.000001", 900, 5),
    )
    assert (found.file, found.position, found.ordinal, found.executed) == ("binlog.000002", 700, 9, f"{UUID}:1-9")
    assert (found.gaps, found.ahead) == ([], 0)


def test_a_later_run_that_counts_from_its_own_first_log_is_newer() -> None:
    kept = PositionRow("0-1-30", "mariadb-bin.000002", 1025, 30)
    opened = PositionRow("", None, None, 0)
    found = channel(
        PositionRow("0-1-36", "mariadb-bin.000003", 700, 6), PositionRow("0-1-35", "mariadb-bin.000003", 600, 5), opened, kept=kept
    )
    assert (found.file, found.position, found.ordinal, found.executed) == ("mariadb-bin.000003", 700, 6, "0-1-36")
    before_its_first_commit = channel(opened, kept=kept)
    assert (before_its_first_commit.file, before_its_first_commit.position, before_its_first_commit.ordinal) == (
        "mariadb-bin.000002",
        1025,
        30,
    )


def test_gaps_of_mysql() -> None:
    found = channel(PositionRow(f"{UUID}:1-5:8:11-12:tag:1-3:7", "binlog.000002", 500, 7), last=sign())
    assert found.gaps == [f"{UUID}:6-7", f"{UUID}:9-10", f"{UUID}:tag:4-6"]
    assert found.ahead == 4


def test_holes_between_the_blocks_of_a_group_are_no_gaps_where_commits_are_in_order() -> None:
    assert channel(PositionRow(f"{UUID}:1-46:1000001-1000037", "relay.000002", 500, 83), last=sign(consistency="any-time")).gaps == []


def test_gaps_of_mariadb() -> None:
    text = json.dumps({"low": "0-1-7", "beyond": {"0": [[9, 11, 1], [13, 13, 1]]}})
    found = channel(PositionRow(text, "binlog.000002", 500, 11), last=sign(consistency="any-time"))
    assert (found.gaps, found.ahead) == (["domain 0: 8", "domain 0: 12"], 4)


def test_gaps_of_a_log_without_gtids() -> None:
    text = json.dumps({"file": "binlog.000001", "offset": 300, "ordinal": 3, "done": [["binlog.000001", 700]]})
    found = channel(PositionRow(text, "binlog.000001", 700, 5))
    assert (found.file, found.position, found.gaps, found.ahead) == ("binlog.000001", 300, ["behind binlog.000001:300"], 1)
    plain = channel(PositionRow("", "binlog.000001", 700, 5))
    assert (plain.executed, plain.position, plain.gaps) == ("", 700, [])


def test_a_first_start_that_failed_is_a_channel_without_progress() -> None:
    signs = {"fill": sign(epoch=0, outcome="failed"), "main": sign(epoch=0, outcome="failed"), "gone": sign(epoch=3)}
    assert [(one.name, one.epoch, one.state) for one in without_progress(signs, [channel()])] == [("fill", 0, "failed")]


def test_a_row_of_another_version_is_no_sign() -> None:
    assert read_sign(1, "", 0.0, "not json") is None
    assert read_sign(1, "", 0.0, "[1]") is None
    assert gtid_union(f"{UUID}:1-3", "no set", f"{UUID}:4") == f"{UUID}:1-4"
