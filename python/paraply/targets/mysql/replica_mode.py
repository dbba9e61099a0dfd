"""The GTID mode of a replica of a live source: ``preserve`` where the target can, so that its GTIDs are right at every moment (R26)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, cast

from paraply.errors import UsageError
from paraply.targets.mysql.gtid_mode import Facts, GtidMode, choose_mode, mode_named, read_facts
from paraply.targets.mysql.sql import rows_of, to_int, to_text

if TYPE_CHECKING:
    from paraply.targets.mysql.progress.store import ProgressStore
    from paraply.targets.mysql.server_version import ServerKind
    from paraply.targets.mysql.sql import Connection
    from paraply.targets.protocol import ApplyPlan

__all__ = ["check_own_writes", "choose", "earlier_executed", "why_not_preserve"]

_Name = Literal["record", "preserve", "none"]


def choose(connection: Connection, plan: ApplyPlan, server: ServerKind, store: ProgressStore) -> GtidMode:
    """Return the GTID mode of a run.

    For a live source, ``auto`` is the mode that the channel began with. A new channel gets ``preserve``, or what ``apply`` would take where
    the target cannot; the mode's note says why.

    Args:
        connection: To the target.
        plan: The plan.
        server: The target's family and version.
        store: The channel's progress.

    Raises:
        UsageError: The mode is not possible on this target.
    """
    facts = read_facts(connection, server)
    if plan.gtid_mode != "auto" or not plan.live:
        return choose_mode(plan, facts, server)
    exists, kept = store.kept_mode(connection)
    if kept is not None:
        try:
            mode = choose_mode(replace(plan, gtid_mode=cast("_Name", kept)), facts, server)
        except UsageError as error:  # replicas were attached to a target in mode record
            mode = choose_mode(plan, facts, server)
            mode.is_fallback = True
            mode.note = f"GTID mode {mode.name}: the channel began with {kept}, which is not possible any more ({error.message})"
        else:
            mode.note = f"GTID mode {kept}, with which the channel began"
        return mode
    if exists:  # by a version that did not store the mode
        return choose_mode(plan, facts, server)
    why = why_not_preserve(plan, facts, server, _own_positions(connection, server))
    if why is None:
        mode = choose_mode(replace(plan, gtid_mode="preserve"), facts, server)
        mode.note = "GTID mode preserve: each transaction keeps its GTID, and the target's GTIDs are right at every moment"
        return mode
    mode = choose_mode(plan, facts, server)
    if mode.name != "preserve":
        mode.is_fallback = True
        mode.note = f"GTID mode {mode.name}, because preserve is not possible: {why}"
    return mode


def why_not_preserve(plan: ApplyPlan, facts: Facts, server: ServerKind, own: str = "") -> str | None:
    """Return the reason against ``preserve``, or None if it is possible.

    Args:
        plan: The plan.
        facts: Properties of the target.
        server: The target's family and version.
        own: On MariaDB, the ends of domains in the target's binlog that the target wrote itself.
    """
    if not plan.has_gtids:
        return "the source's transactions carry no GTIDs"
    if not facts.gtids:
        return "gtid_mode is not ON on the target"
    if not server.mariadb:
        return None
    if not facts.log_bin:
        return "the target writes no binlog, which would hold the GTIDs"
    if plan.gaps:
        return "the binlog's position on MariaDB cannot hold the gaps of this --consistency"
    if own:
        return (
            f"the target's binlog ends in transactions that it wrote itself ({own}), which the position of its binlog does not tell from"
            " the source's; RESET MASTER on an empty target, before the first start, makes preserve possible"
        )
    return None


def check_own_writes(connection: Connection, plan: ApplyPlan, mode: GtidMode) -> None:
    """Check that a MariaDB target's position tells which of a log's transactions it holds (R26).

    In mode ``preserve`` the position of the target's binlog is the progress. What the target itself wrote in the domain of the log would
    count as transactions of the log, which would be passed over without a word.

    Raises:
        UsageError: The domain ends in transactions of the target.
    """
    if mode.name != "preserve" or not plan.mariadb or plan.live or not plan.first_gtid:
        return
    domain, server, _ = plan.first_gtid.split("-")
    own, state = rows_of(connection.query("SELECT @@GLOBAL.server_id, @@GLOBAL.gtid_binlog_state"))[0]
    if int(server) == to_int(own):  # the log is the target's own, or that of another server of this number
        return
    ends = [gtid.strip().split("-") for gtid in to_text(state).split(",") if gtid.strip()]
    of_domain = [(int(number), int(writer)) for where, writer, number in ends if where == domain]
    last, writer = max(of_domain, default=(0, 0))
    if writer == to_int(own):
        raise UsageError(
            f"--gtid preserve: the target wrote transactions of domain {domain} itself, the last one is {domain}-{writer}-{last}, so its"
            " position does not tell which of the log's transactions it holds; use --gtid record (and --start-after for what it holds), or"
            " RESET MASTER on a target whose binlog is not needed; write on such a target with SET SESSION sql_log_bin=0 or in another"
            " gtid_domain_id"
        )


def earlier_executed(connection: Connection, plan: ApplyPlan, server: ServerKind, mode: GtidMode, kept: str | None) -> list[str]:
    """Return the GTIDs that a MariaDB target holds by the mode of the channel's last run, if this run has another one."""
    if kept is None or kept == mode.name or not server.mariadb or not plan.has_gtids:
        return []
    return [mode_named(kept, replace(plan, live=True), server).own_executed(connection)]


def _own_positions(connection: Connection, server: ServerKind) -> str:
    """Return the ends of domains in a MariaDB's binlog that the server wrote itself; empty on MySQL."""
    if not server.mariadb:
        return ""
    own, position = rows_of(connection.query("SELECT @@GLOBAL.server_id, @@GLOBAL.gtid_binlog_pos"))[0]
    gtids = [gtid for gtid in to_text(position).split(",") if gtid]
    return ",".join(gtid for gtid in gtids if int(gtid.split("-")[1]) == to_int(own))
