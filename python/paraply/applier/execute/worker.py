"""A worker: one thread and one connection that applies blocks and commits them in turn (R17 to R19, R24)."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, cast

from paraply.applier.commit.commit_order import RollbackRequested, TicketState
from paraply.applier.execute.availability import was_committed, when_available
from paraply.applier.execute.resolution import count_conflicts, end_run, may_resolve
from paraply.applier.schedule.contention import tables_of
from paraply.applier.schedule.early_rows import steps_of
from paraply.applier.schedule.policy import runs_statement
from paraply.errors import AlreadyRunning, ApplyFailed, ConnectionFailed, ConnectionLost, ParaplyError, PrecedingFailed, TemporaryFailure
from paraply.observe import worker_state as states
from paraply.observe.counters import WorkerCounters
from paraply.observe.timeline import block_arguments
from paraply.runtime import runtime
from paraply.targets.batch import BatchOutcome
from paraply.targets.retrying import with_retries

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from paraply._native import Block
    from paraply.applier.execute.run_state import RunState
    from paraply.applier.schedule.job_list import Job, JobList
    from paraply.observe.worker_state import Wait
    from paraply.targets.batch import BatchSession
    from paraply.targets.conflicts import Conflict, ConflictSession
    from paraply.targets.protocol import Session

__all__ = ["Worker"]

_SHORTEST_WAIT = 2e-5
"""Seconds; a shorter wait is not shown in the timeline."""


class Worker:
    """Worker that applies the jobs it takes; owned by the thread that runs it.

    Args:
        run: State shared by the run's threads.
        number: Number of the worker, from 0.
    """

    def __init__(self, run: RunState, number: int) -> None:
        self._run = run
        self._session: Session | None = None
        self._idle_kind: Wait = "input"
        self._idle_since = 0.0
        self.counters = WorkerCounters(number)
        self.job: Job | None = None
        self.attempt = 0
        """Number of attempts to apply a block or statement so far, so that other threads notice a new one."""
        self.since = 0.0
        """Start of the current attempt (``runtime.perf_counter``)."""
        self._attempting = ""
        """Current activity of the attempt; empty if there is none."""
        self._has_stepped_back = False
        self._conflicts: Sequence[Conflict] = ()

    def loop(self, jobs: JobList) -> None:
        """Take and process jobs until there are no more; the body of the thread."""
        slot = jobs.slot()
        try:
            while True:
                self._idle_since = runtime.perf_counter()
                job = jobs.take(slot, self._on_idle)
                self._count_idle()
                if job is None:
                    return
                taken = [job, *jobs.take_more(job)]
                untold = self.process_batch(taken, jobs)
                jobs.committed(*(one.number for one in untold))
        except PrecedingFailed:
            pass
        except BaseException as error:  # without an abort the other threads would wait for this one
            self._run.abort(error)
        finally:
            self.counters.state = "Ended"
            self.close()

    def _count_idle(self) -> None:
        now = runtime.perf_counter()
        self.counters.waits[self._idle_kind] += now - self._idle_since
        if self._run.timeline is not None and now - self._idle_since > _SHORTEST_WAIT:
            self._run.timeline.slice(self.counters.number + 1, "wait", self._idle_since, now, {"for": self._idle_kind})
        self._idle_since = now

    def _show(self, name: str, begin: float, **more: object) -> None:
        """Add a slice of the current job to the timeline, from ``begin`` to now."""
        if self._run.timeline is not None and self.job is not None:
            self._run.timeline.slice(self.counters.number + 1, name, begin, runtime.perf_counter(), block_arguments(self.job.block) | more)

    def _on_idle(self, waits_for: Wait) -> None:
        """Record the reason of the wait; also called by the coordinator's thread, while this one sleeps."""
        self._count_idle()
        self._idle_kind, self.counters.state = waits_for, states.IDLE_STATES[waits_for]

    def open(self) -> None:
        """Open the session."""
        session = self._session = with_retries(self._run.target.session, (ConnectionFailed, TemporaryFailure))
        self.counters.connection_id = session.connection_id
        self.counters.state = states.IDLE

    def close(self) -> None:
        """Close the session, if there is one."""
        session, self._session = self._session, None
        if session is not None:
            session.close()

    def interrupt(self) -> None:
        """End the running statement; called from another thread."""
        if (session := self._session) is not None:
            with contextlib.suppress(ParaplyError, OSError):
                session.interrupt()

    def rescue(self) -> None:
        """Let the session check that its answer can still arrive; called from another thread."""
        if (session := self._session) is not None:
            with contextlib.suppress(ParaplyError, OSError):
                session.rescue()

    def process_batch(self, batch: Sequence[Job], jobs: JobList) -> Sequence[Job]:
        """Apply and commit jobs one after the other, in one call of the session as far as they need no decision in between.

        Between two others it takes older jobs that may start by then. Else these could wait for this worker, and this worker for them.

        Returns:
            Those of the jobs whose commit the job list does not know yet.

        Raises:
            ParaplyError: As ``process``; the jobs before the failed one are committed.
        """
        session = self._session
        alone = session is None or (len(batch) == 1 and not (batch[0].fits and getattr(session, "commits_at_once", False)))
        outcome = BatchOutcome(0) if alone else self._commit_together(batch)
        untold = batch[: outcome.done]
        for job in batch[outcome.done :]:
            while untold:
                jobs.committed(*(one.number for one in untold), returns=False)
                untold = jobs.take_older(job.number)
                if untold:
                    self._rollback()
                    self.process(untold[0])
            self.process(job, outcome if outcome.error is not None else None)
            untold, outcome = [job], BatchOutcome(0)
        return untold

    def _commit_together(self, jobs: Sequence[Job]) -> BatchOutcome:
        """Commit as many of the first jobs as possible with one call of the session."""
        order, session = self._run.order, cast("BatchSession | None", self._session)
        jobs = jobs[: order.take_turns([job.ticket for job in jobs])]
        if not jobs or session is None:
            return BatchOutcome(0)
        self._begin_job(jobs[0])
        self._begin_attempt(states.APPLYING)
        outcome = session.apply_and_commit([job.block for job in jobs])
        self._end_attempt(outcome.done)
        done = jobs[: outcome.done]
        self._count_committed(*(job.block for job in done))
        order.finish_batch([job.ticket for job in done])
        self._end_job()
        return outcome

    def process(self, job: Job, tried: BatchOutcome | None = None) -> None:
        """Apply and commit a job.

        Args:
            job: The job.
            tried: Outcome of a failed first try in a batch; the ticket then has its turn.

        Raises:
            PrecedingFailed: An older one failed; this one is rolled back.
            ParaplyError: This one failed, after all older ones were committed; no younger one will be applied.
        """
        self._begin_job(job)
        order = self._run.order
        try:
            self._apply_job(job, tried)
            order.finish(job.ticket)
        except PrecedingFailed as error:
            self._rollback()
            order.finish(job.ticket, error)
            raise
        except AlreadyRunning as error:
            self._rollback()
            self._run.abort(error)
            raise
        finally:
            self._end_job()

    def _end_job(self) -> None:
        self.job, self.counters.block, self.counters.began = None, 0, 0.0

    def _begin_job(self, job: Job) -> None:
        counters = self.counters
        self.job, counters.block = job, job.number
        counters.began, counters.tries = runtime.now(), 0
        self._has_stepped_back = False

    def _count_committed(self, *blocks: Block) -> None:
        """Count committed blocks, while this worker still holds their turns."""
        if not blocks:
            return
        transactions, rows = self._run.count_committed(*blocks)
        counters, last = self.counters, blocks[-1]
        counters.blocks += len(blocks)
        counters.transactions += transactions
        counters.rows += rows
        counters.last_gtid, counters.last_committed_at = last.last_gtid, last.committed_at
        counters.last_began, counters.last_ended, counters.last_tries = counters.began, runtime.now(), counters.tries

    def _apply_job(self, job: Job, tried: BatchOutcome | None) -> None:
        """Commit the job's block as a whole, or its transactions one by one."""
        older = self._run.order.take_request(job.ticket) if job.ticket.rollback_requested else None
        if older is not None:  # requested before it began: it only has to wait
            with self._waiting("older", states.STEPPING_BACK):
                self._run.order.wait_for(job.ticket, older)
        try:
            self._get_in(job, job.block, tried=tried)
        except (PrecedingFailed, AlreadyRunning):
            raise
        except ParaplyError as error:
            self._rollback()
            if job.block.transaction_count > 1 and not isinstance(error, ConnectionFailed):
                self._replay(job)
            else:
                self._resolve(job, job.block, error)
        else:
            self._count_committed(job.block)

    def _replay(self, job: Job) -> None:
        """Apply a merged block's transactions singly, so that everything before the failing one commits (R24)."""
        self._run.order.wait_for(job.ticket, job.number - 1)
        self._run.order.wait_turn(job.ticket)
        self.counters.replays += 1
        self.counters.retries += 1
        for part in job.block.split():
            try:
                self._get_in(job, part, part_of_job=True)
            except (PrecedingFailed, AlreadyRunning):
                raise
            except ParaplyError as error:
                self._rollback()
                self._resolve(job, part, error)
            else:
                self._count_committed(part)

    def _resolve(self, job: Job, block: Block, error: ParaplyError) -> None:
        """Apply a block whose rows do not fit row by row, if the run may; else end the run with its error."""
        run = self._run
        if not may_resolve(run.on_conflict, block, error):
            end_run(run, job, block, error)
        self.counters.retries += 1
        try:
            self._wait_turn_empty_handed(job)  # rows fit or do not fit what all older transactions left
            self._get_in(job, block, part_of_job=True, resolving=True)
        except (PrecedingFailed, AlreadyRunning):
            raise
        except ParaplyError as found:
            self._rollback()
            end_run(run, job, block, found)
        count_conflicts(run, block, self._conflicts)
        self._count_committed(block)

    def _get_in(
        self, job: Job, block: Block, *, part_of_job: bool = False, tried: BatchOutcome | None = None, resolving: bool = False
    ) -> None:
        """Apply and commit one block, with all allowed retries.

        Args:
            job: The job.
            block: Its block.
            part_of_job: True if the job commits several blocks, so that it is not finished with this one.
            tried: Outcome of the first try in a batch.
            resolving: True if rows that do not fit are treated as ``--on-conflict`` says.
        """
        run, ticket = self._run, job.ticket
        retries, losses, statement = 0, 0, runs_statement(block)
        while True:
            if retries > run.retry.limit // 2 or statement:
                self._wait_turn_empty_handed(job)
            committing = False
            early = run.optimistic and run.order.low_water_mark < job.number - 1
            try:
                if tried is not None and tried.error is not None:
                    error, committing, tried = tried.error, tried.committing, None
                    raise error
                session = self._session or self._connect(job)  # opened late: a worker without a job needs no session
                self._begin_attempt(states.APPLYING)
                if statement:
                    committing = True
                    session.execute_statement(block)
                    run.remark_on(block)
                    self.counters.connection_id = session.connection_id  # an XA transaction may have replaced the connection
                else:
                    if resolving:
                        self._conflicts = cast("ConflictSession", session).apply_resolving(block)
                    else:
                        self._apply_rows(session, job, block)
                    self._end_attempt()
                    self._wait_turn(job)
                    committing = True
                    self._begin_attempt(states.COMMITTING)
                    if not part_of_job:
                        run.order.sent(ticket)
                    session.commit()
                self._end_attempt()
                return
            except RollbackRequested as request:
                self._step_back(job, request.older)
            except TemporaryFailure as error:
                older = run.order.take_request(ticket)
                if older is None:
                    retries += 1
                    self._back_off(job, error, retries)
                else:
                    self._step_back(job, older)
            except ConnectionLost as error:
                losses += 1
                if losses > run.retry.reconnects:
                    raise ApplyFailed(f"the connection was lost {losses} times while this transaction was applied: {error}") from error
                self._reconnect(job, error)
                if committing and was_committed(run, ticket, block):
                    return
            except (PrecedingFailed, AlreadyRunning):
                raise
            except ParaplyError:
                older = run.order.take_request(ticket)
                if run.order.failure is not None:
                    run.order.wait_for(ticket, job.number)  # raises PrecedingFailed
                if older is None and not early:
                    raise
                # A row that an optimistic block did not find may be one that an older block is about to commit.
                self._step_back(job, job.number - 1 if older is None else older)

    def _apply_rows(self, session: Session, job: Job, block: Block) -> None:
        """Send the block's rows to the session: rows that must wait for older blocks after the others."""
        order = self._run.order
        steps = block.steps
        if not steps or steps[-1] <= order.low_water_mark:
            session.apply(block)
            return

        def wait(older: int) -> None:
            self._end_attempt()
            with self._waiting("dependency", states.WAITING_DEPENDENCY):
                order.wait_committed(job.ticket, older)
            self._begin_attempt(states.APPLYING)

        session.apply_steps(block, steps_of(block, lambda: order.low_water_mark, wait))

    def _begin_attempt(self, state: str) -> None:
        self.attempt += 1
        self.since = runtime.perf_counter()
        self.counters.state = self._attempting = state

    def _end_attempt(self, committed: int = 0) -> None:
        taken = runtime.perf_counter() - self.since
        self.counters.apply_seconds += taken
        if self.job is None or not runs_statement(self.job.block):  # a CREATE TABLE says nothing about the time that rows need
            self._run.apply_took(taken / max(1, committed))
        more = {"committed": committed} if committed else {}
        self._show("commit" if self._attempting == states.COMMITTING else "apply", self.since, **more)
        self._attempting = ""

    def _wait_turn(self, job: Job) -> None:
        asked = runtime.perf_counter()
        self.counters.state = states.WAITING_TURN
        try:
            self._run.order.wait_turn(job.ticket)
        finally:
            self.counters.waits["turn"] += runtime.perf_counter() - asked
            self._show("turn", asked)

    def _wait_turn_empty_handed(self, job: Job) -> None:
        """Take the commit turn before any lock is held, so that no younger transaction can block this one for long."""
        if job.ticket.state is not TicketState.TURN:
            with self._waiting("turn", states.WAITING_TURN):
                self._run.order.wait_for(job.ticket, job.number - 1)
                self._run.order.wait_turn(job.ticket)

    def _step_back(self, job: Job, older: int) -> None:
        """Release the locks, and wait until the older transaction that needs them is committed; the second time, until all are (R24)."""
        self._rollback()
        counters = self.counters
        counters.rollbacks, counters.retries = counters.rollbacks + 1, counters.retries + 1
        self._run.retried()
        again, self._has_stepped_back = self._has_stepped_back, True
        with self._waiting("older", states.STEPPING_BACK):
            # It would block the next older one in the same way: neighbours in an index often block each other all.
            self._run.order.wait_for(job.ticket, job.number - 1 if again or self._run.is_in_order(job.block) else older)

    def _back_off(self, job: Job, error: TemporaryFailure, retries: int) -> None:
        """Roll back and pause before another try. If this block is the oldest, ask the younger ones to release their locks."""
        self._rollback()
        order = self._run.order
        if retries > self._run.retry.limit:
            raise ApplyFailed(f"given up after {retries - 1} retries: {error.message}", table=error.table, key=error.key) from error
        counters = self.counters
        counters.retries += 1
        counters.tries += 1
        counters.last_error, counters.last_error_at = error.message, runtime.now()
        self._run.retried()
        self._run.contended(tables_of(job.block))
        if retries > 1 and order.low_water_mark == job.number - 1:
            order.hold_back(job.number)
        with self._waiting("retry", states.BACKING_OFF):
            order.pause(job.ticket, self._run.retry.delay(retries))

    def _give_attempt_up(self) -> None:
        """Show the current attempt as given up in the timeline."""
        if self._attempting:
            self._show("commit" if self._attempting == states.COMMITTING else "apply", self.since, given_up=True)
            self._attempting = ""

    def _rollback(self) -> None:
        self._give_attempt_up()
        if self._session is not None:
            self._session.rollback()

    def _reconnect(self, job: Job, error: ConnectionLost) -> None:
        """Open a new session in place of the lost one, with retries."""
        self._give_attempt_up()
        with self._waiting("reconnect", states.RECONNECTING), self._run.reconnecting(error):
            with contextlib.suppress(Exception):  # errors of a broken session do not matter
                self.close()
            self._run.order.pause(job.ticket, 0.0)  # not if the run has ended
            self._connect(job)
            self.counters.reconnects += 1

    def _connect(self, job: Job) -> Session:
        """Open a session."""
        session = self._session = when_available(self._run, job.ticket, self._run.target.session)
        self.counters.connection_id = session.connection_id
        return session

    @contextlib.contextmanager
    def _waiting(self, kind: str, state: str) -> Iterator[None]:
        asked = runtime.perf_counter()
        self.counters.state = state
        try:
            yield
        finally:
            self.counters.waits[kind] += runtime.perf_counter() - asked
            self._show(kind if kind == "turn" else "wait", asked, **({} if kind == "turn" else {"for": kind}))
