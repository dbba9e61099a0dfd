"""A replication group: members that certify, apply and stay equal (WL#8440)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paraply._extras import require_extra
from paraply.group.group import Group
from paraply.group.members.flow_control import FlowOptions
from paraply.group.members.member import MemberState
from paraply.group.members.session import Outcome, Session
from paraply.group.options import GroupOptions
from paraply.group.statistics import MemberStats

if TYPE_CHECKING:
    from paraply.group.live import LiveGroup

__all__ = ["FlowOptions", "Group", "GroupOptions", "LiveGroup", "MemberState", "MemberStats", "Outcome", "Session"]


def __getattr__(name: str) -> Any:
    """Return the class of live groups, which needs the extra ``paraply[embedded]``; groups in memory do not."""
    if name == "LiveGroup":
        require_extra("embedded", "a live group")
        from paraply.group.live import LiveGroup

        return LiveGroup
    raise AttributeError(f"module {__name__} has no attribute {name}")
