"""The model database as a target: sessions, and the progress in the same transactions, with the ledgers of the real targets."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from simulation.branches import end_lost_branch, recover
from simulation.database import Database, Fault
from simulation.history import Change, History, schema
from simulation.row_events import sent_changes
from simulation.session import ModelSession

from paraply._native import GtidSet
from paraply.errors import AlreadyRunning, ParaplyError, TemporaryFailure
from paraply.runtime import runtime
from paraply.schema.advance import advance
from paraply.targets.lock_waits import Holder, sentence
from paraply.targets.progress.file_ledger import FilePositions, PlaceLedger, PositionRow, read_positions
from paraply.targets.progress.gtid_ledger import Executed, ProgressLedger, make_ledger, read_executed
from paraply.targets.protocol import ApplyPlan, Capabilities, Inspection, Progress, Standing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from paraply._native import Block
    from paraply.targets.channel_status import ChannelStatus
    from paraply.targets.progress.gtid_ledger import ProgressLedger as Ledger
    from paraply.targets.two_phase import Branch

__all__ = ["ModelTarget", "Stored"]

CHANNEL = ("channel", 0)
"""Name of the lock of the channel's row."""
RAISES = 500
"""Tries to raise the epoch while transactions of another run are open."""
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
        seen: Numbers of the transactions that readers see.
        faults: Faults by the number of the transaction that they hit; each hits once.
        batches: True if sessions take several blocks at once.
        optimistic: True if rows may be written before older ones.
        newest: True if the newest version of a row wins.
        applied: Numbers of the transactions whose rows were all written at least once.
    """

    is_local = False
    merges = True

    def __init__(
        self,
        database: Database,
        history: History,
        seen: set[int],
        faults: dict[int, list[str]],
        *,
        batches: bool = False,
        optimistic: bool = False,
        newest: bool = False,
        applied: set[int],
        most_merged: int = 128,
    ) -> None:
        self.database = database
        self.history = history
        self.seen = seen
        self.family = history.shape.family
        self.faults = defaultdict(list, faults)
        self.always: dict[int, ParaplyError] = {}
        self.optimistic = optimistic
        self.newest = newest
        self.most_merged = most_merged
        self.capabilities = Capabilities(takes_batches=batches)
        self.ledger: Ledger = ProgressLedger(GtidSet(""), has_gtids=True)
        self.epoch = 0
        self.sessions: list[ModelSession] = []
        self.applied = applied
        self.completed = False
        self.on_committed: Callable[[], None] = lambda: None
        self._last: dict[int, ModelSession] = {}
        self._slots = self._splits = 0

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
        self._raise_epoch()
        recover(database)
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

    def _raise_epoch(self) -> None:
        """Raise the epoch once no transaction of an earlier run is open: each holds its row of progress, which is locked here.

        The channel's row is locked first, so that no session of that run gets a new row.
        """
        database = self.database
        control = database.connect(patient=True)
        try:
            for tries in range(RAISES, -1, -1):
                try:
                    control.lock(CHANNEL, exclusive=True)
                    for slot in sorted(database.slots):
                        control.lock(("progress", slot), exclusive=True)
                    break
                except TemporaryFailure:
                    control.release()
                    if not tries:
                        raise
            database.epoch = self.epoch = database.epoch + 1
        finally:
            control.release()
            database.connections.pop(control.number - 1000, None)

    def fence(self) -> None:
        """Raise an error if another run has raised the epoch."""
        if self.database.epoch != self.epoch:
            raise AlreadyRunning("another apply has taken over the channel")

    def session(self) -> ModelSession:
        """Return a new session with a row of progress of its own."""
        connection = self.database.connect()
        connection.lock(CHANNEL, exclusive=False)
        connection.release()
        self.fence()
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
        database.connections.pop(connection.number - 1000, None)
        if found:
            self.ledger.acknowledge(block)
        return found

    def blockers(self, connection_id: int) -> list[int]:
        """Return the connections that this one waits for."""
        database = self.database
        connection = database.connections.get(connection_id - 1000)
        if connection is None or not database.settings.shows_blockers:
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
        self.fence()
        stored = Stored(database)
        file, offset = stored.file, stored.offset
        if isinstance(self.ledger, PlaceLedger) and (places := self.ledger.places()).file is not None:
            file, offset = places.file, places.offset
        database.kept = PositionRow(str(self.ledger.executed()), file, offset, stored.ordinal)
        database.slots.clear()
        for commit in database.commits:
            commit.slot = None
        self.completed = True

    def new_split(self) -> str:
        """Return a new name for the parts of a transaction."""
        self._splits += 1
        return f"{self.epoch}-{self._splits}"

    def end_branch(self, branch: Branch, connection_id: int, *, commit: bool) -> None:
        """End a part whose connection was lost."""
        end_lost_branch(self.database, branch, connection_id, commit=commit)

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

    def open_status_row(self, found: object = None) -> None:
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

    def held_xids(self) -> frozenset[str]:
        """Return no XID."""
        return frozenset()

    def nothing(self, *_: object, **__: object) -> None:
        """Do nothing: nothing is known beforehand."""

    create_tables = check_tables = check_ddl = check_rows = schema_changed = record_diverged = complete_gtids = close = nothing
