"""Hands the coordinator's jobs to the target's own replication, and learns what it has committed."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, cast

from paraply.applier.execute.supervisor import stopped_error
from paraply.applier.schedule.coordinator import Crew
from paraply.applier.schedule.policy import runs_statement
from paraply.applier.via_replication.follower import Watch
from paraply.applier.via_replication.options import source_address
from paraply.applier.via_replication.outbox import Outbox
from paraply.applier.via_replication.server import SourceServer
from paraply.applier.via_replication.server_worker import ServerWorker
from paraply.errors import ConnectionFailed, ParaplyError

if TYPE_CHECKING:
    from collections.abc import Callable

    from paraply._native import Block
    from paraply.applier.execute.run_state import RunState
    from paraply.applier.options import Options
    from paraply.applier.schedule.coordinator import Coordinator
    from paraply.applier.schedule.job_list import Job
    from paraply.logs.feed import Feed
    from paraply.targets.mysql.sql import Connection
    from paraply.targets.mysql.target import MySqlTarget
    from paraply.targets.protocol import Target

__all__ = ["ReplicaDrive"]

_TICK_SECONDS = 0.25


class ReplicaDrive(Crew):
    """The drive and the crew (see ``Drive`` and ``Crew``) whose workers are the server's own.

    Args:
        run: The run; its order is that in which the server commits.
        feed: The reader stage.
        target: The target, a ``MySqlTarget``, open.
        options: How many workers, and the address that the target's receiver reads from.
        stop_requests: How often a stop was asked for.
        on_tick: Called about four times a second; must not raise.
    """

    def __init__(
        self,
        run: RunState,
        feed: Feed,
        target: Target,
        options: Options,
        stop_requests: Callable[[], int],
        on_tick: Callable[[], None],
    ) -> None:
        self._run = run
        self._feed = feed
        self._target = cast("MySqlTarget", target)
        self._address = source_address(options.listen, self._target.url)
        self.workers = [ServerWorker(number) for number in range(options.workers)]
        self._stop_requests = stop_requests
        self._on_tick = on_tick
        self._outbox = Outbox()
        self._server: SourceServer | None = None
        self._watch: Watch | None = None
        self._checks: Connection | None = None
        self._statement = 0
        self._stopped = False
        self._ended = threading.Event()
        self._threads = [
            threading.Thread(target=self._look_after_stops, name="paraply-stops", daemon=True),
            threading.Thread(target=self._report, name="paraply-progress", daemon=True),
        ]

    @property
    def crew(self) -> ReplicaDrive:
        """Who applies the jobs."""
        return self

    def coordinate(self, coordinator: Coordinator) -> bool:
        """Has the coordinator hand everything out, and waits until the server has committed it.

        Returns:
            True at the end of the log, False if no more jobs were taken.

        Raises:
            ParaplyError: As ``Coordinator.coordinate``; the root cause of a failure stands in the run's order.
        """
        for thread in self._threads:
            thread.start()
        try:
            return coordinator.coordinate()
        except ParaplyError:
            raise
        except BaseException as error:  # a defect, or Ctrl-C where nobody handles it
            self._fail(error)
            raise
        finally:
            self._close()

    def put(self, job: Job) -> bool:
        """Hands a job out; False if no more are taken."""
        if self._stopped or self._run.order.failure is not None:
            return False
        try:
            if not self._is_ready(job.block):
                return False
        except ParaplyError as error:
            self._refuse(job, error)
            return False
        if runs_statement(job.block):
            self._statement = job.number
        return self._outbox.put(job)

    def drain(self, number: int) -> bool:
        """Waits until every job up to this one is committed; False if that will not happen."""
        return self._watch is None or self._watch.drain(number)

    def passed(self, number: int) -> None:
        """The coordinator itself saw this number through; nothing to do."""

    def _is_ready(self, block: Block) -> bool:
        """Everything is there for the block; False if the run has ended meanwhile.

        Raises:
            ParaplyError: The target cannot take it.
        """
        if self._server is None:
            self._begin(block)
        return block.kind != "dml" or self._check_tables(block)

    def _refuse(self, job: Job, error: ParaplyError) -> None:
        """The job cannot be handed out: older ones commit first, then its error ends the run (R18)."""
        if error.gtid is None:
            error.file, error.position, error.gtid = job.block.file, job.block.offset, job.block.first_gtid
        if self.drain(job.number - 1):
            self._run.order.wait_turn(job.ticket)
            self._run.order.finish(job.ticket, error)
        self._run.abort(error)

    def _begin(self, block: Block) -> None:
        """Listens, and has the target read; its version is told that of the server that wrote the log."""
        version = block.format.server_version
        server = SourceServer(self._address, self._outbox, version, self._target.server_id(), len(self.workers), self._fail)
        self._server = server
        self._watch = Watch(self._run, self._target, self._outbox, server, self._address[0], self.workers, self._fail)
        self._watch.start()

    def _check_tables(self, block: Block) -> bool:
        """Compares the tables as ``Session.apply`` does, under the definitions that hold for the block."""
        target = self._target
        if self._statement:
            if not self.drain(self._statement):
                return False
            self._statement = 0
            target.context.forget_tables()
        maps = block.table_maps()
        for attempt in range(1, self._run.retry.reconnects + 1):
            try:
                target.context.checker.check(self._check_connection, maps, block.format.version)
            except ConnectionFailed:
                if self._checks is not None:
                    self._checks.close()
                self._checks = None
                if attempt == self._run.retry.reconnects or self._stopped:
                    raise
                time.sleep(self._run.retry.reconnect_delay(attempt))
            else:
                break
        return True

    def _check_connection(self) -> Connection:
        if self._checks is None:
            self._checks = self._target.connect()
        return self._checks

    def _look_after_stops(self) -> None:
        """First: no more jobs, those under way finish. Second: those under way roll back."""
        seen = 0
        while not self._ended.wait(0.02):
            requests = self._stop_requests()
            if requests > seen:
                seen = requests
                self._stop(now=requests > 1)

    def _stop(self, *, now: bool) -> None:
        self._stopped = True
        self._feed.stop()
        self._outbox.close()
        if self._watch is not None:
            self._watch.stop(now=now)
        if now:
            self._run.abort(stopped_error())

    def _report(self) -> None:
        while not self._ended.wait(_TICK_SECONDS):
            if self._watch is not None:
                self._watch.look_at_workers()
            self._on_tick()

    def _fail(self, error: BaseException) -> None:
        """Ends the run: what is not committed on the target will not be."""
        self._run.abort(error)
        self._feed.stop()
        self._outbox.close()

    def _close(self) -> None:
        self._feed.stop()
        self._outbox.close()
        if self._watch is not None:
            self._watch.end()
        if self._server is not None:
            self._server.close()
        self._ended.set()
        for thread in self._threads:
            thread.join()
        self._feed.join()
        if self._checks is not None:
            self._checks.close()
