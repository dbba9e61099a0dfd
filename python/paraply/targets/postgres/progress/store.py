"""Progress and fencing inside the target (R25, R25a): the schema ``paraply``.

``channel`` has one row for each channel, with its epoch. ``progress`` has one row for each session (slot) of the run. The row holds the
transactions that were known as committed when the session wrote it, and the transactions of its own block. Each session writes its row
in the transaction of its block. So the union of a channel's rows is exactly the set of committed transactions.

Fencing: an apply transaction first takes a shared advisory lock on the channel, then updates its progress row under the
condition that the epoch is unchanged. A starting process takes the lock exclusively. So it waits for every open apply transaction, even
transactions of ended processes, and then raises the epoch.

A row lock FOR SHARE would also work (FOR KEY SHARE does not conflict with the update of the epoch). But several holders of one row lock
cost a write each, and a stream of them can make an update wait for ever. Advisory locks are in memory, and are granted in order.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paraply.errors import AlreadyRunning, ConfigurationMismatch
from paraply.targets.postgres.connection import PgConnection, StatementFailed
from paraply.targets.postgres.errors import failure
from paraply.targets.postgres.types import quote_literal
from paraply.targets.progress.file_ledger import FilePositions, PlaceLedger, PositionRow, newest_row, read_positions
from paraply.targets.progress.gtid_ledger import ProgressLedger, make_ledger, read_executed
from paraply.targets.progress.mismatch import other_arguments
from paraply.targets.protocol import ApplyPlan, Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from paraply._native import Block, GtidSet

__all__ = ["Channel", "advisory_key", "look", "open_channel"]

_TABLES = (
    b"CREATE SCHEMA IF NOT EXISTS paraply",
    (
        b"CREATE TABLE IF NOT EXISTS paraply.channel (name text PRIMARY KEY, epoch bigint NOT NULL, fingerprint text NOT NULL,"
        b" state text NOT NULL)"
    ),
    (
        b"CREATE TABLE IF NOT EXISTS paraply.progress (channel text NOT NULL, slot integer NOT NULL, ordinal bigint NOT NULL,"
        b' executed text NOT NULL, file text, "offset" bigint, PRIMARY KEY (channel, slot)) WITH (fillfactor=50)'
    ),
    (
        b"CREATE TABLE IF NOT EXISTS paraply.source_table (channel text NOT NULL, database text NOT NULL, name text NOT NULL,"
        b" definition jsonb NOT NULL, PRIMARY KEY (channel, database, name))"
    ),
    b"CREATE TABLE IF NOT EXISTS paraply.left_out_xa (channel text NOT NULL, xid text NOT NULL, PRIMARY KEY (channel, xid))",
)
_THERE = (
    b"SELECT to_regclass('paraply.channel') IS NOT NULL AND to_regclass('paraply.progress') IS NOT NULL"
    b" AND to_regclass('paraply.source_table') IS NOT NULL AND to_regclass('paraply.left_out_xa') IS NOT NULL"
)


def advisory_key(text: str) -> int:
    """Return the number of an advisory lock."""
    return int.from_bytes(hashlib.sha256(b"paraply\0" + text.encode()).digest()[:8], "big", signed=True)


@dataclass(frozen=True, slots=True)
class Channel:
    """A channel that this process has opened.

    Attributes:
        name: Name of the channel.
        epoch: Epoch of this process; another process that opens the channel raises it.
    """

    name: str
    epoch: int

    @property
    def owner_condition(self) -> str:
        """The condition, in SQL, that the epoch is that of this process."""
        return f"(SELECT epoch FROM paraply.channel WHERE name = {quote_literal(self.name)}) = {self.epoch}"

    @property
    def _key(self) -> int:
        return advisory_key("channel " + self.name)

    def begin(self) -> list[bytes]:
        """Return the statements that begin an apply transaction; none of them has a row count to check."""
        return [b"BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE", f"SELECT pg_advisory_xact_lock_shared({self._key})".encode()]

    def write(self, slot: int, block: Block, executed: str) -> bytes:
        """Return the statement that writes a slot's row. It affects one row unless another process has taken over the channel."""
        return (
            f"UPDATE paraply.progress SET ordinal = {block.ordinal}, executed = {quote_literal(executed)},"
            f' file = {quote_literal(block.end_file)}, "offset" = {block.end_offset}'
            f" WHERE channel = {quote_literal(self.name)} AND slot = {slot} AND {self.owner_condition}"
        ).encode()

    def make_slot(self, connection: PgConnection, slot: int) -> None:
        """Create the row of a new session.

        Raises:
            AlreadyRunning: Another process has taken over the channel.
        """
        insert = (
            "INSERT INTO paraply.progress (channel, slot, ordinal, executed)"
            f" SELECT {quote_literal(self.name)}, {slot}, 0, '' WHERE {self.owner_condition}"
        )
        try:
            *_, made, _ = connection.run([*self.begin(), insert.encode(), b"COMMIT"])
        except StatementFailed as failed:
            raise failure(failed.error) from failed
        self.check(made.command_tuples)

    def check(self, affected: int | None) -> None:
        """Raise AlreadyRunning unless the row was written."""
        if affected != 1:
            raise AlreadyRunning(f"another apply took over the channel {self.name}; this one stops, nothing is applied twice")

    def slot_ordinal(self, connection: PgConnection, slot: int) -> int | None:
        """Return the ordinal in a slot's row, after waiting for a transaction of a lost session that still writes it."""
        select = f"SELECT ordinal FROM paraply.progress WHERE channel = {quote_literal(self.name)} AND slot = {slot} FOR UPDATE"
        try:
            rows = _rows(connection.run([b"BEGIN", b"SET LOCAL lock_timeout TO '30s'", select.encode(), b"COMMIT"])[2])
        except StatementFailed as failed:
            connection.run([b"ROLLBACK"])
            raise failure(failed.error) from failed
        return int(rows[0][0]) if rows else None

    def check_kept(self, connection: PgConnection, ledger: ProgressLedger, new_gtid_set: Callable[[str], GtidSet]) -> None:
        """Check that the target holds every acknowledged commit of this run.

        Raises:
            CommitsLost: The target has lost commits.
        """
        acknowledged = ledger.acknowledged()
        try:
            slots = _rows(connection.run([_slots(self.name)])[0])
        except StatementFailed as failed:
            raise failure(failed.error) from failed
        rows = [(int(slot), _place_row(*row)) for slot, *row in slots]
        if ledger.native is not None:
            acknowledged.check(read_executed([row.text for _, row in rows], new_gtid_set).gtids, FilePositions())
        else:
            kept = next((row for slot, row in rows if slot == 0), None)
            acknowledged.check(acknowledged.gtids, read_positions(kept, [row for slot, row in rows if slot]))

    def finish(self, connection: PgConnection) -> None:
        """Record in the channel's row that everything is applied."""
        done = f"UPDATE paraply.channel SET state = 'complete' WHERE name = {quote_literal(self.name)} AND {self.owner_condition}"
        try:
            connection.run([done.encode()])
        except StatementFailed as failed:
            raise failure(failed.error) from failed


