"""New numbers for the transactions of a log that is served, computed while it grows (R37)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paraply._native import Catalog
from paraply.errors import ParaplyError
from paraply.logs.feed import Feed, FeedRules
from paraply.replication.table_states import TableState, TableStates
from paraply.runtime import runtime
from paraply.schema.catalog import SchemaCatalog
from paraply.schema.readers.dump import read_dump
from paraply.wording import fallback_reasons, fallback_total

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from paraply._native import BegunFile, LogServer

__all__ = ["RenumberOptions", "Renumbering"]

MOST_WORKERS = 1024
"""Largest ``replica_parallel_workers`` of MySQL: a number that is further back gains nothing."""


@dataclass(frozen=True, slots=True)
class RenumberOptions:
    """Options of new numbers.

    Attributes:
        workers: Most workers of a replica; no number is further back. The numbers are safe for any other number, too.
        schema: A dump of the tables at the start of the oldest log file; None for none.
        relay_log: Folder of a relay log whose files are removed; None for other logs. The tables at the start of each file are kept there.
    """

    workers: int = MOST_WORKERS
    schema: Path | None = None
    relay_log: Path | None = None


class Renumbering:
    """Thread that gives numbers to the transactions of a server's log; replicas get each transaction once it has some.

    The numbers of a transaction depend on the log before it only, so that they are the same after a restart: in a log of a source from the
    start of the file on, in a relay log from the start of the source's file on, whose first number is kept for each file.

    Args:
        server: A server with ``stamped=True``.
        options: Options of the numbers.

    Raises:
        UsageError: The dump cannot be read, or the tables at the start of the relay log are not known any more.
    """

    def __init__(self, server: LogServer, options: RenumberOptions) -> None:
        self._states = TableStates(options.relay_log) if options.relay_log is not None else None
        oldest = server.files()[0][1].name
        kept = self._states.at(oldest) if self._states is not None else None
        if kept is not None:
            self._schema = kept.catalog()
        else:
            self._schema = read_dump(options.schema) if options.schema is not None else SchemaCatalog()
        self._numberer = server.numberer(
            options.workers, first_number=kept.next_number if kept is not None else None, source_file=kept.source_file if kept else None
        )
        self._feed = Feed(server.reader(), self._schema.copy(), Catalog(), FeedRules("fine"))
        self._feed.seed(list(self._schema))
        self._mutex = runtime.condition()
        self._thread = runtime.thread(self._run, name="paraply-numbers")
        self._over = False
        self.failure: BaseException | None = None
        """Error that ended it, if the log itself is not damaged."""
        self.kept_up_to = server.files()[0][0]
        """Number of the newest file at whose start the tables are kept; later files must not become the oldest one."""

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread, and wait for its end."""
        self._feed.stop()
        if self._thread.is_alive():
            self._thread.join()
        self._feed.join()

    def publish(self) -> None:
        """Let replicas have what is after the last transaction: the ends and beginnings of files."""
        with self._mutex:
            if self._over:
                return
            try:
                self._keep(self._numberer.publish())
            except (ParaplyError, OSError) as error:
                self._end(error)

    def status(self) -> Mapping[str, Any]:
        """Return the counts for JSON."""
        names = ("transactions", "changed", "barriers", "parallel_before", "parallel_after")
        fallbacks = self._feed.fallbacks
        return {
            **{name: getattr(self._numberer, name) for name in names},
            "fallbacks": fallback_total(fallbacks),
            "fallback_reasons": fallback_reasons(fallbacks),
        }

    def _run(self) -> None:
        try:
            for item in self._feed:
                with self._mutex:
                    self._keep(self._numberer.write(item.batch, item.write_sets))
                    self._schema = item.schema or self._schema
        except BaseException as error:  # replicas would wait for the numbers
            with self._mutex:
                self._end(error)
        else:
            with self._mutex:
                self._end(None)

    def _end(self, error: BaseException | None) -> None:
        if self._over:
            return
        self._over, self.failure = True, error
        if isinstance(error, ParaplyError):
            self._numberer.end(f"no new numbers after this: {error.message}", error.file or "", error.position or 0)
        else:
            self._numberer.end(f"no new numbers after this: {error}" if error is not None else None)

    def _keep(self, begun: Iterable[BegunFile]) -> None:
        """Keep the tables at the start of files; those of a relay log, whose older files are removed one day."""
        for file in begun:
            if self._states is not None:
                self._states.keep(file.path, TableState.of(self._schema, file.first_number, file.source_file))
            self.kept_up_to = file.number
