"""Temporal columns in the format of before MariaDB 10.1.2, from servers that have them into servers that have them or not (R31)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from server.version_servers import Server, VersionServers, logged, make_version_servers, replayed, seen

__all__ = ["make_version_servers"]

DIGITS = (0, 1, 3, 6)
COLUMNS = "a TIME({0}), b DATETIME({0}), c TIMESTAMP({0}) NULL"
TABLES = {
    "keyed": f"CREATE TABLE o.keyed{{0}} (id INT PRIMARY KEY, {COLUMNS}, KEY (a), KEY (b, c))",
    "keyless": f"CREATE TABLE o.keyless{{0}} (id INT, {COLUMNS})",
    "by_time": f"CREATE TABLE o.by_time{{0}} (id INT, {COLUMNS}, UNIQUE (a, b))",
}
CHANGES = (
    (
        "INSERT INTO o.{1}{0} (id, a, b, c) VALUES"
        " (1, '-838:59:58.999999', '9999-12-31 23:59:59.999999', '2038-01-19 03:14:06.999999'),"
        " (2, '00:00:00', '0000-00-00', '0000-00-00'),"
        " (3, '12:34:56.789123', '2024-02-29 12:34:56.789123', '1970-01-01 00:00:01.1'),"
        " (4, '-00:00:00.5', '2024-00-00', NULL), (5, '838:59:59', '0000-00-01 00:00:00.1', '2001-02-03 04:05:06.000001'),"
        " (6, NULL, NULL, NULL)"
    ),
    "UPDATE o.{1}{0} SET id=id+100 WHERE id IN (1, 3, 4)",
    "UPDATE o.{1}{0} SET a='-00:00:01.25', b='1999-12-31 23:59:59.75', c='2001-02-03 04:05:07.5' WHERE id=5",
    "DELETE FROM o.{1}{0} WHERE id IN (2, 6)",
)
SESSION = ("SET sql_mode=''", "SET time_zone='+00:00'")
READS = [
    f"SELECT id, CAST(a AS CHAR), CAST(b AS CHAR), CAST(c AS CHAR) FROM o.{name}{digits} ORDER BY id"
    for name in TABLES
    for digits in DIGITS
]


def make(server: Server, form: str) -> list[str]:
    """Return the statements that make the tables; the setting is in no log."""
    server.sql(f"SET GLOBAL mysql56_temporal_format={form}")
    return ["CREATE DATABASE o", *(table.format(digits) for table in TABLES.values() for digits in DIGITS)]


@pytest.fixture
def servers(make_version_servers: VersionServers) -> Iterator[VersionServers]:
    """The servers, whose new tables have new columns again afterwards."""
    yield make_version_servers
    for server in make_version_servers._running.values():
        server.sql("SET GLOBAL mysql56_temporal_format=ON")


@pytest.mark.by_turns(8)
@pytest.mark.parametrize("apart", [False, True], ids=["whole", "rows alone"])
@pytest.mark.parametrize(("source_form", "target_form"), [("OFF", "ON"), ("OFF", "OFF"), ("ON", "OFF")])
@pytest.mark.parametrize(("old", "new"), [("10.5", "11.8"), ("10.11", "10.11"), ("10.11", "11.8"), ("11.8", "11.8")])
def test_r31_old_temporal_columns_keep_their_values(
    servers: VersionServers, tmp_path: Path, old: str, new: str, source_form: str, target_form: str, apart: bool
) -> None:
    source, target = servers.source(old), servers.target(new)
    # Not the client's default collation, which an older target does not have.
    tables = ["SET NAMES utf8mb4 COLLATE utf8mb4_general_ci", *make(source, source_form)]
    rows = [*SESSION, *(change.format(digits, name) for name in TABLES for digits in DIGITS for change in CHANGES)]
    if apart:
        source.sql(*tables)
        target.sql(*make(target, target_form))
        replayed(logged(source, tmp_path, *rows), target, "--allow-gap")
    else:
        target.sql(f"SET GLOBAL mysql56_temporal_format={target_form}")
        replayed(logged(source, tmp_path, *tables, *rows), target)
    found = seen(target, *READS)
    assert found == seen(source, *READS)
    assert len(found[0]) == 4
