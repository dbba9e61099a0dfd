"""The model database as a target: sessions, and the progress in the same transactions, with the ledgers of the real targets."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from simulation.database import Connection, Database, Fault
from simulation.history import Change, History, schema
from simulation.row_events import sent_changes

from paraply._native import GtidSet
from paraply.errors import AlreadyRunning, ApplyFailed, ConnectionLost, ParaplyError, TemporaryFailure
from paraply.runtime import runtime
from paraply.schema.advance import advance
from paraply.targets.batch import BatchOutcome
from paraply.targets.lock_waits import Holder, sentence
from paraply.targets.progress.file_ledger import FilePositions, PlaceLedger, PositionRow, read_positions
from paraply.targets.progress.gtid_ledger import Executed, Mark, ProgressLedger, make_ledger, read_executed
from paraply.targets.protocol import ApplyPlan, Capabilities, Inspection, Progress, Standing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from paraply._native import Block
    from paraply.targets.channel_status import ChannelStatus
    from paraply.targets.progress.gtid_ledger import ProgressLedger as Ledger

__all__ = ["KINDS", "ModelTarget", "Stored"]

KINDS = ("temporary", "late", "lost", "lost-before", "lost-after", "commit-temporary", "crash-before", "crash-after")
"""Faults of a transaction: errors of its first or last change, a lost connection while it is applied, before or after its commit, and
a crash of the server before or after it."""
DOWN_SECONDS = 0.4
SLOW_SECONDS = 0.05
SHARE_OF_DECODED = 0.02
"""Share of the blocks whose statements are decoded; of those that are applied in parts, all are."""


class Stored:
    """The committed progress, read as the real stores read it."""

    def __init__(self, database: Database) -> None:
        kept = database.kept
        self.kept = kept
        self.rows = tuple(sorted(database.slots.values(), key=lambda row: row.ordinal))
        newest = self.rows[-1] if self.rows and self.rows[-1].ordinal > (kept.ordinal if kept else 0) else kept
        self.file, self.offset, self.ordinal = (newest.file, newest.offset, newest.ordinal) if newest else (None, None, 0)
        self.texts = [row.text for row in ([kept] if kept else []) + list(self.rows) if row.text]
        self.resumed = database.epoch > 1

    def places(self) -> FilePositions:
        """Return the committed positions of a log without GTIDs."""
        return read_positions(self.kept, self.rows)

    def executed(self) -> Executed:
        """Return the committed GTIDs."""
        return read_executed(self.texts, GtidSet)


class ModelTarget:
    """A target whose sessions change the model database.

    Args:
        database: The database.
        history: What the log holds.
        faults: Faults by the number of the transaction that they hit; each hits once.
        batches: True if sessions take several blocks at once.
        optimistic: True if rows may be written before older ones.
    """

    family = "mysql"
    is_local = False
    merges = True

    def __init__(
        self,
        database: Database,
        history: History,
        faults: dict[int, list[str]],
        *,
        batches: bool = False,
        optimistic: bool = False,
        most_merged: int = 128,
    ) -> None:
        self.database = database
        self.history = history
        self.faults = defaultdict(list, faults)
        self.always: dict[int, ParaplyError] = {}
        self.optimistic = optimistic
        self.most_merged = most_merged
        self.capabilities = Capabilities(takes_batches=batches)
        self.ledger: Ledger = ProgressLedger(GtidSet(""), has_gtids=True)
        self.epoch = 0
        self.sessions: list[ModelSession] = []
        self.completed = False
        self.on_committed: Callable[[], None] = lambda: None
        self._last: dict[int, ModelSession] = {}
        self._slots = 0

    def inspect(self, plan: ApplyPlan, *, tables: bool = False) -> Inspection:
        """Return the state that ``open`` would find."""
        stored = Stored(self.database)
        return Inspection(self._progress(plan, stored)[0])

    def _progress(self, plan: ApplyPlan, stored: Stored) -> tuple[Progress, Ledger]:
        if not plan.has_gtids:
            places, nothing = stored.places(), GtidSet("")
            progress = Progress(nothing, places.file, places.offset, stored.ordinal, stored.resumed, done=places.done)
            return progress, PlaceLedger(places, nothing, ordered=not plan.gaps)
        executed = stored.executed()
        progress = Progress(executed.gtids, stored.file, stored.offset, stored.ordinal, stored.resumed, low=executed.low)
        return progress, make_ledger(executed, mariadb=plan.mariadb, gaps=plan.gaps)

    def open(self, plan: ApplyPlan) -> Progress:
        """Raise the epoch, move the progress into the channel's row, and return it."""
        database = self.database
        database.round_trip()
        database.epoch = self.epoch = database.epoch + 1
        stored = Stored(database)
        progress, self.ledger = self._progress(plan, stored)
        if plan.has_gtids:
            database.kept = PositionRow(stored.executed().text(), stored.file, stored.offset, stored.ordinal)
        else:
            places = stored.places()
            database.kept = PositionRow(places.text(), places.file, places.offset, stored.ordinal)
        database.slots.clear()
        for commit in database.commits:
            commit.slot = None
        return progress

    def session(self) -> ModelSession:
        """Return a new session with a row of progress of its own."""
        connection = self.database.connect()
        slot, self._slots = self._slots, self._slots + 1
        self.database.slots[slot] = PositionRow("", None, None, 0)
        session = ModelSession(self, connection, slot)
        self.sessions.append(session)
        return session

    def committed(self, block: Block) -> bool:
        """Return True if a block is committed, after its session has ended on the server."""
        database = self.database
        connection = database.connect()
        last = self._last.get(block.id)
        while last is not None and last.connection in database.zombies:
            runtime.sleep(max(0.0, last.connection.dies_at - runtime.monotonic()))
            database.reap()
        connection.check()
        stored = Stored(database)
        found = stored.places().hold(block) if block.first_gtid is None else block.gtids <= stored.executed().gtids
        del database.connections[connection.number - 1000]
        if found:
            self.ledger.acknowledge(block)
        return found

    def blockers(self, connection_id: int) -> list[int]:
        """Return the connections that this one waits for."""
        database = self.database
        connection = database.connections.get(connection_id - 1000)
        if connection is None or not database.settings.tells:
            return []
        return [other.number for other in connection.blockers()]

    def describe_wait(self, connection_id: int, holders: Sequence[int]) -> str:
        """Return a description of a wait."""
        return sentence([Holder(number) for number in holders])

    def seed_tables(self, databases: Sequence[str] | None = None) -> list[Any]:
        """Return the tables: those of the log's start, and those that its statements made."""
        found = schema.copy()
        for number in self.database.committed():
            if not self.history.transactions[number - 1].changes:
                advance(found, f"CREATE TABLE d.other{number} (id INT PRIMARY KEY)", "d", {}, mariadb=False, version=(9, 7, 0))
        return list(found)

    def pass_over(self, block: Block) -> None:
        """Take note that an earlier run committed the block."""
        self.ledger.acknowledge(block)

    def finish(self, executed: GtidSet) -> None:
        """Move the progress into the channel's row."""
        database = self.database
        database.round_trip()
        stored = Stored(database)
        file, offset = stored.file, stored.offset
        if isinstance(self.ledger, PlaceLedger) and (places := self.ledger.places()).file is not None:
            file, offset = places.file, places.offset
        database.kept = PositionRow(str(self.ledger.executed()), file, offset, stored.ordinal)
        database.slots.clear()
        for commit in database.commits:
            commit.slot = None
        self.completed = True

    def changes_of(self, block: Block, *, whole: bool) -> list[Change]:
        """Return the changes of a block: those of the history, or of a part of a block those that are sent."""
        if not whole:
            return sent_changes(block)
        known = [change for number in self.numbers(block) for change in self.history.transactions[number - 1].changes]
        if self.database.chance.random() < SHARE_OF_DECODED and sent_changes(block) != known:
            raise Fault(f"block {block.id} sends {sent_changes(block)} instead of {known}")
        return known

    def numbers(self, block: Block) -> list[int]:
        """Return the numbers of a block's transactions."""
        by_end = self.history.by_end
        if block.transaction_count == 1:
            return [by_end[block.end_offset]]
        return [by_end[transaction.end_offset] for transaction in block.transactions]

    def note(self, block: Block, session: ModelSession) -> None:
        """Remember which session works on a block."""
        self._last[block.id] = session

    def read_channels(self) -> list[ChannelStatus]:
        """Return no channel of another run."""
        return []

    def open_status_row(self) -> None:
        """Return None: the status is not stored."""

    def standing(self, plan: ApplyPlan) -> Standing:
        """Return the tables."""
        return Standing(tuple(self.seed_tables()))

    def skips(self, changes: Sequence[Any], /) -> bool:
        """Return False: it has a counterpart of everything."""
        return False

    def left_prepared(self) -> list[str]:
        """Return no XA transaction."""
        return []

    def nothing(self, *_: object, **__: object) -> None:
        """Do nothing: nothing is known beforehand."""

    create_tables = check_tables = check_ddl = check_rows = schema_changed = record_diverged = complete_gtids = close = nothing


