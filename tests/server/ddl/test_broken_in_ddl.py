"""A connection that breaks on the client's side while the server runs a statement: the server does not notice (R25b)."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from server.replay import end, start
from servers import MariaDbServer

from paraply import open_log

pytestmark = pytest.mark.mariadb


class Proxy:
    """A proxy that can end its clients' connections, and keep those to the server.

    Args:
        port: Port of the server on this machine.
    """

    def __init__(self, port: int) -> None:
        self._server_port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._clients: list[socket.socket] = []
        self._kept: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """End the connections of the present clients."""
        clients, self._clients = self._clients, []
        self._kept += clients
        for client in clients:
            with contextlib.suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """End everything."""
        for one in (self._listener, *self._clients, *self._kept):
            one.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._server_port))
                self._clients.append(client)
                self._kept.append(server)
                for source, target in ((client, server), (server, client)):
                    threading.Thread(target=_copy, args=(source, target), daemon=True).start()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)


@pytest.fixture
def proxy(mariadb_server: MariaDbServer) -> Iterator[Proxy]:
    with contextlib.closing(Proxy(mariadb_server.port)) as proxy:
        yield proxy


def test_r25b_a_statement_of_a_broken_connection_is_ended_before_its_outcome_counts(
    mariadb_server: MariaDbServer, proxy: Proxy, tmp_path: Path
) -> None:
    server = mariadb_server
    clear = ("DROP DATABASE IF EXISTS shop", "DROP DATABASE IF EXISTS paraply", "RESET MASTER", "SET GLOBAL gtid_slave_pos=''")
    server.sql(*clear, "CREATE DATABASE shop", "CREATE TABLE shop.item (id INT PRIMARY KEY)", "DROP TABLE shop.item")
    server.sql("CREATE TABLE shop.other (id INT PRIMARY KEY)", "FLUSH BINARY LOGS")
    log = tmp_path / "binlog.000001"
    whole = (server.data / "binlog.000001").read_bytes()
    log.write_bytes(whole)
    server.sql(*clear)
    log.write_bytes(whole[: list(open_log(log))[2].offset])
    url = f"mariadb://app:app@127.0.0.1:{proxy.port}"
    assert end(start(log, url, "--gtid", "record")).code == 0
    log.write_bytes(whole)
    with server.connect() as holder, holder.cursor() as cursor:
        cursor.execute("START TRANSACTION")
        cursor.execute("SELECT * FROM shop.item")
        process = start(log, url, "--gtid", "record")
        waits = "SELECT id FROM information_schema.processlist WHERE state='Waiting for table metadata lock'"
        first = waiting_for(lambda: server.sql(waits), process)
        proxy.cut()
        # The session of the cut connection ends, and its successor waits in turn.
        waiting_for(lambda: [row for row in server.sql(waits) if row not in first], process)
        assert not set(server.sql(waits)) & set(first)
        holder.rollback()
        outcome = end(process)
    assert outcome.code == 0, outcome.report.get("error")
    assert server.sql("SHOW TABLES FROM shop") == [("other",)]


def waiting_for(ask: Callable[[], list[tuple[object, ...]]], process: subprocess.Popen[str]) -> list[tuple[object, ...]]:
    """Return the rows of an answer as soon as it has any, while the process runs."""
    deadline = time.monotonic() + 60
    while not (found := ask()):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found
