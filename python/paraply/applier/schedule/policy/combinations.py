"""Allowed combinations of policies, consistency levels, merging and GTID modes (R21a)."""

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
"""Constructors of all policies, by name."""

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
"""Pairs of policy and consistency level that are not allowed, with the reason."""

_CANNOT_MERGE = {
    "logical-clock": "starts transactions by their own numbers",
    "table": "keeps a stream for each table, and merged transactions would join them",
}


@dataclass(frozen=True, slots=True)
class PolicyKind:
    """Policy named in the options; see ``Policy`` for the attributes."""

    name: str
    merges: bool
    optimistic: bool
    early_rows: bool
    splits: bool

    def make(self) -> Policy:
        """Return a new policy for one run."""
        return make_policy(self.name)


def policy_kind(name: str) -> PolicyKind:
    """Return the properties of a policy by name.

    Raises:
        UsageError: No policy has this name.

    >>> policy_kind("table").merges
    False
    """
    policy = make_policy(name)
    return PolicyKind(name, policy.merges, policy.optimistic, policy.early_rows, policy.splits)


def make_policy(name: str) -> Policy:
    """Return a new policy by name.

    Raises:
        UsageError: No policy has this name.

    >>> make_policy("dependency").merges
    True
    """
    try:
        return POLICIES[name]()
    except KeyError:
        raise UsageError(f"policy {name!r} does not exist; choose one of: {', '.join(POLICIES)}") from None


def check_combination(policy: str, consistency: str, merge: str | int, gtid: str) -> None:
    """Refuse combinations that are not allowed, before anything is opened.

    Conditions that depend on the target are checked by the target: for example a server whose GTIDs cannot hold gaps.

    Raises:
        UsageError: The combination is not allowed; the message has the reason.
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
    """Return every policy with every consistency level allowed for it, and True if it merges.

    >>> ("table", "any-time", False) in allowed_combinations()
    False
    """
    return [
        (policy, level, make().merges) for policy, make in POLICIES.items() for level in CONSISTENCIES if (policy, level) not in _REFUSED
    ]
