"""The committed answers about equal values must still be those of a real MySQL server (rule R12).

The Rust tests compare the equality forms with ``rust/core/tests/data/collation_pairs.zst``; this compares that file with a server.
"""

from __future__ import annotations

import os
import random
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow as pa
import pymysql
import pytest

PAIRS = Path(__file__).resolve().parents[2] / "rust" / "core" / "tests" / "data" / "collation_pairs.zst"
SAMPLE = 5_000
BATCH = 250


def committed_pairs() -> list[tuple[str, str, str, bool]]:
    """Collation, both values in hexadecimal, and whether they are equal."""
    with pa.CompressedInputStream(pa.memory_map(str(PAIRS)), "zstd") as stream:
        lines = stream.read().decode().splitlines()
    fields = [line.split("\t") for line in lines]
    return [(collation, a, b, equal == "1") for collation, a, b, equal in fields]


@pytest.fixture
def connection() -> pymysql.Connection:
    url = os.environ.get("PARAPLY_TEST_MYSQL")
    if not url:
        pytest.skip("needs a MySQL: set PARAPLY_TEST_MYSQL=mysql://user:password@host:port")
    parts = urlsplit(url)
    return pymysql.connect(
        host=parts.hostname, port=parts.port or 3306, user=parts.username or "", password=parts.password or "", charset="utf8mb4"
    )


def test_r12_the_server_still_gives_the_committed_answers(connection: pymysql.Connection) -> None:
    pairs = [pair for pair in committed_pairs() if "nopad" not in pair[0]]  # those are MariaDB's
    sample = random.Random(1).sample(pairs, SAMPLE)
    different = []
    with connection.cursor() as cursor:
        for start in range(0, SAMPLE, BATCH):
            batch = sample[start : start + BATCH]
            asked = (f"_{c.split('_')[0]} x'{a}' = _{c.split('_')[0]} x'{b}' COLLATE {c}" for c, a, b, _ in batch)
            cursor.execute("SELECT " + ",".join(asked))
            (answers,) = cursor.fetchall()
            different += [pair for pair, answer in zip(batch, answers, strict=True) if bool(answer) != pair[3]]
    assert not different, different[:5]
