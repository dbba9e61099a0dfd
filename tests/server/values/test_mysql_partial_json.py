"""Partial JSON updates with MINIMAL images into PostgreSQL: the log holds neither the document before nor the one after."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pymysql
import pytest
from reader_view import postgres_differences
from server.history_source import with_other_uuid
from server.replay import SqlPlace, applied, run
from server.source_log import copy_binlogs
from tests.pg_databases import Database

SESSION = ("CREATE DATABASE shop", "USE shop", "SET binlog_row_value_options=PARTIAL_JSON, binlog_row_image=MINIMAL")
TABLE = "CREATE TABLE t (id INT PRIMARY KEY, a INT, j JSON, k JSON)"
LONG = """{"n": 1, "name": "%s", "list": [1, [2, 3], {"x": null}], "it''s \\\\"q\\\\"": {"0": [5]}, "ж": 1.50}""" % ("y" * 200)
CHANGES = (
    f"INSERT INTO t (id, a, j, k) VALUES (1, 1, '{LONG}', '[]'), (2, 2, '{LONG}', '{{}}'), (3, 3, '{LONG}', NULL)",
    "UPDATE t SET j=JSON_SET(j, '$.n', 7), a=5 WHERE id=1",
    "UPDATE t SET j=JSON_REPLACE(j, '$.name', 'short') WHERE id=2",
    "UPDATE t SET j=JSON_SET(j, '$.list[0]', 'a''b', '$.list[1][1]', CAST(2.5 AS DECIMAL(4,2)))",
    "UPDATE t SET j=JSON_SET(j, '$.list[last]', JSON_OBJECT('y', TRUE)) WHERE id<3",
    "UPDATE t SET j=JSON_SET(j, '$.added', JSON_ARRAY(1, 2), '$.other', NULL) WHERE id>1",
    "UPDATE t SET j=JSON_ARRAY_INSERT(j, '$.list[1]', 'in') WHERE id=1",
    "UPDATE t SET j=JSON_ARRAY_APPEND(j, '$.list', 'end') WHERE id=2",
    "UPDATE t SET j=JSON_REMOVE(j, '$.list[0]', '$.name') WHERE id=3",
    """UPDATE t SET j=JSON_SET(j, '$."it''s \\\\"q\\\\""."0"[0]', 6, '$."ж"', 2)""",
    "UPDATE t SET k=JSON_SET(k, '$.z', 1) WHERE id=2",
    "INSERT INTO t (id, a, j, k) VALUES (2, 9, '{}', '[]') ON DUPLICATE KEY UPDATE j=JSON_SET(j, '$.n', 4)",
    "UPDATE t SET j=JSON_SET(j, '$.n', 4), a=8 WHERE id=2",
    "UPDATE t SET j='null', k='[1]' WHERE id=1",
)  # fmt: skip


def in_one_session(place: SqlPlace, *statements: str) -> None:
    parts = urlsplit(place.url)
    with (
        pymysql.connect(
            host=parts.hostname, port=parts.port or 3306, user=parts.username, password=parts.password or "", autocommit=True
        ) as one,
        one.cursor() as cursor,
    ):
        for statement in statements:
            cursor.execute(statement)


def test_r32_partial_documents_are_changed_in_place_from_mysql(mysql_place: SqlPlace, tmp_path: Path, database: Database) -> None:
    in_one_session(mysql_place, *SESSION, TABLE, *CHANGES)
    (log,) = copy_binlogs(mysql_place.url, tmp_path)
    applied(log, database.url)
    parts = urlsplit(mysql_place.url)
    with (
        pymysql.connect(host=parts.hostname, port=parts.port or 3306, user=parts.username, password=parts.password or "") as connection,
        connection.cursor() as cursor,
    ):
        assert postgres_differences(cursor, database.url, ["shop"]) == []


@pytest.mark.parametrize(
    "change",
    ["JSON_REPLACE(j, '$.name', 'z')", "JSON_REMOVE(j, '$.name')", "JSON_SET(j, '$.list[9]', 1)", "JSON_SET(j, '$.added', 1)"],
)
def test_r32_a_difference_that_does_not_fit_the_targets_document_stops_from_mysql(
    mysql_place: SqlPlace, tmp_path: Path, database: Database, change: str
) -> None:
    in_one_session(mysql_place, *SESSION, TABLE, CHANGES[0])
    (first,) = copy_binlogs(mysql_place.url, tmp_path)
    applied(first, database.url)
    database.sql("UPDATE shop.t SET j='[]'")
    in_one_session(mysql_place, "USE shop", SESSION[-1], f"UPDATE t SET j={change} WHERE id=1")
    folder = tmp_path / "all"
    folder.mkdir()
    copy_binlogs(mysql_place.url, folder)
    outcome = run(folder, database.url)
    assert outcome.code == 1
    assert database.sql("SELECT DISTINCT j::text FROM shop.t") == [("[]",)]


def test_r31_changes_of_documents_that_do_not_fit(mysql_place: SqlPlace, tmp_path: Path, database: Database) -> None:
    session = ("CREATE DATABASE shop", "USE shop", "SET binlog_row_value_options=PARTIAL_JSON")
    in_one_session(
        mysql_place,
        *session,
        TABLE,
        CHANGES[0],
        "FLUSH BINARY LOGS",
        CHANGES[1],
        CHANGES[2],
        "UPDATE t SET j=JSON_SET(j, '$.n', 8) WHERE id=3",
    )
    logs = [with_other_uuid(log, log) for log in copy_binlogs(mysql_place.url, tmp_path)]
    mysql_place.empty()
    applied(logs[0], mysql_place.url)
    applied(logs[0], database.url)
    mysql_place.sql("SET sql_log_bin=0", "DELETE FROM shop.t WHERE id=1", "UPDATE shop.t SET j='[]' WHERE id=3")
    database.sql("DELETE FROM shop.t WHERE id=1")
    for url in (mysql_place.url, database.url):
        refused = run(logs[1], url, "--allow-gap", "--on-conflict", "overwrite")
        assert (refused.code, "set binlog_row_value_options='' and" in refused.report["error"]["message"]) == (1, True), refused
    stopped = run(logs[1], mysql_place.url, "--allow-gap", "--on-conflict", "log")
    assert (stopped.code, "copy the source's document into the target" in stopped.report["error"]["message"]) == (1, True), stopped
    mysql_place.sql("SET sql_log_bin=0", f"UPDATE shop.t SET j='{LONG}' WHERE id=3")
    applied(logs[1], mysql_place.url, "--allow-gap", "--on-conflict", "log")
    applied(logs[1], database.url, "--allow-gap", "--on-conflict", "log")
    select = "SELECT operation, cause, outcome, row_key, row_after LIKE '%short%', row_after LIKE '%\"n_\": 7%' FROM paraply.conflict"
    expected = [("update", "missing row", "left", '{"id": "1"}', False, True)]
    assert [tuple(row) for row in mysql_place.sql(select)] == expected
    assert database.sql(select) == expected
    for rows in (
        mysql_place.sql("SELECT id, j->>'$.name', j->>'$.n' FROM shop.t ORDER BY 1"),
        database.sql("SELECT id, j->>'name', j->>'n' FROM shop.t ORDER BY 1"),
    ):
        assert [tuple(map(str, row)) for row in rows] == [("2", "short", "1"), ("3", "y" * 200, "8")]
