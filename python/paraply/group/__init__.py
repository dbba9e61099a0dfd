"""A group: members that certify, apply and keep equal (WL#8440)."""

from __future__ import annotations

from paraply.group.flow_control import FlowOptions
from paraply.group.group import Group
from paraply.group.live import LiveGroup
from paraply.group.member import MemberState
from paraply.group.options import GroupOptions
from paraply.group.session import Outcome, Session
from paraply.group.statistics import MemberStats

__all__ = ["FlowOptions", "Group", "GroupOptions", "LiveGroup", "MemberState", "MemberStats", "Outcome", "Session"]
