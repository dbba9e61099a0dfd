"""Values as text: `paraply.rows` shows what MySQL itself shows."""

from __future__ import annotations

from pathlib import Path

import pytest
from own_mysql import running_mysql
from server.value_columns import MYSQL, log_of, shown_by_rows, shown_by_server, statements_of, texts_of_charsets


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
