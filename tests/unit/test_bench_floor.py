"""The client of the floor: which texts it repeats, and in which order it may send blocks."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from paraply.bench.floor.mysql_family import MySqlFamily
from paraply.bench.floor.postgres_family import PostgresFamily
from paraply.bench.floor.recording import Part, RecordedBlock, Recording
from paraply.bench.floor.replay import replay
from paraply.bench.floor.server_cpu import server_cpu
from paraply.errors import ApplyFailed, ServerError

if TYPE_CHECKING:
    from paraply._native import Block

PROGRESS = (
    b"UPDATE paraply.progress SET executed='{\"low\":\"0-1-7\"}', file='b', position=4, ordinal=9"
    b" WHERE channel='floor' AND slot=1 AND epoch=12"
)
PG_PROGRESS = b"UPDATE paraply.progress SET ordinal = 9 WHERE channel = 'floor'"
PG_BEGIN = [b"BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE", b"SELECT pg_advisory_xact_lock_shared(7)", PG_PROGRESS]


class Server:
    """A server that keeps the texts of committed transactions, in the order of their commits."""

    def __init__(self, fails: dict[bytes, Exception] | None = None) -> None:
        self.committed: list[bytes] = []
        self.prepared: list[bytes] = []
        self.lock = threading.Lock()
        self.fails = fails or {}

    def connect(self) -> Connection:
        return Connection(self)


class Connection:
    def __init__(self, server: Server) -> None:
        self._server = server
        self._open: list[bytes] = []

    def send(self, text: bytes) -> None:
        with self._server.lock:
            if text in self._server.fails:
                raise self._server.fails.pop(text)
            if text == b"COMMIT":
                self._server.committed += self._open
            if text.startswith(b"PREPARE"):
                self._server.prepared.append(text)
                return
        self._open = [] if text in (b"COMMIT", b"ROLLBACK") else [*self._open, text]

    def close(self) -> None:
        self._open = []


def block(number: int, *, up_to: int = 0, after: tuple[int, ...] = (), parts: tuple[Part, ...] | None = None) -> RecordedBlock:
    """A block whose only text is its number."""
    return RecordedBlock(number, up_to, after, (b"PREPARE x",), parts if parts is not None else (Part(0, (b"%d" % number,)),))


def sent(server: Server, blocks: list[RecordedBlock], connections: int) -> list[bytes]:
    """Replay blocks; returns the committed texts."""
    replay(Recording(tuple(blocks), len(blocks), 0, 0), server.connect, connections)
    return server.committed


@pytest.mark.parametrize("connections", [1, 3, 8])
def test_every_block_is_sent_once_and_after_the_blocks_that_it_waits_for(connections):
    blocks = [block(n, up_to=n - 5 if n % 4 == 0 else 0, after=(n - 1,) if n % 3 == 0 else ()) for n in range(1, 200)]
    found = [int(text) for text in sent(Server(), blocks, connections)]
    assert sorted(found) == list(range(1, 200))
    place = {number: at for at, number in enumerate(found)}
    for one in blocks:
        assert all(place[older] < place[one.number] for older in (*one.after, *range(1, one.up_to + 1)))


def test_a_later_part_waits_for_the_commits_before_it():
    parts = (Part(0, (b"early",)), Part(2, (b"late",)))
    found = sent(Server(), [block(1), block(2, after=(1,)), block(3, parts=parts), block(4, up_to=3)], 4)
    assert found.index(b"2") < found.index(b"early")
    assert found.index(b"late") < found.index(b"4")


def test_a_connection_prepares_a_statement_once():
    server = Server()
    sent(server, [block(n) for n in range(1, 30)], 2)
    assert 1 <= len(server.prepared) <= 2


def test_a_deadlock_repeats_the_block_and_another_error_ends_the_replay():
    deadlock = ServerError("Deadlock found", 1213)
    parts = (Part(0, (b"one", b"two")),)
    server = Server({b"two": deadlock})
    run = replay(Recording((block(1, parts=parts),), 1, 2, 0), server.connect, 1)
    assert (server.committed, run.repeated) == ([b"one", b"two"], 1)
    with pytest.raises(ServerError, match="Duplicate entry"):
        sent(Server({b"3": ServerError("Duplicate entry", 1062)}), [block(n, up_to=n - 1) for n in range(1, 9)], 3)


def test_a_statement_is_not_committed_and_not_repeated():
    statement = RecordedBlock(1, 0, (), (), (Part(0, (b"CREATE TABLE t",)),), commits=False)
    assert b"2" in sent(Server(), [statement, block(2, up_to=1)], 2)
    with pytest.raises(ServerError):
        sent(Server({b"CREATE TABLE t": ServerError("Lock wait timeout", 1205)}), [statement], 1)


def test_mysqls_progress_is_left_out_and_the_rows_stay():
    family = MySqlFamily("mysql://app@127.0.0.1", mariadb=False)
    assert family.rows([b"START TRANSACTION; " + PROGRESS + b"; BINLOG 'abc'"]) == b"START TRANSACTION; BINLOG 'abc'"
    assert family.rows([b"START TRANSACTION; " + PROGRESS]) == b""
    assert family.rows([b"BINLOG 'def'"]) == b"BINLOG 'def'"
    with pytest.raises(ApplyFailed, match="begins in an unknown way"):
        family.rows([b"START TRANSACTION; BINLOG 'abc'"])


def test_of_mysqls_statements_only_those_with_an_effect_are_repeated():
    family = MySqlFamily("mysql://app@127.0.0.1", mariadb=False)
    own = [b"SELECT GET_LOCK('paraply.x', 30)", b"START TRANSACTION; SELECT epoch FROM paraply.channel; COMMIT", b"SELECT 1"]
    assert [family.statement([text]) for text in own] == [b"", b"", b""]
    assert family.statement([b"CREATE TABLE paraply_load.t (id INT)"]) == b"CREATE TABLE paraply_load.t (id INT)"


def test_postgres_statements_are_prepared_once_and_executed_without_progress():
    family = PostgresFamily("postgresql://app@/x", mariadb=False)
    first = [[b"PREPARE p1 AS INSERT"], [*PG_BEGIN, b"EXECUTE p1(1)", b"INSERT INTO t VALUES (2)"]]
    any_block = cast("Block", None)
    assert family.needs(any_block, first) == (b"PREPARE p1 AS INSERT",)
    assert family.needs(any_block, [[*PG_BEGIN, b"EXECUTE p1(3)"]]) == (b"PREPARE p1 AS INSERT",)
    assert family.begins(first[1])
    assert not family.begins(first[0])
    assert family.rows(first[1]) == PG_BEGIN[0] + b";EXECUTE p1(1);INSERT INTO t VALUES (2)"
    assert family.rows(PG_BEGIN) == b""
    assert family.statement([b"CREATE SCHEMA x", b"INSERT INTO paraply.source_table VALUES (1)"]) == b"CREATE SCHEMA x"


def test_the_cpu_time_of_a_server_is_that_of_the_processes_in_its_folder(tmp_path):
    if not Path("/proc/self/stat").exists():
        pytest.skip("needs Linux's /proc")
    here = server_cpu(Path.cwd())
    assert here is not None
    assert here >= sum(os.times()[:2]) - 0.1
    assert server_cpu(tmp_path) is None
    assert server_cpu(tmp_path / "none") is None
    assert server_cpu(None) is None
