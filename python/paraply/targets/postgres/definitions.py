"""The source's definitions and an open channel, shared by a PostgreSQL target and its sessions.

Rows are written by the definition that the source's table had at their position in the log:

- The coordinator releases a statement only when everything before it is committed, and later blocks only when the statement is
  committed (R5). Right before it releases the statement, it calls ``schema_changed`` with the statement's effect.
- ``execute_statement`` commits the DDL, the new definitions (table ``paraply.source_table``) and the progress together, and updates the
  renderer. So a run that resumes finds the definitions in the target.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from paraply.errors import LogNotUnderstood, SchemaMismatch
from paraply.targets.conflicts import OnConflict
from paraply.targets.ddl_answer import DdlAnswer
from paraply.targets.mysql.server_version import ServerKind
from paraply.targets.postgres.ddl.done import DoneDdl, done_changes
from paraply.targets.postgres.ddl.schema_change import DdlPlan, TableKey, parents, plan_changes
from paraply.targets.postgres.ddl.statement_time import StatementTime
from paraply.targets.postgres.progress.source_tables import other_case
from paraply.targets.postgres.table_check import check_counterpart
from paraply.targets.postgres.types import map_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from paraply._native import Block, Format
    from paraply.schema.ddl.change import SchemaChange
    from paraply.schema.model import Table
    from paraply.targets.postgres.branches import PgBranches
    from paraply.targets.postgres.connection import PgConnection
    from paraply.targets.postgres.progress.store import Channel
    from paraply.targets.postgres.rows.last_writer import PgLastWriter
    from paraply.targets.postgres.rows.renderer import Renderer
    from paraply.targets.postgres.xa import LeftOut
    from paraply.targets.progress.gtid_ledger import ProgressLedger
    from paraply.targets.protocol import LocalTime

__all__ = ["PgContext", "SourceDefinitions"]


class SourceDefinitions:
    """The source's tables at the position of the apply. Any thread may read them.

    Args:
        renderer: Renderer that gets the mapping of every definition.
    """

    def __init__(self, renderer: Renderer) -> None:
        self._renderer = renderer
        self._lock = threading.Lock()
        self._tables: dict[TableKey, Table] = {}
        self._checked: set[tuple[str, bool]] = set()
        self._alone: set[str] = set()
        self.alone_found = 0
        """Number of tables so far whose key the target does not keep unique; rows rendered before the last one are rendered again."""
        self._changes: list[SchemaChange] | None = None
        self._undecided: dict[int, dict[TableKey, Table]] = {}
        self.local_time: LocalTime | None = None
        """Asks the source for a local time; None if there is no source to ask."""

    def __contains__(self, key: TableKey) -> bool:
        """Return True if a table is known."""
        return key in self._tables

    def all(self, databases: Sequence[str] | None = None) -> list[Table]:
        """Return all tables, or the tables of some databases."""
        with self._lock:
            return [table for table in self._tables.values() if databases is None or table.database in databases]

    def find(self, database: str, name: str) -> Table | None:
        """Return a table, or None if unknown."""
        return self._tables.get((database, name))

    def named(self, name: str) -> Table | None:
        """Return a table by ``database.table``, or None if unknown."""
        return next((table for table in list(self._tables.values()) if table.full_name == name), None)

    def put(self, table: Table) -> None:
        """Add a definition, or replace an older one."""
        self._remove((table.database, table.name))
        with self._lock:
            self._tables[table.database, table.name] = table
        self._update_renderer({(table.database, table.name), *parents(table)})

    def next_changes(self, changes: Sequence[SchemaChange]) -> None:
        """Store the changes of the next statement until it is planned; the changes of a skipped statement are discarded."""
        self._changes = list(changes)

    def plan_ddl(self, block: Block) -> DdlPlan:
        """Return the steps for a DDL block; empty for a block without a statement.

        Raises:
            LogNotUnderstood: The effect of the statement is not known.
        """
        if block.kind != "ddl":
            return DdlPlan()
        if self._changes is None:
            raise LogNotUnderstood("a statement whose effect on the tables is not known")
        statements = [statement for transaction in block.transactions for statement in transaction.statements]
        return plan_changes(self._changes, self._tables, StatementTime.of(statements, self.local_time))

    def plan_done(self) -> DoneDdl:
        """Return the definitions after a DDL that counts as done, and what the target must look like.

        Raises:
            LogNotUnderstood: The log does not tell the definitions.
        """
        if self._changes is None:
            raise LogNotUnderstood("a statement whose effect on the tables is not known")
        return done_changes(self._changes, self._tables)

    def define(self, plan: DdlPlan) -> dict[TableKey, Table]:
        """Take over the definitions of a DDL; return the definitions before it."""
        with self._lock:
            before = dict(self._tables)
        for key in plan.forget:
            self._remove(key)
        for table in plan.define.values():
            self.put(table)
        return before

    def undecided(self, block: Block, before: dict[TableKey, Table]) -> None:
        """Store the definitions before a DDL whose connection broke, until ``decide`` is called."""
        with self._lock:
            self._undecided[block.ordinal] = before

    def decide(self, block: Block, *, committed: bool) -> None:
        """Keep the definitions of a DDL whose connection broke, or restore the earlier ones."""
        with self._lock:
            before = self._undecided.pop(block.ordinal, None)
        if before is not None and not committed:
            self.restore(before)

    def restore(self, before: dict[TableKey, Table]) -> None:
        """Restore the definitions before a DDL."""
        for key in list(self._tables):
            if self._tables[key] is not before.get(key):
                self._remove(key)
        for key, table in before.items():
            if key not in self._tables:
                self.put(table)

    def committed(self) -> None:
        """Discard the changes of the last statement, which is committed."""
        with self._lock:
            self._changes = None

    def check(self, connection: PgConnection, tables: Iterable[str], log: Format) -> None:
        """Compare tables with their mapping, before their first row and after each of their DDLs (R31, R32)."""
        incomplete = ServerKind(log.mariadb, log.version).leaves_generated_out
        for name in tables:
            if (name, incomplete) not in self._checked:
                table = self.named(name)
                if table is not None and not check_counterpart(connection, table, incomplete=incomplete):
                    self._set_alone(table)
                self._checked.add((name, incomplete))

    def any_alone(self, tables: Iterable[str]) -> str | None:
        """Return one of these tables whose key the target does not keep unique, or None."""
        return next((name for name in tables if name in self._alone), None)

    def _set_alone(self, table: Table) -> None:
        """Let each row of a table have a statement of its own."""
        self._alone.add(table.full_name)
        self._update_renderer([(table.database, table.name)])
        with self._lock:
            self.alone_found += 1

    def other_case(self, names: Iterable[str]) -> str:
        """Return advice for an error about these tables, if a known table differs only in upper and lower case."""
        with self._lock:
            return other_case({table.full_name for table in self._tables.values()}, names)

    def _remove(self, key: TableKey) -> None:
        with self._lock:
            table = self._tables.pop(key, None)
            if table is not None:
                self._checked -= {(table.full_name, False), (table.full_name, True)}
                self._alone.discard(table.full_name)
        self._renderer.forget(*key)
        if table is not None:
            self._update_renderer(parents(table))

    def _update_renderer(self, keys: Iterable[TableKey]) -> None:
        """Set the mapping of these tables in the renderer; the mapping of a parent also depends on its children."""
        for key in keys:
            table = self._tables.get(key)
            if table is not None:
                mapping = map_table(table, self._tables.values())
                self._renderer.define(table, replace(mapping, is_alone=table.full_name in self._alone))


@dataclass(frozen=True, kw_only=True)
class PgContext:
    """The context of an open target.

    Attributes:
        channel: The channel with its progress.
        branches: Branches of transactions that are committed in two phases.
        ledger: The committed transactions.
        definitions: The source's definitions.
        renderer: Renders rows as SQL.
        last_writer: Writes rows by their timestamps (policy ``unordered``), else None.
        left_out: The XA transactions without any rows to apply.
        on_committed: Called with each block once it is known to be committed.
        answer: The user's answer about a statement that was made by hand.
        on_conflict: Treatment of rows that do not fit.
    """

    channel: Channel
    branches: PgBranches
    ledger: ProgressLedger
    definitions: SourceDefinitions
    renderer: Renderer
    last_writer: PgLastWriter | None
    left_out: LeftOut
    on_committed: Callable[[Block], None] | None = None
    answer: DdlAnswer = field(default_factory=DdlAnswer)
    on_conflict: OnConflict = OnConflict.STOP
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _slots: dict[int, int] = field(default_factory=dict, repr=False)

    def refuse_alone(self, tables: Iterable[str]) -> None:
        """Refuse tables whose key the target does not keep unique, where rows that exist already are to be found by it.

        Raises:
            SchemaMismatch: There is such a table.
        """
        name = self.definitions.any_alone(tables) if self.on_conflict is not OnConflict.STOP else None
        if name is not None:
            raise SchemaMismatch(
                f"the target's table has no unique index on the key of its rows, so that --on-conflict {self.on_conflict.value} cannot see"
                " that a row is there already: add the index, or leave the table out with --exclude-table",
                table=name,
            )

    def executed_with(self, block: Block) -> str:
        """Return the GTID set for the progress of a block: all acknowledged GTIDs, and the GTIDs of the block."""
        return self.ledger.mark(block).executed

    def remember_slot(self, block: Block, slot: int) -> None:
        """Record the slot of a block's session, for ``committed``."""
        with self._lock:
            self._slots[block.ordinal] = slot

    def slot_of(self, block: Block) -> int | None:
        """Return the slot of the session that began a block, or None."""
        with self._lock:
            return self._slots.get(block.ordinal)

    def acknowledge(self, block: Block) -> None:
        """Record that the block is committed."""
        self.ledger.acknowledge(block)
        with self._lock:
            self._slots.pop(block.ordinal, None)
        self.definitions.committed()
        if self.on_committed is not None:
            self.on_committed(block)
