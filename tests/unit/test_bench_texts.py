"""The log that `paraply bench` makes for measuring keys of text is a real one."""

from __future__ import annotations

from pathlib import Path

import pytest

from paraply import open_log
from paraply._native import Catalog, LogReader
from paraply.bench import texts


@pytest.mark.parametrize("collation", ["utf8mb4_0900_ai_ci", "latin1_swedish_ci"])
def test_r12_its_rows_are_hashed_under_the_collation(demo_log: Path, tmp_path: Path, collation: str) -> None:
    head = demo_log.read_bytes()[:4096]
    format_description = head[4 : 4 + int.from_bytes(head[13:17], "little")]
    words = ["anna", "ANNA", "bo"]
    log = tmp_path / "texts.binlog"
    log.write_bytes(texts.text_log(format_description, [word.encode() for word in words]))
    (transaction,) = open_log(log)
    assert (transaction.rows, transaction.tables) == (3, ["bench.names"])
    catalog = Catalog()
    catalog.put(texts.names_table(collation))
    batch = LogReader([str(log)]).next_batch()
    assert batch is not None
    assert batch.write_sets(catalog).key_count == 2
    assert batch.write_sets(catalog, bytewise=True).key_count == 3


def test_it_measures_every_collation_on_each_script(demo_log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "TRANSACTIONS", 2)
    monkeypatch.setattr(texts, "SWEEPS", 3)
    results = list(texts.measure_texts(demo_log))
    measured = {(result.collation, result.script) for result in results}
    collations = [collation for group in texts.COLLATIONS.values() for collation in group]
    assert len(measured) == len(results)
    assert {collation for collation, _ in measured} == set(collations)
    # What holds every character is measured on every script, the others at least on ASCII.
    assert {(c, script) for c in collations for script in texts.SCRIPTS if c.startswith(("utf8mb4_", "gb18030_"))} <= measured
    assert {(c, "ASCII") for c in collations} <= measured
    assert all(result.keys > 0 and result.ratio > 0 for result in results)
