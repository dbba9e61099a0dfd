"""Options of a group."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field

from paraply.applier.commit.consistency import Consistency
from paraply.applier.schedule.policy import make_policy
from paraply.errors import UsageError
from paraply.group.members.flow_control import FlowOptions

__all__ = ["GroupOptions"]

MULTI_PRIMARY = "multi-primary"
SINGLE_PRIMARY = "single-primary"
PER_DATABASE = ("database", "table")


def new_group_name() -> str:
    """Return a new UUID for a group."""
    return str(uuid.uuid4())


@dataclass(frozen=True, slots=True)
class GroupOptions:
    """Options of a group; the same for all members.

    Attributes:
        name: The group's UUID, under which its transactions get their GTIDs.
        mode: ``multi-primary`` (every member accepts writes) or ``single-primary`` (one member does).
        policy: Scheduling policy of the members' appliers: ``logical-clock``. Policies by database or table keep no common order.
        workers: Transactions that a member applies at the same time.
        consistency: ``any-time``, ``most-of-the-time`` or ``eventual`` (R20).
        latency: Delay of a message in seconds.
        block_size: GTIDs of a member's block (R10).
        first_remote_alone: Numbering as in MySQL 9.7 (R6).
        collection_burns_number: Numbering as in MySQL 5.7 (R7).
        flow: Options of flow control.

    Raises:
        UsageError: An option is unknown, or not allowed for a group.

    >>> GroupOptions(policy="table")
    Traceback (most recent call last):
    ...
    paraply.errors.UsageError: a group cannot apply by table: transactions of several members need one order; use policy logical-clock
    """

    name: str = field(default_factory=new_group_name)
    mode: str = MULTI_PRIMARY
    policy: str = "logical-clock"
    workers: int = 4
    consistency: str = "any-time"
    latency: float = 0.0
    block_size: int = 1_000_000
    first_remote_alone: bool = True
    collection_burns_number: bool = False
    flow: FlowOptions = field(default_factory=FlowOptions)

    def __post_init__(self) -> None:
        if self.mode not in (MULTI_PRIMARY, SINGLE_PRIMARY):
            raise UsageError(f"the mode of a group is {MULTI_PRIMARY} or {SINGLE_PRIMARY}, not {self.mode}")
        if self.policy in PER_DATABASE:
            raise UsageError(
                f"a group cannot apply by {self.policy}: transactions of several members need one order; use policy logical-clock"
            )
        if make_policy(self.policy).name != "logical-clock":
            raise UsageError(f"a group applies by the numbers of its certifier: use policy logical-clock, not {self.policy}")
        if self.workers < 1:
            raise UsageError(f"a member needs 1 worker or more, not {self.workers}")
        if self.latency < 0 or self.block_size < 1:
            raise UsageError("the latency of a group is 0 or more, and its block size 1 or more")
        if self.consistency not in [level.value for level in Consistency]:
            raise UsageError(f"the consistency is {', '.join(level.value for level in Consistency)}, not {self.consistency}")

    @property
    def single_primary(self) -> bool:
        """True if only one member accepts writes."""
        return self.mode == SINGLE_PRIMARY
