"""A log of a real MySQL server through ``paraply apply`` into PostgreSQL: every row of the source."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from server.replay import TABLES, PostgresPlace, applied, end, final_rows, start, wait_for_rows

pytestmark = [pytest.mark.postgres, pytest.mark.truth]
Log = Callable[[str], Path]

KEYS = {"customer": 1, "product": 2, "orders": 1, "order_line": 2, "counter": 2, "tag": 1}
FRACTION = re.compile(r"[-\d]{10} [:\d]{8}\.\d+")


def plain(value: Any, kind: str) -> Any:
    """A value of PostgreSQL as the source's tables write it."""
    match value:
        case bytes():
            return "0x" + value.hex()
        case datetime():
            return value.replace(tzinfo=None).isoformat(sep=" ", timespec="microseconds")
        case Decimal() | date():
            return str(value)
        case dict() | list():
            return json.dumps(value)
        case str() if kind == "bit":
            return "0x" + int(value, 2).to_bytes((len(value) + 7) // 8, "big").hex()
    return value


def by_key(table: str, rows: list[list[Any]]) -> dict[tuple[Any, ...], list[Any]]:
    keyed = {tuple(row[: KEYS[table]]): row for row in rows}
    assert len(keyed) == len(rows)
    return keyed


def same(replayed: Any, source: Any) -> bool:
    """Equal values; fractions of seconds may end in zeros, JSON may be spaced and ordered otherwise."""
    if isinstance(replayed, str) and isinstance(source, str) and replayed != source:
        if FRACTION.fullmatch(replayed) and FRACTION.fullmatch(source):
            return replayed.rstrip("0") == source.rstrip("0")
        if source.startswith("{"):
            return bool(json.loads(replayed) == json.loads(source))
    return bool(replayed == source)


@pytest.mark.parametrize(("workers", "merge"), [(8, "auto"), pytest.param(1, "off", marks=pytest.mark.slow)])
def test_every_row_is_the_sources(postgres_place: PostgresPlace, truth: Log, workers: int, merge: str) -> None:
    report = applied(truth("mysql-binlog/eight-sessions.binlog"), postgres_place.url, "--workers", str(workers), "--merge", merge)
    assert report["transactions"] == 13899
    with final_rows(truth("mysql-binlog/eight-sessions.final.tar")) as source:
        for table in TABLES:
            types = postgres_place.types(table)
            replayed = by_key(table, [list(map(plain, row, types)) for row in postgres_place.rows(table)])
            original = by_key(table, source[table])
            assert replayed.keys() == original.keys(), table
            for key, row in original.items():
                differing = [(a, b) for a, b in zip(replayed[key], row, strict=True) if not same(a, b)]
                assert not differing, f"{table} {key}"


@pytest.mark.parametrize("workers", [0, 8])
def test_r25_ctrl_c_stops_at_a_boundary_and_the_same_command_goes_on(postgres_place: PostgresPlace, demo_log: Path, workers: int) -> None:
    applied(demo_log, postgres_place.url, "--workers", "8")
    expected = postgres_place.state()
    postgres_place.empty()
    process = start(demo_log, postgres_place.url, "--workers", str(workers), "--merge", "4")
    wait_for_rows(postgres_place, process, "orders", 100)
    process.send_signal(signal.SIGINT)
    stopped = end(process)
    assert (stopped.code, stopped.report["status"], stopped.report["error"]["class"]) == (4, "stopped", "Stopped"), stopped
    report = applied(demo_log, postgres_place.url, "--workers", str(workers), "--merge", "4")
    assert report["skipped"] == stopped.report["transactions"] > 0
    assert report["skipped"] + report["transactions"] == 6856
    assert postgres_place.state() == expected
