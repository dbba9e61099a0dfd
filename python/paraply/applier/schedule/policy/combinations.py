"""What may go together, in one place (R21a)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from paraply.applier.commit.consistency import Consistency
from paraply.applier.schedule.policy.barrier import BarrierPolicy
from paraply.applier.schedule.policy.dependency import DependencyPolicy
from paraply.applier.schedule.policy.logical_clock import LogicalClockPolicy
from paraply.applier.schedule.policy.optimistic import OptimisticPolicy
from paraply.applier.schedule.policy.row import RowPolicy
from paraply.applier.schedule.policy.table import TablePolicy
from paraply.applier.schedule.policy.unordered import UnorderedPolicy
from paraply.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from paraply.applier.schedule.policy.base import Policy

__all__ = [
    "CONSISTENCIES",
    "GTID_MODES",
    "POLICIES",
    "PolicyKind",
    "allowed_combinations",
    "check_combination",
    "make_policy",
    "policy_kind",
]

POLICIES: dict[str, Callable[[], Policy]] = {
    "dependency": DependencyPolicy,
    "logical-clock": LogicalClockPolicy,
    "barrier": BarrierPolicy,
    "optimistic": OptimisticPolicy,
    "table": TablePolicy,
    "row": RowPolicy,
    "unordered": UnorderedPolicy,
}
"""The policies that exist, by name."""

CONSISTENCIES = tuple(level.value for level in Consistency)
"""The consistency levels, strongest first."""

GTID_MODES = ("auto", "record", "preserve", "none")
"""The GTID modes of R26."""

_ONLY_EVENTUAL = "commits out of the source's order and goes only with consistency 'eventual'"
_REFUSED: dict[tuple[str, str], str] = {
    ("optimistic", "eventual"): "needs commits in order to find conflicts, which consistency 'eventual' does not keep;"
    " use 'any-time' or 'most-of-the-time'",
    **{(policy, level): _ONLY_EVENTUAL for policy in ("table", "row", "unordered") for level in ("any-time", "most-of-the-time")},
}
"""Policies and consistency levels that do not go together, and why."""

_CANNOT_MERGE = {
    "logical-clock": "starts transactions by their own numbers",
    "table": "keeps a stream for each table, and merged transactions would join them",
}


@dataclass(frozen=True, slots=True)
class PolicyKind:
    """A policy as the options name it; see ``Policy`` for the attributes."""

    name: str
    merges: bool
    optimistic: bool
    in_waves: bool
    splits: bool

    def make(self) -> Policy:
        """Return a new policy for one run."""
        return make_policy(self.name)


def policy_kind(name: str) -> PolicyKind:
    """Return what is known of a policy without a run.

    Raises:
        UsageError: There is none of this name.

    >>> policy_kind("table").merges
    False
    """
    policy = make_policy(name)
    return PolicyKind(name, policy.merges, policy.optimistic, policy.in_waves, policy.splits)


def make_policy(name: str) -> Policy:
    """A policy by its name.

    Raises:
        UsageError: There is none of this name.

    >>> make_policy("dependency").merges
    True
    """
    try:
        return POLICIES[name]()
    except KeyError:
        raise UsageError(f"policy {name!r} does not exist; choose one of: {', '.join(POLICIES)}") from None


def check_combination(policy: str, consistency: str, merge: str | int, gtid: str) -> None:
    """Refuses what may not go together, before anything is opened.

    What depends on the target as well is refused by the target: a server whose GTIDs cannot hold gaps, say.

    Raises:
        UsageError: With the reason.
    """
    if (policy, consistency) in _REFUSED:
        raise UsageError(f"policy {policy!r} {_REFUSED[policy, consistency]}")
    if policy == "row" and gtid == "preserve":
        raise UsageError("policy 'row' splits a transaction, which --gtid preserve does not allow")
    if consistency not in CONSISTENCIES:
        raise UsageError(f"consistency {consistency!r} does not exist; choose one of: {', '.join(CONSISTENCIES)}")
    merges = make_policy(policy).merges
    if gtid not in GTID_MODES:
        raise UsageError(f"gtid mode {gtid!r} does not exist; choose one of: {', '.join(GTID_MODES)}")
    if isinstance(merge, bool) or (isinstance(merge, str) and merge not in ("auto", "off")) or (isinstance(merge, int) and merge < 1):
        raise UsageError(f"merge must be auto, off or a number from 1, not {merge!r}")
    if isinstance(merge, int) and merge > 1:
        if gtid == "preserve":
            raise UsageError("--gtid preserve commits each transaction under its own GTID and cannot merge; use --merge off")
        if not merges:
            raise UsageError(f"policy {policy!r} {_CANNOT_MERGE[policy]}, and cannot merge; use --merge off")


def allowed_combinations() -> list[tuple[str, str, bool]]:
    """Every policy with every consistency level that it goes with, and whether it merges.

    >>> ("table", "any-time", False) in allowed_combinations()
    False
    """
    return [
        (policy, level, make().merges) for policy, make in POLICIES.items() for level in CONSISTENCIES if (policy, level) not in _REFUSED
    ]
