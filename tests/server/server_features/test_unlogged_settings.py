"""Session variables that no log holds, or only where they differ, and what a DDL makes under a target's own values of them (R33)."""

from __future__ import annotations

from pathlib import Path

import pytest
from server.version_servers import VersionServers, logged, make_version_servers, replayed, seen

__all__ = ["make_version_servers"]

VERSIONS = ["10.5", "10.11", "11.8"]
VECTORS = (
    "CREATE DATABASE d", "CREATE TABLE d.v (id INT PRIMARY KEY, v VECTOR(2) NOT NULL, VECTOR INDEX (v))",
    "CREATE TABLE d.w (id INT PRIMARY KEY, v VECTOR(2) NOT NULL)", "ALTER TABLE d.w ADD VECTOR INDEX (v)",
    "CREATE TABLE d.x (id INT PRIMARY KEY, v VECTOR(2) NOT NULL, VECTOR INDEX (v) M=8 DISTANCE=cosine)",
    "INSERT INTO d.v VALUES (1, VEC_FROMTEXT('[1,2]'))", "INSERT INTO d.w VALUES (1, VEC_FROMTEXT('[1,2]'))",
)  # fmt: skip
#: Global values of a target that change what a DDL of MariaDB makes. A server that starts with old_passwords cannot be logged into.
OTHER = (
    "innodb_compression_default=1", "innodb_default_encryption_key_id=5", "innodb_ft_enable_stopword=0",
    "innodb_ft_user_stopword_table='paraply_words/stop'", "old_passwords=1", "alter_algorithm='INSTANT'",
)  # fmt: skip
DDL = (
    "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, a TEXT, FULLTEXT (a)) ENGINE=InnoDB",
    "INSERT INTO d.t VALUES (1, 'this is about apples')", "CREATE TABLE d.u (id INT, a TEXT)", "ALTER TABLE d.u ADD FULLTEXT (a)",
    "ALTER TABLE d.u MODIFY id BIGINT NOT NULL PRIMARY KEY", "INSERT INTO d.u VALUES (1, 'this is about apples')",
    "CREATE USER with_password@'%' IDENTIFIED BY 'x'",
)  # fmt: skip
SEARCHES = tuple(
    f"SELECT id FROM d.{table} WHERE MATCH (a) AGAINST ('{word}' IN BOOLEAN MODE)" for table in "tu" for word in ("about", "apples")
)


def test_r33_a_vector_index_gets_the_servers_default_distance_and_m(make_version_servers: VersionServers, tmp_path: Path) -> None:
    source = make_version_servers.source("11.8")
    target = make_version_servers.target("11.8", "--mhnsw-default-distance=cosine", "--mhnsw-default-m=20")
    replayed(logged(source, tmp_path, *VECTORS), target)
    reads = tuple(f"SHOW CREATE TABLE d.{table}" for table in "vwx")
    assert seen(target, *reads) == seen(source, *reads)
    assert "distance" not in str(seen(target, reads[0]))
    assert "cosine" in str(seen(target, reads[2]))


@pytest.mark.parametrize("version", VERSIONS)
def test_r33_storage_stop_words_and_passwords_are_not_those_of_the_targets_globals(
    make_version_servers: VersionServers, tmp_path: Path, version: str
) -> None:
    source, target = make_version_servers.source(version), make_version_servers.target(version)
    log = logged(source, tmp_path, *DDL)
    target.sql("SET sql_log_bin=0", "CREATE DATABASE paraply_words", "CREATE TABLE paraply_words.stop (value VARCHAR(30)) ENGINE=InnoDB",
               "INSERT INTO paraply_words.stop VALUES ('apples')")  # fmt: skip
    before = {name: target.sql(f"SELECT @@GLOBAL.{name}")[0][0] for name in (setting.split("=")[0] for setting in OTHER)}
    try:
        target.sql(*(f"SET GLOBAL {setting}" for setting in OTHER))
        replayed(log, target)
    finally:
        for name, value in before.items():
            target.sql(f"SET GLOBAL {name}={'NULL' if value is None else repr(value)}")
    reads = ("SHOW CREATE TABLE d.t", "SHOW CREATE TABLE d.u", "SHOW CREATE USER with_password@'%'", *SEARCHES)
    assert seen(target, *reads) == seen(source, *reads)
    assert [len(rows) for rows in seen(target, *SEARCHES)] == [0, 1, 0, 1]


@pytest.mark.parametrize("version", VERSIONS)
def test_r33_the_collation_of_the_database_is_that_of_the_session(
    make_version_servers: VersionServers, tmp_path: Path, version: str
) -> None:
    source, target = make_version_servers.source(version), make_version_servers.target(version)
    log = logged(
        source, tmp_path, "CREATE DATABASE d CHARACTER SET utf8mb4", "CREATE FUNCTION d.f0() RETURNS TEXT DETERMINISTIC RETURN 'x'",
        "CREATE TABLE d.t0 (a TEXT) CHARSET utf8mb4", "ALTER TABLE d.t0 CONVERT TO CHARACTER SET DEFAULT",
        "USE d", "SET collation_database=latin2_bin", "CREATE TABLE t1 (a TEXT)", "CREATE TABLE t2 (a TEXT) CHARSET utf8mb4",
        "ALTER TABLE t2 CONVERT TO CHARACTER SET DEFAULT", "CREATE FUNCTION f1() RETURNS TEXT DETERMINISTIC RETURN 'x'", "USE d",
        "CREATE TABLE t3 (a TEXT) CHARSET latin1", "ALTER TABLE t3 CONVERT TO CHARACTER SET DEFAULT",
    )  # fmt: skip
    replayed(log, target)
    reads = (
        "SELECT table_name, collation_name FROM information_schema.columns WHERE table_schema='d' ORDER BY 1",
        "SELECT specific_name, collation_name FROM information_schema.parameters WHERE specific_schema='d' ORDER BY 1",
        "SELECT d.f1()",
    )
    assert seen(target, *reads) == seen(source, *reads)
