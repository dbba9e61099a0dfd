"""Foreign keys that are asked about once a block: what is made of the target's answers (the answers themselves are in tests/server)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

from paraply._native import NumberQuery, ResultSet
from paraply.errors import ParaplyError, ServerError, TemporaryFailure
from paraply.targets.mysql.preflight.privileges import parse_grants
from paraply.targets.mysql.rows.foreign_keys import References, may_ask

if TYPE_CHECKING:
    from paraply._native import ReferenceCheck
    from paraply.targets.mysql.gtid_mode import GtidMode


class Connection:
    """Answers each question with the next number, or with an error."""

    connection_id, server_version, overdue = 1, "9.7.4", 0.0

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[bytes | str] = []

    def query(self, sql: bytes | str) -> list[Any]:
        self.asked.append(sql)
        if self.answers and isinstance(self.answers[0], Exception):
            raise self.answers.pop(0)
        given, self.answers = self.answers, []
        return [ResultSet(["n"], rows if isinstance(rows, list) else [(rows,)], 0) for rows in given]

    def close(self) -> None: ...


class Check:
    """Result of the native core for a block."""

    def __init__(self, *expected: int) -> None:
        self.questions = [NumberQuery(f"SELECT {number}", number) for number in expected]


#: A block that is not looked at.
BLOCK: Any = None


def held(references: References, check: Check, *answers: Any) -> bool:
    return references.hold(Connection(*answers), cast("ReferenceCheck", check))


def is_off(references: References) -> bool:
    """Return True if blocks are no longer checked: then no table is read either."""
    connection = Connection(ServerError("no", 1, "HY000"))
    found = references.check(lambda: connection, BLOCK)
    return found is None and not connection.asked


def test_all_parents_must_be_found() -> None:
    references = References()
    assert held(references, Check(3, 5), 3, 5)
    assert not held(references, Check(3, 5), 3, 4)
    assert held(references, Check())


def test_after_three_blocks_that_had_to_be_applied_again_nothing_is_asked() -> None:
    references = References()
    for _ in range(3):
        assert not held(references, Check(2), 1)
    assert is_off(references)


def test_a_question_that_the_target_refuses_is_not_asked_again() -> None:
    references = References()
    assert not held(references, Check(1), ServerError("SELECT command denied", 1142, "42000"))
    assert is_off(references)


@pytest.mark.parametrize("error", [TemporaryFailure("deadlock"), ServerError("Query execution was interrupted", 1317, "70100")])
def test_a_question_that_was_cut_short_says_nothing(error: ParaplyError) -> None:
    references = References()
    with pytest.raises(type(error)):
        held(references, Check(1), error)
    with pytest.raises(TemporaryFailure):
        held(references, Check(1, 1), 1)
    assert held(references, Check(1), 1)


def test_tables_that_cannot_be_read_leave_everything_to_the_server() -> None:
    references = References()
    connection = Connection(ServerError("no", 1044, "42000"))
    assert references.check(lambda: connection, BLOCK) is None
    assert is_off(references)


class Mode:
    """A GTID mode."""

    def __init__(self, hidden: bool) -> None:
        self.hidden = hidden


ALL = "GRANT ALL PRIVILEGES ON *.* TO `app`@`%`"
SOME = "GRANT SELECT, UPDATE ON `shop`.* TO `app`@`%`"
OFF = [("innodb_native_foreign_keys", "OFF"), ("lower_case_table_names", "0")]


@pytest.mark.parametrize(
    ("hidden", "grant", "settings", "asks"),
    [
        (True, ALL, OFF, True),
        (False, ALL, OFF, False),
        (True, SOME, OFF, False),
        (True, "GRANT SELECT ON *.* TO `app`@`%`", OFF, False),
        (True, ALL, [("innodb_native_foreign_keys", "ON"), ("lower_case_table_names", "0")], False),
        (True, ALL, [("innodb_native_foreign_keys", "OFF"), ("lower_case_table_names", "1")], False),
        (True, ALL, [("lower_case_table_names", "0")], False),
    ],
)
def test_where_it_may_be_asked(hidden: bool, grant: str, settings: list[tuple[str, str]], asks: bool) -> None:
    connection = Connection(settings)
    assert may_ask(connection, cast("GtidMode", Mode(hidden)), parse_grants([grant])) == asks
