"""The files that a command needs."""

from __future__ import annotations

import pytest

from paraply.logs.archived.choice import Wanted, needed_files
from paraply.logs.archived.manifest import ArchivedFile

UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
HOUR = 3_600_000_000
FILES = [
    ArchivedFile(
        f"binlog.{number:06}",
        UUID,
        1,
        gtids=f"{UUID}:{number}1-{number}9",
        transactions=9,
        first_commit=number * HOUR,
        last_commit=number * HOUR + HOUR - 1,
        closed=number < 4,
    )
    for number in (1, 2, 3, 4)
]


def numbers(wanted: Wanted, files: list[ArchivedFile] = FILES) -> list[int]:
    return [int(file.name[-6:]) for file in needed_files(files, wanted)]


@pytest.mark.parametrize(
    ("start_after", "stop_at", "stop_before", "expected"),
    [
        (None, None, None, [1, 2, 3, 4]),
        (f"{UUID}:1-19", None, None, [2, 3, 4]),
        (f"{UUID}:1-28", None, None, [2, 3, 4]),
        (f"{UUID}:1-18:20-29", None, None, [1, 2, 3, 4]),
        (f"{UUID}:1-99", None, None, [4]),
        (None, f"{UUID}:25", None, [1, 2]),
        (f"{UUID}:1-19", f"{UUID}:31", None, [2, 3]),
        (None, None, f"{UUID}:11", [1]),
        (None, "1970-01-01T02:30:00Z", None, [1, 2]),
        (None, "1970-01-01T02:00:00Z", None, [1, 2]),
        (None, "1970-01-01T09:00:00Z", None, [1, 2, 3, 4]),
        (None, f"{UUID}:99", None, [1, 2, 3, 4]),
        ("not a set", None, None, [1, 2, 3, 4]),
    ],
)
def test_files_between_start_and_stop(start_after: str | None, stop_at: str | None, stop_before: str | None, expected: list[int]) -> None:
    assert numbers(Wanted.between(start_after, stop_at, stop_before)) == expected


def test_files_of_a_time() -> None:
    assert numbers(Wanted(since=2 * HOUR, until=3 * HOUR)) == [2]
    assert numbers(Wanted(since=9 * HOUR)) == [4]
    assert numbers(Wanted(until=HOUR)) == [1]


def test_a_file_with_a_transaction_without_gtid_is_needed() -> None:
    from dataclasses import replace

    files = [replace(FILES[0], without_gtid=1), *FILES[1:]]
    assert numbers(Wanted.between(f"{UUID}:1-19"), files) == [1, 2, 3, 4]


def test_a_file_without_transactions_is_not_needed() -> None:
    empty = ArchivedFile("binlog.000000", UUID, 1, closed=True)
    assert numbers(Wanted.between(f"{UUID}:1-19"), [empty, *FILES]) == [2, 3, 4]
