"""Rounds of what may happen to an archive and to its source: kills, crashes, purged logs, names used again, failovers, damage.

After each round the archive either holds every row that was ever written since its begin, byte for byte, or it refuses the source and is
as it was. An archive that cannot go on is applied into a PostgreSQL, and a new one is begun. ``PARAPLY_KILLS`` is the number of rounds
(100 by default); ``PARAPLY_SEED`` chooses them.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import run_json
from server.archive.test_archive import RESET, SMALL_LOGS, Server, check_bytes, is_mariadb, logged, once, purge, server_of, snapshot, start
from server.replay import PostgresPlace

import paraply
from paraply import GtidSet
from paraply.errors import ArchiveRefused
from paraply.logs.archived.fetching import read_manifest
from paraply.logs.archived.location import MANIFEST
from paraply.logs.archived.storage import open_storage

pytestmark = [pytest.mark.mysql, pytest.mark.postgres]
ROUNDS = int(os.environ.get("PARAPLY_KILLS", "100"))
KINDS = ("kill", "crash", "purged", "renewed", "failover", "damaged")
REFUSED = "nothing is overwritten|has purged"


class Rounds:
    """A source, a server with the same names of logs, and one archive after the other.

    Args:
        source: The source.
        other: The server that has its place after a failover.
        folder: Where the archives go.
        place: Where they are applied.
        seed: Chooses what happens.
    """

    def __init__(self, source: Server, other: Server, folder: Path, place: PostgresPlace, seed: int) -> None:
        self._servers = [source, other]
        self._folder = folder
        self._place = place
        self.chance = random.Random(seed)
        self._written = 0
        self._archives = 0
        self.counts = dict.fromkeys((*KINDS, "applied"), 0)
        for server in self._servers:
            server.sql("DROP DATABASE IF EXISTS shop")
            self._reset(server)
        self._begin()

    @property
    def source(self) -> Server:
        """The server that the archive is of."""
        return self._servers[0]

    @property
    def archive(self) -> Path:
        """The present archive."""
        return self._folder / str(self._archives)

    def round(self, kind: str) -> None:
        """Let something happen, and check the archive."""
        self._write(self.chance.randrange(1, 30))
        getattr(self, f"_{kind}")()
        self.counts[kind] += 1
        once(self.source, self.archive)
        self._check()

    def end(self) -> None:
        """Apply the present archive, and compare it with the source's rows."""
        restored = self._place
        restored.empty()
        outcome = run_json("apply", self.archive, "--to", restored.url)
        assert outcome.code == 0, outcome.line
        assert [number for number, _ in restored.rows("item")] == list(range(self._first, self._written + 1))
        self.counts["applied"] += 1

    def _begin(self) -> None:
        """Begin a table, and an archive of logs that hold all of it."""
        self._archives += 1
        self._first = self._written + 1
        self.source.sql("CREATE DATABASE IF NOT EXISTS shop", "DROP TABLE IF EXISTS shop.item")
        self._reset(self.source)
        self.source.sql("CREATE DATABASE IF NOT EXISTS shop", "CREATE TABLE shop.item (id INT PRIMARY KEY, note TEXT)")
        self._write(3)
        once(self.source, self.archive)
        self._check()

    def _reset(self, server: Server) -> None:
        server.sql(RESET[is_mariadb(server)])

    def _write(self, rows: int, *, flush: bool | None = None) -> None:
        """Write rows, each in a transaction, and often begin a new log."""
        with self.source.connect() as connection, connection.cursor() as cursor:
            for _ in range(rows):
                cursor.execute("INSERT INTO shop.item VALUES (%s, %s)", (self._written + 1, "text " * self.chance.randrange(400)))
                self._written += 1
        if flush if flush is not None else self.chance.random() < 0.5:
            self.source.sql("FLUSH BINARY LOGS")

    def _check(self) -> None:
        """Compare the archive with the rows that were written, and with the source's own files."""
        found = paraply.rows([str(self.archive)], tables=["shop.item"], columns=["key"]).read_all()["key"].to_pylist()
        assert [int(dict(key)["id"]) for key in found] == list(range(self._first, self._written + 1))
        check_bytes(self.source, self.archive)

    def _contents(self) -> tuple[object, dict[str, bytes]]:
        """Return the files that the manifest names, and all objects; a refused run may have claimed the manifest."""
        objects = snapshot(self.archive)
        del objects[MANIFEST]
        return read_manifest(open_storage(self.archive)).files, objects

    @contextlib.contextmanager
    def _refused(self, server: Server, words: str = REFUSED) -> Iterator[None]:
        """Expect that an archive refuses a server, and stays as it is."""
        before = self._contents()
        with pytest.raises(ArchiveRefused, match=words):
            once(server, self.archive)
        assert self._contents() == before
        yield
        self.end()
        self._begin()

    def _kill(self) -> None:
        """Kill the command at a random moment while rows are written."""
        process = start(self.source.url, self.archive)
        until = time.monotonic() + self.chance.uniform(0.1, 1.5)
        while time.monotonic() < until:
            self._write(5)
        process.kill()
        process.wait()

    def _crash(self) -> None:
        """Kill the source while it is archived; the rows that it has confirmed are in its log."""
        process = start(self.source.url, self.archive)
        self._write(20)
        self.source.kill()
        self.source.start()
        self._write(5)
        process.kill()
        process.wait()

    def _purged(self) -> None:
        """Purge logs that were not archived."""
        once(self.source, self.archive)
        newest = read_manifest(open_storage(self.archive)).newest
        assert newest is not None
        for _ in range(3):
            self._write(2, flush=True)
        purge(self.source)
        archived = self._written - 6
        with self._refused(self.source, f"has purged {newest.next_file or newest.name}"):
            self._written = archived  # what the archive holds

    def _renewed(self) -> None:
        """Use the names of the logs again."""
        once(self.source, self.archive)
        archived = self._written
        self._end_with_a_closed_file()
        self._reset(self.source)
        self._write(self.chance.randrange(30))
        self._pass_over(self.source)
        with self._refused(self.source):
            self._written = archived

    def _end_with_a_closed_file(self) -> None:
        """Sometimes leave the archive as a kill does between two files."""
        storage = open_storage(self.archive)
        manifest = read_manifest(storage)
        if len(manifest.files) > 1 and manifest.files[-1].transactions == 0 and self.chance.random() < 0.5:
            (self.archive / MANIFEST).write_bytes(replace(manifest, files=manifest.files[:-1]).encode())
            for part in manifest.files[-1].parts:
                (self.archive / part.object).unlink()

    def _pass_over(self, server: Server) -> None:
        """Sometimes let the server's logs begin after the archive's last one."""
        if self.chance.random() < 0.5:
            return
        newest = read_manifest(open_storage(self.archive)).newest
        assert newest is not None
        held = GtidSet(newest.gtids_before or "") | GtidSet(newest.gtids)
        # Within a minute, a log with the wanted name that begins after the very same GTIDs cannot be told from the next one.
        while logged(server)[-1] <= newest.name or executed(server) == held:
            server.sql("CREATE TABLE IF NOT EXISTS shop.own (id INT AUTO_INCREMENT PRIMARY KEY)", "INSERT INTO shop.own VALUES ()")
            server.sql("FLUSH BINARY LOGS")
        purge(server)

    def _failover(self) -> None:
        """Go on with another server, whose logs have the same names."""
        once(self.source, self.archive)
        other = self._servers[1]
        other.sql("CREATE DATABASE IF NOT EXISTS shop", "CREATE TABLE IF NOT EXISTS shop.own (id INT AUTO_INCREMENT PRIMARY KEY)")
        files = len(logged(self.source)) + self.chance.randrange(-1, 2)
        while len(logged(other)) < files:
            other.sql("INSERT INTO shop.own VALUES ()", "FLUSH BINARY LOGS")
        self._end_with_a_closed_file()
        self._pass_over(other)
        with self._refused(other):
            self._servers.reverse()

    def _damaged(self) -> None:
        """Change, shorten or remove an object; an apply refuses the archive before its first write."""
        once(self.source, self.archive)
        parts = [part.object for file in read_manifest(open_storage(self.archive)).files for part in file.parts]
        path = self.archive / self.chance.choice(parts)
        kept = shutil.copy(path, self._folder / "kept")
        data = bytearray(path.read_bytes())
        how = self.chance.randrange(3)
        if how == 0:
            path.unlink()
        elif how == 1:
            path.write_bytes(data[: self.chance.randrange(len(data))])
        else:
            data[self.chance.randrange(len(data))] ^= 1 << self.chance.randrange(8)
            path.write_bytes(data)
        self._place.empty()
        outcome = run_json("apply", self.archive, "--to", self._place.url)
        assert (outcome.code, outcome.report["transactions"]) == (3, 0), outcome.line
        assert self._place.rows_of("item") == 0
        shutil.copy(kept, path)


