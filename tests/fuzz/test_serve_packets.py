"""Odd packets of strangers and of replicas to ``serve``: an error or an end of that connection, never a hang, a crash or much memory.

``PARAPLY_FUZZ_SECONDS`` says for how long (a second without it), ``PARAPLY_FUZZ_SEED`` where to begin.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import resource
import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from paraply._native import LogServer, ReplicaAccess, ReplicaConnection
from tests.conftest import ROOT
from tests.fuzz.damage import changed

SECONDS = float(os.environ.get("PARAPLY_FUZZ_SECONDS", "1"))
SEED = int(os.environ.get("PARAPLY_FUZZ_SEED", "0"))
USER, PASSWORD = "repl", "secret"
LOG = ROOT / "rust" / "binlog" / "tests" / "data" / "mysql-9.7.000001"
PATIENCE = 2.0
MOST_ANSWER = 1 << 20
MOST_GROWTH = 200 << 20
PLUGIN = b"caching_sha2_password"
QUERY, PING, DUMP, REGISTER, DUMP_GTID = 0x03, 0x0E, 0x12, 0x15, 0x1E
COMMANDS = (0x01, QUERY, PING, DUMP, REGISTER, DUMP_GTID, 0x00, 0x05, 0x16, 0x1F, 0xFF)
QUERIES = (
    b"SELECT UNIX_TIMESTAMP()",
    b"SELECT @@GLOBAL.SERVER_ID",
    b"SELECT @source_binlog_checksum",
    b"SET @source_heartbeat_period= 1000000",
    b"SET @source_binlog_checksum= @@global.binlog_checksum",
    b"SET @replica_uuid= 'x'",
    b"SHOW GLOBAL VARIABLES LIKE 'x'",
)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LogServer]:
    (tmp_path / "binlog.000001").write_bytes(LOG.read_bytes())
    made = LogServer(
        [tmp_path / "binlog.000001"],
        "127.0.0.1",
        0,
        access=ReplicaAccess(USER, PASSWORD, login_seconds=PATIENCE),
        server_id=9,
        server_uuid="u",
    )
    yield made
    made.stop()


def packet(number: int, body: bytes) -> bytes:
    """Return a packet of the protocol."""
    return struct.pack("<I", len(body))[:3] + bytes((number & 0xFF,)) + body


def read_packet(link: socket.socket) -> bytes:
    """Return the body of the next packet."""
    head = b""
    while len(head) < 4:
        more = link.recv(4 - len(head))
        if not more:
            raise OSError("the connection is closed")
        head += more
    size, body = int.from_bytes(head[:3], "little"), b""
    while len(body) < size:
        more = link.recv(size - len(body))
        if not more:
            raise OSError("the connection is closed")
        body += more
    return body


def login(greeting: bytes) -> bytes:
    """Return the answer to a greeting that logs in."""
    rest = greeting[greeting.index(b"\0", 1) + 1 :]
    nonce = rest[4:12] + rest[31:43]
    first = hashlib.sha256(PASSWORD.encode()).digest()
    second = hashlib.sha256(hashlib.sha256(first).digest() + nonce).digest()
    proof = bytes(one ^ other for one, other in zip(first, second, strict=True))
    capabilities = 0x1 | 0x200 | 0x8000 | 0x80000
    head = struct.pack("<IIB23x", capabilities, 1 << 24, 255)
    return head + USER.encode() + b"\0" + bytes((len(proof),)) + proof + PLUGIN + b"\0"


def request(chance: random.Random) -> bytes:
    """Return a request as a replica sends it, or nearly so."""
    match chance.randrange(6):
        case 0:
            body = bytes((QUERY,)) + chance.choice(QUERIES)
        case 1:
            body = bytes((REGISTER,)) + struct.pack("<I", 7) + b"\x03db2\0\0" + struct.pack("<HII", 3306, 0, 0)
        case 2:
            body = bytes((DUMP,)) + struct.pack("<IHI", chance.choice((4, 0, 200, 1 << 31)), 1, 7) + b"binlog.000001"
        case 3:
            gtids = struct.pack("<Q", 1) + bytes(range(16)) + struct.pack("<QQQ", 1, 1, chance.choice((2, 1 << 40, 1 << 63)))
            body = bytes((DUMP_GTID,)) + struct.pack("<HII", 1, 7, 0) + struct.pack("<QI", 4, len(gtids)) + gtids
        case 4:
            body = bytes((chance.choice(COMMANDS),)) + chance.randbytes(chance.randrange(64))
        case _:
            body = bytes((PING,))
    return changed(body, chance)


def talk(port: int, chance: random.Random, *, known: bool) -> None:
    """Send a few odd packets, and read what comes, within the patience of the server."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE * 3) as link, contextlib.suppress(OSError):
        greeting = read_packet(link)
        if known:
            link.sendall(packet(1, login(greeting)))
            assert read_packet(link) == b"\x01\x03"
            assert read_packet(link)[:1] == b"\0"
            for _ in range(chance.randint(1, 3)):
                body = request(chance)
                link.sendall(packet(chance.choice((0, 0, 0, 0, 1)), body))
        else:
            body = changed(login(greeting), chance) if chance.random() < 0.7 else chance.randbytes(chance.randrange(300))
            sent = packet(chance.choice((1, 1, 1, 0)), body)
            link.sendall(sent if chance.random() < 0.8 else b"\xff\xff\xff\x01" + body)
        link.shutdown(socket.SHUT_WR)
        answer = 0
        while more := link.recv(1 << 16):
            answer += len(more)
            assert known or answer < 2000, "a stranger gets no log"
            if answer > MOST_ANSWER:
                break


@pytest.mark.parametrize("known", [False, True], ids=["strangers", "replicas"])
def test_odd_packets_end_their_connection_only(server: LogServer, known: bool) -> None:
    port = server.address[1]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    end, seed, longest = time.monotonic() + SECONDS, SEED, 0.0
    while time.monotonic() < end or seed < SEED + 20:
        began = time.monotonic()
        talk(port, random.Random(seed), known=known)
        longest = max(longest, time.monotonic() - began)
        seed += 1
    print(f"{seed - SEED} connections of {'replicas' if known else 'strangers'}")
    assert longest < PATIENCE * 2, f"seed up to {seed}: a connection took {longest:.1f} s"
    connection = ReplicaConnection("127.0.0.1", port, USER, PASSWORD, tls={"mode": "disabled"})
    connection.execute("SET @source_binlog_checksum = 'CRC32'")
    connection.close()
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < MOST_GROWTH
    if not known:
        assert server.totals()["dumps"] == 0
