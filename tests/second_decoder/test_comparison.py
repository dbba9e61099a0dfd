"""The second decoder: it agrees on every type, and it notices what differs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from mariadb_versions import mariadb_of_version
from required import missing
from second_decoder import comparison
from second_decoder.comparison import Comparison, Tools, compare
from second_decoder.generate import statements_for
from second_decoder.values import Labels, same
from server.value_columns import MARIADB, log_of

TOOLS = Tools("mysqlbinlog", "mariadb-binlog")
PLACE = ("d.t", 0)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("mariadb-binlog") is None:
        missing("NO MARIADB-BINLOG: install mariadb-client")
    with mariadb_of_version("10.11") as server:
        server.sql("SET GLOBAL binlog_row_metadata=FULL")
        return log_of(server.sql, server.data, tmp_path_factory.mktemp("log"), statements_for(MARIADB["10.11"], 60))


def test_values_of_every_type_are_those_that_mariadb_s_tool_prints(log: Path) -> None:
    found = Comparison()
    compare(log, TOOLS, found)
    assert found.different == []
    assert found.refused == {}
    assert found.values > 15_000
    assert len(found.same) > 20


def test_a_value_that_is_decoded_wrongly_is_noticed(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = comparison._changes

    def wrong(path: Path) -> object:
        for number, change in enumerate(read(path)):
            if number == 50:
                (name, _), *others = change["after"]
                change["after"] = [(name, "4711"), *others]
            yield change

    monkeypatch.setattr(comparison, "_changes", wrong)
    found = Comparison()
    compare(log, TOOLS, found)
    assert found.differences == 1
    assert "row 51: g.t.id is '4711'" in found.different[0]


@pytest.mark.parametrize(
    ("text", "printed", "kind"),
    [
        ("-1", b"-1 (255)", "TINYINT"),
        ("255", b"-1 (255)", "TINYINT"),
        (None, b"NULL", "INT"),
        ("-0.50", b"-0.50", "DECIMAL(5,2)"),
        ("0.1", b"0.1                 ", "FLOAT"),
        ("2024-02-00", b"'2024:02:00'", "DATE"),
        ("1970-01-01 00:00:01.50", b"1.50", "TIMESTAMP(2)"),
        ("0000-00-00 00:00:00", b"0", "TIMESTAMP(0)"),
        ("é", b"'\xe9'", "STRING(5)"),
        ("0D27", b"'\\r\\''", "VARSTRING(9)"),
        ("a\nb", b"'a\\x0ab'", "BLOB/TEXT"),
        ("00FF0000", b"'\\x00\xff'", "STRING(4)"),
        ("::1.2.3.4", b"'" + b"\\x00" * 12 + b"\\x01\\x02\\x03\\x04'", "STRING(16)"),
        ('{"a": [1, null]}', b"'{\"a\":[1,null]}'", "JSON"),
    ],
)
def test_forms_of_equal_values(text: str | None, printed: bytes, kind: str) -> None:
    assert same(text, printed, kind, Labels(), PLACE)


@pytest.mark.parametrize(
    ("text", "printed", "kind"),
    [
        ("1", b"-1 (255)", "TINYINT"),
        (None, b"0", "INT"),
        ("0", b"NULL", "INT"),
        ("0.51", b"0.50", "DECIMAL(5,2)"),
        ("0.2", b"0.1", "FLOAT"),
        ("2024-02-01", b"'2024:02:00'", "DATE"),
        ("1970-01-01 00:00:02", b"1", "TIMESTAMP(0)"),
        ("e", b"'\xe9'", "STRING(5)"),
        ("0D28", b"'\\r\\''", "VARSTRING(9)"),
        ('{"a": 1}', b"'{\"a\":2}'", "JSON"),
    ],
)
def test_values_that_differ(text: str | None, printed: bytes, kind: str) -> None:
    assert same(text, printed, kind, Labels(), PLACE) is False


def test_a_label_keeps_its_number() -> None:
    labels = Labels()
    assert same("a", b"1", "ENUM(1 byte)", labels, PLACE)
    assert same("b", b"2", "ENUM(1 byte)", labels, PLACE)
    assert same("a", b"2", "ENUM(1 byte)", labels, PLACE) is False
    assert same("c", b"1", "ENUM(1 byte)", labels, PLACE) is False
