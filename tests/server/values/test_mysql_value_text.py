"""Values as text: `paraply.rows` shows what MySQL itself shows."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from own_mysql import running_mysql
from server.replay import SqlPlace
from server.source_log import copy_binlogs
from server.value_columns import MYSQL, log_of, shown_by_rows, shown_by_server, statements_of, texts_of_charsets

from paraply import rows


@pytest.mark.parametrize("metadata", ["MINIMAL", "FULL"])
def test_every_type_is_shown_as_mysql_shows_it(metadata: str, tmp_path: Path) -> None:
    with running_mysql([f"--binlog-row-metadata={metadata}"]) as server:
        log = log_of(server.sql, server.data, tmp_path, statements_of(MYSQL))
        expected = shown_by_server(server.sql, MYSQL)
    assert shown_by_rows(log, MYSQL) == expected


def test_text_in_every_character_set_is_shown_as_mysql_shows_it(tmp_path: Path) -> None:
    with running_mysql() as server:
        shown = texts_of_charsets(server.sql, server.data, tmp_path)
    assert len(shown) > 20
    for name, texts in shown.items():
        assert [(code, own) for code, _, own in texts] == [(code, server_text) for code, server_text, _ in texts], name


def test_typed_values_of_a_column_that_is_renamed_later(mysql_place: SqlPlace, tmp_path: Path) -> None:
    mysql_place.sql(
        "CREATE DATABASE shop", "USE shop", "CREATE TABLE t (id BIGINT UNSIGNED PRIMARY KEY, de DECIMAL(20,6), b1 BIT(1))",
        "INSERT INTO t VALUES (18446744073709551615, -1.5, b'1'), (5, 2, b'0')",
        "ALTER TABLE t ADD extra VARCHAR(10) DEFAULT 'q', DROP b1, RENAME COLUMN de TO amount", "UPDATE t SET id=55 WHERE id=5",
    )  # fmt: skip
    changes = rows(copy_binlogs(mysql_place.url, tmp_path)[0], tables=["shop.t"], values="typed").read_all().to_pylist()
    found = [(change["operation"], change["before"], change["after"]) for change in changes]
    greatest = {"id": 18446744073709551615, "amount": Decimal("-1.5"), "extra": "q"}
    old, new = ({"id": number, "amount": Decimal(2), "extra": "q"} for number in (5, 55))
    assert found == [("insert", None, greatest), ("insert", None, old), ("update", old, new)]
