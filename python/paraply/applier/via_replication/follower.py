"""Follows what the target's applier commits, and keeps its channel going."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from typing import TYPE_CHECKING

from paraply.errors import AlreadyRunning, ApplyFailed, ConnectionFailed, ConnectionLost, ParaplyError, PrecedingFailed, TemporaryFailure
from paraply.targets.mysql.errors import explain
from paraply.targets.mysql.replica_channel import ReplicationChannel, end_workers, workers_of
from paraply.targets.retrying import steadily

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from paraply.applier.execute.run_state import RunState
    from paraply.applier.schedule.job_list import Job
    from paraply.applier.via_replication.outbox import Outbox
    from paraply.applier.via_replication.server import SourceServer
    from paraply.applier.via_replication.server_worker import ServerWorker
    from paraply.targets.mysql.replica_channel import ChannelFault
    from paraply.targets.mysql.sql import Connection
    from paraply.targets.mysql.target import MySqlTarget

__all__ = ["Watch"]

_log = logging.getLogger("paraply.logs")

_LOOK_SECONDS = 0.02
_WAIT_SECONDS = 0.1
_FAULT_SECONDS = 0.2
_BLOCKED_SECONDS = 3.0
_CHEAP_SECONDS = 0.005
_STEPS_BETWEEN = 10.0
"""A look at a large set of GTIDs takes long: so many times that is left between two that are not cheap."""


class Watch:
    """A thread with a connection of its own; everything that is done to the channel is done here.

    Args:
        run: Told of each transaction that is through, in order.
        target: The target, open.
        outbox: What is on its way.
        server: Who sends it.
        host: Where the target reaches that.
        workers: Shown what the server's workers do.
        on_error: Told what ends the run.
    """

    def __init__(
        self,
        run: RunState,
        target: MySqlTarget,
        outbox: Outbox,
        server: SourceServer,
        host: str,
        workers: Sequence[ServerWorker],
        on_error: Callable[[BaseException], None],
    ) -> None:
        self._run = run
        self._target = target
        self._outbox = outbox
        self._server = server
        self._host = host
        self._workers = workers
        self._on_error = on_error
        self._news = threading.Condition()
        self._wake = threading.Event()
        self._draining = False
        self._stopped = False
        self._made = False
        self._restarts = 0
        self._progress_at = self._fault_at = time.monotonic()
        self._reported = 0.0
        self._shown: Connection | None = None
        self._channel: ReplicationChannel | None = None
        self._thread = threading.Thread(target=self._follow, name="paraply-watch", daemon=True)

    def start(self) -> None:
        """Sets the channel up, and begins.

        Raises:
            UsageError: The target cannot do it, or its user may not.
        """
        steadily(self._establish, (ConnectionFailed, TemporaryFailure))
        self._thread.start()

    def drain(self, number: int) -> bool:
        """Waits until every job up to this one is committed; False if that will not happen."""
        order = self._run.order
        with self._news:
            self._draining = True
            self._wake.set()
            while order.low_water_mark < number and order.failure is None and not self._stopped:
                self._news.wait()
            self._draining = False
            return order.low_water_mark >= number

    def stop(self, *, now: bool) -> None:
        """Ends the channel; what its workers have under way finishes, or with ``now`` rolls back."""
        with self._news:
            self._stopped = True
            self._wake.set()
            self._news.notify_all()
        if now:
            with contextlib.suppress(ParaplyError):
                connection = self._target.connect()
                end_workers(connection, [worker.counters.connection_id for worker in self._workers if worker.counters.connection_id])
                connection.close()

    def end(self) -> None:
        """The same, and waits until the channel is gone and everything is counted."""
        self.stop(now=False)
        if self._thread.ident is not None:
            self._thread.join()
        if self._shown is not None:
            self._shown.close()

    def look_at_workers(self) -> None:
        """Shows what the server's workers do; by one thread, a few times a second."""
        try:
            if self._shown is None:
                self._shown = self._target.connect()
            for worker, seen in zip(self._workers, workers_of(self._shown, self._target.context.store.channel), strict=False):
                worker.show(seen)
        except ParaplyError:  # the thread that needs its answers tells it
            self._shown = None

    def _establish(self) -> ReplicationChannel:
        channel = self._opened()
        try:
            if not self._made or not channel.go_on():
                self._begin(channel)
        except BaseException:
            channel.close()
            raise
        self._channel = channel
        return channel

    def _begin(self, channel: ReplicationChannel) -> None:
        if self._made:
            self._check_epoch()
        channel.begin(self._host, self._server.port, self._server.user, self._server.password)
        self._made = True

    def _opened(self) -> ReplicationChannel:
        """The channel as it stands on the target, if it does."""
        connection = self._target.connect()
        try:
            return ReplicationChannel(connection, self._target.server, self._target.context.store.channel, len(self._workers))
        except BaseException:
            connection.close()
            raise

    def _follow(self) -> None:
        try:
            while not self._stopped:
                try:
                    self._step(self._channel or self._establish())
                except ParaplyError as error:
                    told = explain(error)
                    if not isinstance(told, (ConnectionFailed, TemporaryFailure)):
                        raise told from None
                    self._lost(told)
        except BaseException as error:  # a thread must not die alone
            self._on_error(error)
        finally:
            self._finish()
            with self._news:
                self._stopped = True
                self._news.notify_all()

    def _step(self, channel: ReplicationChannel) -> None:
        """Waits a little, and sees what is through."""
        if self._draining and (newest := self._outbox.newest_gtid()) is not None:
            channel.wait_for(newest, _WAIT_SECONDS)
        else:
            self._wake.wait(_LOOK_SECONDS)
            if not self._draining:
                self._wake.clear()
        now = time.monotonic()
        if self._settle(channel):
            self._restarts, self._progress_at = 0, now
        elif self._outbox.oldest() is None:
            self._progress_at = now
        if now - self._fault_at >= _FAULT_SECONDS:
            self._fault_at = now
            self._check_epoch()
            fault = channel.fault()
            if fault is not None:
                self._meet(channel, fault)
            elif now - self._progress_at >= _BLOCKED_SECONDS:
                self._look_for_blockers(now - self._progress_at)
        cost = time.monotonic() - now
        if cost > _CHEAP_SECONDS:
            self._pause(min(1.0, cost * _STEPS_BETWEEN))

    def _settle(self, channel: ReplicationChannel) -> bool:
        """Counts what is committed; whether that was anything."""
        done = self._outbox.committed(channel.executed())
        for job in done:
            with contextlib.suppress(PrecedingFailed):
                self._run.order.wait_turn(job.ticket)
            self._run.through(job.block)
            if self._run.order.failure is None:
                self._run.order.finish(job.ticket)
        if done:
            self._run.foreign_blockers = ()
            with self._news:
                self._news.notify_all()
        return bool(done)

    def _check_epoch(self) -> None:
        """Another run has taken paraply's channel over (R25a)."""
        with self._run.target.exclusive():
            if not self._target.is_ours():
                raise AlreadyRunning("another apply has begun on this target with the same --channel; this one ends")

    def _meet(self, channel: ReplicationChannel, fault: ChannelFault) -> None:
        """The channel has stopped: begins it anew where that may help, else ends the run at the transaction concerned."""
        self._settle(channel)
        error = explain(fault.error)
        if fault.receiving and not self._server.dumps:
            raise ApplyFailed(
                f"the target's server cannot read from paraply at {self._host}:{self._server.port}: {fault.error.message};"
                " name an address of this machine that it reaches with --listen, or use --via sessions"
            )
        if (fault.receiving or isinstance(error, (TemporaryFailure, ConnectionLost))) and self._restarts < self._run.retry.limit:
            self._restarts += 1
            self._run.retried()
            _log.info("the target's replication has stopped and is started again: %s", fault.error.message)
            if not (fault.receiving and self._restarts == 1 and channel.go_on()):
                self._begin(channel)
            return
        job = self._outbox.oldest()
        if job is None or (fault.gtid is not None and job.block.first_gtid != fault.gtid):
            raise error
        self._fail(job, fault)

    def _fail(self, job: Job, fault: ChannelFault) -> None:
        """Everything before it is committed, and it never will be (R18)."""
        session = self._target.session()
        try:
            error = session.explained(fault.error, job.block)
        finally:
            session.close()
        with contextlib.suppress(PrecedingFailed):
            self._run.order.wait_turn(job.ticket)
            self._run.order.finish(job.ticket, error)
        raise error

    def _look_for_blockers(self, seconds: float) -> None:
        """Says who holds the locks that the server's workers wait for (R24)."""
        ours = {worker.counters.connection_id for worker in self._workers}
        found = {blocker for connection in ours if connection for blocker in self._run.target.blockers(connection)} - ours
        self._run.foreign_blockers = tuple(sorted(found))
        if found and seconds >= self._reported * 2:
            self._reported = seconds
            text = self._run.target.describe_wait(0, self._run.foreign_blockers)
            if text:
                self._run.note(f"the oldest transaction {text}")

    def _lost(self, error: ParaplyError) -> None:
        """The watch's own connection, or the whole server, is gone; the next step makes everything anew."""
        channel, self._channel = self._channel, None
        if channel is not None:
            channel.close()
        self._restarts += 1
        if self._restarts > self._run.retry.reconnects:
            raise error
        _log.info("the connection to the target is lost, and made anew: %s", error)
        self._pause(self._run.retry.reconnect_delay(self._restarts))

    def _pause(self, seconds: float) -> None:
        """Waits, but not when the run is stopped."""
        with self._news:
            self._news.wait_for(lambda: self._stopped, seconds)

    def _finish(self) -> None:
        """Removes the channel, and counts what was committed until then."""
        try:
            self._check_epoch()
            channel = self._channel or self._opened()
            try:
                channel.end()
                self._settle(channel)
            finally:
                channel.close()
        except AlreadyRunning:  # the channel is another run's now
            if self._channel is not None:
                self._channel.close()
        except ParaplyError as error:
            self._run.note(
                f"the replication channel that the apply used may still stand on the target ({error.message}); the next run ends it, or"
                f" RESET REPLICA ALL does"
            )
