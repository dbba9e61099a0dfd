"""The native simulator against plain and slow schedules, on random dependencies."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.analyze import reference
from unit.analyze.reference import Given

from paraply._native import Costs, LogRecorder, Recording, Setup

BASE = 2
COMMIT = 3
COSTS = Costs(transaction_ns=BASE, row_ns=1, byte_ps=0, commit_ns=COMMIT, ddl_ns=0)

keys = st.frozensets(st.integers(0, 5), max_size=2)


@st.composite
def logs(draw: st.DrawFn) -> list[Given]:
    """Transactions with random keys; a stamp needs some of the older ones."""
    number = draw(st.integers(0, 14))
    found = []
    for index in range(number):
        exclusive = draw(keys)
        shared = draw(keys) - exclusive
        barrier = draw(st.integers(0, 15)) == 0
        need = draw(st.integers(0, index))
        found.append(Given(exclusive, shared, BASE + draw(st.integers(0, 7)), barrier, need))
    return found


def recorded(transactions: list[Given]) -> Recording:
    """Record transactions by way of a trace."""
    recorder = LogRecorder(COSTS)
    columns: dict[str, Any] = {
        "write_set": pa.array([sorted(one.exclusive) for one in transactions], pa.list_(pa.int64())),
        "reads": pa.array([sorted(one.shared) for one in transactions], pa.list_(pa.int64())),
        "barrier": pa.array([one.barrier for one in transactions], pa.bool_()),
        "kind": pa.array(["ddl" if one.barrier else "dml" for one in transactions], pa.string()),
        "rows": pa.array([one.ticks - BASE for one in transactions], pa.int32()),
        "bytes": pa.array([0] * len(transactions), pa.int64()),
        "last_committed": pa.array([one.need for one in transactions], pa.int64()),
        "sequence_number": pa.array(range(1, len(transactions) + 1), pa.int64()),
    }
    recorder.observe_trace(pa.record_batch(columns))
    return recorder.finish()


@given(logs(), st.integers(1, 5), st.booleans(), st.sampled_from(["mysql", "change_stream"]), st.sampled_from(["stamped", "fine"]))
def test_r21_mysqls_coordinator(transactions: list[Given], workers: int, ordered: bool, applier: str, numbers: str) -> None:
    fine = [reference.fine_need(transactions, index) for index in range(len(transactions))]
    needs = fine if numbers == "fine" else [one.need for one in transactions]
    leaves = ordered and applier == "change_stream"
    expected = reference.coordinator(transactions, needs, COMMIT, workers, ordered=ordered, leaves=leaves)
    setup = Setup(applier, workers, COSTS, numbers=numbers, ordered=ordered)
    assert recorded(transactions).simulate(setup).total_ns == expected


@given(logs(), st.integers(1, 5))
def test_r21_mariadbs_optimistic_mode(transactions: list[Given], workers: int) -> None:
    outcome = recorded(transactions).simulate(Setup("mariadb", workers, COSTS))
    assert (outcome.total_ns, outcome.retries) == reference.optimistic(transactions, COMMIT, workers)


@given(logs(), st.integers(1, 5), st.integers(1, 5), st.booleans())
def test_r21_paraplys_blocks(transactions: list[Given], workers: int, merge: int, ordered: bool) -> None:
    expected = reference.merged(transactions, BASE, COMMIT, workers, merge, ordered=ordered)
    setup = Setup("paraply", workers, COSTS, ordered=ordered, merge=merge)
    assert recorded(transactions).simulate(setup).total_ns == expected


@given(logs())
def test_the_longest_chain_is_the_time_without_a_limit_of_workers(transactions: list[Given]) -> None:
    ends: list[int] = []
    for index, one in enumerate(transactions):
        older = [ends[other] for other in reference.older_conflicts(transactions, index)]
        ends.append(max(older, default=0) + one.ticks + COMMIT)
    recording = recorded(transactions)
    assert recording.span(COSTS, "fine")[0] == max(ends, default=0)
    chain = recording.critical_path(COSTS, 100)
    assert (chain.total_ns, chain.steps) == recording.span(COSTS, "fine")


@given(logs(), st.integers(1, 5))
def test_the_lost_time_is_divided_completely(transactions: list[Given], workers: int) -> None:
    recording = recorded(transactions)
    outcome, losses = recording.explain(Setup("mysql", workers, COSTS), 8, 3)
    lost = (outcome.total_ns - recording.work(COSTS) // 8) / 1e9
    assert sum(loss.seconds for loss in losses if loss.key is None) == pytest.approx(lost)
    assert all(loss.seconds > 0 for loss in losses if loss.key is None)
