"""Statements about accounts in the source's log, and a target's user who may not run them: the error says which, and both ways on."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from command_line import paraply
from own_mysql import running_mysql

pytestmark = pytest.mark.mysql


def grant_of(message: str) -> str:
    """Return the statement that a message says to run."""
    found = re.search(r"run there (GRANT .*?), or leave it out", message)
    assert found is not None, message
    return found[1]


def test_the_error_names_statement_privilege_and_both_ways_on(tmp_path: Path) -> None:
    with running_mysql(["--server-id=71"]) as source, running_mysql(["--server-id=72"]) as target:
        source.sql("CREATE DATABASE shop", "CREATE USER one@'%' IDENTIFIED BY 'secret of one'", "GRANT SELECT ON shop.* TO one@'%'",
                   "CREATE ROLE reader", "GRANT reader TO one@'%'", "DROP USER one@'%'",
                   "CREATE TABLE shop.t (id INT PRIMARY KEY)")  # fmt: skip
        target.sql("SET sql_log_bin=0", "CREATE USER poor@'%' IDENTIFIED BY 'poor'",
                   "GRANT REPLICATION_APPLIER, SYSTEM_VARIABLES_ADMIN, XA_RECOVER_ADMIN ON *.* TO poor@'%'",
                   "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE ON paraply.* TO poor@'%'",
                   "GRANT SELECT, CREATE ON shop.* TO poor@'%'")  # fmt: skip
        last = str(source.sql("SELECT @@GLOBAL.gtid_executed")[0][0])
        uuid, _, executed = last.partition(":")
        user = int(executed.partition("-")[2]) - 5
        url = target.url.replace("app:app", "poor:poor")

        def run(*options: str) -> tuple[int, dict[str, Any]]:
            """Return the exit code and the error."""
            done = paraply("replicate", "--from", source.url, "--to", url, "--relay-log", tmp_path / "relay",
                           "--until", f"{uuid}:{user + 5}", "--json", *options)  # fmt: skip
            assert "secret of one" not in done.stderr
            return done.returncode, json.loads(done.stdout)["error"] or {}

        code, error = run()
        message = error["message"]
        assert (code, error["class"], error["gtid"]) == (1, "PrivilegeMissing", f"{uuid}:{user}")
        assert "CREATE USER 'one'@'%' IDENTIFIED WITH 'caching_sha2_password' AS '***'" in message
        assert f"--skip {uuid}:{user}" in message
        assert "you need (at least one of) the CREATE USER privilege(s)" in message
        assert grant_of(message) == "GRANT CREATE USER ON *.* TO 'poor'@'%'"
        target.sql("SET sql_log_bin=0", grant_of(message))

        _, granted = run()
        assert (granted["class"], granted["gtid"]) == ("PrivilegeMissing", f"{uuid}:{user + 1}")
        assert "GRANT SELECT ON `shop`.* TO 'one'@'%'" in granted["message"]
        assert "--ddl-done" not in granted["message"]
        target.sql("SET sql_log_bin=0", grant_of(granted["message"]))

        _, role = run()
        assert role["gtid"] == f"{uuid}:{user + 3}"
        assert ": GRANT reader TO one@'%' (" in role["message"]
        assert grant_of(role["message"]) == "GRANT ROLE_ADMIN ON *.* TO 'poor'@'%'"

        target.sql("SET sql_log_bin=0", "DROP USER one@'%'")
        _, absent = run("--skip", f"{uuid}:{user + 3}")
        assert absent["gtid"] == f"{uuid}:{user + 4}"
        assert "--ddl-done" in absent["message"]
        assert f"--skip {uuid}:{user + 4}; the source's statement is: DROP USER one@'%'" in absent["message"]
        assert run("--skip", f"{uuid}:{user + 3}-{user + 4}")[0] == 0
        assert target.sql("SELECT COUNT(*) FROM shop.t") == [(0,)]
