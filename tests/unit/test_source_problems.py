"""Reasons why a server cannot be the source of a replication, by its variables."""

from __future__ import annotations

import pytest

from paraply.replication.source import problem_of

GOOD = {"log_bin": "ON", "binlog_format": "ROW"}


@pytest.mark.parametrize("found", [GOOD, GOOD | {"binlog_storage_engine": ""}, {"log_bin": "1"}])
def test_a_source_with_a_row_log_in_files_is_taken(found: dict[str, str]) -> None:
    assert problem_of(found) is None


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ({}, "start it with log_bin"),
        (GOOD | {"log_bin": "OFF"}, "start it with log_bin"),
        (GOOD | {"binlog_format": "STATEMENT"}, "binlog_format=STATEMENT: set it to ROW"),
        (GOOD | {"binlog_storage_engine": "innodb"}, "start it without binlog_storage_engine"),
    ],
)
def test_others_are_refused_with_what_to_do(found: dict[str, str], words: str) -> None:
    assert words in (problem_of(found) or "")


def test_an_archive_takes_any_format_but_no_other_storage() -> None:
    assert problem_of(GOOD | {"binlog_format": "MIXED"}, any_format=True) is None
    assert "binlog_storage_engine" in (problem_of(GOOD | {"binlog_storage_engine": "innodb"}, any_format=True) or "")
