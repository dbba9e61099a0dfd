"""Removal of a relay log's files by age, by size and by what the replicas have."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from unit.served_logs import make_relay_log, received_numbers, receiving, running, wait_until

from paraply import open_log
from paraply._native import LogServer, ReplicaAccess
from paraply.errors import ParaplyError, ServerError, UsageError
from paraply.replication.retention import Retention
from paraply.replication.serving import served_logs

UUID = "bbbbbbbb-bbbb-bbbb-bbbb-bbbbbbbbbbbb"
OTHER = "cccccccc-cccc-cccc-cccc-cccccccccccc"


@pytest.fixture(scope="module")
def received(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("retention") / "relay"
    make_relay_log(folder)
    return folder


@pytest.fixture
def relay(received: Path, tmp_path: Path) -> Path:
    """A relay log of several files."""
    folder = tmp_path / "relay"
    folder.mkdir()
    for path in received.iterdir():
        if path.is_file():
            (folder / path.name).write_bytes(path.read_bytes())
    return folder


def files_of(relay: Path) -> list[Path]:
    """Return the files of a relay log, oldest first."""
    return sorted(relay.glob("relay-bin.0*"))


def applied(retention: Retention) -> list[Path]:
    """Apply a rule without any replica, and return the removed files."""
    server = LogServer(
        served_logs(retention.folder, []), "127.0.0.1", 0, access=ReplicaAccess("u", "p"), server_id=1, server_uuid=UUID, follow=True
    )
    try:
        return retention.apply(server)
    finally:
        server.stop()


def test_by_age_files_that_were_written_longer_ago_are_removed(relay: Path) -> None:
    files = files_of(relay)
    assert len(files) > 5
    for path in files[:3]:
        os.utime(path, (time.time() - 7200,) * 2)
    assert applied(Retention(relay, seconds=10_000)) == []
    assert applied(Retention(relay, seconds=3600)) == files[:3]
    assert files_of(relay) == files[3:]
    for path in files[3:]:
        os.utime(path, (0, 0))
    assert applied(Retention(relay, seconds=3600)) == files[3:-1], "the newest file stays"


def test_by_size_the_oldest_files_are_removed_until_the_others_fit(relay: Path) -> None:
    files = files_of(relay)
    sizes = [path.stat().st_size for path in files]
    assert applied(Retention(relay, bytes=sum(sizes))) == []
    assert applied(Retention(relay, bytes=sum(sizes[2:]))) == files[:2]
    assert applied(Retention(relay, bytes=0)) == files[2:-1]


def test_what_every_replica_has_that_has_ever_come_is_removed_and_a_late_one_is_refused(relay: Path, tmp_path: Path) -> None:
    files = files_of(relay)
    gtids = [one.gtid or "" for one in open_log(files)]
    half = [one.gtid or "" for one in open_log(files[:4])]
    rule = Retention(relay, received=True)
    assert applied(rule) == [], "no replica has come"
    with running(relay, stamped=False, retention=rule) as service:
        received_numbers(service, tmp_path / "one", len(gtids) - len(half), ",".join(half), uuid=UUID)
        wait_until(lambda: not files[2].exists(), "the files before what it has are removed")
        assert files[4].exists()
        with pytest.raises(ServerError, match=r"purged required binary logs.*missing transactions are") as refused:
            received_numbers(service, tmp_path / "two", 1, "", uuid=UUID)
    assert refused.value.code == 1236


def test_a_replica_is_on_the_list_before_it_gets_anything(relay: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a process that was killed knows it when it comes back, and keeps what it lacks."""
    files, listed = files_of(relay), relay / "replicas.json"
    with running(relay, stamped=False, retention=Retention(relay, received=True)) as service, monkeypatch.context() as patched:
        patched.setattr(Retention, "apply", lambda *_: [])
        with receiving(service, tmp_path / "one", uuid=UUID) as receiver:
            receiver.wait_for(1)
            assert json.loads(listed.read_text()) == {UUID: ""}
        everything = ",".join(one.gtid or "" for one in open_log(files))
        with receiving(service, tmp_path / "two", everything, uuid=OTHER):
            wait_until(lambda: OTHER in json.loads(listed.read_text()), "the other replica is on the list")
    assert applied(Retention(relay, received=True)) == []
    listed.write_text(json.dumps({OTHER: everything}))
    assert applied(Retention(relay, received=True)) == files[:-1]


def test_a_replica_gets_nothing_while_the_list_cannot_be_written(relay: Path, tmp_path: Path) -> None:
    (relay / ".replicas.json.unfinished").mkdir()
    rule = Retention(relay, received=True)
    refused = pytest.raises(ParaplyError, match=r"replicas\.json cannot be written: Is a directory; the same command continues")
    with refused, running(relay, stamped=False, retention=rule, ends=True) as service, receiving(service, tmp_path, uuid=UUID) as receiver:
        receiver.thread.join(20)
        assert receiver.relay.status().transactions == 0


@pytest.mark.parametrize("content", ["", "[1", '{"a": 1}', '{"a": "b"}', "[[1]]"])
def test_a_damaged_list_removes_nothing_and_is_named(relay: Path, content: str) -> None:
    files = files_of(relay)
    (relay / "replicas.json").write_text(content)
    with pytest.raises(UsageError, match=r"replicas\.json cannot be read: .*mend it"):
        applied(Retention(relay, received=True))
    assert files_of(relay) == files


def test_a_file_that_a_replica_reads_stays(relay: Path, tmp_path: Path) -> None:
    files = files_of(relay)
    rule = Retention(relay, bytes=0)
    with running(relay, stamped=False) as service, receiving(service, tmp_path / "one", uuid=UUID) as receiver:
        receiver.wait_for(len(list(open_log(files))))
        assert service.address is not None
        server = service._server
        assert server is not None
        reading = int(server.replicas()[0]["log_number"])
        removed = rule.apply(server)
        assert removed == files[:reading]
