"""Names of a filter that nothing in the logs has: named by the plan before anything is written, and by the report."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import DATA

from paraply import open_log
from paraply._native import look_ahead
from paraply.applier.selection.filters import Filters, parse_filters, unmatched_notes

LOG = DATA / "plain.binlog"
TABLE = min(table for transaction in open_log(LOG) for table in transaction.tables)
DATABASE = TABLE.partition(".")[0]


def notes(filters: Filters, log: Path = LOG) -> str:
    ahead = look_ahead([str(log)], filters.native())
    return "; ".join(unmatched_notes(filters, ahead.unmatched_databases, ahead.unmatched_tables))


def test_names_that_the_log_has_are_not_named() -> None:
    assert notes(parse_filters(databases=[DATABASE])) == ""
    assert notes(parse_filters(tables=[TABLE])) == ""
    assert notes(parse_filters(exclude_databases=[DATABASE])) == ""
    assert notes(parse_filters(exclude_tables=[TABLE]).without_system_databases()) == ""


@pytest.mark.parametrize("other", [f"{TABLE}z", f"{DATABASE}z.{TABLE.partition('.')[2]}"])
def test_names_that_it_has_not_are_named(other: str) -> None:
    messages = notes(parse_filters(tables=[other]))
    assert messages.startswith("NOTHING OF THESE LOGS IS APPLIED")
    assert f"the filter names no table of these logs: {other} (names are compared" in messages
    some = notes(parse_filters(tables=[TABLE, other]))
    assert some.startswith("the filter names no table of these logs")
    left = notes(parse_filters(exclude_tables=[other]))
    assert left.startswith("the filter names no table of these logs")
    assert "no database of these logs: nowhere" in notes(parse_filters(databases=["nowhere"]))


def test_a_log_that_cannot_be_read_to_its_end_says_nothing(tmp_path: Path) -> None:
    cut = tmp_path / "cut.binlog"
    cut.write_bytes(LOG.read_bytes()[:-40])
    assert notes(parse_filters(tables=["no.where"]), cut) == ""
