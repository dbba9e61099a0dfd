"""Driver that sends the coordinator's jobs through the target's own replication."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from paraply.applier.execute.supervisor import stopped_error
from paraply.applier.schedule.coordinator import Executor
from paraply.applier.schedule.policy import runs_statement
from paraply.applier.via_replication.follower import Watch
from paraply.applier.via_replication.isolation import Isolation
from paraply.applier.via_replication.options import source_address
from paraply.applier.via_replication.outbox import DomainOutbox, Outbox
from paraply.applier.via_replication.server import SourceServer
from paraply.applier.via_replication.server_worker import ServerWorker
from paraply.cpu_time import thread_counted
from paraply.errors import ConnectionFailed, LogNotUnderstood, ParaplyError, UsageError
from paraply.logs.statement_text import read_statement_text
from paraply.runtime import runtime
from paraply.schema.ddl.rules import Rules
from paraply.targets.mysql.ddl.own_database import check_own_statement

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

__all__ = ["ReplicaDriver"]

_TICK_SECONDS = 0.25


class ReplicaDriver(Executor):
    """Driver and executor (see ``Driver`` and ``Executor``) whose workers belong to the server.

    Args:
        run: The run; its commit order is the server's.
        feed: The reader stage.
        target: The open target, a ``MySqlTarget``.
        options: Number of workers, and the address at which the target's receiver reads.
        stop_requests: Returns the number of stop requests so far.
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
        mariadb = self._target.server.mariadb
        self._outbox = DomainOutbox() if mariadb else Outbox()
        self._isolation = Isolation(self._target, self._outbox.put, self.drain, run.retry) if mariadb else None
        self._server: SourceServer | None = None
        self._watch: Watch | None = None
        self._checks: Connection | None = None
        self._statement = 0
        self._stopped = False
        self._ended = runtime.event()
        self._threads = [
            runtime.thread(self._look_after_stops, name="paraply-stops"),
            runtime.thread(self._report, name="paraply-progress"),
        ]

    @property
    def executor(self) -> ReplicaDriver:
        """Executor of the jobs: this object."""
        return self

    def coordinate(self, coordinator: Coordinator) -> bool:
        """Let the coordinator hand out the whole log, and wait until the server has committed it.

        Returns:
            True at the end of the log, False if no more jobs were accepted.

        Raises:
            ParaplyError: As ``Coordinator.coordinate``; the run's commit order holds the root cause of a failure.
        """
        for thread in self._threads:
            thread.start()
        try:
            with thread_counted("coordinator"):
                return coordinator.coordinate()
        except ParaplyError:
            raise
        except BaseException as error:  # a defect, or Ctrl-C without a handler
            self._fail(error)
            raise
        finally:
            self._close()

    def put(self, job: Job) -> bool:
        """Hand out a job; return False if no more are accepted."""
        if self._stopped or self._run.order.failure is not None:
            return False
        try:
            return self._is_ready(job.block) and self._hand_on(job)
        except ParaplyError as error:
            self._refuse(job, error)
            return False

    def _hand_on(self, job: Job) -> bool:
        if runs_statement(job.block):
            self._statement = job.number
        return self._outbox.put(job) if self._isolation is None else self._isolation.put(job)

    def drain(self, number: int) -> bool:
        """Wait until every job up to this one is committed; return False if that will not happen."""
        return self._watch is None or self._watch.drain(number)

    def passed(self, number: int) -> None:
        """Do nothing: the server's progress decides which jobs are committed."""

    def _is_ready(self, block: Block) -> bool:
        """Prepare channel and tables for the block; return False if the run has ended meanwhile.

        Raises:
            ParaplyError: The target cannot apply the block.
        """
        if runs_statement(block):
            _refuse_statements(block)
        if block.own_left_out and block.kind == "xa_prepare" and block.has_rows:
            raise UsageError(
                f"--via replication: the XA transaction {block.xid} changed paraply's own tables of the source beside others, and is sent"
                " whole: use --via sessions, or stop before it"
            )
        if self._server is None:
            self._begin(block)
        return block.kind != "dml" or self._check_tables(block)

    def _refuse(self, job: Job, error: ParaplyError) -> None:
        """End the run with the error of a job that cannot be handed out, after all older jobs have committed (R18)."""
        if error.gtid is None:
            error.file, error.position, error.gtid = job.block.file, job.block.offset, job.block.first_gtid
        if self.drain(job.number - 1):
            self._run.order.wait_turn(job.ticket)
            self._run.order.finish(job.ticket, error)
        self._run.abort(error)

    def _begin(self, block: Block) -> None:
        """Start the source server and the target's replication; the target sees the version of the server that wrote the log."""
        version = block.format.server_version
        server = SourceServer(
            self._address,
            self._outbox,
            version,
            self._target.server_id(),
            len(self.workers),
            self._fail,
            on_approval=self._isolation is not None,
        )
        self._server = server
        self._watch = Watch(self._run, self._target, self._outbox, server, self._address[0], self.workers, self._fail)
        self._watch.start()

    def _check_tables(self, block: Block) -> bool:
        """Compare the tables as ``Session.apply`` does, with the definitions valid for the block."""
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
                runtime.sleep(self._run.retry.reconnect_delay(attempt))
            else:
                break
        return True

    def _check_connection(self) -> Connection:
        if self._checks is None:
            self._checks = self._target.connect()
        return self._checks

    @thread_counted("watcher")
    def _look_after_stops(self) -> None:
        """Carry out stop requests: the first lets jobs in progress finish, the second rolls them back."""
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

    @thread_counted("watcher")
    def _report(self) -> None:
        while not self._ended.wait(_TICK_SECONDS):
            if self._watch is not None:
                self._watch.look_at_workers()
            self._on_tick()

    def _fail(self, error: BaseException) -> None:
        """End the run: no further job is committed on the target."""
        self._run.abort(error)
        self._feed.stop()
        self._outbox.close()

    def _close(self) -> None:
        self._feed.stop()
        self._outbox.close()
        if self._watch is not None:
            self._watch.end()
        if self._isolation is not None:
            self._isolation.end(settled=self._watch is not None and self._watch.settled)
        if self._server is not None:
            self._server.close()
        self._ended.set()
        for thread in self._threads:
            thread.join()
        self._feed.join()
        if self._checks is not None:
            self._checks.close()


def _refuse_statements(block: Block) -> None:
    """Refuse statements on paraply's own tables, and names that the server's applier would read wrongly.

    It takes the server's own UTF-8 for the client's text.

    Raises:
        UsageError: A statement would change paraply's own tables.
        LogNotUnderstood: The block has a statement with such names.
    """
    log = block.format
    for statement in block.transactions[0].statements:
        read = read_statement_text(statement, mariadb=log.mariadb, version=log.version, file=block.file, has_rows=block.has_rows)
        rules = Rules.of(statement.context, mariadb=log.mariadb, version=log.version)
        check_own_statement(read.text, statement.database, rules, statement.offset)
        client_is_utf8 = read.charset is not None and read.charset.is_utf8
        if (read.in_utf8 and not client_is_utf8) or read.sent != statement.sql:
            raise LogNotUnderstood(
                "the source wrote names of this statement in UTF-8, and its character_set_client is another one, so that the target's own"
                " replication would make other names; apply it without --via replication",
                position=statement.offset,
            )
        if read.in_utf8 and read.converted:
            raise LogNotUnderstood(
                "the source wrote the literals of this statement, and the character set of its connection does not have all of their"
                " characters, so that the target's own replication would make other labels or defaults; apply it without --via replication",
                position=statement.offset,
            )
