"""GTID modes: the relation between the replay and the target's own GTIDs (R26); one class for each mode."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from paraply.errors import ServerError, UsageError
from paraply.targets.mysql.sql import Connection, rows_of, set_gtid, to_int, to_text

if TYPE_CHECKING:
    from paraply._native import GtidSet
    from paraply.targets.mysql.server_version import ServerKind
    from paraply.targets.protocol import ApplyPlan

__all__ = [
    "ACCESS_DENIED",
    "Facts",
    "GtidMode",
    "MariaDbPreserve",
    "MariaDbReplicated",
    "NoGtids",
    "Preserve",
    "Record",
    "check_gaps",
    "choose_mode",
    "mode_named",
    "own_identity",
    "read_facts",
]

ACCESS_DENIED = (1227, 1044, 1045, 1142, 1143, 1370)
"""The server's error numbers for a missing privilege."""
#: First version of MySQL that shows the command of a connection in performance_schema.
_DUMPS_IN_THREADS = (8, 0, 22)


@dataclass(frozen=True, slots=True)
class Facts:
    """The properties of the target that determine the mode.

    Attributes:
        gtids: True if the target uses GTIDs (MariaDB always does).
        log_bin: True if the target writes a binlog.
        replicas: Number of replicas that read from the target.
        group_member: True if the target is a member of a running Group Replication group.
        blind: The missing privilege for detecting replicas and group membership; None if nothing is missing.
        strict: True if the target has MariaDB's ``gtid_strict_mode``.
    """

    gtids: bool
    log_bin: bool
    replicas: int
    group_member: bool
    blind: str | None = None
    strict: bool = False

    @property
    def followed(self) -> bool:
        """True if replicas or group members take their data from the target's log."""
        return self.replicas > 0 or self.group_member


def read_facts(connection: Connection, server: ServerKind) -> Facts:
    """Read the properties of the target. A missing privilege is no error: it only limits the choice of modes."""
    log_bin = bool(to_int(rows_of(connection.query("SELECT @@GLOBAL.log_bin"))[0][0]))
    gtids = server.mariadb or to_text(rows_of(connection.query("SELECT @@GLOBAL.gtid_mode"))[0][0]).upper() == "ON"
    if not log_bin:  # without a log, there are no replicas
        return Facts(gtids, log_bin, 0, False)
    replicas, member = _replicas(connection, server), _group_member(connection, server)
    in_tables = not server.mariadb and server.version >= _DUMPS_IN_THREADS
    needed = "SELECT ON performance_schema.*" if in_tables else "PROCESS ON *.*"
    strict = server.mariadb and bool(to_int(rows_of(connection.query("SELECT @@GLOBAL.gtid_strict_mode"))[0][0]))
    return Facts(gtids, log_bin, replicas or 0, bool(member), needed if replicas is None or member is None else None, strict)


def own_identity(connection: Connection, server: ServerKind) -> str:
    """Return the prefix of the GTIDs of the target's own writes: its ``server_uuid``. Empty without GTIDs, and on MariaDB.

    In mode ``none``, MariaDB's own GTIDs are not part of the progress, so they cannot be mistaken for GTIDs of the log.
    """
    if server.mariadb:
        return ""
    mode, uuid = rows_of(connection.query("SELECT @@GLOBAL.gtid_mode, @@GLOBAL.server_uuid"))[0]
    return to_text(uuid).lower() if to_text(mode).upper() == "ON" else ""


def _replicas(connection: Connection, server: ServerKind) -> int | None:
    """Return the number of connections that read the target's log, or None if the user cannot see other connections."""
    if not server.mariadb and server.version >= _DUMPS_IN_THREADS:
        threads = "SELECT COUNT(*) FROM performance_schema.threads WHERE processlist_command LIKE 'Binlog Dump%'"
        # If performance_schema is off, the table exists and is empty.
        found = _allowed(connection, f"{threads} HAVING @@GLOBAL.performance_schema")
        if found is not None:
            return found
    # Without PROCESS, the process list shows only own connections and gives no error, but this table gives one.
    if _allowed(connection, "SELECT COUNT(*) FROM information_schema.innodb_trx") is None:
        return None
    return _allowed(connection, "SELECT COUNT(*) FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'")


def _group_member(connection: Connection, server: ServerKind) -> bool | None:
    """Return True if the target is a member of a running group; None if the user has no privilege to see it."""
    plugin = "SELECT COUNT(*) FROM information_schema.plugins WHERE plugin_name='group_replication' AND plugin_status='ACTIVE'"
    if server.mariadb or not _allowed(connection, plugin):
        return False
    member = "SELECT COUNT(*) FROM performance_schema.replication_group_members WHERE member_state IN ('ONLINE','RECOVERING')"
    found = _allowed(connection, member)
    return found > 0 if found is not None else None


