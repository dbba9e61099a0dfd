"""Replica follower: follows the commits of the target's applier, and restarts its channel after faults."""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING

from paraply._native import GtidSet
from paraply.applier.execute.resolution import name_treatment
from paraply.applier.schedule.policy import runs_statement
from paraply.cpu_time import thread_counted
from paraply.errors import (
    AlreadyRunning,
    ApplyFailed,
    ConnectionFailed,
    ConnectionLost,
    DdlUndecided,
    ParaplyError,
    PrecedingFailed,
    TemporaryFailure,
)
from paraply.runtime import runtime
from paraply.targets.lock_waits import UNTOLD
from paraply.targets.mysql.errors import explain
from paraply.targets.mysql.replication import new_channel, workers_of
from paraply.targets.mysql.replication.common import end_workers
from paraply.targets.progress.kept import commits_lost
from paraply.targets.retrying import with_retries

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from paraply.applier.execute.run_state import RunState
    from paraply.applier.schedule.job_list import Job
    from paraply.applier.via_replication.outbox import Outbox
    from paraply.applier.via_replication.server import SourceServer
    from paraply.applier.via_replication.server_worker import ServerWorker
    from paraply.targets.mysql.replication.common import Channel, ChannelFault
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
"""Factor for the pause after a slow query: reading a large set of GTIDs takes long."""


