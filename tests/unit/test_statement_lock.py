"""The lock that a session holds while it runs a DDL (R25b)."""

from __future__ import annotations

from typing import Any

import pytest

from paraply._native import ResultSet
from paraply.errors import ServerError
from paraply.targets.mysql.progress.store import ProgressStore


class Answers:
    """A connection that answers each statement with what comes next: a value, or an error."""

    def __init__(self, *answers: Any) -> None:
        self.left = list(answers)

    def query(self, statement: str) -> Any:
        answer = self.left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return [ResultSet([statement], [(answer,)], 0)]


def killed() -> ServerError:
    return ServerError("Query execution was interrupted", 1317, "70100")


@pytest.mark.parametrize(("answer", "held"), [(b"1", True), (b"0", False)])
def test_r25b_the_lock_is_free_or_it_is_not(answer: bytes, held: bool) -> None:
    connection: Any = Answers(answer)
    assert ProgressStore("main").lock_statements(connection, 1) is held


def test_r24_a_wait_that_ends_with_null_was_interrupted() -> None:
    connection: Any = Answers(None)
    with pytest.raises(ServerError, match="interrupted") as raised:
        ProgressStore("main").lock_statements(connection, 1)
    assert raised.value.code == 1317


def test_r24_a_killed_release_is_tried_again() -> None:
    connection: Any = Answers(killed(), killed(), b"1", b"more")
    ProgressStore("main").unlock_statements(connection)
    assert connection.left == [b"more"]


@pytest.mark.parametrize("errors", [[killed(), killed(), killed()], [ServerError("gone", 2006)]])
def test_r24_what_does_not_help_is_told(errors: list[ServerError]) -> None:
    connection: Any = Answers(*errors)
    with pytest.raises(ServerError):
        ProgressStore("main").unlock_statements(connection)
    assert connection.left == []