def _allowed(connection: Connection, count: str) -> int | None:
    """Return the result of a counting query, or None if the user lacks the privilege or there is no row."""
    try:
        rows = rows_of(connection.query(count))
    except ServerError as error:
        if error.code in ACCESS_DENIED:
            return None
        raise
    return to_int(rows[0][0]) if rows else None


class GtidMode:
    """Base class, and mode ``none`` without GTIDs: an ordinary writer, logged under GTIDs of the target's own."""

    name: Literal["record", "preserve", "none"] = "none"
    #: True if several transactions may become one commit.
    merges = True
    #: True if each transaction writes its progress as a row; otherwise the target's GTIDs are the progress.
    writes_progress = True
    #: True if the replay stays out of the target's binlog.
    hidden = False
    #: True if the progress can hold gaps: a committed transaction after an uncommitted one.
    holds_gaps = True
    #: True if a DDL runs under its own GTID, and the server records both together (MySQL 8.0).
    ddl_under_gtid = False
    #: True if the parts of XA transactions are logged under their own GTIDs, so that the GTIDs show whether a part is done.
    xa_under_gtid = False
    #: True if the server's own replication applies, on MariaDB.
    by_replication = False
    #: Number of statements that ``start`` and ``start_again`` return for a log with GTIDs.
    statements_before = (1, 1)
    #: Remark about the mode for the user.
    note = ""
    #: True if the mode that the plan prefers is not possible; the note says why.
    is_fallback = False

    @property
    def keeps_out(self) -> bool:
        """True if paraply's own tables stay out of the target's binlog. In mode ``preserve`` they must not reach the replicas either."""
        return self.hidden or self.name == "preserve"

    def begin(self, gtid: str | None) -> list[str]:  # noqa: ARG002
        """Return the statements before a transaction."""
        return []

    def begin_apart(self, gtid: str | None) -> list[str]:
        """Return the statements before a statement that commits by itself, before the rows of its transaction."""
        return self.begin(gtid)

    def start(self, gtid: str | None) -> list[str]:
        """Return the statements that begin a transaction with rows; ``end`` resets the settings that they change."""
        return [*self.begin(gtid), "START TRANSACTION"]

    def start_again(self, gtid: str | None) -> list[str]:  # noqa: ARG002
        """Return the statements that commit a transaction with rows and begin the next one; as few as possible, to save answers."""
        return ["COMMIT AND CHAIN"]

    def end(self) -> list[str]:
        """Return the statements that reset the connection after ``start``, before it is used for anything else."""
        return []

    def begin_xa(self, gtid: str | None) -> list[str]:
        """Return the statements before a part of an XA transaction."""
        return self.begin(gtid)

    def end_xa(self) -> list[str]:
        """Return the statements after a part of an XA transaction."""
        return self.end()

    def after_format(self) -> list[str]:
        """Return the statements after the log's format description was sent."""
        return []

    def own_executed(self, connection: Connection) -> str:  # noqa: ARG002
        """Return the GTIDs that are applied according to the target's own GTID state."""
        return ""

    def finish(self, connection: Connection, executed: GtidSet) -> None:
        """Finish the mode after everything is applied."""


class NoGtids(GtidMode):
    """Mode ``none``."""


class _MySqlMode(GtidMode):
    """MySQL with GTIDs on.

    Args:
        atomic_ddl: True if the server records a DDL and its GTID together.
        has_gtids: True if the log's transactions carry GTIDs.
    """

    def __init__(self, *, atomic_ddl: bool, has_gtids: bool = True) -> None:
        self.ddl_under_gtid = atomic_ddl and self.name != "none"
        self.xa_under_gtid = self.name != "none"
        self._has_gtids = has_gtids

    def after_format(self) -> list[str]:
        """Return the statements after the log's format description was sent."""
        # The server leaves gtid_next undetermined after a format description.
        return [set_gtid()]

    def own_executed(self, connection: Connection) -> str:
        """Return the GTIDs that are applied according to the target's own GTID state."""
        if not self._has_gtids:
            return ""
        return to_text(rows_of(connection.query("SELECT @@GLOBAL.gtid_executed"))[0][0]).replace("\n", "")


class MySqlNone(_MySqlMode):
    """Mode ``none`` on MySQL with GTIDs on."""


class Record(_MySqlMode):
    """Mode ``record``: the replay is not logged; at the end, the applied set becomes part of gtid_purged."""

    name = "record"
    hidden = True

    def begin_xa(self, gtid: str | None) -> list[str]:
        """Return the statements before a part of an XA transaction, which is logged even in this mode."""
        return ["SET SESSION sql_log_bin=1", f"SET gtid_next='{gtid}'"]

    def end_xa(self) -> list[str]:
        """Return the statements after a part of an XA transaction."""
        return ["SET gtid_next='AUTOMATIC'", "SET SESSION sql_log_bin=0"]

    def finish(self, connection: Connection, executed: GtidSet) -> None:
        """Add the applied GTIDs to gtid_purged."""
        own = type(executed)(self.own_executed(connection))
        missing = executed - own
        if missing:
            connection.query(f"SET GLOBAL gtid_purged='+{missing}'")


