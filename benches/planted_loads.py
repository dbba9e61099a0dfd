"""Loads with one planted cause of a serial replay each, and the same loads without it."""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from paraply.bench.loads import DATABASE, rows
from paraply.bench.made_load import MadeLoad, fetch_log, last_log
from paraply.bench.server import BenchServer, connect, text

__all__ = ["PLANTED", "PlantedLoad", "make_planted"]

HOT = 7
PARENTS = 500
SESSIONS = 2
EACH_SECOND = 100
"""Transactions between two DDL statements: one each second on a source with so many transactions a second."""
ALTERED = 50
"""Columns that a table gets; MySQL adds 64 without rewriting it."""
LARGE = 200_000
PORTION = 500
HEADER = 19
CHECKSUM = 4
QUERY, GTID = 2, 33
NUMBERS = HEADER + 1 + 16 + 8 + 1
"""Offset of the two numbers in a GTID event: after flags, source, number and type."""
THREAD = HEADER

ITEM = "CREATE TABLE item (id BIGINT PRIMARY KEY, n BIGINT NOT NULL, note VARCHAR(60) NOT NULL)"
MOVEMENT = "CREATE TABLE movement (id BIGINT PRIMARY KEY, item BIGINT NOT NULL, amount INT NOT NULL)"
NOTE = "x" * 40

Statements = tuple[int, list[str]]
"""Number of a session, and the statements of its transaction; one alone may be DDL."""


@dataclass(frozen=True, slots=True)
class PlantedLoad:
    """A load that one thread sends, so that it is the same each time.

    Attributes:
        schema: Statements that make the tables.
        fill: Statements that insert the initial rows, each a transaction.
        transactions: The transactions in order.
        session_order: True if the log gets the numbers of a source with the order of sessions (WRITESET_SESSION, up to MySQL 8.3).
    """

    schema: list[str]
    fill: list[str]
    transactions: Iterator[Statements]
    session_order: bool = False


def hot_row(count: int, *, planted: bool) -> PlantedLoad:
    """All transactions change one row, or each another one."""
    fill = list(rows("item", [f"({n},0,'')" for n in range(count)]))

    def transaction(n: int) -> Statements:
        key = HOT if planted else n
        return 0, [f"UPDATE item SET n=n+1 WHERE id={key}", f"INSERT INTO movement VALUES ({n},{key},1)"]

    return PlantedLoad([ITEM, MOVEMENT], fill, map(transaction, range(count)))


def table_without_key(count: int, *, planted: bool) -> PlantedLoad:
    """Rows of one table, without or with a primary key."""
    key = "" if planted else ", PRIMARY KEY (a)"
    schema = [f"CREATE TABLE entry (a BIGINT NOT NULL, b BIGINT NOT NULL, note VARCHAR(60) NOT NULL{key})"]
    return PlantedLoad(schema, [], ((0, [f"INSERT INTO entry VALUES ({n},{n},'{NOTE}')"]) for n in range(count)))


