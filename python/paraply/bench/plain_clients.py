"""Clients without coordination: the upper limit of a server, the path to it and this machine."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from threading import Barrier

from paraply._native import Catalog, LogReader, MySqlConnection, Planner, format_statement, whole_statement
from paraply.bench.server import BenchServer, connect
from paraply.targets.mysql.progress.store import ProgressStore

__all__ = ["plain_seconds"]

CHANNEL = "plain clients"
_MOST_BYTES = 1 << 20


def plain_seconds(server: BenchServer, port: int, log: Path, *, clients: int) -> float:
    """Return the seconds in which clients run the statements that apply a log, one for each transaction, in turns.

    They are the statements that a worker sends at level ``eventual``: a ``BINLOG`` of the transaction's rows, and before it the change
    of the client's row of progress. No client waits for another, no order is kept, no log is read meanwhile, and the statements are made
    beforehand. So an applier with as many connections can at best come near. Where more clients are no faster, the server, or the
    machine that it shares, is fully used.

    Args:
        server: Server that gets the rows, without binary logging.
        port: Loopback port that leads to the server.
        log: Log of small transactions that do not depend on each other.
        clients: Connections at the same time.

    Raises:
        ConnectionFailed: The server could not be reached, or the connection was lost.
        ServerError: A statement failed.
    """
    url = server.parsed
    with closing(connect(url)) as connection:
        ProgressStore(CHANNEL).create_schema(connection)
        rows = ", ".join(f"('{CHANNEL}', {slot}, 1, '', 0)" for slot in range(clients))
        connection.query(f"INSERT INTO paraply.progress (channel, slot, epoch, executed, ordinal) VALUES {rows}")
    begin, texts = _texts(log, clients)
    ready = Barrier(clients + 1)

    def run(own: list[bytes], connection: MySqlConnection) -> float:
        ready.wait()
        for text in own:
            connection.query(text)
        return time.perf_counter()

    with ExitStack() as stack, ThreadPoolExecutor(clients) as pool:
        opened = [stack.enter_context(closing(MySqlConnection("127.0.0.1", port, url.user, url.password))) for _ in range(clients)]
        for connection in opened:
            connection.query("SET SESSION sql_log_bin=0; SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
            connection.query(begin)
            if not server.mariadb:
                connection.query("SET gtid_next='AUTOMATIC'")  # a format description leaves it undetermined
        ends = [pool.submit(run, own, connection) for own, connection in zip(texts, opened, strict=True)]
        ready.wait()
        started = time.perf_counter()
        return max(end.result() for end in ends) - started


def _texts(log: Path, clients: int) -> tuple[bytes, list[list[bytes]]]:
    """Return the statement with which each client begins, and the statements of each client."""
    reader, planner = LogReader([str(log)]), Planner()
    begin, texts = b"", list[list[bytes]]([[] for _ in range(clients)])
    while (batch := reader.next_batch()) is not None:
        for block in planner.plan(batch, batch.write_sets(Catalog()), merge=1, max_bytes=_MOST_BYTES, committed=0):
            slot = block.id % clients
            text = whole_statement(block, str(block.gtids), CHANNEL, slot, 1, _MOST_BYTES) if block.kind == "dml" else None
            if text is not None:
                begin = begin or format_statement(block)
                texts[slot].append(text)
    return begin, texts