def executed(server: Server) -> GtidSet:
    """Return the GTIDs in a server's logs."""
    name = "gtid_binlog_pos" if is_mariadb(server) else "gtid_executed"
    return GtidSet(str(server.sql(f"SELECT @@GLOBAL.{name}")[0][0]).replace("\n", ""))


@contextlib.contextmanager
def rounds_of(kind: str, folder: Path, place: PostgresPlace, seed: int) -> Iterator[Rounds]:
    """Start both servers."""
    with server_of(kind, *SMALL_LOGS) as source, server_of(kind, *SMALL_LOGS) as other:
        yield Rounds(source, other, folder, place, seed)


@pytest.mark.parametrize("kind", ["10.11", pytest.param("mysql", marks=pytest.mark.slow)])
def test_each_kind_of_round(kind: str, tmp_path: Path, postgres_place: PostgresPlace) -> None:
    with rounds_of(kind, tmp_path, postgres_place, 5) as rounds:
        for name in KINDS:
            rounds.round(name)
        rounds.end()


@pytest.mark.parametrize("kind", ["10.11", "mysql"])
def test_logs_with_the_same_names_and_gtids_are_told_by_their_times(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("paraply.archive.continuation.LONGEST_ROTATION", 1)
    archive = tmp_path / "archive"
    with server_of(kind) as source:
        source.sql("DROP DATABASE IF EXISTS shop", RESET[is_mariadb(source)])
        changes = ["CREATE DATABASE shop", "CREATE TABLE shop.item (id INT PRIMARY KEY)", "INSERT INTO shop.item VALUES (1)"]
        source.sql(*changes, "FLUSH BINARY LOGS")
        once(source, archive)
        manifest = read_manifest(open_storage(archive))
        for part in manifest.files[-1].parts:
            (archive / part.object).unlink()
        (archive / MANIFEST).write_bytes(replace(manifest, files=manifest.files[:-1]).encode())  # as a kill between two files
        before = snapshot(archive)
        time.sleep(2.5)
        source.sql("DROP DATABASE shop", RESET[is_mariadb(source)], *changes, "FLUSH BINARY LOGS")
        purge(source)
        with pytest.raises(ArchiveRefused, match=r"was begun \d+ s after the end of .*nothing is overwritten"):
            once(source, archive)
        assert {name for name in snapshot(archive) if name != MANIFEST} == {name for name in before if name != MANIFEST}


@pytest.mark.slow(share=False)  # some minutes
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("kind", ["10.11", "mysql"])
def test_a_hundred_rounds(kind: str, tmp_path: Path, postgres_place: PostgresPlace) -> None:
    with rounds_of(kind, tmp_path, postgres_place, int(os.environ.get("PARAPLY_SEED", "1"))) as rounds:
        for _ in range(ROUNDS // 2):
            name = rounds.chance.choice(KINDS)
            rounds.round(name)
            print(f"{kind}: {name}, {rounds.counts}")
        rounds.end()
        print(f"{kind}: {rounds.counts}")