def ddl(count: int, *, planted: bool) -> PlantedLoad:
    """Rows of one table, and each second a column for another one."""
    altered = [f"CREATE TABLE altered_{number} (id BIGINT PRIMARY KEY)" for number in range(1 + count // EACH_SECOND // ALTERED)]

    def transactions() -> Iterator[Statements]:
        for n in range(count):
            second, rest = divmod(n, EACH_SECOND)
            if planted and rest == 0:
                yield 1, [f"ALTER TABLE altered_{second // ALTERED} ADD COLUMN c{second % ALTERED} INT"]
            yield 0, [f"INSERT INTO item VALUES ({n},0,'{NOTE}')"]

    return PlantedLoad([ITEM, *altered], [], transactions())


def foreign_key_parent(count: int, *, planted: bool) -> PlantedLoad:
    """Parents change and get children in turn, with or without the foreign key."""
    reference = ", FOREIGN KEY (p) REFERENCES parent (id)" if planted else ""
    schema = [
        "CREATE TABLE parent (id BIGINT PRIMARY KEY, n BIGINT NOT NULL)",
        f"CREATE TABLE child (id BIGINT PRIMARY KEY, p BIGINT NOT NULL, KEY (p){reference})",
    ]
    draw = random.Random(1)

    def transaction(n: int) -> Statements:
        parent = draw.randrange(PARENTS)
        change = f"UPDATE parent SET n=n+1 WHERE id={parent}" if n % 2 else f"INSERT INTO child VALUES ({n},{parent})"
        return 0, [change]

    return PlantedLoad(schema, list(rows("parent", [f"({n},0)" for n in range(PARENTS)])), map(transaction, range(count)))


def huge_transaction(count: int, *, planted: bool) -> PlantedLoad:
    """Very many rows in one transaction or in many, in the middle of small transactions."""

    def transactions() -> Iterator[Statements]:
        large = list(rows("item", [f"({count + n},0,'{NOTE}')" for n in range(LARGE)]))
        for n in range(count):
            yield 0, [f"INSERT INTO item VALUES ({n},0,'{NOTE}')"]
            if n == count // 2:
                yield from [(0, large)] if planted else [(0, [portion]) for portion in large]

    return PlantedLoad([ITEM], [], transactions())


def session_order(count: int, *, planted: bool) -> PlantedLoad:
    """Two sessions insert rows of their own; each transaction needs the last one of its session, or nothing."""
    inserts = ((n % SESSIONS, [f"INSERT INTO item VALUES ({n},0,'{NOTE}')"]) for n in range(count))
    return PlantedLoad([ITEM], [], inserts, session_order=planted)


PLANTED: dict[str, Callable[..., PlantedLoad]] = {
    "hot_row": hot_row,
    "table_without_key": table_without_key,
    "ddl": ddl,
    "foreign_key_parent": foreign_key_parent,
    "huge_transaction": huge_transaction,
    "session_order": session_order,
}
"""Loads by the cause that ``paraply analyze`` should name first."""


def make_planted(server: BenchServer, load: PlantedLoad, folder: Path) -> MadeLoad:
    """Run a load on an empty server whose commits need not be durable meanwhile, and copy its log."""
    durable = server.query("SELECT @@sync_binlog, @@innodb_flush_log_at_trx_commit")[0]
    server.query("SET GLOBAL sync_binlog=0, GLOBAL innodb_flush_log_at_trx_commit=2")
    server.query("FLUSH BINARY LOGS")
    name = last_log(server)
    with ExitStack() as stack:
        sessions = [stack.enter_context(closing(connect(server.parsed))) for _ in range(SESSIONS)]
        sessions[0].query(f"CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4")
        for session in sessions:
            session.query(f"USE {DATABASE}")
        for statement in (*load.schema, *load.fill):
            sessions[0].query(statement)
        for number, statements in load.transactions:
            sent = statements[0] if len(statements) == 1 else "; ".join(["BEGIN", *statements, "COMMIT"])
            sessions[number].query(sent)
    server.query("FLUSH BINARY LOGS")
    server.query("SET GLOBAL sync_binlog={}, GLOBAL innodb_flush_log_at_trx_commit={}".format(*map(text, durable)))
    log = fetch_log(server, name, folder, None)
    if load.session_order:
        log.write_bytes(in_session_order(log.read_bytes()))
    return MadeLoad(log, server.checksums())


def in_session_order(log: bytes) -> bytes:
    """Return a log whose transactions depend on the last one of their session."""
    changed = bytearray(log)
    last: dict[int, int] = {}
    numbers_at, at = 0, 4
    while at < len(log):
        kind, length = log[at + 4], struct.unpack_from("<I", log, at + 9)[0]
        if kind == GTID:
            numbers_at = at
        elif kind == QUERY and numbers_at:
            session = struct.unpack_from("<I", log, at + THREAD)[0]
            stamped, number = struct.unpack_from("<qq", log, numbers_at + NUMBERS)
            put_number(changed, numbers_at, max(stamped, last.get(session, 0)))
            last[session] = number
            numbers_at = 0
        at += length
    return bytes(changed)


def put_number(log: bytearray, at: int, last_committed: int) -> None:
    """Write the first number of the GTID event at an offset, and its checksum."""
    struct.pack_into("<q", log, at + NUMBERS, last_committed)
    end = at + struct.unpack_from("<I", log, at + 9)[0] - CHECKSUM
    struct.pack_into("<I", log, end, zlib.crc32(log[at:end]))