def open_channel(
    connection: PgConnection, plan: ApplyPlan, new_gtid_set: Callable[[str], GtidSet], *, wait_seconds: float = 30.0
) -> tuple[Channel, Progress, ProgressLedger]:
    """Create the progress tables, raise the channel's epoch, and read the progress.

    Args:
        connection: An idle connection.
        plan: Channel and fingerprint.
        new_gtid_set: Parses a GTID set.
        wait_seconds: Time limit for waiting for open apply transactions of an earlier process.

    Raises:
        ConfigurationMismatch: The stored progress belongs to another fingerprint (R25).
        AlreadyRunning: A transaction of another process stays open; the message names its server process.
    """
    _make_tables(connection)
    _wait_for_earlier(connection, plan.channel, wait_seconds)
    try:
        opened = _take_over(connection, plan, new_gtid_set)
        connection.run([b"COMMIT"])
        return opened
    except StatementFailed as failed:
        connection.run([b"ROLLBACK"])
        raise failure(failed.error) from failed
    except ConfigurationMismatch:
        connection.run([b"ROLLBACK"])
        raise


def _wait_for_earlier(connection: PgConnection, channel: str, wait_seconds: float) -> None:
    """Begin a transaction that holds the channel's lock."""
    lock = advisory_key("channel " + channel)
    patience = f"SET LOCAL lock_timeout TO '{int(wait_seconds * 1000)}ms'".encode()
    try:
        connection.run([b"BEGIN", patience, f"SELECT pg_advisory_xact_lock({lock})".encode()])
    except StatementFailed as failed:
        connection.run([b"ROLLBACK"])
        if failed.error.state == "55P03":
            raise AlreadyRunning(_still_open(connection, channel, lock, wait_seconds)) from failed
        raise failure(failed.error) from failed


def look(connection: PgConnection, plan: ApplyPlan, new_gtid_set: Callable[[str], GtidSet]) -> Progress:
    """Return the progress, read without writing anything.

    Raises:
        ConfigurationMismatch: The stored progress belongs to another fingerprint (R25).
    """
    there = _rows(connection.run([b"SELECT to_regclass('paraply.channel') IS NOT NULL AND to_regclass('paraply.progress') IS NOT NULL"])[0])
    name = quote_literal(plan.channel)
    if there[0][0] != b"t":
        return Progress(executed=new_gtid_set(""))
    stored, slots = connection.run(
        [
            f"SELECT fingerprint FROM paraply.channel WHERE name = {name}".encode(),
            _slots(plan.channel),
        ]
    )
    fingerprints = _rows(stored)
    if fingerprints:
        _check_fingerprint(fingerprints[0][0].decode(), plan, _rows(slots), new_gtid_set)
    rows = [(int(slot), _place_row(*row)) for slot, *row in _rows(slots)]
    return _union(rows, plan, new_gtid_set, resumed=bool(fingerprints))[0]


