"""One random schema under load on a real group: the numbers that its members stamped are the ones that ``verify`` computes.

``PARAPLY_TEST_GROUP`` names the members by URL, ``PARAPLY_TEST_GROUP_LOGS`` the folders of their relay logs, both with commas between;
``PARAPLY_TEST_GROUP_SEED`` another seed. More: ``python -m tests.server.group_load --help``.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.server.group_load.__main__ import members_of
from tests.server.group_load.seeds import run_seed


def test_r11_a_random_schema_on_a_group(tmp_path: Path) -> None:
    group, logs = os.environ.get("PARAPLY_TEST_GROUP"), os.environ.get("PARAPLY_TEST_GROUP_LOGS")
    if not group or not logs:
        pytest.skip("NO GROUP: set PARAPLY_TEST_GROUP=mysql://...,mysql://... and PARAPLY_TEST_GROUP_LOGS=folder,... to run this test")
    seed = int(os.environ.get("PARAPLY_TEST_GROUP_SEED", "1"))
    result = run_seed(members_of(group, logs), seed, tmp_path, transactions=4000, sessions=6)
    assert result.transactions > 500
    assert result.explained, result.remarks
