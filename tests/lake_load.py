"""A live load of transfers whose tables follow from its transactions, and the check of every state that a lake has published of it."""

from __future__ import annotations

import bisect
import random
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from paraply import GtidSet
from paraply.lake import LakeState, publications, read

if TYPE_CHECKING:
    from servers import MariaDbServer

__all__ = ["Transfers", "check_all_states"]

ACCOUNTS = 20
BALANCE = 1000
KEPT = 5
"""Transactions after which a row of ``pending`` is deleted."""
MOVED = 3
"""Transactions after which its key is changed."""


@dataclass(frozen=True)
class Done:
    """One committed transaction of a session.

    Attributes:
        number: Its GTID's last number.
        giver: Account.
        taker: Account.
        amount: Money.
    """

    number: int
    giver: int
    taker: int
    amount: Decimal


@dataclass
class Transfers:
    """Sessions that move money between accounts, one transaction after the other.

    Args:
        server: A MariaDB.
        sessions: Number of sessions.
        pause: Seconds between two transactions of a session, at most.
    """

    server: MariaDbServer
    sessions: int = 3
    pause: float = 0.02
    done: list[list[Done]] = field(default_factory=list)
    altered: int = 0

    def __post_init__(self) -> None:
        """Make the tables."""
        self.done = [[] for _ in range(self.sessions)]
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []
        self._failed: list[BaseException] = []
        self.server.sql(
            "CREATE DATABASE bank CHARACTER SET utf8mb4",
            "CREATE TABLE bank.account (id INT PRIMARY KEY, balance DECIMAL(20,2) NOT NULL)",
            "CREATE TABLE bank.transfer (session INT, number INT, giver INT, taker INT, amount DECIMAL(12,2),"
            " PRIMARY KEY (session, number))",
            "CREATE TABLE bank.pending (session INT, number INT, PRIMARY KEY (session, number))",
            "INSERT INTO bank.account VALUES " + ", ".join(f"({number}, {BALANCE})" for number in range(ACCOUNTS)),
        )

    def __enter__(self) -> Transfers:
        """Start the sessions."""
        self._threads = [threading.Thread(target=self._run, args=(session,), daemon=True) for session in range(self.sessions)]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop them."""
        self._stopping.set()
        for thread in self._threads:
            thread.join()
        if self._failed:
            raise self._failed[0]

    @property
    def transactions(self) -> int:
        """Number of committed transfers."""
        return sum(map(len, self.done))

    def logs(self) -> list[str]:
        """Return the logs, in order."""
        return [str(self.server.data / str(row[0])) for row in self.server.sql("SHOW BINARY LOGS")]

    def alter(self) -> None:
        """Add a column to the transfers, with a value in all rows, and begin a new log."""
        self.altered += 1
        self.server.sql(f"ALTER TABLE bank.transfer ADD c{self.altered} INT DEFAULT {self.altered}", "FLUSH BINARY LOGS")

    def _run(self, session: int) -> None:
        chance = random.Random(session)
        try:
            with self.server.connect("bank") as connection, connection.cursor() as cursor:
                while not self._stopping.is_set():
                    self._transfer(cursor, session, chance)
                    time.sleep(chance.random() * self.pause)
        except BaseException as error:
            self._failed.append(error)
            raise

    def _transfer(self, cursor: Any, session: int, chance: random.Random) -> None:
        number = len(self.done[session]) + 1
        giver, taker = chance.sample(range(ACCOUNTS), 2)
        amount = Decimal(chance.randrange(1, 5000)) / 100
        changes = sorted([(giver, -amount), (taker, amount)])  # always in one order, so that no two wait for each other
        cursor.execute("BEGIN")
        for account, change in changes:
            cursor.execute(f"UPDATE account SET balance = balance + {change} WHERE id = {account}")
        cursor.execute(
            f"INSERT INTO transfer (session, number, giver, taker, amount) VALUES ({session}, {number}, {giver}, {taker}, {amount})"
        )
        cursor.execute(f"INSERT INTO pending VALUES ({session}, {number})")
        cursor.execute(f"UPDATE pending SET number = -number WHERE session = {session} AND number = {number - MOVED}")
        cursor.execute(f"DELETE FROM pending WHERE session = {session} AND number = {KEPT - number}")
        cursor.execute("COMMIT")
        cursor.execute("SELECT @@last_gtid")
        self.done[session].append(Done(int(str(cursor.fetchone()[0]).rpartition("-")[2]), giver, taker, amount))


def check_all_states(into: str | Path, form: str, load: Transfers) -> int:
    """Check that each published state is the one that the load's transactions up to its GTID set make, and return their number."""
    numbers = publications(str(into), form)
    assert numbers == list(range(1, len(numbers) + 1))
    sets = [check_state(read(str(into), form, publication=number), load) for number in numbers]
    assert sets == sorted(sets)
    return len(numbers)


def check_state(state: LakeState, load: Transfers) -> int:
    """Check one state, and return the number of transfers in it."""
    names = {name.removeprefix("bank."): name for name in state}
    if len(names) < 3:
        return 0
    rows = {name: state[full].to_arrow().to_pylist() for name, full in names.items()}
    until = last_number(state.gtids)
    held = [bisect.bisect_right([done.number for done in each], until) for each in load.done]
    where = f"state {state.number} at {state.gtids}"
    if not rows["account"]:
        assert not any(held), where
        return 0
    balances = {number: Decimal(BALANCE) for number in range(ACCOUNTS)}
    transfers, pending = set(), Counter[tuple[int, int]]()
    for session, count in enumerate(held):
        for number, done in enumerate(load.done[session][:count], 1):
            balances[done.giver] -= done.amount
            balances[done.taker] += done.amount
            transfers.add((session, number, done.giver, done.taker, done.amount))
        for number in range(max(1, count - KEPT + 1), count + 1):
            pending[session, -number if number <= count - MOVED else number] += 1
    assert sum(row["balance"] for row in rows["account"]) == ACCOUNTS * BALANCE, where
    assert {row["id"]: row["balance"] for row in rows["account"]} == balances, where
    found = Counter((row["session"], row["number"], row["giver"], row["taker"], row["amount"]) for row in rows["transfer"])
    assert found == Counter(transfers), where
    assert Counter((row["session"], row["number"]) for row in rows["pending"]) == pending, where
    for column in [name for name in (rows["transfer"][0] if rows["transfer"] else {}) if name.startswith("c")]:
        assert {row[column] for row in rows["transfer"]} == {int(column[1:])}, where
    return len(transfers)


def last_number(gtids: str) -> int:
    """Return the last number of a GTID set of one domain."""
    assert GtidSet(gtids)
    assert "," not in gtids
    return int(gtids.rpartition("-")[2])
