"""The error of a statement about accounts that the target refuses."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from paraply.errors import ApplyFailed, ParaplyError, PrivilegeMissing, ServerError, TargetUnable
from paraply.targets.mysql.ddl.account_refusal import explain_account_refusal
from paraply.targets.mysql.errors import explain
from paraply.targets.mysql.server_version import ServerKind

if TYPE_CHECKING:
    from paraply._native import Block

MARIADB = ServerKind.parse("10.11.6-MariaDB-log")
GTID = "0-1-7"


def refused(sql: str, code: int, message: str = "denied") -> ParaplyError:
    """Return the error of a statement of MariaDB that the target refuses with this error."""
    statement = SimpleNamespace(sql=sql.encode(), context={})
    log = SimpleNamespace(mariadb=True, version=(10, 11, 6))
    block = cast("Block", SimpleNamespace(format=log, transactions=[SimpleNamespace(statements=[statement])], first_gtid=GTID))
    error = ServerError(message, code)
    return explain_account_refusal(explain(error, gtid=GTID), error, block, MARIADB, lambda: "'app'@'%'")


@pytest.mark.parametrize(
    ("sql", "code", "grant"),
    [
        ("CREATE OR REPLACE USER a@b IDENTIFIED BY 'secret'", 1227, "CREATE USER ON *.* TO 'app'@'%'"),
        ("/* a */ SET STATEMENT max_statement_time=1 FOR ALTER USER a@b IDENTIFIED BY 'secret'", 1227, "CREATE USER ON *.* TO 'app'@'%'"),
        ("SET PASSWORD FOR a@b='secret'", 1227, "CREATE USER ON *.* TO 'app'@'%'"),
        ("RENAME USER a@b TO c@d", 1227, "CREATE USER ON *.* TO 'app'@'%'"),
        ("GRANT ALL ON *.* TO a@b IDENTIFIED BY 'secret'", 1045, "ALL ON *.* TO 'app'@'%' WITH GRANT OPTION"),
        ("GRANT SELECT (c), INSERT ON shop.t TO a@b", 1142, "SELECT (c), INSERT ON shop.t TO 'app'@'%' WITH GRANT OPTION"),
        ("REVOKE ALL PRIVILEGES, GRANT OPTION FROM a@b", 1227, "CREATE USER ON *.* TO 'app'@'%'"),
        ("REVOKE reader FROM a@b", 1962, "reader TO 'app'@'%' WITH ADMIN OPTION"),
    ],
)
def test_the_missing_privilege_is_named_with_the_statement_and_no_password(sql: str, code: int, grant: str) -> None:
    error = refused(sql, code)
    assert type(error) is PrivilegeMissing
    assert error.message.endswith(f"run there GRANT {grant}, or leave it out with --skip {GTID}")
    assert "secret" not in error.message
    assert sql.replace("/* a */ SET STATEMENT max_statement_time=1 FOR ", "")[:20] in error.message


def test_a_privilege_that_only_system_users_have_is_named() -> None:
    error = refused("DROP USER root@localhost", 1227, "Access denied; you need (at least one of) the SYSTEM_USER privilege(s)")
    assert "run there GRANT SYSTEM_USER ON *.* TO 'app'@'%'" in error.message


def test_an_account_that_is_there_already_has_both_ways_on() -> None:
    error = refused("CREATE USER a@b IDENTIFIED BY 'secret'", 1396, "Operation CREATE USER failed for 'a'@'b'")
    assert type(error) is ApplyFailed
    assert "--ddl-done" in error.message
    assert f"--skip {GTID}; the source's statement is: CREATE USER a@b IDENTIFIED BY '***'" in error.message


@pytest.mark.parametrize(("sql", "code"), [("CREATE TABLE user (a INT)", 1142), ("CREATE USER a", 1290)])
def test_other_statements_and_a_read_only_target_stay_as_they_are(sql: str, code: int) -> None:
    error = refused(sql, code)
    assert type(error) is (PrivilegeMissing if code == 1142 else TargetUnable)
    assert "--skip" not in error.message