class Watch:
    """Replica follower: one thread, with its own connection, that does everything to the channel.

    Args:
        run: The run; each committed transaction is reported to it, in order.
        target: The open target.
        outbox: Jobs that are not committed yet.
        server: The source server that sends them.
        host: Address at which the target reaches the source server.
        workers: Counters for the server's workers.
        on_error: Called with the error that ends the run.
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
        self._news = runtime.condition()
        self._wake = runtime.event()
        self._draining = False
        self._stopped = False
        self._made = False
        self._restarts = 0
        self._progress_at = self._fault_at = runtime.monotonic()
        self._reported = 0.0
        self.settled = False
        """True once the channel is removed, and every commit counted."""
        self._shown: Connection | None = None
        self._channel: Channel | None = None
        self._counted: GtidSet = GtidSet()
        self._thread = runtime.thread(self._follow, name="paraply-watch")

    def start(self) -> None:
        """Set up the channel, and start the thread.

        Raises:
            UsageError: The target cannot replicate from paraply, or its user lacks privileges.
        """
        with_retries(self._establish, (ConnectionFailed, TemporaryFailure))
        self._thread.start()

    def drain(self, number: int) -> bool:
        """Wait until every job up to this one is committed; return False if that will not happen."""
        order = self._run.order
        with self._news:
            self._draining = True
            self._wake.set()
            while order.low_water_mark < number and order.failure is None and not self._stopped:
                self._news.wait()
            self._draining = False
            return order.low_water_mark >= number

    def stop(self, *, now: bool) -> None:
        """End the channel; its workers' transactions in progress finish, or roll back with ``now``."""
        if not self._stopped and not any(worker.counters.connection_id for worker in self._workers):
            self._look_once()
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
        """End the channel, and wait until it is removed and all commits are counted."""
        self.stop(now=False)
        if self._thread.is_alive():
            self._thread.join()
        if self._shown is not None:
            self._shown.close()

    def look_at_workers(self) -> None:
        """Update the counters of the server's workers; called by one thread, a few times a second."""
        try:
            if self._shown is None:
                self._shown = self._target.connect()
            self._show_workers(self._shown)
        except ParaplyError:  # the follower's thread reports the error
            self._shown = None

    def _look_once(self) -> None:
        """Note the connections of the server's workers while they have some: a later call of ``stop`` ends these."""
        with contextlib.suppress(ParaplyError), contextlib.closing(self._target.connect()) as connection:
            self._show_workers(connection)

    def _show_workers(self, connection: Connection) -> None:
        found = workers_of(connection, self._target.server, self._target.context.store.channel)
        for worker, seen in zip(self._workers, found, strict=False):
            worker.show(seen)

    def _establish(self) -> Channel:
        channel = self._opened()
        try:
            if self._made and (lost := self._counted - channel.executed()):
                raise commits_lost(str(lost))
            if not self._made or not channel.go_on():
                self._begin(channel)
        except BaseException:
            channel.close()
            raise
        self._channel = channel
        return channel

    def _begin(self, channel: Channel) -> None:
        if self._made:
            self._check_epoch()
            if self._target.server.mariadb:
                self._settle_apart(channel)
        self._server.approve()
        channel.begin(self._host, self._server.port, self._server.user, self._server.password)
        self._made = True

    def _opened(self) -> Channel:
        """Connect to the target, and return its channel."""
        connection = self._target.connect()
        try:
            return new_channel(connection, self._target.server, self._target.context.store.channel, len(self._workers))
        except BaseException:
            connection.close()
            raise

    @thread_counted("watcher")
    def _follow(self) -> None:
        try:
            while not self._stopped:
                try:
                    self._step(self._channel or self._establish())
                except ParaplyError as error:
                    cause = explain(error)
                    if not isinstance(cause, (ConnectionFailed, TemporaryFailure)):
                        raise cause from None
                    self._lost(cause)
        except BaseException as error:  # without a report the run would wait for this thread
            self._on_error(error)
        finally:
            self._finish()
            with self._news:
                self._stopped = True
                self._news.notify_all()

    def _step(self, channel: Channel) -> None:
        """Wait a little, then count new commits and check the channel."""
        if self._draining and (newest := self._outbox.newest_gtid()) is not None:
            channel.wait_for(newest, _WAIT_SECONDS)
        else:
            self._wake.wait(_LOOK_SECONDS)
            if not self._draining:
                self._wake.clear()
        now = runtime.monotonic()
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
        cost = runtime.monotonic() - now
        if cost > _CHEAP_SECONDS:
            self._pause(min(1.0, cost * _STEPS_BETWEEN))

    def _settle_apart(self, channel: Channel) -> None:
        """Remove the channel, and count what the server holds by all of its own accounts.

        Raises:
            DdlUndecided: A statement was sent, and is not counted.
        """
        channel.remove()
        self._settle(channel, channel.held())
        job = self._outbox.oldest()
        if job is not None and runs_statement(job.block):
            raise DdlUndecided(
                "the target's replication ended while this statement ran: run the same command again, which finds out whether it was done",
                file=job.block.file,
                position=job.block.offset,
                gtid=job.block.first_gtid,
            )

    def _settle(self, channel: Channel, executed: GtidSet | None = None) -> bool:
        """Count committed jobs; return True if there were any."""
        done = self._outbox.committed(channel.executed() if executed is None else executed, exact=executed is None)
        for job in done:
            if self._target.server.mariadb:
                self._target.pass_over(job.block)
            with contextlib.suppress(PrecedingFailed):
                self._run.order.wait_turn(job.ticket)
            self._run.count_committed(job.block)
            self._counted.update(job.block.gtids)
            if self._run.order.failure is None:
                self._run.order.finish(job.ticket)
        if done:
            self._run.foreign_blockers = ()
            with self._news:
                self._news.notify_all()
        return bool(done)

    def _check_epoch(self) -> None:
        """Raise AlreadyRunning if another run has taken over paraply's channel (R25a)."""
        with self._run.target.exclusive():
            if not self._target.owns_channel():
                raise AlreadyRunning("another apply has begun on this target with the same --channel; this apply ends")

    def _meet(self, channel: Channel, fault: ChannelFault) -> None:
        """Handle a stopped channel: start it again if that may help, else end the run at the failed transaction."""
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
        """End the run at a job that can never be committed, after all older jobs have committed (R18)."""
        session = self._target.session()
        try:
            error = session.explained(fault.error, job.block)
        finally:
            session.close()
        name_treatment(error, job.block, self._run.on_conflict, by_replication=True)
        with contextlib.suppress(PrecedingFailed):
            self._run.order.wait_turn(job.ticket)
            self._run.order.finish(job.ticket, error)
        raise error

    def _look_for_blockers(self, seconds: float) -> None:
        """Report the connections that hold locks for which the server's workers wait (R24)."""
        own = {worker.counters.connection_id for worker in self._workers}
        found = {blocker for connection in own if connection for blocker in self._run.target.blockers(connection)} - own - {UNTOLD}
        self._run.foreign_blockers = tuple(sorted(found))
        if found and seconds >= self._reported * 2:
            self._reported = seconds
            text = self._run.target.describe_wait(0, self._run.foreign_blockers)
            if text:
                self._run.note(f"the oldest transaction {text}")

    def _lost(self, error: ParaplyError) -> None:
        """Note the loss of the connection or of the whole server; the next step makes everything anew."""
        channel, self._channel = self._channel, None
        if channel is not None:
            channel.close()
        self._restarts += 1
        if self._restarts > self._run.retry.reconnects:
            raise error
        self._run.target.outage.broken(error)
        self._pause(self._run.retry.reconnect_delay(self._restarts))

    def _pause(self, seconds: float) -> None:
        """Wait; return early if the run is stopped."""
        with self._news:
            self._news.wait_for(lambda: self._stopped, seconds)

    def _finish(self) -> None:
        """Remove the channel, and count the commits up to then."""
        try:
            self._check_epoch()
            channel = self._channel or self._opened()
            try:
                channel.end()
                self._settle(channel, channel.held())
                self.settled = True
            finally:
                channel.close()
        except AlreadyRunning:  # another run owns the channel now
            if self._channel is not None:
                self._channel.close()
        except ParaplyError as error:
            self._run.note(
                f"the replication channel that the apply used may still exist on the target ({error.message}); the next run removes it, or"
                f" RESET REPLICA ALL does"
            )
