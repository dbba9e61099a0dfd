"""Random histories: members end equal, decide alike, and lose no update, whatever comes and goes meanwhile.

``PARAPLY_GROUP_SEEDS`` sets how many histories are run.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.group.history import History, check

SEEDS = int(os.environ.get("PARAPLY_GROUP_SEEDS", "0"))


@given(seed=st.integers(0, 2**32))
def test_members_end_equal_decide_alike_and_lose_no_update(seed: int) -> None:
    history = History(seed)
    history.run(200)
    check(history)


@pytest.mark.timeout(3600)
def test_many_seeds() -> None:
    counts = {"transactions": 0, "conflicts": 0, "memberships": 0}
    for seed in range(SEEDS or 20):
        history = History(seed)
        history.run(200)
        for name, count in check(history).items():
            counts[name] += count
    print(f"{SEEDS or 20} histories: {counts}")
    assert counts["transactions"] > counts["conflicts"] > 0
