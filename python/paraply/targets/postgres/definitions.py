"""What a PostgreSQL target and its sessions share: the source's definitions, and an open channel.

How definitions follow the log. Rows are written by the source's definition that holds at their place in the log. The
coordinator hands out a statement only when everything before it is committed, and nothing behind it before it is committed
(R5); right before it tells ``schema_changed`` what the statement does. The target keeps that until ``execute_statement`` runs
it: there the DDL, the new definitions (table ``paraply.source_table``) and the progress are committed together, and the
renderer is told in the same place. So whatever is rendered is rendered by the definitions of its own position, and a run that
resumes finds them in the target.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from paraply.errors import LogNotUnderstood
from paraply.targets.mysql.server_version import ServerKind
from paraply.targets.postgres.ddl.schema_change import DdlPlan, TableKey, parents, plan_changes
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
    from paraply.targets.postgres.last_writer import PgLastWriter
    from paraply.targets.postgres.progress.store import Channel
    from paraply.targets.postgres.renderer import Renderer
    from paraply.targets.postgres.xa import LeftOut
    from paraply.targets.progress.gtid_ledger import ProgressLedger

__all__ = ["PgContext", "SourceDefinitions"]


class SourceDefinitions:
    """The source's tables at the position that is applied. Any thread may ask.

    Args:
        renderer: Is told of every definition.
    """

    def __init__(self, renderer: Renderer) -> None:
        self._renderer = renderer
        self._lock = threading.Lock()
        self._tables: dict[TableKey, Table] = {}
        self._checked: set[tuple[str, bool]] = set()
        self._changes: list[SchemaChange] | None = None
        self._undecided: dict[int, dict[TableKey, Table]] = {}

    def __contains__(self, key: TableKey) -> bool:
        """Return True if a table is known."""
        return key in self._tables

    def all(self, databases: Sequence[str] | None = None) -> list[Table]:
        """Return the tables, or those of some databases."""
        with self._lock:
            return [table for table in self._tables.values() if databases is None or table.database in databases]

    def find(self, database: str, name: str) -> Table | None:
        """Return a table; None where it is not known."""
        return self._tables.get((database, name))

    def named(self, name: str) -> Table | None:
        """Return a table by ``database.table``; None where it is not known."""
        return next((table for table in list(self._tables.values()) if table.full_name == name), None)

    def put(self, table: Table) -> None:
        """Take a definition over, in place of an older one."""
        self._remove((table.database, table.name))
        with self._lock:
            self._tables[table.database, table.name] = table
        self._tell_renderer({(table.database, table.name), *parents(table)})

    def next_changes(self, changes: Sequence[SchemaChange]) -> None:
        """Keep what the next statement does until it is planned; a statement that is passed over is forgotten."""
        self._changes = list(changes)

    def plan_ddl(self, block: Block) -> DdlPlan:
        """Return the steps for a DDL block; nothing for a block without a statement.

        Raises:
            LogNotUnderstood: The statement's effect is not known, or nobody said what it is.
        """
        if block.kind != "ddl":
            return DdlPlan()
        if self._changes is None:
            raise LogNotUnderstood("a statement whose effect on the tables is not known")
        return plan_changes(self._changes, self._tables)

    def define(self, plan: DdlPlan) -> dict[TableKey, Table]:
        """Take a DDL's definitions over; return the ones before it."""
        with self._lock:
            before = dict(self._tables)
        for key in plan.forget:
            self._remove(key)
        for table in plan.define.values():
            self.put(table)
        return before

    def undecided(self, block: Block, before: dict[TableKey, Table]) -> None:
        """Keep the definitions before a DDL whose connection broke, until ``decide`` is called."""
        with self._lock:
            self._undecided[block.ordinal] = before

    def decide(self, block: Block, *, committed: bool) -> None:
        """Keep the definitions of a DDL whose connection broke, or take them back."""
        with self._lock:
            before = self._undecided.pop(block.ordinal, None)
        if before is not None and not committed:
            self.restore(before)

    def restore(self, before: dict[TableKey, Table]) -> None:
        """Take a DDL's definitions back."""
        for key in list(self._tables):
            if self._tables[key] is not before.get(key):
                self._remove(key)
        for key, table in before.items():
            if key not in self._tables:
                self.put(table)

    def committed(self) -> None:
        """Forget the last statement: it is committed."""
        with self._lock:
            self._changes = None

    def check(self, connection: PgConnection, tables: Iterable[str], log: Format) -> None:
        """Compare tables with their mapping before their first row and after each of their DDLs (R31, R32)."""
        incomplete = ServerKind(log.mariadb, log.version).leaves_generated_out
        for name in tables:
            if (name, incomplete) not in self._checked:
                table = self.named(name)
                if table is not None:
                    check_counterpart(connection, table, incomplete=incomplete)
                self._checked.add((name, incomplete))

    def other_case(self, names: Iterable[str]) -> str:
        """Return what to add to an error of these tables: whether one is known that differs only in upper and lower case."""
        with self._lock:
            return other_case({table.full_name for table in self._tables.values()}, names)

    def _remove(self, key: TableKey) -> None:
        with self._lock:
            table = self._tables.pop(key, None)
            if table is not None:
                self._checked -= {(table.full_name, False), (table.full_name, True)}
        self._renderer.forget(*key)
        if table is not None:
            self._tell_renderer(parents(table))

    def _tell_renderer(self, keys: Iterable[TableKey]) -> None:
        """Define these tables; a parent's mapping depends on its children, too."""
        for key in keys:
            table = self._tables.get(key)
            if table is not None:
                self._renderer.define(table, map_table(table, self._tables.values()))


@dataclass(frozen=True, kw_only=True)
class PgContext:
    """An open target.

    Attributes:
        channel: The channel with its progress.
        branches: Branches of transactions that are committed in two phases.
        ledger: What is committed.
        definitions: The source's definitions.
        renderer: Renders rows as SQL.
        last_writer: Writes rows by their timestamps (policy ``unordered``), else None.
        left_out: The XA transactions of which nothing is to be applied.
        on_committed: Called with each block once it is known to be committed.
    """

    channel: Channel
    branches: PgBranches
    ledger: ProgressLedger
    definitions: SourceDefinitions
    renderer: Renderer
    last_writer: PgLastWriter | None
    left_out: LeftOut
    on_committed: Callable[[Block], None] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _slots: dict[int, int] = field(default_factory=dict, repr=False)

    def executed_with(self, block: Block) -> str:
        """Return the GTID set for the progress of a block: all that is acknowledged, and the block's own."""
        return self.ledger.mark(block).executed

    def remember_slot(self, block: Block, slot: int) -> None:
        """Remember which slot tells whether the block is committed."""
        with self._lock:
            self._slots[block.ordinal] = slot

    def slot_of(self, block: Block) -> int | None:
        """Return the slot that tells whether the block is committed; None where no session began it."""
        with self._lock:
            return self._slots.get(block.ordinal)

    def acknowledge(self, block: Block) -> None:
        """Note that the block is committed."""
        self.ledger.acknowledge(block)
        with self._lock:
            self._slots.pop(block.ordinal, None)
        self.definitions.committed()
        if self.on_committed is not None:
            self.on_committed(block)
