"""Inspection of a MySQL or MariaDB target without writing to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply._native import GtidSet
from paraply.errors import UsageError
from paraply.schema.model import OWN_DATABASE, is_own_table
from paraply.schema.readers.live import read_tables
from paraply.targets.mysql.gtid_mode import own_identity
from paraply.targets.mysql.preflight.privileges import check_user
from paraply.targets.mysql.progress.diverged import read_diverged
from paraply.targets.mysql.progress.store import ProgressStore, StoredProgress
from paraply.targets.mysql.replica_mode import check_own_writes, choose, earlier_executed
from paraply.targets.mysql.scheduled_events import scheduled_events
from paraply.targets.mysql.server_version import ServerKind
from paraply.targets.mysql.sql import Connection, rows_of, text_literal, to_int, to_text
from paraply.targets.mysql.xa.branch_store import check_two_phase
from paraply.targets.mysql.xa.store import XaStore, held_xids
from paraply.targets.progress.gtid_ledger import read_executed
from paraply.targets.protocol import Inspection, Progress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paraply.schema.model import Table
    from paraply.targets.protocol import ApplyPlan

__all__ = ["check_family", "inspect_server", "own_tables"]


def check_family(server: ServerKind, plan: ApplyPlan) -> None:
    """Refuse a log of the other family.

    Raises:
        UsageError: The log is of MySQL and the target is MariaDB, or vice versa.
    """
    if plan.mariadb != server.mariadb:
        raise UsageError(
            f"the log is {'MariaDB' if plan.mariadb else 'MySQL'}'s and the target is {'mariadb' if server.mariadb else 'mysql'}:"
            " raw row events fit only a server of the same family; use a PostgreSQL target"
        )


def inspect_server(connection: Connection, plan: ApplyPlan, *, tables: bool) -> Inspection:
    """Return the state that an apply would find.

    Args:
        connection: To the target.
        plan: Plan of the apply.
        tables: True to read the tables' definitions too.

    Raises:
        UsageError: The target would refuse the apply.
    """
    server = ServerKind.parse(connection.server_version)
    check_family(server, plan)
    store = ProgressStore(plan.channel)
    mode = choose(connection, plan, server, store)
    check_own_writes(connection, plan, mode)
    if plan.by_replication and server.mariadb:
        from paraply.targets.mysql.preflight.mariadb_replication import check_replication

        check_replication(connection, plan, server)
    check_user(connection, server, mode)
    if plan.two_phase:
        check_two_phase(connection)
    stored = store.look(connection, plan.fingerprint)
    own = [mode.own_executed(connection)] if plan.has_gtids else []
    own += earlier_executed(connection, plan, server, mode, store.kept_mode(connection)[1])
    progress = _progress(stored, own, has_gtids=plan.has_gtids)
    progress.diverged = read_diverged(connection, plan.channel)
    known = tuple(own_tables(connection, None)) if tables else ()
    writes = own_identity(connection, server) if mode.name == "none" and plan.has_gtids else ""
    runs_events, notes = scheduled_events(connection)
    shares = any(not is_own_table(OWN_DATABASE, name) for name in _names_in(connection, OWN_DATABASE))
    history = _history(connection, server) if plan.renames else None
    prepared = held_xids(connection, XaStore(plan.channel)) if plan.xa else frozenset()
    return Inspection(
        progress, mode.name, mode.merges, known, writes, prepared, tuple(notes), runs_events, history=history, mode_note=mode.note,
        mode_is_fallback=mode.is_fallback, shares_own_database=shares,
    )  # fmt: skip


def _names_in(connection: Connection, database: str) -> list[str]:
    """Return the names of the tables of a database; none if it does not exist."""
    query = f"SELECT table_name FROM information_schema.tables WHERE table_schema={text_literal(database)}"
    return [to_text(name) for (name,) in rows_of(connection.query(query))]


def _history(connection: Connection, server: ServerKind) -> tuple[GtidSet, int]:
    """Return the GTIDs that the server wrote or holds by its own account, and its server id."""
    variables = ("gtid_binlog_pos", "gtid_slave_pos") if server.mariadb else ("gtid_executed",)
    row = rows_of(connection.query("SELECT @@GLOBAL.server_id, " + ", ".join(f"@@GLOBAL.{name}" for name in variables)))[0]
    held = GtidSet("")
    for text in row[1:]:
        held |= GtidSet(to_text(text).replace("\n", ""))
    return held, to_int(row[0])


def own_tables(connection: Connection, databases: Sequence[str] | None) -> list[Table]:
    """Return the tables of these databases (None for all but the system's), without those of the progress."""
    found = read_tables(lambda sql: rows_of(connection.query(sql)), databases)
    return [table for table in found if table.database != "paraply"]


def _progress(stored: StoredProgress | None, own: list[str], *, has_gtids: bool) -> Progress:
    """Return the stored progress together with the server's own executed GTIDs."""
    if stored is None:
        return Progress(read_executed(own, GtidSet).gtids)
    if not has_gtids:
        places = stored.places()
        return Progress(GtidSet(""), places.file, places.offset, stored.ordinal, resumed=True, done=places.done)
    executed = read_executed([*stored.executed, *own], GtidSet)
    return Progress(executed.gtids, stored.file, stored.position, stored.ordinal, resumed=True, low=executed.low)
