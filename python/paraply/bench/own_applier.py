"""The server's own parallel applier, with the log as its relay log: no source, no network, only the apply."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from paraply.bench.server import BenchServer, connect, text
from paraply.errors import ApplyFailed, ParaplyError, UsageError

__all__ = ["OwnApplier"]

_POLL_SECONDS = 0.02
_CHANNEL = "paraply_bench"
_BUSY = """SELECT COUNT(*) FROM information_schema.processlist WHERE user='system user' AND command IN ('Query', 'Connect', 'Slave_worker')
    AND COALESCE(state, '') NOT LIKE '%has read all relay log%' AND COALESCE(state, '') NOT LIKE 'Waiting for an event from Coordinator%'
    AND COALESCE(state, '') NOT LIKE 'Waiting for work from SQL thread%'"""


@dataclass(frozen=True, slots=True)
class OwnApplier:
    """MySQL's multi-threaded replica with ordered commit, or MariaDB's with optimistic parallel replication.

    The log is copied into the server's data folder under the name of a relay log; only the applier's threads are started.

    Attributes:
        server: The server.
        data: The server's data folder on this machine.
    """

    server: BenchServer
    data: Path

    @property
    def _channel(self) -> str:
        return "" if self.server.mariadb else f" FOR CHANNEL '{_CHANNEL}'"

    def name(self, workers: int) -> str:
        """Return the name in tables."""
        kind = "optimistic threads" if self.server.mariadb else "workers"
        return f"the server's own applier, {workers} {kind}"

    @contextlib.contextmanager
    def ready(self, logs: Sequence[Path], workers: int) -> Iterator[None]:
        """Copy the log to the server and set up the applier; remove both at the end.

        Raises:
            UsageError: The folder is not the server's, or is not writable.
        """
        self._check()
        files = self._copy(logs)
        # An applier skips transactions of its own server's id.
        ((own,),) = self.server.query("SELECT @@GLOBAL.server_id")
        try:
            self._run("SET GLOBAL server_id=4294967295")
            self._change_source(files[0].name, workers)
            yield
        finally:
            self._run(
                "STOP SLAVE; RESET SLAVE ALL" if self.server.mariadb else f"STOP REPLICA{self._channel}; RESET REPLICA ALL{self._channel}",
                quiet=True,
            )
            self._run(f"SET GLOBAL server_id={text(own)}", quiet=True)
            for file in files:
                file.unlink(missing_ok=True)

    def replay(self) -> int:
        """Start the applier, and wait until it has applied everything.

        Raises:
            ApplyFailed: The applier stopped with an error.
        """
        replica = "SLAVE" if self.server.mariadb else "REPLICA"
        self._run(f"START {replica} SQL_THREAD{self._channel}")
        connection = connect(self.server.parsed)
        try:
            while True:
                names, rows, _ = connection.query(f"SHOW {replica} STATUS{self._channel}")[0]
                status = {name: text(value) for name, value in zip(names, rows[0], strict=True)}
                if status["Last_SQL_Error"]:
                    raise ApplyFailed(f"the server's own applier failed: {status['Last_SQL_Error']}")
                state = status["Slave_SQL_Running_State" if self.server.mariadb else "Replica_SQL_Running_State"]
                # The coordinator has distributed everything; its workers may still apply.
                if "has read all relay log" in state and connection.query(_BUSY)[0][1] == [(0,)]:
                    return 0
                time.sleep(_POLL_SECONDS)
        finally:
            connection.close()

    def _check(self) -> None:
        """Check that the folder is this server's, and that the server is not a replica, because its channel is dropped at the end."""
        identity = "ibdata1" if self.server.mariadb else "auto.cnf"
        known = (self.data / identity).exists()
        if known and not self.server.mariadb:
            ((uuid,),) = self.server.query("SELECT @@server_uuid")
            known = text(uuid) in (self.data / identity).read_text()
        if not known:
            raise UsageError(f"{self.data} is not the data folder of the server at {self.server.parsed}")
        if self.server.query("SHOW SLAVE STATUS" if self.server.mariadb else "SHOW REPLICA STATUS"):
            raise UsageError("the server is a replica; a bench of its own applier needs a server that is not one")

    def _copy(self, logs: Sequence[Path]) -> list[Path]:
        ((base,),) = self.server.query("SELECT @@relay_log")
        if not text(base):
            raise UsageError("the server has no --relay-log: set it, or leave its own applier out")
        # MySQL accepts a given relay log for a new channel, MariaDB for the default connection.
        stem = Path(text(base)).name + ("" if self.server.mariadb else f"-{_CHANNEL}")
        files = [self.data / f"{stem}.{number:06}" for number in range(1, 1 + len(logs))]
        index = self.data / f"{stem}.index"
        owner = self.data.stat()
        try:
            for log, file in zip(logs, files, strict=True):
                shutil.copyfile(log, file)
            index.write_text("".join(f"./{file.name}\n" for file in files))
            for file in (*files, index):
                with contextlib.suppress(PermissionError):
                    os.chown(file, owner.st_uid, owner.st_gid)
        except OSError as error:
            raise UsageError(f"the log cannot be copied into {self.data}: {error.strerror}") from error
        return files

    def _change_source(self, first: str, workers: int) -> None:
        if self.server.mariadb:
            threads = workers if workers > 1 else 0
            self._run(f"SET GLOBAL slave_parallel_threads={threads}, GLOBAL slave_parallel_mode='optimistic'")
            # Without a name that ends in a number the parallel threads of 10.11 read through a null pointer (compare_log_name).
            self._run(
                "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT=1, MASTER_USE_GTID=no, MASTER_LOG_FILE='binlog.000001',"
                f" MASTER_LOG_POS=4, RELAY_LOG_FILE='{first}', RELAY_LOG_POS=4"
            )
            return
        self._run(f"SET GLOBAL replica_parallel_workers={workers}, GLOBAL replica_preserve_commit_order=ON")
        self._run(
            f"CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT=1, RELAY_LOG_FILE='{first}', RELAY_LOG_POS=4{self._channel}"
        )

    def _run(self, statements: str, *, quiet: bool = False) -> None:
        for statement in statements.split("; "):
            try:
                self.server.query(statement)
            except ParaplyError:
                if not quiet:
                    raise
