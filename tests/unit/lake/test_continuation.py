"""Logs that go on where a lake ends, and those that do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from paraply._native import log_gtids, log_head
from paraply.errors import ConfigurationMismatch, UsageError
from paraply.lake.continuation import check_continuation, source_of
from paraply.lake.published import Published
from paraply.logs.file_order import read_heads

DATA = Path(__file__).parents[3] / "rust" / "binlog" / "tests" / "data"
FIRST, SECOND, THIRD = (str(DATA / f"mysql-9.7.00000{number}") for number in (1, 2, 3))
OTHER = str(DATA / "mysql-9.7-types.binlog")
MARIADB = str(DATA / "mariadb-10.11.000001")
OTHER_MARIADB = str(DATA / "mariadb-10.11-types.binlog")


def check(*paths: str, before: Published | None = None, start_after: str | None = None) -> None:
    check_continuation(read_heads(paths), before, start_after)


def state(path: str) -> Published:
    """Return the state of a lake that holds one log."""
    return Published(1, str(log_gtids(path)), file=path, source=source_of(read_heads([path])))


def test_logs_from_their_beginning_and_later_ones_pass() -> None:
    check(FIRST, SECOND, THIRD)
    check(FIRST, SECOND, THIRD, before=state(FIRST))
    check(SECOND, THIRD, before=state(FIRST))
    check(MARIADB, before=state(MARIADB))
    check(OTHER_MARIADB, before=Published(1, "0-1-2"))  # the state of an older version, which has no source


def test_a_missing_file_after_the_published_state_is_named() -> None:
    with pytest.raises(UsageError, match=r":20 was executed before the start of mysql-9\.7\.000003") as refused:
        check(THIRD, before=state(FIRST))
    assert "add mysql-9.7.000001, in which the lake's state ends, and the logs after it up to mysql-9.7.000002" in str(refused.value)
    assert refused.value.exit_code == 2


def test_a_new_lake_has_the_whole_history_or_names_what_it_lacks() -> None:
    previous = str(log_head(THIRD).previous_gtids)
    with pytest.raises(UsageError, match="add the earlier logs up to") as refused:
        check(THIRD)
    assert f"--start-after '{previous}'" in str(refused.value)
    check(THIRD, start_after=previous)
    with pytest.raises(UsageError, match="name them with --start-after too"):
        check(THIRD, start_after=str(log_gtids(FIRST)))


def test_files_named_twice_and_in_a_wrong_order_are_refused() -> None:
    with pytest.raises(UsageError, match="named twice"):
        check(FIRST, FIRST)
    with pytest.raises(UsageError, match="give them as"):
        check(SECOND, FIRST)


@pytest.mark.parametrize(
    ("held", "log", "message"),
    [
        (MARIADB, FIRST, "transactions of a MariaDB server .* is of a MySQL server"),
        (FIRST, MARIADB, "transactions of a MySQL server .* is of a MariaDB server"),
        (FIRST, OTHER, "of another server"),
        (MARIADB, OTHER_MARIADB, "mariadb server-id 93, and .* is of mariadb server-id 1"),
    ],
)
def test_the_log_of_another_server_is_refused(held: str, log: str, message: str) -> None:
    with pytest.raises(ConfigurationMismatch, match=message):
        check(log, before=state(held))


def test_start_after_names_transactions_of_the_log_s_server() -> None:
    with pytest.raises(ConfigurationMismatch, match="--start-after names transactions of a MariaDB server"):
        check(FIRST, start_after="0-1-7")
    with pytest.raises(ConfigurationMismatch, match=r"--start-after names .* of another server"):
        check(OTHER, start_after=str(log_gtids(FIRST)))
