"""``paraply rows --key`` on logs that lack the names of columns."""

from __future__ import annotations

from command_line import paraply
from servers import MariaDbServer


def test_unknown_names_of_columns_are_told(mariadb_server: MariaDbServer) -> None:
    mariadb_server.sql("DROP DATABASE IF EXISTS named", "CREATE DATABASE named", "CREATE TABLE named.t (id INT PRIMARY KEY, v INT)")
    mariadb_server.sql("FLUSH BINARY LOGS", "CREATE TABLE named.u (id INT PRIMARY KEY)", "INSERT INTO named.t VALUES (7, 1)")
    log = mariadb_server.data / str(mariadb_server.sql("SHOW MASTER STATUS")[0][0])
    mariadb_server.sql("FLUSH BINARY LOGS")
    asked = paraply("rows", log, "--key", "id=7")
    assert (asked.returncode, asked.stdout) == (0, "")
    assert "the names of the columns of named.t are not known from these logs: give --schema or --schema-from" in asked.stderr
    assert "insert named.t" in paraply("rows", log, "--key", "@1=7").stdout
    assert "insert named.t" in paraply("rows", log, "--key", "id=7", "--schema-from", mariadb_server.url).stdout
    assert "not known" not in paraply("rows", log, "--key", "@1=9").stderr
    refused = paraply("rows", log, "--format", "sql")
    assert refused.returncode == 1
    assert "the log does not name the columns of named.t" in refused.stderr
    assert "give --schema or --schema-from" in refused.stderr
    assert "INSERT INTO `named`.`t` (`id`, `v`)" in paraply("rows", log, "--format", "sql", "--schema-from", mariadb_server.url).stdout
