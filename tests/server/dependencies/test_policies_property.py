"""Random histories through every allowed policy, consistency level, number of workers and merge size: equal to serial apply.

One history takes a part of the matrix that has every policy at every level. So many histories as ``PARAPLY_SEEDS`` says take all of it;
they are slow. ``PARAPLY_SEED`` repeats the histories of an earlier run. MySQL takes part where
``PARAPLY_TEST_MYSQL`` names a server and ``PARAPLY_TEST_MYSQL_DATA`` the folder with its binlogs; only its logs have the numbers that
``logical-clock`` needs.
"""

from __future__ import annotations

import itertools
import os
import random
import time
from pathlib import Path
from typing import Literal

import pytest
from server.history_source import HistoryPlace, PostgresHistoryPlace, Source, with_other_uuid

from paraply.applier import Applier
from paraply.applier.execute.split import parts
from paraply.applier.schedule.policy import allowed_combinations
from paraply.targets import open_target

WHOLE = [pytest.param(number, marks=pytest.mark.slow) for number in range(1, 1 + int(os.environ.get("PARAPLY_SEEDS", "5")))]
HISTORIES = [0, *WHOLE]
SEED = int(os.environ.get("PARAPLY_SEED", time.time_ns() % 1_000_000))
TRANSACTIONS, TRANSACTIONS_OF_WHOLE = 150, 60
WORKERS = (0, 1, 2, 8)
MERGES: tuple[Literal["auto", "off"] | int, ...] = ("off", "auto")
LAST_WRITER = "unordered"
"""The one policy that may end differently; its own tests are elsewhere."""
Run = tuple[str, str, int, Literal["auto", "off"] | int]


def matrix(*, stamped: bool, whole: bool, seed: int) -> list[Run]:
    """The runs for one history: all, or a part with every policy at every level in parallel."""
    left_out = {LAST_WRITER} if stamped else {LAST_WRITER, "logical-clock"}
    combinations = [combination for combination in allowed_combinations() if combination[0] not in left_out]
    runs: list[Run] = [
        (policy, level, workers, merge)
        for policy, level, merges in combinations
        for workers, merge in itertools.product(WORKERS, MERGES if merges else ("off",))
    ]
    if whole:
        return runs
    draw = random.Random(seed)
    parallel: list[Run] = [(policy, level, 8, draw.choice(MERGES) if merges else "off") for policy, level, merges in combinations]
    return parallel + draw.sample(runs, 3)


@pytest.fixture(autouse=True)
def every_transaction_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Policy ``row`` splits whatever can be split, and not only what is large."""
    monkeypatch.setattr(parts, "SPLIT_BYTES", 1)


def apply(log: Path, url: str, policy: str, consistency: str, workers: int, merge: Literal["auto", "off"] | int) -> int:
    with open_target(url) as target:
        return Applier([log], target, policy=policy, consistency=consistency, workers=workers, merge=merge).run().transactions


def check(seed: int, log: Path, runs: list[Run], place: HistoryPlace | PostgresHistoryPlace, expected: object = None) -> None:
    """Applies the log once serially and then in every way."""
    place.empty()
    count = apply(log, place.url, "dependency", "any-time", 0, "off")
    serial = place.state()
    assert expected is None or serial == expected, f"PARAPLY_SEED={seed}: serial apply differs from the source"
    for run in runs:
        place.empty()
        print(*run)
        assert apply(log, place.url, *run) == count, f"PARAPLY_SEED={seed} {run}"
        assert place.state() == serial, f"PARAPLY_SEED={seed} {run}"


@pytest.mark.by_turns
@pytest.mark.mariadb
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("number", HISTORIES)
def test_r20_r21_any_history_is_equal_to_serial_apply(history_source: Source, tmp_path: Path, number: int) -> None:
    seed, place = SEED + number, history_source.place
    print(f"PARAPLY_SEED={seed}")
    log = history_source.log(seed, TRANSACTIONS_OF_WHOLE if number else TRANSACTIONS, tmp_path, cascades=True)
    if not place.mariadb:  # policy row has the target give GTIDs of its own
        with_other_uuid(log, log)
    made = place.state()
    check(seed, log, matrix(stamped=not place.mariadb, whole=number > 0, seed=seed), place, made)
    if not place.mariadb:
        check_via_replication(seed, log, place, made)


def check_via_replication(seed: int, log: Path, place: HistoryPlace, expected: object) -> None:
    """The same through the target's own replication, with every policy that goes with it."""
    for policy, workers in itertools.product(("dependency", "logical-clock", "barrier"), (1, 2, 8)):
        place.empty()
        with open_target(place.url) as target:
            Applier([log], target, policy=policy, workers=workers, via="replication").run()
        assert place.state() == expected, f"PARAPLY_SEED={seed} {policy} {workers} via replication"


@pytest.mark.mariadb
@pytest.mark.postgres
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("number", HISTORIES)
def test_r20_r21_any_history_in_postgresql(history_source: Source, postgres_server: str, tmp_path: Path, number: int) -> None:
    seed = SEED + number
    print(f"PARAPLY_SEED={seed}")
    log = history_source.log(seed, TRANSACTIONS_OF_WHOLE if number else TRANSACTIONS, tmp_path)
    runs = matrix(stamped=not history_source.place.mariadb, whole=number > 0, seed=seed)
    check(seed, log, runs if number else runs[::2], PostgresHistoryPlace(postgres_server))
