"""Remarks about logged statements that make or change a scheduled event."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from paraply.applier.execute.scheduled_event_note import logged_event


def statement(sql: str) -> Any:
    return SimpleNamespace(sql=sql.encode(), context={})


LOG: Any = SimpleNamespace(mariadb=True, version=(11, 8, 0))


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO DELETE FROM t",
        "CREATE DEFINER=`ro ot`@`%` EVENT `e` ON SCHEDULE EVERY 1 DAY DO DELETE FROM t",
        "create definer = 'a b'@localhost event if not exists e on schedule at now() do delete from t",
        "CREATE OR REPLACE DEFINER=CURRENT_USER EVENT e ON SCHEDULE EVERY 1 DAY DO DELETE FROM t",
        "/* nightly */ ALTER DEFINER=root@localhost EVENT e ENABLE",
        "ALTER\nEVENT e RENAME TO f",
    ],
)
def test_an_event_is_named_by_its_transaction(sql: str) -> None:
    text = logged_event([statement(sql)], LOG, "uuid:7")
    assert text is not None
    assert "(uuid:7)" in text
    assert "SET GLOBAL event_scheduler=OFF" in text


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE event (id INT)",
        "DROP EVENT e",
        "CREATE VIEW v AS SELECT 1 AS event FROM t",
        "CREATE DEFINER=`EVENT `@`%` PROCEDURE p() SELECT 1",
        "ALTER TABLE event ADD COLUMN event INT",
    ],
)
def test_other_statements_need_no_remark(sql: str) -> None:
    assert logged_event([statement(sql)], LOG, "uuid:7") is None
