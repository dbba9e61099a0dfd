"""The coordinator: splits batches into blocks and hands them out in the source's order (R17, R19, R21)."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Protocol

from paraply.applier.schedule.batching import MAX_BLOCK_BYTES, MergeSize
from paraply.applier.schedule.job_list import Job
from paraply.applier.schedule.policy import Needs, Policy, runs_statement
from paraply.errors import ParaplyError, PrecedingFailed
from paraply.runtime import runtime
from paraply.targets.ddl_answer import NOT_USED
from paraply.targets.progress.file_ledger import end_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paraply._native import Block, Planner
    from paraply.applier.execute.run_state import RunState
    from paraply.applier.execute.worker import Worker
    from paraply.applier.schedule.gate import Gate
    from paraply.applier.schedule.job_list import JobList
    from paraply.applier.schedule.session_order import SessionOrder
    from paraply.logs.feed import Feed, FeedItem
    from paraply.logs.skipping import Diverged
    from paraply.schema.catalog import SchemaCatalog

__all__ = ["Coordinator", "Executor", "InlineExecutor", "ThreadExecutor"]


_AT_ONCE = 64
"""Blocks that are handed out together: enough to share the fixed costs, and few enough for an early start of the first one."""


class Executor(Protocol):
    """Executor of jobs."""

    most_at_once: int = 1
    """Number of jobs that are best handed out together."""

    def put(self, job: Job) -> bool:
        """Hand out a job; return False if no more are accepted."""

    def put_all(self, jobs: Sequence[Job]) -> int:
        """Hand out jobs; return the number accepted, which is smaller only if no more are accepted."""
        return sum(1 for _ in takewhile(self.put, jobs))

    def drain(self, number: int) -> bool:
        """Wait until every job up to this one is committed; return False if that will not happen."""

    def passed(self, number: int) -> None:
        """Note that the coordinator itself finished this number, without a job."""


class ThreadExecutor(Executor):
    """Executor with workers in threads, which take jobs from the job list.

    Args:
        jobs: The job list.
    """

    most_at_once: int = _AT_ONCE

    def __init__(self, jobs: JobList) -> None:
        self._jobs = jobs

    def put(self, job: Job) -> bool:
        """Hand out a job; waits for a free entry in the list."""
        return self._jobs.put(job)

    def put_all(self, jobs: Sequence[Job]) -> int:
        """Hand out jobs; waits for a free entry for each."""
        return self._jobs.put_all(jobs)

    def drain(self, number: int) -> bool:
        """Wait until every job up to this one is committed."""
        return self._jobs.drain(number)

    def passed(self, number: int) -> None:
        """Raise the low-water mark."""
        self._jobs.committed(number, returns=False)


class InlineExecutor(Executor):
    """Executor with one worker in the coordinator's own thread (R22).

    Args:
        run: The run.
        worker: Its only worker.
    """

    def __init__(self, run: RunState, worker: Worker) -> None:
        self._run = run
        self._worker = worker
        self._stopped = False

    def put(self, job: Job) -> bool:
        """Apply and commit the job."""
        if self._stopped:
            return False
        self._worker.process(job)
        return True

    def drain(self, number: int) -> bool:
        """Return True if every job up to this one is committed; no job is ever waiting."""
        return self._run.order.low_water_mark >= number

    def passed(self, number: int) -> None:
        """Do nothing: there is no job list to update."""

    def stop(self) -> list[Job]:
        """Accept no more jobs; return an empty list, because no job is waiting. May be called from any thread."""
        self._stopped = True
        return []


class Coordinator:
    """Coordinator of one run; used by one thread.

    Args:
        run: The run.
        feed: The reader stage.
        planner: Splits batches into blocks.
        policy: Decides when a block may start.
        merge: Decides how many transactions become one commit.
        executor: Executor of the jobs.
        sessions: Keeps the order of the source's sessions, if commits are not in order; else None.
        done: File and end offset of each transaction that an earlier run committed after a gap, in a log without GTIDs.
        gate: Holds blocks back while the run is paused or faster than its rate; None for none.
    """

    def __init__(
        self,
        run: RunState,
        feed: Feed,
        planner: Planner,
        policy: Policy,
        merge: MergeSize,
        executor: Executor,
        sessions: SessionOrder | None = None,
        done: frozenset[tuple[str, int]] = frozenset(),
        gate: Gate | None = None,
    ) -> None:
        self._run = run
        self._feed = feed
        self._planner = planner
        self._policy = policy
        self._merge = merge
        self._executor = executor
        self._sessions = sessions
        self._done = set(done)
        self._gate = gate
        self._last = 0
        self._pending = 0

    def coordinate(self) -> bool:
        """Hand out the whole log, and wait until it is committed.

        Returns:
            True at the end of the log, False if no more jobs were accepted.

        Raises:
            LogError: The log is damaged or not understood; everything before the error is committed.
            UsageError: The policy cannot decide about this log; everything before that transaction is committed.
        """
        try:
            for item in self._feed:
                if not self._hand_out_item(item):
                    return False
            if not self._feed.exhausted:
                return False
            return self._executor.drain(self._last) and self._pass_skipped()
        except PrecedingFailed:
            return False
        except ParaplyError:
            self._executor.drain(self._last)
            raise

    def _hand_out_item(self, item: FeedItem) -> bool:
        size = 1 if self._done else self._merge.next(self._feed.backlog + item.transactions)
        committed = self._run.order.low_water_mark
        blocks = self._planner.plan(item.batch, item.write_sets, merge=size, max_bytes=MAX_BLOCK_BYTES, committed=committed)
        held = sum(block.transaction_count + block.skipped for block in blocks)
        self._pending += item.transactions - held
        statement = blocks.pop() if item.changes and blocks and runs_statement(blocks[-1]) else None
        self._note_answer(blocks, statement)
        most = 1 if self._done else (self._gate and self._gate.most_at_once) or self._executor.most_at_once
        if item.diverged is not None and statement is None and not self._record_diverged(item.diverged):
            return False
        if not all(self._hand_out(blocks[place : place + most]) for place in range(0, len(blocks), most)):
            return False
        if item.diverged is not None and statement is not None and not self._record_diverged(item.diverged):
            return False
        if item.schema is not None and not self._report_schema(item, item.schema):
            return False
        if statement is not None and not self._hand_out([statement]):
            return False
        return not item.reread or self._reread()

    def _note_answer(self, blocks: Sequence[Block], statement: Block | None) -> None:
        """Let the user's answer about a statement meet the first statement, or the rows before it."""
        answer = self._run.answer
        if answer.open and any(block.rows for block in blocks) and answer.meet_rows():
            self._run.note(NOT_USED)
        if statement is not None:
            answer.meet(statement)

    def _hand_out(self, blocks: Sequence[Block]) -> bool:
        """Hand out blocks. If the policy refuses one, raise its error after the blocks before it are handed out."""
        if self._done and end_of(blocks[0]) in self._done:
            return self._pass_over(blocks[0])
        if self._gate is not None and not self._gate.let_pass(blocks):
            return False
        committed = self._run.order.low_water_mark
        needs: list[Needs] = []
        refused: ParaplyError | None = None
        try:
            for block in blocks:
                needs.append(self._policy.needs(block, committed))
        except ParaplyError as error:
            refused = error
        taken = self._register(blocks[: len(needs)], needs, committed)
        if refused is not None:
            raise refused
        return taken

    def _register(self, blocks: Sequence[Block], needs: list[Needs], committed: int) -> bool:
        """Register blocks in the commit order and put them into the job list; return False if not all are accepted."""
        if not blocks:
            return True
        order = self._run.order
        after = self._sessions.before_all(blocks, committed) if self._sessions is not None else [()] * len(blocks)
        if self._run.optimistic:
            # The rows may belong to older blocks, which would wait for this block's locks while it waits for their commit.
            needs = [Needs(own.up_to, (*own.blocks, *older)) for own, older in zip(needs, after, strict=True)]
        tickets = order.register_all(after)
        if blocks[0].id != tickets[0].sequence:
            raise ValueError(f"block {blocks[0].id} is out of order: {tickets[0].sequence} is next")
        jobs = [
            Job(ticket.sequence, own.up_to, block, ticket, own.blocks) for block, own, ticket in zip(blocks, needs, tickets, strict=True)
        ]
        self._last = tickets[-1].sequence
        self._run.handed, self._run.handed_at = blocks[-1], runtime.now()
        put = self._executor.put_all(jobs)
        for ticket in reversed(tickets[put:]):
            order.withdraw(ticket)
        return put == len(jobs)

    def _pass_over(self, block: Block) -> bool:
        """Skip a block that is already committed; it takes its turn like any other (R19)."""
        order = self._run.order
        ticket = order.register()
        order.wait_turn(ticket, holds_locks=False)
        with self._run.target.exclusive() as target:
            target.pass_over(block)
        self._done.discard(end_of(block))
        self._run.skipped += block.transaction_count + block.skipped
        order.finish(ticket)
        self._last = ticket.sequence
        self._executor.passed(ticket.sequence)
        return True

    def _report_schema(self, item: FeedItem, schema: SchemaCatalog) -> bool:
        """Report schema changes to the target, after everything before the statement is committed and before the statement itself."""
        if not self._executor.drain(self._last):
            return False
        try:
            with self._run.target.exclusive() as target:
                target.schema_changed(schema, item.changes)
        except ParaplyError as error:
            statement = item.batch[item.transactions - 1]
            if error.file is None:
                error.file, error.position, error.gtid = statement.file, statement.offset, statement.gtid
            raise
        return True

    def _record_diverged(self, tables: Sequence[Diverged]) -> bool:
        """Record the tables that differ because of skipped statements, after everything before the statement is committed."""
        if not self._executor.drain(self._last):
            return False
        with self._run.target.exclusive() as target:
            target.record_diverged(tables)
        return True

    def _reread(self) -> bool:
        """Read the tables from the target, after a statement that was not understood."""
        if not self._executor.drain(self._last):
            return False
        with self._run.target.exclusive() as target:
            tables = target.seed_tables()
        self._feed.resume(tables)
        return True

    def _pass_skipped(self) -> bool:
        """Let the skipped transactions after the last block take their turn (R19)."""
        if self._pending <= 0:
            return True
        order = self._run.order
        ticket = order.register()
        order.wait_turn(ticket, holds_locks=False)
        self._run.skipped += self._pending
        order.finish(ticket)
        self._last = ticket.sequence
        self._executor.passed(ticket.sequence)
        return True