class ModelSession:
    """A worker's connection."""

    commits_at_once = False

    def __init__(self, target: ModelTarget, connection: Connection, slot: int) -> None:
        self._target = target
        self._database = target.database
        self._mark: Mark | None = None
        self._block: Block | None = None
        self._commit_fault = ""
        self._left = 0
        self._differs: Change | None = None
        self.connection = connection
        self.slot = slot
        self.closed = False

    @property
    def connection_id(self) -> int:
        """Number of this connection on the server."""
        return self.connection.number

    def apply(self, block: Block) -> None:
        """Write a block's progress and rows; do not commit."""
        self._apply(block, [block], self._target.ledger.mark(block, self.slot))

    def apply_steps(self, block: Block, steps: Iterable[Block]) -> None:
        """Apply a block in several parts."""
        self._apply(block, steps, self._target.ledger.mark(block, self.slot))

    def _apply(self, block: Block, steps: Iterable[Block], mark: Mark) -> None:
        target, database = self._target, self._database
        database.round_trip()
        self.connection.check()
        if self._block is not None or self.connection.held:
            raise Fault("a transaction is open when another one begins")
        self._fence()
        numbers = target.numbers(block)
        self._block, self._mark, self._differs = block, mark, None
        self._left = sum(len(target.history.transactions[number - 1].changes) for number in numbers)
        target.note(block, self)
        fault = self._fault(numbers)
        if fault == "temporary":
            raise TemporaryFailure("deadlock found when trying to get lock")
        for number in numbers:
            if (error := target.always.get(number)) is not None:
                raise ApplyFailed(error.message)
        if database.settings.slow and database.chance.random() < database.settings.slow:
            runtime.sleep(SLOW_SECONDS * database.chance.random())
        for step in steps:
            self._rows(target.changes_of(step, whole=step is block), lost=fault == "lost")
        if fault == "late":
            raise TemporaryFailure("lock wait timeout exceeded")
        if fault == "lost":
            self.connection.lose()
        self._commit_fault = fault

    def _rows(self, changes: list[Change], *, lost: bool) -> None:
        database, connection = self._database, self.connection
        for change in changes:
            if database.chance.random() < 0.2:
                database.round_trip()
            connection.check()
            try:
                if not connection.change(change) and self._differs is None:
                    self._differs = change
            except ApplyFailed as error:
                if self._target.optimistic:
                    raise
                raise Fault(f"{change} does not fit: {error}") from None
            self._left -= 1
            if lost:
                connection.lose()

    def _fault(self, numbers: list[int]) -> str:
        for number in numbers:
            if kinds := self._target.faults.get(number):
                return kinds.pop(0)
        return ""

    def _fence(self) -> None:
        if self._database.epoch != self._target.epoch:
            raise AlreadyRunning("another apply has taken over the channel")

    def commit(self) -> None:
        """Commit what ``apply`` left open."""
        block = self._block
        self._database.round_trip()
        self._make_visible()
        self._database.round_trip()
        if self.connection.broken or self._database.frozen:
            raise ConnectionLost("the server has gone away")
        if block is not None:
            self._target.ledger.acknowledge(block, self.slot)
            self._target.on_committed()

    def _make_visible(self) -> None:
        """Commit, or do not and lose the connection."""
        database, connection, target = self._database, self.connection, self._target
        fault, self._commit_fault = self._commit_fault, ""
        block, mark = self._block, self._mark
        if connection.killed and database.chance.random() < 0.5:
            connection.killed = False
            fault = fault or database.chance.choice(("lost-before", "lost-after"))
        connection.killed = False
        connection.check()
        if block is None or mark is None:
            raise Fault("a commit without a transaction")
        if fault == "lost-before":
            connection.lose()
        if fault == "crash-before":
            database.crash(DOWN_SECONDS * database.chance.random())
            raise ConnectionLost("the server has gone away")
        if fault == "commit-temporary":
            raise TemporaryFailure("could not serialize access")
        if self._left:
            raise Fault(f"{self._left} rows of block {block.id} are missing at its commit")
        if self._differs is not None and not target.optimistic:
            raise Fault(f"a row was not as the source had it: {self._differs}")
        self._fence()
        row = PositionRow(mark.executed, mark.file, mark.offset, mark.ordinal)
        self._block = self._mark = None
        connection.commit(target.numbers(block), self.slot, row)
        if fault == "lost-after":
            connection.lose()
        if fault == "crash-after":
            database.crash(DOWN_SECONDS * database.chance.random())
            raise ConnectionLost("the server has gone away")

    def rollback(self) -> None:
        """Roll back the open transaction."""
        self._block = self._mark = None
        self._commit_fault = ""
        if not self.connection.broken:
            self._database.round_trip()
            self.connection.release()
            self.connection.killed = self.connection.victim = False

    def apply_and_commit(self, blocks: Sequence[Block]) -> BatchOutcome:
        """Apply and commit blocks one by one, without returning to the scheduler."""
        target, done = self._target, 0
        try:
            for block, mark in zip(blocks, target.ledger.marks(blocks, self.slot), strict=True):
                committing = False
                self._apply(block, [block], mark)
                committing = True
                self._make_visible()
                done += 1
            self._database.round_trip()
            self.connection.check()
        except ParaplyError as error:
            target.ledger.acknowledge_all(blocks[:done], self.slot)
            return BatchOutcome(done, error, committing) if done < len(blocks) else BatchOutcome(done)
        target.ledger.acknowledge_all(blocks, self.slot)
        target.on_committed()
        return BatchOutcome(done)

    def execute_statement(self, block: Block) -> None:
        """Run a statement with its progress."""
        if any(session.connection.held for session in self._target.sessions):
            raise Fault(f"statement {block.id} runs beside open transactions")
        self.apply(block)
        self.commit()

    def interrupt(self) -> None:
        """End the running statement."""
        self.connection.killed = True
        self.connection.wake()

    def rescue(self) -> None:
        """Do nothing: answers arrive."""

    def close(self) -> None:
        """Close the connection; what is open rolls back, now or when the server notices it."""
        if self.closed:
            return
        self.closed = True
        self._block = self._mark = None
        connection = self.connection
        if connection not in self._database.zombies:
            connection.release()
        connection.closed = True
        self._database.connections.pop(connection.number - 1000, None)
