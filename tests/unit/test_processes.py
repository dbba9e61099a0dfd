"""Groups of tests that run in one process, because they share a server."""

from __future__ import annotations

import os

import pytest
from processes import group_of, mysql_only_for

FIXTURE = "tests/server/xa/test_xa.py::test_r35_without_gtids"


@pytest.mark.parametrize(
    ("test", "group"),
    [
        (f"{FIXTURE}[mysql]", "mysql"),
        (f"{FIXTURE}[mariadb]", "tests/server/xa/test_xa.py"),
        ("tests/server/apply/test_replay_mysql.py::test_r17_a_log_gives_the_sources_tables[single-session-8-off]", "mysql"),
        (
            "tests/server/apply/test_mysql_target.py::test_r31_a_missing_row_stops_the_apply[mariadb]",
            "tests/server/apply/test_mysql_target.py",
        ),
        ("tests/server/apply/test_errors_mysql.py::test_of_two[mariadb-mysql]", "mysql"),
        ("tests/unit/test_url.py::test_a_mysql_url", "tests/unit/test_url.py"),
        ("tests/spark/test_rows.py::test_a_row", "spark"),
        ("tests/spark/test_stream.py::test_a_stream", "spark"),
        ("python/paraply/targets/xid.py::paraply.targets.xid.xid_of_parts", "python/paraply/targets/xid.py"),
    ],
)
def test_what_shares_a_server_runs_in_one_process(test: str, group: str) -> None:
    assert group_of(test) == group


def test_only_the_group_of_mysql_sees_its_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    url = "mysql://app:app@127.0.0.1:3306"
    monkeypatch.setenv("PARAPLY_TEST_MYSQL", url)
    monkeypatch.delenv("PARAPLY_TEST_MYSQL_TARGET", raising=False)
    with mysql_only_for(f"{FIXTURE}[mysql]"):
        assert os.environ["PARAPLY_TEST_MYSQL"] == url
    with mysql_only_for(f"{FIXTURE}[mariadb]"):
        assert "must-say-mysql" in os.environ["PARAPLY_TEST_MYSQL"]
        assert "PARAPLY_TEST_MYSQL_TARGET" not in os.environ
    assert os.environ["PARAPLY_TEST_MYSQL"] == url
