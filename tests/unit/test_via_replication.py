"""Paraply as a replica's source: options, the protocol's server side, and the outbox between coordinator and replica."""

from __future__ import annotations

import contextlib
import socket
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from paraply import make_target
from paraply._native import GtidSet, ReplicaConnection
from paraply.applier import Applier
from paraply.applier.schedule.job_list import Job
from paraply.applier.via_replication.options import parse_listen, source_address
from paraply.applier.via_replication.outbox import Outbox
from paraply.applier.via_replication.server import SourceServer, last_committed_of
from paraply.errors import ParaplyError, UsageError
from paraply.targets.url import parse_url

LOG = Path(__file__).parents[2] / "rust/binlog/tests/data/mysql-9.7-anonymous.binlog"
UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"


class FakeBlock:
    """As much of a block as the outbox asks for."""

    def __init__(self, number: int, size: int = 100) -> None:
        self.first_gtid = f"{UUID}:{number}"
        self.bytes = size


def job(number: int, size: int = 100) -> Job:
    """A job that is put in as this number."""
    return Job(number, 0, cast("Any", FakeBlock(number, size)), cast("Any", None))


def numbers(jobs: list[Job] | None) -> list[int]:
    """Return the numbers of jobs."""
    return [one.number for one in jobs or ()]


def test_a_replica_that_comes_back_gets_what_it_lacks_in_order() -> None:
    outbox = Outbox()
    assert all(outbox.put(job(number)) for number in range(1, 6))
    first = outbox.begin(GtidSet(""))
    assert numbers(outbox.take(first, 0)) == [1, 2, 3, 4, 5]
    assert numbers(outbox.committed(GtidSet(f"{UUID}:1-2"))) == [1, 2]
    second = outbox.begin(GtidSet(f"{UUID}:1-3"))
    assert outbox.take(first, 0) is None, "the connection before is over"
    assert numbers(outbox.take(second, 0)) == [4, 5]
    outbox.put(job(6))
    assert numbers(outbox.take(second, 0)) == [6]
    assert outbox.take(second, 0) == []
    assert (outbox.newest_gtid(), len(outbox)) == (f"{UUID}:6", 4)


def test_r19_commits_count_up_to_the_first_one_that_is_missing() -> None:
    outbox = Outbox()
    for number in range(1, 5):
        outbox.put(job(number))
    assert numbers(outbox.committed(GtidSet(f"{UUID}:1:3-4"))) == [1]
    assert numbers(outbox.committed(GtidSet(f"{UUID}:1-4"))) == [2, 3, 4]


@pytest.mark.parametrize(("most_jobs", "most_bytes"), [(2, 10**9), (10**9, 250)])
def test_the_outbox_is_bounded_and_one_job_of_any_size_has_room(most_jobs: int, most_bytes: int) -> None:
    outbox = Outbox(most_jobs, most_bytes)
    assert outbox.put(job(1, 200))
    assert outbox.put(job(2, 50))
    put = threading.Thread(target=outbox.put, args=(job(3, 10**6),))
    put.start()
    put.join(0.1)
    assert put.is_alive(), "it waits for room"
    outbox.committed(GtidSet(f"{UUID}:1-2"))
    put.join(10)
    assert len(outbox) == 1
    waiting = threading.Thread(target=outbox.put, args=(job(4),))
    waiting.start()
    outbox.close()
    waiting.join(10)
    assert not waiting.is_alive()
    assert not outbox.put(job(5))


@pytest.mark.parametrize("workers", [1, 2, 16])
def test_a_replica_waits_for_what_a_job_needs_and_for_a_free_worker_by_number(workers: int) -> None:
    last = [last_committed_of(replace(job(number), needs=needs), workers) for number, needs in ((1, 0), (2, 1), (50, 0), (51, 49), (52, 3))]
    assert last == [0, 1, 50 - workers, max(49, 51 - workers), 52 - workers]
    assert last_committed_of(replace(job(60), needs=4, blocks=(58, 59)), workers) == 59


