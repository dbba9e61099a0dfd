"""Statements of a log, recorded where the sessions of a target send them, with the blocks that each block waits for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from paraply._native import Catalog, LogReader, Planner
from paraply.applier.preflight.inspect import first_definitions
from paraply.applier.schedule.batching import MAX_BLOCK_BYTES
from paraply.applier.schedule.policy import DependencyPolicy, runs_statement
from paraply.errors import UsageError
from paraply.logs.feed import Feed, FeedRules

if TYPE_CHECKING:
    from paraply._native import Block
    from paraply.targets.protocol import ApplyPlan, Session, Target

__all__ = ["Part", "RecordedBlock", "Recording", "StatementReader", "Tape", "record"]

_PARTS = 4
"""Preceding blocks whose rows a block waits for one by one; the rows that wait for older blocks are one part."""


@dataclass(frozen=True, slots=True)
class Part:
    """Rows of a block that may be sent at the same time.

    Attributes:
        up_to: All blocks up to this one must be committed before.
        texts: The statements, a text for each round trip.
    """

    up_to: int
    texts: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class RecordedBlock:
    """The statements of a block, and the blocks that it waits for.

    Attributes:
        number: Number of the block, dense from 1.
        up_to: All blocks up to this one must be committed before it starts.
        after: These blocks must be committed too.
        needs: Texts that a connection must have run once before, such as prepared statements.
        parts: Its rows.
        commits: False for a statement that commits by itself.
    """

    number: int
    up_to: int
    after: tuple[int, ...]
    needs: tuple[bytes, ...]
    parts: tuple[Part, ...]
    commits: bool = True


@dataclass(frozen=True, slots=True)
class Recording:
    """All statements of a log.

    Attributes:
        blocks: The blocks in the log's order.
        transactions: Transactions of the log.
        rows: Row changes of the log.
        bytes: Size of all texts.
    """

    blocks: tuple[RecordedBlock, ...]
    transactions: int
    rows: int
    bytes: int


@dataclass(slots=True)
class Tape:
    """The texts that the connections of a target send while it records; a text is a list of statements.

    Attributes:
        recording: True while a block is applied.
        sent: The texts.
        starts: For each part of the block, its last preceding block that it waits for, and the number of texts sent before.
    """

    recording: bool = False
    sent: list[list[bytes]] = field(default_factory=list)
    starts: list[tuple[int, int]] = field(default_factory=list)

    def note(self, statements: list[bytes]) -> None:
        """Keep a text, if a block is being applied."""
        if self.recording:
            self.sent.append(statements)


class StatementReader(Protocol):
    """Knowledge of the texts of a family: which of them the rows need."""

    def needs(self, block: Block, sent: list[list[bytes]]) -> tuple[bytes, ...]:
        """Return the texts that a connection must have run before the block."""

    def begins(self, statements: list[bytes]) -> bool:
        """Return True if a text begins the transaction of a block with rows."""

    def rows(self, statements: list[bytes]) -> bytes:
        """Return a text of a transaction with rows, without the progress of paraply."""

    def statement(self, statements: list[bytes]) -> bytes:
        """Return a text of a DDL, without the progress of paraply and without its questions; empty if nothing is left."""


def record(log: Path, tape: Tape, target: Target, plan: ApplyPlan, reader: StatementReader) -> Recording:
    """Apply a log on one connection, in its order, and return what it sent.

    The blocks are as large as those of an apply with a deep backlog. Their dependencies are exact: no commit counts as done.

    Args:
        log: The log.
        tape: Receives the texts of the target's connections.
        target: The target, emptied.
        plan: The plan with which it is opened.
        reader: Knows the texts of the target's family.

    Raises:
        UsageError: The log holds transactions that the client cannot repeat: XA transactions, or statements with rows.
        ParaplyError: The log could not be applied.
    """
    recorder = _Recorder(tape, target, reader)
    blocks: list[RecordedBlock] = []
    target.open(plan)
    try:
        same_family = target.family == ("mariadb" if plan.mariadb else "mysql")
        schema = first_definitions(None, None, same_family=same_family, goes_on=False)
        feed = Feed(LogReader([str(log)]), schema, Catalog(), FeedRules(by_event=True, corrects=True), threaded=False)
        planner, rows, transactions = Planner(early_rows=True), 0, 0
        for item in feed:
            made = planner.plan(item.batch, item.write_sets, merge=target.most_merged, max_bytes=MAX_BLOCK_BYTES, committed=0)
            for block in made:
                if runs_statement(block) and item.schema is not None:
                    target.schema_changed(item.schema, item.changes)
                blocks.append(recorder.block(block))
                transactions, rows = transactions + block.transaction_count, rows + block.rows
    finally:
        recorder.close()
        target.close()
    size = sum(len(text) for block in blocks for part in block.parts for text in part.texts)
    return Recording(tuple(blocks), transactions, rows, size)


class _Recorder:
    """Applies blocks on one session, and keeps what it sent."""

    def __init__(self, tape: Tape, target: Target, reader: StatementReader) -> None:
        self._tape = tape
        self._target = target
        self._reader = reader
        self._policy = DependencyPolicy()
        self._session: Session | None = None

    def block(self, block: Block) -> RecordedBlock:
        """Apply a block, and return its statements."""
        session = self._session or self._target.session()
        self._session = session
        needs = self._policy.needs(block, 0)
        if runs_statement(block):
            return self._statement(session, block)
        cuts = _cuts(block)
        self._send(lambda: session.apply_steps(block, self._steps(block, cuts)) if cuts else session.apply(block))
        session.commit()
        parts = self._parts()
        first = parts[0].up_to if parts else 0
        return RecordedBlock(block.id, max(needs.up_to, first), needs.blocks, self._reader.needs(block, self._tape.sent), parts)

    def close(self) -> None:
        """Close the session."""
        if self._session is not None:
            self._session.close()

    def _statement(self, session: Session, block: Block) -> RecordedBlock:
        if block.kind != "ddl" or block.has_rows:
            raise UsageError(f"the floor is not measured for a log with {block.kind} transactions, or with rows in statements")
        self._send(lambda: session.execute_statement(block))
        texts = tuple(text for text in map(self._reader.statement, self._tape.sent) if text)
        return RecordedBlock(block.id, block.id - 1, (), (), (Part(0, texts),), commits=False)

    def _send(self, send: Callable[[], None]) -> None:
        tape = self._tape
        tape.sent, tape.starts, tape.recording = [], [], True
        try:
            send()
        finally:
            tape.recording = False

    def _steps(self, block: Block, cuts: list[int]) -> Iterator[Block]:
        """Yield the parts of a block, and note where each begins."""
        before: int | None = None
        for cut in cuts:
            self._tape.starts.append((cut, len(self._tape.sent)))
            yield block.step(before, cut)
            before = cut

    def _parts(self) -> tuple[Part, ...]:
        """Return the parts of the block that was just sent; one part if it was sent twice, as its first try did not fit."""
        sent, starts = self._tape.sent, self._tape.starts
        begins = [number for number, text in enumerate(sent) if self._reader.begins(text)]
        if not begins:
            return ()
        last = starts[-1][0] if starts else 0
        places = [(last, 0)] if len(begins) > 1 or not starts else [(starts[0][0], 0), *starts[1:]]
        ends = [place for _, place in places[1:]] + [len(sent)]
        found = []
        for (up_to, place), end in zip(places, ends, strict=True):
            texts = tuple(self._reader.rows(text) for text in sent[max(place, begins[-1]) : end])
            found.append(Part(up_to, tuple(text for text in texts if text)))
        return tuple(part for number, part in enumerate(found) if part.texts or not number)


def _cuts(block: Block) -> list[int]:
    """Return the blocks after whose commit further rows of a block are sent; empty if all rows wait for the same blocks."""
    starts = block.steps
    early = [start for start in starts if start < block.id - _PARTS]
    return [*early[-1:], *(start for start in starts if start >= block.id - _PARTS)]
