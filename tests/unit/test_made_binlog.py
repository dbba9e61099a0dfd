"""The logs of ``benches/growth.py``: paraply reads what they were made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conventions.repository import script

import paraply

if TYPE_CHECKING:
    from pathlib import Path


def test_a_made_log_has_its_statements_rows_and_files(tmp_path: Path) -> None:
    with script("benches/made_binlog.py").MadeBinlog(tmp_path, "d") as log:
        log.statement("CREATE TABLE t (id INT PRIMARY KEY, v INT NOT NULL)")
        log.rows([("t", None, {"id": 1, "v": 1})])
        log.rotate()
        log.statement("ALTER TABLE t ADD COLUMN more INT NULL")
        log.portions([[("t", None, {"id": n, "v": n, "more": 1})] for n in (2, 3, 4)])
        log.rows([("t", {"id": 1, "v": 1, "more": None}, {"id": 1, "v": 2, "more": 5})])
    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == ["binlog.000001", "binlog.000002"]
    transactions = list(paraply.open_log(files))
    assert [transaction.rows for transaction in transactions] == [0, 0, 1, 0, 3, 1]
    assert len({transaction.gtid for transaction in transactions}) == 6
    assert [transaction.tables for transaction in transactions if transaction.rows] == [["d.t"]] * 3
