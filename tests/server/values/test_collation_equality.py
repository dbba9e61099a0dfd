"""Equal values must be those of real MySQL and MariaDB servers (rule R12), and no collation may miss one (rule R13).

A sample is asked about every collation, and the classes of a sample of texts are compared for some; the slow tests ask much more.
``make collations`` compares everything and writes the table of the documentation.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import pymysql
import pytest
from collation_classes import Classes
from collation_proof import CODECS, Asker, Result, prove
from collation_sequences import together
from collation_texts import Corpus, corpus_for
from tests.servers import MariaDbServer, mysql_url, sql_connect

from paraply import _native

#: Pairs of texts that are asked about each collation, and texts whose classes are compared: all where None.
SAMPLES = [
    pytest.param(4, 8_000, id="few"),
    pytest.param(500, None, id="many", marks=[pytest.mark.slow(share=False), pytest.mark.timeout(7200)]),
]
CLASSES = [
    "utf8mb4_0900_ai_ci", "utf8mb4_ja_0900_as_cs", "utf8mb4_lt_0900_as_cs", "utf8mb4_unicode_520_ci", "utf8mb4_uca1400_ai_ci",
    "utf8mb4_croatian_ci", "utf16_unicode_ci", "euckr_korean_ci", "gbk_chinese_ci", "tis620_thai_ci", "latin1_german2_ci",
]  # fmt: skip
# Letters that some rule weighs together, which earlier tables lacked.
LETTERS = [*"lLcChHsSzZ", "\u00b7", "\u0387", "\u0300", "\u0301", "\u0303", "\u0307", "\u304b", "\u30ab", "\u30fc", "\u30fd", "\u31f0"]


@pytest.fixture
def mysql() -> Asker:
    parts = urlsplit(mysql_url())
    connection: pymysql.Connection[Any] = sql_connect(
        host=parts.hostname, port=parts.port or 3306, user=parts.username or "", password=parts.password or "", charset="utf8mb4",
        autocommit=True,
    )  # fmt: skip
    return Asker(connection, mariadb=False)


def wrong(results: list[Result]) -> list[str]:
    """Return the results with errors that no collation, or no exact one, may have."""
    return [
        f"{r.collation} ({r.known}): missed {r.missed[:2]}, coarsened {r.coarsened[:2]}, odd {r.odd[:2]}"
        for r in results
        if r.missed or r.odd or (r.known == "exact" and r.coarsened)
    ]


def check(asker: Asker, pairs: int, texts: int | None) -> None:
    results = []
    corpora: dict[str, Corpus] = {}
    classes = Classes(asker, "paraply_collations_test")
    for collation, character_set in asker.collations():
        result = prove(asker, collation, character_set, pairs, "test")
        if collation in CLASSES:
            kind = "unicode" if character_set in CODECS else character_set
            corpus = corpora.get(kind) or corpora.setdefault(kind, corpus_for(character_set, sample=texts))
            classes.compare(result, corpus, 300)
            if character_set == "utf8mb4":
                together(classes, result, LETTERS, LETTERS, behind=True)
        results.append(result)
    classes.close()
    assert wrong(results) == []
    assert [r.collation for r in results if r.known == "whole-key"] == []
    assert sum(r.equal for r in results) > len(results)


@pytest.mark.parametrize(("pairs", "texts"), SAMPLES)
def test_r12_every_collation_of_mysql_agrees_with_the_server(mysql: Asker, pairs: int, texts: int | None) -> None:
    check(mysql, pairs, texts)


@pytest.mark.parametrize(("pairs", "texts"), SAMPLES)
def test_r12_every_collation_of_mariadb_agrees_with_the_server(mariadb_server: MariaDbServer, pairs: int, texts: int | None) -> None:
    check(Asker(mariadb_server.connect(), mariadb=True), pairs, texts)


def test_r13_a_name_with_two_meanings_is_coarser_than_either() -> None:
    both = {"euckr_korean_ci": "euckr", "utf8mb4_croatian_ci": "utf8mb4", "utf16_croatian_ci": "utf16"}
    for name, character_set in both.items():
        assert _native.collation_class(name) == "safe"
        values = corpus_for(character_set, sample=20_000).values(character_set)
        either = _native.equality_hashes(name, values).to_pylist()
        for mariadb in (False, True):
            first: dict[int, int] = {}
            own = _native.equality_hashes(name, values, mariadb).to_pylist()
            assert all(first.setdefault(one, other) == other for one, other in zip(own, either, strict=True) if one is not None)
