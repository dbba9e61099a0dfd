"""Logs of real servers, written again with new numbers: they stay what they were but for the numbers (R37)."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest
from required import missing

from paraply import open_log
from paraply.analysis.stamp import stamp
from paraply.analysis.verify import verify

pytestmark = pytest.mark.truth

LOGS = {
    "mysql-binlog/single-session.binlog": 5_495,
    "mysql-binlog/eight-sessions.binlog": 13_899,
    "mysql-binlog/compressed.binlog": 10_327,
    "mysql-binlog/minimal-image.binlog": 9_880,
    "mysql-binlog/partial-json.binlog": 8_805,
    "group-multi-primary/member3.relay": 6_856,
    "group-single-primary/member3.relay": 22_578,
}
CHANGED = re.compile(r"^# at \d+|end_log_pos \d+|CRC32 0x[0-9a-f]+|last_committed=\d+|sequence_number=\d+")


@pytest.mark.parametrize("name", LOGS)
def test_r37_stamped_numbers_are_dense_and_not_too_low(truth, tmp_path, name):
    report = stamp(truth(name), tmp_path)
    new = tmp_path / Path(name).name
    numbers = [(one.last_committed, one.sequence_number) for one in open_log(new)]
    assert len(numbers) == report.transactions == LOGS[name]
    first = numbers[0][1]
    assert [number for _, number in numbers] == list(range(first, first + len(numbers)))
    assert verify(new, scheme="fine").different == 0
    assert report.parallel_after >= report.parallel_before
    assert report.bytes == truth(name).stat().st_size


@pytest.mark.parametrize(
    "name", ["mysql-binlog/single-session.binlog", "mysql-binlog/compressed.binlog", "group-multi-primary/member3.relay"]
)
def test_r37_the_transactions_are_the_same(truth, tmp_path, name):
    stamp(truth(name), tmp_path, workers=4)
    for old, new in zip(open_log(truth(name)), open_log(tmp_path / Path(name).name), strict=True):
        assert (old.gtid, old.kind, old.rows, old.row_events(), old.committed_at) == (
            new.gtid,
            new.kind,
            new.rows,
            new.row_events(),
            new.committed_at,
        )


@pytest.mark.by_turns(2)
@pytest.mark.parametrize("name", LOGS)
def test_r37_mysqlbinlog_prints_the_same_but_for_the_numbers(truth, tmp_path, name):
    command = os.environ.get("PARAPLY_TEST_MYSQLBINLOG")
    if not command:
        missing("NO MYSQLBINLOG: set PARAPLY_TEST_MYSQLBINLOG to a command that prints the log file that is appended to it")
    stamp(truth(name), tmp_path)
    old, new = (_printed(command, path) for path in (truth(name), tmp_path / Path(name).name))
    assert old == new


def _printed(command: str, log: Path) -> list[str]:
    printed = subprocess.run([*shlex.split(command), str(log), "--verify-binlog-checksum", "-v"], capture_output=True, check=True)
    return [CHANGED.sub("", line) for line in printed.stdout.decode(errors="replace").splitlines()]


@pytest.mark.parametrize("name", ["public/binlog_transaction_with_GTID_TAG.000001", "public/transaction_compression.000001"])
def test_r37_tagged_and_compressed_transactions_of_other_versions(truth, tmp_path, name):
    stamp(truth(name), tmp_path)
    assert [one.gtid for one in open_log(tmp_path / Path(name).name)] == [one.gtid for one in open_log(truth(name))]


def test_r37_a_source_that_committed_sessions_at_once_is_trusted_by_nobody(truth):
    """The source knew that their locks did not meet; the rows alone do not show it, so stamp would order these transactions."""
    report = verify(truth("mysql-binlog/eight-sessions.binlog"), scheme="fine")
    assert (report.transactions, report.different) == (13_899, 112)
