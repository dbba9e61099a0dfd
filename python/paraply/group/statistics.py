"""Statistics of a member, under the names of performance_schema.replication_group_member_stats."""

from __future__ import annotations

import uuid
from dataclasses import asdict, dataclass
from typing import Any

from paraply.group.delivery.log import GROUP_CHANNEL
from paraply.group.delivery.messages import View
from paraply.group.members.member import Member

__all__ = ["MemberStats", "stats_of"]


@dataclass(frozen=True, slots=True)
class MemberStats:
    """Row of replication_group_member_stats, with state and role as in replication_group_members."""

    channel_name: str
    view_id: str
    member_id: str
    member_name: str
    member_state: str
    member_role: str
    count_transactions_in_queue: int
    count_transactions_checked: int
    count_conflicts_detected: int
    count_transactions_rows_validating: int
    transactions_committed_all_members: str
    last_conflict_free_transaction: str
    count_transactions_remote_in_applier_queue: int
    count_transactions_remote_applied: int
    count_transactions_local_proposed: int
    count_transactions_local_rollback: int

    def as_json(self) -> dict[str, Any]:
        """Return the values by the names of the columns, in lower case."""
        return asdict(self)


def stats_of(member: Member, view: View, primary: str | None) -> MemberStats:
    """Return the present statistics of a member.

    Args:
        member: The member.
        view: The group's newest view.
        primary: The primary's name in single-primary mode, else None.
    """
    counters, certification = member.counters, member.certification
    role = "PRIMARY" if primary in (None, member.name) else "SECONDARY"
    return MemberStats(
        GROUP_CHANNEL,
        f"{member.options.group}:{view.number}",
        str(uuid.uuid5(uuid.UUID(member.options.group), member.name)),
        member.name,
        member.state.value,
        role,
        member.certifier_queue,
        counters.checked,
        counters.conflicts,
        certification.rows if certification is not None else 0,
        str(certification.stable) if certification is not None else "",
        counters.last_conflict_free,
        member.applier_queue,
        counters.applied,
        counters.proposed,
        counters.rolled_back,
    )
