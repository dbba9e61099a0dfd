"""Equal values must be those of real MySQL and MariaDB servers (rule R12), and no collation may miss one (rule R13).

The default run asks a sample about every collation; ``PARAPLY_SLOW=1`` asks much more, and compares all code points.
``make collations`` does the same and writes the table of the documentation.
"""

from __future__ import annotations

import os
import random
from typing import Any
from urllib.parse import urlsplit

import pymysql
import pytest
from collation_proof import Asker, Result, prove, prove_characters

from tests.servers import MariaDbServer, mysql_url

SLOW = bool(os.environ.get("PARAPLY_SLOW"))
PAIRS = 1000 if SLOW else 12
CHARACTERS = ["utf8mb4_0900_ai_ci", "utf8mb4_ja_0900_as_cs", "utf8mb4_unicode_520_ci", "utf8mb4_uca1400_ai_ci", "utf8mb4_croatian_ci"]


@pytest.fixture
def mysql() -> Asker:
    parts = urlsplit(mysql_url())
    connection: pymysql.Connection[Any] = pymysql.connect(
        host=parts.hostname, port=parts.port or 3306, user=parts.username or "", password=parts.password or "", charset="utf8mb4"
    )
    return Asker(connection, mariadb=False)


def wrong(results: list[Result]) -> list[str]:
    """What no collation may have, and what an exact one may not."""
    return [
        f"{r.collation} ({r.known}): missed {r.missed[:2]}, coarsened {r.coarsened[:2]}"
        for r in results
        if r.missed or (r.known == "exact" and r.coarsened)
    ]


def check(asker: Asker) -> None:
    results = []
    points = None if SLOW else random.Random(1).sample(range(0x30000), 1500)
    for collation, character_set in asker.collations():
        result = prove(asker, collation, character_set, PAIRS, "test")
        if character_set == "utf8mb4" and (SLOW or collation in CHARACTERS):
            prove_characters(asker, result, points)
        results.append(result)
    assert wrong(results) == []
    assert [r.collation for r in results if r.known == "whole-key"] == []
    assert sum(r.equal for r in results) > len(results)


@pytest.mark.timeout(7200 if SLOW else 300)
def test_r12_every_collation_of_mysql_agrees_with_the_server(mysql: Asker) -> None:
    check(mysql)


@pytest.mark.timeout(7200 if SLOW else 300)
def test_r12_every_collation_of_mariadb_agrees_with_the_server(mariadb_server: MariaDbServer) -> None:
    check(Asker(mariadb_server.connect(), mariadb=True))
