"""Row lock waits of a MariaDB, which shows a copy of them that it makes anew only where nobody has looked for 0.1 s (R24)."""

from __future__ import annotations

from typing import Any, cast

import pytest

from paraply._native import ResultSet
from paraply.targets.lock_waits import UNTOLD
from paraply.targets.mysql.lock_waits import RowWaits


class Copying:
    """A MariaDB whose information_schema is as old as its last look that came 0.1 s after the one before."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.waits: list[tuple[int, int]] = []
        self.looks = 0
        self._copy: list[tuple[int, int]] = []
        self._looked = 0.0

    def query(self, statement: str) -> Any:
        if statement.startswith("SHOW GLOBAL STATUS"):  # no copy
            return [ResultSet(["name", "value"], [(b"Innodb_row_lock_current_waits", str(len(self.waits)).encode())], 0)]
        assert "innodb_lock_waits" in statement
        if self.now - self._looked >= 0.1:
            self._copy = list(self.waits)
        self._looked = self.now
        self.looks += 1
        return [ResultSet(["waiter", "holder"], [(str(one).encode(), str(other).encode()) for one, other in self._copy], 0)]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Copying:
    made = Copying()
    monkeypatch.setattr("paraply.targets.mysql.lock_waits.time.monotonic", lambda: made.now)
    return made


def test_r24_who_asks_every_20_ms_sees_a_new_wait_after_0_1_s(server: Copying) -> None:
    waits, connection = RowWaits(), cast("Any", server)
    seen = []
    for step in range(60):
        server.waits = [(7, 8)] if 10 <= step < 30 else [(7, 9)] if step >= 30 else []
        seen.append(waits.holders(connection, 7))
        server.now += 0.02
    assert [8] in seen[10:17], "a wait is told 0.12 s after it began"
    assert [9] in seen[30:37]
    assert [8] not in seen[36:], "what was told of a wait that is over"
    assert server.looks <= 11


def test_r24_a_chain_of_waits_is_followed_in_one_look(server: Copying) -> None:
    waits, connection = RowWaits(), cast("Any", server)
    server.waits = [(7, 8), (7, 6), (8, 9)]
    assert [waits.holders(connection, waiter) for waiter in (7, 8, 9)] == [[6, 8], [9], []]
    assert server.looks == 1


def test_r24_between_two_looks_nothing_is_told(server: Copying) -> None:
    waits, connection = RowWaits(), cast("Any", server)
    server.waits = [(7, 8)]
    assert waits.holders(connection, 7) == [8]
    server.now += 0.05
    assert waits.holders(connection, 7) == [UNTOLD], "somebody waits, and it may be for another one"
    server.waits = []
    assert waits.holders(connection, 7) == [], "the wait is over, and a rollback would be for nothing"