def _check_fingerprint(stored: str, plan: ApplyPlan, slots: Sequence[Sequence[Any]], new_gtid_set: Callable[[str], GtidSet]) -> None:
    if stored != plan.fingerprint:
        texts = [executed.decode() for _, executed, *_ in slots]
        raise other_arguments(plan.channel, (stored, plan.fingerprint), texts, new_gtid_set, renders=True)


def _make_tables(connection: PgConnection) -> None:
    """Create missing tables. A user without the privilege to create tables can use existing ones."""
    lock = f"SELECT pg_advisory_xact_lock({advisory_key('tables')})".encode()
    try:
        if _rows(connection.run([_THERE])[0])[0][0] == b"t":
            return
        connection.run([b"BEGIN", lock, *_TABLES, b"COMMIT"])
    except StatementFailed as failed:
        connection.run([b"ROLLBACK"])
        raise failure(failed.error) from failed


def _take_over(
    connection: PgConnection, plan: ApplyPlan, new_gtid_set: Callable[[str], GtidSet]
) -> tuple[Channel, Progress, ProgressLedger]:
    name, fingerprint = quote_literal(plan.channel), quote_literal(plan.fingerprint)
    stored = _rows(connection.run([f"SELECT fingerprint FROM paraply.channel WHERE name = {name}".encode()])[0])
    if stored:
        _check_fingerprint(stored[0][0].decode(), plan, [], new_gtid_set)
    raised, progress = connection.run(
        [
            f"INSERT INTO paraply.channel AS c VALUES ({name}, 1, {fingerprint}, 'running')"
            f" ON CONFLICT (name) DO UPDATE SET epoch = c.epoch + 1, state = 'running' RETURNING epoch".encode(),
            _slots(plan.channel),
        ]
    )
    rows = [(int(slot), _place_row(*row)) for slot, *row in _rows(progress)]
    read, ledger, text = _union(rows, plan, new_gtid_set, resumed=bool(stored))
    _fold(connection, plan.channel, read, text)
    return Channel(plan.channel, int(_rows(raised)[0][0])), read, ledger


def _union(
    rows: list[tuple[int, PositionRow]], plan: ApplyPlan, new_gtid_set: Callable[[str], GtidSet], *, resumed: bool
) -> tuple[Progress, ProgressLedger, str]:
    """Return the progress of all slots together, the ledger that continues from it, and the text for slot 0."""
    kept, written = next((row for slot, row in rows if slot == 0), None), [row for slot, row in rows if slot]
    if not plan.has_gtids:
        places = read_positions(kept, written)
        nothing = new_gtid_set("")
        progress = Progress(nothing, places.file, places.offset, places.ordinal, resumed, done=places.done)
        return progress, PlaceLedger(places, nothing, ordered=not plan.gaps), places.text()
    union = read_executed([row.text for _, row in rows], new_gtid_set)
    progress = Progress(executed=union.gtids, resumed=resumed, low=union.low)
    if (newest := newest_row(kept, written)) is not None:
        progress.ordinal, progress.file, progress.offset = newest.ordinal, newest.file, newest.offset
    return progress, make_ledger(union, mariadb=plan.mariadb, gaps=plan.gaps), union.text()


def _slots(channel: str) -> bytes:
    """Return the query for the rows of a channel's sessions."""
    columns = 'slot, executed, file, "offset", ordinal'
    return f"SELECT {columns} FROM paraply.progress WHERE channel = {quote_literal(channel)} ORDER BY ordinal".encode()


def _place_row(executed: bytes, file: bytes | None, offset: bytes | None, ordinal: bytes) -> PositionRow:
    return PositionRow(executed.decode(), None if file is None else file.decode(), None if offset is None else int(offset), int(ordinal))


def _fold(connection: PgConnection, channel: str, progress: Progress, text: str) -> None:
    """Replace the rows of the earlier run by one row, slot 0. Sessions of the earlier run then do not find their rows."""
    name = quote_literal(channel)
    file = quote_literal(progress.file) if progress.file is not None else "NULL"
    offset = progress.offset if progress.offset is not None else "NULL"
    executed = quote_literal(text)
    connection.run(
        [
            f"DELETE FROM paraply.progress WHERE channel = {name}".encode(),
            f"INSERT INTO paraply.progress VALUES ({name}, 0, {progress.ordinal}, {executed}, {file}, {offset})".encode(),
        ]
    )


def _still_open(connection: PgConnection, channel: str, lock: int, wait_seconds: float) -> str:
    high, low = (lock >> 32) & 0xFFFFFFFF, lock & 0xFFFFFFFF
    select = (
        "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1"
        f" AND classid = {high} AND objid = {low} AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    )
    holders = ", ".join(row[0].decode() for row in _rows(connection.run([select.encode()])[0])) or "one that has ended meanwhile"
    return (
        f"a transaction of another apply of channel {channel} is still open after {wait_seconds:.0f} seconds"
        f" (server process {holders}); stop that apply, or end its session with pg_terminate_backend"
    )


def _rows(result: Any) -> list[tuple[Any, ...]]:
    """Return the rows of a result as bytes."""
    return [tuple(result.get_value(row, column) for column in range(result.nfields)) for row in range(result.ntuples)]
