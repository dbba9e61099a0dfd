"""The tool that runs the statement collections names each refusal by a reason that is documented for its target."""

from __future__ import annotations

import pytest

from tests.statement_collections.reasons import READING, REASONS, Reason, Refusal, is_documented, reason_of
from tests.statement_collections.replay import Result, totals

UNKNOWN_DDL = "a statement whose effect on the schema is not known: statement not understood: expected a string"
DAMAGED = "binlog.000001: the log is damaged at position 425: a wrong checksum; copy the file again from the source"


@pytest.mark.parametrize("reason", REASONS, ids=lambda reason: reason.title)
def test_each_reason_is_in_the_documentation(reason: Reason) -> None:
    assert is_documented(reason)


@pytest.mark.parametrize(
    ("error", "message", "target"),
    [
        ("LogNotUnderstood", "something that nobody has thought of", READING),
        ("LogNotUnderstood", UNKNOWN_DDL, "MySQL"),
        ("ApplyFailed", UNKNOWN_DDL, "PostgreSQL"),
        ("LogDamaged", DAMAGED, READING),
        ("LogTruncated", "binlog.000001: the log ends too early, at position 4: the rest is missing", READING),
        ("SchemaMismatch", "the table shop.period differs", "PostgreSQL"),
        ("ValueNotStorable", "column NUL of shop.t holds a BIT value wider than its column", "PostgreSQL"),
        ("LogNotUnderstood", "table shop.t is not known; give it with --schema", "PostgreSQL"),
    ],
)
def test_no_other_error_has_a_reason(error: str, message: str, target: str) -> None:
    assert reason_of(Refusal("", error, message), target) is None


def test_a_reason_is_that_of_its_target() -> None:
    assert reason_of(Refusal("", "LogNotUnderstood", UNKNOWN_DDL), "PostgreSQL") == "DDL that is not understood"
    cut_off = Refusal("", "LogTruncated", "f: the log ends too early, at position 4: x", "binlog_truncated_event.000001")
    assert reason_of(cut_off, "MySQL") == "a log that is cut off"


def test_what_comes_after_a_stop_is_not_called_refused() -> None:
    counts = totals([Result(5, 2, [Refusal("DROP TABLE t", "LogNotUnderstood", UNKNOWN_DDL)], 2)])
    assert counts["statements"] == counts["same"] + counts["refused"] + counts["different"] + counts["after"] == 5
