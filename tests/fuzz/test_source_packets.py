"""Damaged packets of a source to the receiver: an error or an end of the connection, and a relay log that opens again.

``PARAPLY_FUZZ_SECONDS`` says for how long (a second without it), ``PARAPLY_FUZZ_SEED`` where to begin.
"""

from __future__ import annotations

import contextlib
import os
import random
import socket
import threading
import time
from pathlib import Path

from paraply._native import LogReader, LogServer, RelayLog, ReplicaAccess, ReplicaConnection
from paraply.errors import ParaplyError
from tests.conftest import ROOT
from tests.fuzz.damage import changed

SECONDS = float(os.environ.get("PARAPLY_FUZZ_SECONDS", "1"))
SEED = int(os.environ.get("PARAPLY_FUZZ_SEED", "0"))
LOG = ROOT / "rust" / "binlog" / "tests" / "data" / "mysql-9.7.000001"
SILENCE_SECONDS = 0.3
LONGEST_SECONDS = 60.0
"""Time after which a connection hangs, on the slowest machine."""
USER, PASSWORD = "repl", "secret"


class Damaging:
    """A proxy for one connection that changes bytes of the source after some of them have passed, and then closes.

    Args:
        port: The source.
        seed: Decides.
    """

    def __init__(self, port: int, seed: int) -> None:
        self._chance = random.Random(seed)
        self._source = socket.create_connection(("127.0.0.1", port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        # Most go through the login, so that the damage meets the log.
        self._after = self._chance.choice((0, 60, 200, 400, 700, 1000, 2000, 4000))
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            link, _ = self._listener.accept()
            back = threading.Thread(target=self._forward, args=(link,), daemon=True)
            self._threads.append(back)
            back.start()
            passed = 0
            while data := self._source.recv(4096):
                passed += len(data)
                link.sendall(data if passed < self._after else changed(data, self._chance))
                if passed > self._after and self._chance.random() < 0.3:
                    break
            link.close()

    def _forward(self, link: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := link.recv(4096):
                self._source.sendall(data)

    def close(self) -> None:
        """Close everything."""
        for one in (self._source, self._listener):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        for thread in self._threads:
            thread.join(timeout=1)


def _receive(port: int, folder: Path) -> None:
    with contextlib.suppress(ParaplyError):
        relay = RelayLog(folder)
        connection = ReplicaConnection(
            "127.0.0.1", port, USER, PASSWORD, tls={"mode": "disabled"}, connect_timeout=SILENCE_SECONDS, read_timeout=SILENCE_SECONDS
        )
        connection.execute("SET @source_binlog_checksum = 'CRC32'")
        connection.receive(relay, 77, file="binlog.000001")


def test_damaged_packets_of_a_source_leave_a_relay_log_that_opens(tmp_path: Path) -> None:
    (tmp_path / "binlog.000001").write_bytes(LOG.read_bytes())
    server = LogServer([tmp_path / "binlog.000001"], "127.0.0.1", 0, access=ReplicaAccess(USER, PASSWORD), server_id=9, server_uuid="u")
    end, seed, received = time.monotonic() + SECONDS, SEED, 0
    try:
        while time.monotonic() < end or seed < SEED + 10:
            folder, proxy, began = tmp_path / f"relay-{seed}", Damaging(server.address[1], seed), time.monotonic()
            try:
                _receive(proxy.port, folder)
            except BaseException as error:
                raise AssertionError(f"seed {seed}: {error!r}") from error
            finally:
                proxy.close()
            assert time.monotonic() - began < LONGEST_SECONDS, f"seed {seed} is slow"
            relay = RelayLog(folder)  # what is there was whole
            if relay.files:
                reader = LogReader([str(folder / file) for file in relay.files])
                while (batch := reader.next_batch()) is not None:
                    received += len(batch)
            for file in folder.iterdir():
                file.unlink()
            folder.rmdir()
            seed += 1
    finally:
        server.stop()
    assert received
    print(f"{seed - SEED} damaged connections of a source, {received} transactions received")