@pytest.fixture
def server() -> Any:
    """A source with an empty outbox."""
    errors: list[BaseException] = []
    server = SourceServer(("127.0.0.1", 0), Outbox(), "9.7.4", 7, 16, errors.append)
    yield server
    server.close()
    assert errors == []


def test_who_knows_the_password_is_let_in_and_answered(server: SourceServer) -> None:
    connection = ReplicaConnection("127.0.0.1", server.port, server.user, server.password, tls={"mode": "disabled"})
    assert connection.server_version == "9.7.4"
    connection.execute("SET @source_binlog_checksum = 'CRC32'")
    connection.close()


@pytest.mark.parametrize(("user", "password"), [("paraply", "guessed"), ("paraply", None), ("root", None)])
def test_nobody_else_is_let_in(server: SourceServer, user: str, password: str | None) -> None:
    with pytest.raises(ParaplyError, match="Access denied"):
        ReplicaConnection("127.0.0.1", server.port, user, password, tls={"mode": "disabled"})


def test_what_is_no_client_does_not_harm_the_source(server: SourceServer) -> None:
    for sent in (b"", b"GET / HTTP/1.1\r\n\r\n", b"\x00\x00\x00\x01", b"\x05\x00\x00\x01abcde", b"\xff\xff\xff\x01" + bytes(64)):
        with socket.create_connection(("127.0.0.1", server.port)) as link:
            link.sendall(sent)
            with contextlib.suppress(OSError):  # it may be closed already
                link.shutdown(socket.SHUT_WR)
                while link.recv(4096):
                    pass
    test_who_knows_the_password_is_let_in_and_answered(server)


@pytest.mark.parametrize("text", ["", ":3306", "host:port", "host:70000", "[fd00::1", "[]:1"])
def test_addresses_that_are_none(text: str) -> None:
    with pytest.raises(UsageError):
        parse_listen(text)


def test_a_source_listens_where_only_its_target_can_be() -> None:
    here = parse_url("mysql://app@127.0.0.1:3306")
    assert source_address(None, here) == ("127.0.0.1", 0)
    assert source_address(None, replace(here, host="db.example.org", socket="/run/mysqld.sock")) == ("127.0.0.1", 0)
    assert source_address("192.0.2.7:3399", here) == ("192.0.2.7", 3399)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"gtid": "record"}, "keeps the source's GTIDs"),
        ({"gtid": "none"}, "keeps the source's GTIDs"),
        ({"merge": 8}, "cannot merge"),
        ({"policy": "optimistic"}, "policies"),
        ({"consistency": "most-of-the-time"}, "in order"),
        ({"consistency": "eventual"}, "in order"),
        ({"workers": 0}, "workers"),
        ({"listen": "host:port"}, "--listen"),
        ({"via": "sessions", "listen": "127.0.0.1"}, "needs --via replication"),
        ({"via": "post"}, "does not exist"),
    ],
)
def test_r21a_what_does_not_go_together_is_refused(options: dict[str, Any], reason: str, demo_log: Any) -> None:
    with pytest.raises(UsageError, match=reason):
        Applier([demo_log], make_target("mysql://app@127.0.0.1:1"), **({"via": "replication"} | options))


def test_other_targets_are_refused(demo_log: Any) -> None:
    with pytest.raises(UsageError, match="needs a target of MySQL"):
        Applier([demo_log], make_target("postgresql://127.0.0.1:1/x"), via="replication").run()


@pytest.mark.parametrize("gtid", ["auto", "preserve"])
def test_a_log_without_gtids_is_sent_to_the_way_that_it_has(gtid: Any) -> None:
    applier = Applier([LOG], make_target("mysql://app@127.0.0.1:1"), via="replication", gtid=gtid)
    with pytest.raises(UsageError, match="needs GTIDs, but the log's transactions carry none; use --via sessions"):
        applier.run()