class Preserve(_MySqlMode):
    """Mode ``preserve``: each transaction keeps its GTID; gtid_executed is the progress."""

    name = "preserve"
    merges = False
    writes_progress = False
    statements_before = (1, 2)

    def begin(self, gtid: str | None) -> list[str]:
        """Return the statements before a transaction."""
        return [set_gtid(gtid)] if gtid else []

    def start(self, gtid: str | None) -> list[str]:
        """Return the statement that begins a transaction with rows: one instead of three, because each costs a third of a row's time."""
        return [f"SET gtid_next='{gtid}', autocommit=0"] if gtid else super().start(gtid)

    def start_again(self, gtid: str | None) -> list[str]:
        """Return the statements that commit a transaction with rows and begin the next one."""
        return ["COMMIT", *self.start(gtid)]

    def end(self) -> list[str]:
        """Return the statements that reset the connection after ``start``, before it is used for anything else."""
        return ["SET gtid_next='AUTOMATIC', autocommit=1"]


class MariaDbRecord(GtidMode):
    """Mode ``record`` on MariaDB: the replay is not logged; at the end, gtid_slave_pos is set to its position."""

    name = "record"
    hidden = True

    def own_executed(self, connection: Connection) -> str:
        """Return the GTIDs that are applied according to the target's own GTID state."""
        return to_text(rows_of(connection.query("SELECT @@GLOBAL.gtid_slave_pos"))[0][0])

    def finish(self, connection: Connection, executed: GtidSet) -> None:
        """Set gtid_slave_pos to the position of the replay."""
        position = executed | type(executed)(self.own_executed(connection))
        connection.query(f"SET GLOBAL gtid_slave_pos='{position}'")


class MariaDbPreserve(GtidMode):
    """Mode ``preserve`` on MariaDB: each transaction is logged under its own GTID; the binlog's position is the progress.

    Args:
        live: True if the source is a live server, and so another one. What the target wrote itself in a domain of the source is no
            progress then.
        strict: True if the target has ``gtid_strict_mode``. Its check of a number takes the domain and server id that the session had
            before the statement (seen on 10.5 to 11.8), so the number has a statement of its own.
    """

    name = "preserve"
    merges = False
    writes_progress = False
    holds_gaps = False
    xa_under_gtid = True

    def __init__(self, *, live: bool = False, strict: bool = False) -> None:
        self._live = live
        self._next = "; SET " if strict else ", "
        self.statements_before = (2, 3) if strict else (1, 2)

    def begin(self, gtid: str | None) -> list[str]:
        """Return the statements before a transaction."""
        if not gtid:
            return []
        domain, server, number = (int(part) for part in gtid.split("-"))
        return f"SET gtid_domain_id={domain}, server_id={server}{self._next}gtid_seq_no={number}".split("; ")

    def begin_apart(self, gtid: str | None) -> list[str]:
        """Return the statements before a statement that commits by itself, before the rows of its transaction.

        The statement is logged under the previous number. With its own number, the position would include rows that are still missing.
        """
        if not gtid:
            return []
        domain, server, number = (int(part) for part in gtid.split("-"))
        return self.begin(f"{domain}-{server}-{max(number - 1, 1)}")

    def start(self, gtid: str | None) -> list[str]:
        """Return the statements that begin a transaction with rows."""
        begin = self.begin(gtid)
        return [*begin[:-1], f"{begin[-1]}, autocommit=0"] if begin else super().start(gtid)

    def start_again(self, gtid: str | None) -> list[str]:
        """Return the statements that commit a transaction with rows and begin the next one."""
        return ["COMMIT", *self.start(gtid)]

    def end(self) -> list[str]:
        """Return the statements that reset the connection after ``start``, before it is used for anything else."""
        return ["SET autocommit=1"]

    def own_executed(self, connection: Connection) -> str:
        """Return the GTIDs that are applied according to the target's own GTID state."""
        if not self._live:
            return to_text(rows_of(connection.query("SELECT @@GLOBAL.gtid_binlog_pos"))[0][0])
        from paraply.targets.mysql.gtid_position import source_position

        own, state = rows_of(connection.query("SELECT @@GLOBAL.server_id, @@GLOBAL.gtid_binlog_state"))[0]
        return source_position(to_text(state), to_int(own))


