"""Scheduling policies, one class each: what must be committed before a block may start (R21, R21a)."""

from __future__ import annotations

from paraply.applier.schedule.policy.barrier import BarrierPolicy
from paraply.applier.schedule.policy.base import NOTHING, Needs, Policy, runs_statement
from paraply.applier.schedule.policy.combinations import (
    CONSISTENCIES,
    POLICIES,
    PolicyKind,
    allowed_combinations,
    check_combination,
    make_policy,
    policy_kind,
)
from paraply.applier.schedule.policy.dependency import DependencyPolicy
from paraply.applier.schedule.policy.logical_clock import LogicalClockPolicy
from paraply.applier.schedule.policy.optimistic import OptimisticPolicy
from paraply.applier.schedule.policy.row import RowPolicy
from paraply.applier.schedule.policy.table import TablePolicy
from paraply.applier.schedule.policy.unordered import UnorderedPolicy

__all__ = [
    "CONSISTENCIES",
    "NOTHING",
    "POLICIES",
    "BarrierPolicy",
    "DependencyPolicy",
    "LogicalClockPolicy",
    "Needs",
    "OptimisticPolicy",
    "Policy",
    "PolicyKind",
    "RowPolicy",
    "TablePolicy",
    "UnorderedPolicy",
    "allowed_combinations",
    "check_combination",
    "make_policy",
    "policy_kind",
    "runs_statement",
]
