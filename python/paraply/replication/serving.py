"""Serving a log to replicas: identity, password, and the running server."""

from __future__ import annotations

import os
import stat
import uuid
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paraply.errors import Stopped, UsageError
from paraply.runtime import runtime
from paraply.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from paraply._native import ListenAddress, LogServer
    from paraply.replication.renumbering import Renumbering, RenumberOptions
    from paraply.replication.retention import Retention

__all__ = ["Event", "LogService", "ServeOptions", "read_password", "served_logs"]

_LOOK_SECONDS = 0.1
_RETENTION_SECONDS = 2.0
_LOWEST_ID = 2_000_000_000
_IDS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """Options of a server.

    Attributes:
        folder: Folder that gives the server its identity, and whose new files are served; None for named files.
        logs: The files to begin with, in order.
        listen: Host and port; port 0 for a free one.
        user: The user who may read.
        password: The user's password.
        tls: Files of certificate and key; TLS is then required.
        server_id: Server id; None derives one from the folder.
        retention: Removal of a relay log's files; None for none.
        renumber: Options of new numbers; None to send the log's own.
    """

    folder: Path | None
    logs: Sequence[str]
    listen: tuple[str, int]
    user: str
    password: str
    tls: tuple[Path, Path] | None = None
    server_id: int | None = None
    retention: Retention | None = None
    renumber: RenumberOptions | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """Event of a server.

    Attributes:
        at: Microseconds since 1970, UTC.
        kind: ``listening``, ``replica``, ``ended``, ``refused``, ``removed`` or ``failed``.
        address: Address of the peer; empty for none.
        text: Description of what happened.
    """

    at: int
    kind: str
    address: str
    text: str


class LogService:
    """Server of a log, which runs until it is stopped.

    Args:
        options: Options of the server.
        on_event: Called with each event, in the thread that runs it.
        on_status: Called with the state of the server, likewise.
        status_seconds: Interval of these calls; None for none.
    """

    def __init__(
        self,
        options: ServeOptions,
        on_event: Callable[[Event], None] | None = None,
        on_status: Callable[[Mapping[str, Any]], None] | None = None,
        status_seconds: float | None = None,
    ) -> None:
        self._options = options
        self._on_event = on_event or (lambda _event: None)
        self._on_status = on_status or (lambda _status: None)
        self._status_seconds = status_seconds
        self._wake = runtime.event()
        self._server: LogServer | None = None
        self._renumbering: Renumbering | None = None
        self._removed = 0

    def stop(self) -> None:
        """End all connections. May be called from any thread or signal handler."""
        self._wake.set()

    def run(self) -> None:
        """Serve until it is stopped.

        Raises:
            Stopped: On request.
            UsageError: The address cannot be listened on, or TLS or password cannot be used.
            LogError: A log is damaged; replicas have got everything before the damage.
        """
        from paraply._native import LogServer, ReplicaAccess

        options = self._options
        identity = str(options.folder.resolve() if options.folder is not None else os.path.realpath(options.logs[-1]))
        own = str(uuid.uuid5(uuid.NAMESPACE_URL, f"serve:{uuid.getnode()}:{identity}"))
        server = self._server = LogServer(
            options.logs,
            *options.listen,
            access=ReplicaAccess(options.user, options.password, tls=options.tls),
            server_id=options.server_id if options.server_id is not None else _LOWEST_ID + zlib.crc32(own.encode()) % _IDS,
            server_uuid=own,
            follow=options.folder is not None,
            stamped=options.renumber is not None,
            records_replicas=options.retention is not None and options.retention.received,
        )
        try:
            if options.renumber is not None:
                from paraply.replication.renumbering import Renumbering

                self._renumbering = Renumbering(server, options.renumber)
                self._renumbering.start()
            host, port = server.address
            self._report("listening", f"{host}:{port} serves {counted(len(server.files()), 'file')} of {server.server_version}")
            self._serve(server)
        finally:
            if self._renumbering is not None:
                self._renumbering.stop()
            server.stop()
            self._pass_on(server)
        raise Stopped("stopped on request; replicas come again when the same command runs again")

    def status(self) -> Mapping[str, Any]:
        """Return the state of the server for JSON."""
        server = self._server
        if server is None:
            return {"address": None, "replicas": []}
        host, port = server.address
        end = server.end()
        replicas = [{**replica, "received": _text(replica["received"])} for replica in server.replicas()]
        for replica in replicas:
            del replica["log_number"], replica["received_before"], replica["recorded"]
        return {
            "address": f"{host}:{port}",
            "gtids": server.has_gtids,
            "files": len(server.files()),
            "newest_file": str(end.file),
            "end": end.offset,
            "failure": end.failure,
            "removed_files": self._removed,
            **server.totals(),
            "replicas": replicas,
            "stamp": self._renumbering.status() if self._renumbering is not None else None,
        }

    @property
    def address(self) -> ListenAddress | None:
        """Host and port on which it listens; None before it does."""
        return self._server.address if self._server is not None else None

    def _serve(self, server: LogServer) -> None:
        retention = self._options.retention
        next_look = next_status = runtime.monotonic()
        while not self._wake.wait(_LOOK_SECONDS):
            self._pass_on(server)
            renumbering = self._renumbering
            if renumbering is not None:
                renumbering.publish()
            if retention is not None:
                retention.record_new(server)
                if runtime.monotonic() >= next_look:
                    next_look = runtime.monotonic() + _RETENTION_SECONDS
                    for path in retention.apply(server, renumbering.kept_up_to if renumbering is not None else None):
                        self._removed += 1
                        self._report("removed", str(path))
            if self._status_seconds is not None and runtime.monotonic() >= next_status:
                next_status = runtime.monotonic() + self._status_seconds
                self._on_status(self.status())
            if server.end().failure is not None and not server.replicas():
                if renumbering is not None and renumbering.failure is not None:
                    raise renumbering.failure
                server.check()

    def _pass_on(self, server: LogServer) -> None:
        for notice in server.take_notices():
            self._on_event(Event(notice.at, notice.kind, notice.address, notice.text))

    def _report(self, kind: str, text: str) -> None:
        self._on_event(Event(int(runtime.now() * 1e6), kind, "", text))


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def read_password(path: Path) -> str:
    """Return the password in a file: its first line.

    Raises:
        UsageError: The file cannot be read, is empty, or may be read by everybody.
    """
    try:
        mode = path.stat().st_mode
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--password-file {path}: it cannot be read: {error}") from None
    if mode & (stat.S_IROTH | stat.S_IWOTH):
        raise UsageError(f"--password-file {path}: everybody on this machine may read it: chmod 600 {path}")
    if not lines or not lines[0]:
        raise UsageError(f"--password-file {path}: it has no password in its first line; replicas cannot log in without one")
    return lines[0]


def served_logs(folder: Path | None, logs: Sequence[Path]) -> list[str]:
    """Return the files to serve, in order.

    Args:
        folder: Folder with the logs; None if they are named.
        logs: The named files.

    Raises:
        UsageError: There is no log.
    """
    from paraply.logs.folders import logs_in

    if folder is not None:
        return logs_in(folder)
    if not logs:
        raise UsageError("name a folder with logs, the logs themselves, or --relay-log DIR")
    return [str(path) for path in logs]