class MariaDbReplicated(MariaDbPreserve):
    """Mode ``preserve`` on MariaDB through the server's own replication, whose position counts as well as that of the binlog."""

    by_replication = True

    def own_executed(self, connection: Connection) -> str:
        """Return the GTIDs that are applied according to the target's own GTID state."""
        from paraply.targets.mysql.gtid_position import held_by_replication

        return held_by_replication(connection)


def check_gaps(plan: ApplyPlan, mode: GtidMode) -> None:
    """Check that a mode can store the gaps that a run may leave.

    Raises:
        UsageError: The mode cannot store gaps.
    """
    if plan.gaps and not mode.holds_gaps:
        raise UsageError(
            f"--gtid {mode.name} on MariaDB keeps the progress in the binlog's position, which cannot hold gaps:"
            " use --consistency any-time, or another GTID mode"
        )


def choose_mode(plan: ApplyPlan, facts: Facts, server: ServerKind) -> GtidMode:
    """Return the GTID mode for a plan, and resolve ``auto``.

    Raises:
        UsageError: The mode is not possible on this target; the message gives the reason.
    """
    name = _resolve(plan, facts, server)
    if plan.two_phase and (why := _unsafe_in_parts(name, facts, server)):
        raise UsageError(f"policy 'row' with --gtid {name}: {why}: use --gtid none, or another policy")
    if name != "none" and not plan.has_gtids:
        raise UsageError(f"--gtid {name} needs a log with GTIDs, and this log has none: use --gtid none")
    if name != "none" and not facts.gtids:
        raise UsageError(f"--gtid {name} needs gtid_mode=ON on the target, or use --gtid none")
    if name == "record" and facts.followed:
        followers = "is a member of a group" if facts.group_member else f"has {facts.replicas} replicas"
        raise UsageError(f"--gtid record keeps the replay out of the target's log, but the target {followers}: use --gtid preserve")
    if name == "record" and facts.blind:
        raise UsageError(
            "--gtid record keeps the replay out of the target's log, and the target's user cannot see whether replicas or a group read"
            f" from that: GRANT {facts.blind} to it, or use --gtid preserve"
        )
    mode = _make(name, plan, facts, server)
    if plan.gtid_mode == "auto" and name == "preserve" and facts.blind and not facts.followed:
        mode.note = (
            f"GTID mode preserve, because the target's user cannot see whether replicas are attached; with GRANT {facts.blind} it might be"
            " record, which merges commits"
        )
    elif plan.gtid_mode == "auto" and plan.two_phase and name == "none" and facts.log_bin and facts.gtids and plan.has_gtids:
        mode.note = "GTID mode none: the target logs the replay under GTIDs of its own, which keeps the prepared parts of policy row safe"
    else:
        mode.note = f"GTID mode {mode.name}"
    return mode


def mode_named(name: str, plan: ApplyPlan, server: ServerKind) -> GtidMode:
    """Return a mode of a target with GTIDs, whatever speaks against it."""
    return _make(name, plan, Facts(gtids=True, log_bin=True, replicas=0, group_member=False), server)


def _make(name: str, plan: ApplyPlan, facts: Facts, server: ServerKind) -> GtidMode:
    if server.mariadb:
        if plan.by_replication:
            return MariaDbReplicated(live=plan.live, strict=facts.strict)
        if name == "preserve":
            return MariaDbPreserve(live=plan.live, strict=facts.strict)
        return {"record": MariaDbRecord, "none": NoGtids}[name]()
    if not facts.gtids:
        return NoGtids()
    modes: dict[str, type[_MySqlMode]] = {"record": Record, "preserve": Preserve, "none": MySqlNone}
    return modes[name](atomic_ddl=server.version >= (8, 0, 0), has_gtids=plan.has_gtids and not plan.renames)


def _resolve(plan: ApplyPlan, facts: Facts, server: ServerKind) -> Literal["record", "preserve", "none"]:
    if plan.gtid_mode != "auto":
        return plan.gtid_mode
    if not plan.has_gtids or not facts.gtids:
        return "none"
    # Mode preserve reaches all replicas of the target; mode record would leave out replicas that the user cannot see.
    name: Literal["record", "preserve"] = "preserve" if facts.followed or facts.blind else "record"
    return "none" if plan.two_phase and _unsafe_in_parts(name, facts, server) else name


def _unsafe_in_parts(name: str, facts: Facts, server: ServerKind) -> str | None:
    """Return the reason against committing a transaction in parts in this mode, or None if it is safe.

    Source: MySQL 9.7.4 was killed with one branch prepared under ``sql_log_bin=0`` and one without. After the restart, only the second
    branch exists. MariaDB 10.11 and a MySQL without a binlog keep both branches.
    """
    if name == "preserve":
        return "a transaction that is split cannot commit under one GTID"
    if name == "record" and facts.log_bin and not server.mariadb:
        return "the parts would be prepared without being logged, and a MySQL with a binlog that is killed forgets such parts"
    return None
