"""JSON object of a run, which a running replay writes into its target and ``paraply status`` reads there."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from unit.observe.busy_run import BUSY, IDENTITY

from paraply.cli.status import _workers
from paraply.errors import UsageError
from paraply.observe.status_json import status_object

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "json.md").read_text(encoding="utf-8")


def test_the_status_has_the_columns_that_operators_know() -> None:
    status = status_object(IDENTITY, BUSY)
    assert json.loads(json.dumps(status)) == status
    one, two = status["workers"]
    assert one["applying_transaction"] == "u:3"
    assert one["applying_transaction_original_commit_timestamp"] == "2023-11-14T22:13:20.000000Z"
    assert (one["applying_transaction_retries_count"], one["last_applied_transaction"]) == (2, "")
    assert (two["last_applied_transaction"], two["worker_id"], two["channel_name"]) == ("u:1", 2, IDENTITY.channel)
    assert status["coordinator"]["service_state"] == "ON"
    ended = status_object(IDENTITY, BUSY, outcome="failed", error=UsageError("no"))
    assert (ended["coordinator"]["service_state"], ended["error"]) == ("OFF", {"class": "UsageError", "message": "no"})


@pytest.mark.parametrize("part", ["counters", "coordinator", "workers"])
def test_the_documentation_names_every_field(part: str) -> None:
    fields = status_object(IDENTITY, BUSY)[part]
    names = set(fields[0] if isinstance(fields, list) else fields)
    assert names
    assert names <= set(re.findall(r"`([a-z_]+)`", PAGE))


def test_the_table_of_workers_has_a_line_for_each() -> None:
    table = _workers(status_object(IDENTITY, BUSY))
    assert table.row_count == 2
    assert [str(column.header) for column in table.columns][:1] == ["worker"]
