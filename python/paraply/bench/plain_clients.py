"""Clients that nothing coordinates: the most that a server, the way to it and this machine give."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from threading import Barrier

from paraply._native import MySqlConnection
from paraply.bench.server import BenchServer

__all__ = ["plain_seconds"]

POSITIONS = "plain_clients"


def plain_seconds(server: BenchServer, port: int, database: str, *, clients: int, transactions: int) -> float:
    """Seconds that clients take to insert as many rows as a log without conflicts holds, each in a transaction of its own.

    A transaction takes what one that is applied takes: the begin with an update of a row that only this client has (an applier
    stores its progress with each commit), and the row. The commit goes along with the next one. No client waits for another, no
    order is kept, nothing is read from a log and the texts are made beforehand, so an applier with as many connections can at best
    come near. Where more clients are no faster, the server and what it shares its machine with are full.

    Args:
        server: Where the rows go; its binary log gets nothing.
        port: On loopback, leads to the server.
        database: Holds a table ``t`` with an integer key and a text, empty. The clients' positions become a table beside it.
        clients: Connections at the same time.
        transactions: How many rows there are.

    Raises:
        ConnectionFailed: The server could not be reached, or was lost.
        ServerError: A statement failed.
    """
    positions = f"{database}.{POSITIONS}"
    server.query(f"CREATE TABLE {positions} (client INT PRIMARY KEY, position BIGINT NOT NULL)")
    server.query(f"INSERT INTO {positions} VALUES {', '.join(f'({number}, 0)' for number in range(clients))}")
    url = server.parsed
    ready = Barrier(clients + 1)

    def run(number: int, connection: MySqlConnection) -> float:
        texts = [
            f"START TRANSACTION; UPDATE {positions} SET position={row} WHERE client={number}; INSERT INTO {database}.t {row_of(row)}"
            for row in range(number, transactions, clients)
        ]
        ready.wait()
        commit = ""
        for text in texts:
            connection.query(commit + text)
            commit = "COMMIT; "
        connection.query("COMMIT")
        return time.perf_counter()

    with ExitStack() as stack, ThreadPoolExecutor(clients) as pool:
        opened = [stack.enter_context(closing(MySqlConnection("127.0.0.1", port, url.user, url.password))) for _ in range(clients)]
        for connection in opened:
            connection.query("SET SESSION sql_log_bin=0; SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
        ends = [pool.submit(run, number, connection) for number, connection in enumerate(opened)]
        ready.wait()
        started = time.perf_counter()
        return max(end.result() for end in ends) - started


def row_of(number: int) -> str:
    """The values of one row of the load, as SQL.

    >>> row_of(7)
    "VALUES (7, REPEAT('x', 80))"
    """
    return f"VALUES ({number}, REPEAT('x', 80))"
