"""JSON object of a run, which a running replay writes into its target and ``paraply status`` reads there."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from unit.observe.busy_run import BUSY, IDENTITY

from paraply.cli.status import _live, _workers
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
    assert [str(column.header) for column in table.columns] == [
        "worker", "connection", "state", "applying", "last applied", "transactions", "retries"
    ]  # fmt: skip
    assert list(zip(*(column.cells for column in table.columns), strict=True)) == [
        ("1", "0", "Applying", "u..:3", "", "0", "0"),
        ("2", "0", "Starting", "", "u..:1", "0", "0"),
    ]


def test_the_lines_of_a_run() -> None:
    changes = {"bytes_total": 200, "bytes_done": 50, "serial": True, "foreign_blockers": (12,), "resting": 2, "retries": 1234}
    assert _live(status_object(IDENTITY, replace(BUSY, **changes))) == [
        "rate       320 transactions/s, 25 % of the logs, 0:04 left, lag 12 s",
        "done       800 transactions (0 merged) in 0 commits, 0 skipped, 3,000 rows",
        "queue      3 jobs, 0 transactions waiting after them, low-water mark block 0, 0 ahead of it",
        "workers    1 running, 0 blocked by dependency, 1 waiting to commit, 0 waiting for input, 2 resting",
        "retries    1,234, younger rolled back 0, reconnects 0; one block at a time after a storm of retries; blocked by connections 12",
    ]
