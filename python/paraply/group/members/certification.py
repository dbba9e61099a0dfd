"""Certification of the group's messages by one member, in the group's order (R1 to R10)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from paraply._native import Certifier, GtidSet
from paraply.group.delivery.messages import ExecutedMessage, MemberId, TransactionMessage, View

__all__ = ["Certification", "CertifierOptions", "Decision", "known_gtids"]


KNOWN = "known"


def known_gtids(exported: Any) -> GtidSet:
    """Return the GTIDs recorded in certification info."""
    return GtidSet(exported.schema.metadata[KNOWN.encode()].decode())


@dataclass(frozen=True, slots=True)
class CertifierOptions:
    """Options on which all members of a group must agree.

    Attributes:
        group: The group's name, a UUID.
        block_size: GTIDs of a member's block (R10).
        first_remote_alone: Stamp the first remote transaction of a started member with (0,0), as MySQL 9.7 does (R6); WL#8440's examples
            do not.
        collection_burns_number: Let a collection use up one number, as in MySQL 5.7 (R7).
    """

    group: str
    block_size: int = 1_000_000
    first_remote_alone: bool = True
    collection_burns_number: bool = False

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the native certifier."""
        return {
            "group": self.group,
            "block_size": self.block_size,
            "first_remote_alone": self.first_remote_alone,
            "collection_burns_number": self.collection_burns_number,
        }


@dataclass(frozen=True, slots=True)
class Decision:
    """Decision about one transaction.

    Attributes:
        committed: True if it may commit.
        gtid: Its GTID; None if it is rejected.
        last_committed: Number up to which transactions must be committed before it starts; None for a local or rejected one.
        sequence_number: Its own number; None for a local or rejected one.
        reason: Reason of the rejection.
    """

    committed: bool
    gtid: str | None = None
    last_committed: int | None = None
    sequence_number: int | None = None
    reason: str | None = None


class Certification:
    """A member's certifier, and its knowledge of the other members.

    Members that certify the same messages in the same order make the same decisions. Their numbers differ, because a local transaction
    uses up no number (R4).

    Args:
        options: Options of the group.
        me: The member.
        certifier: Certifier of a joining member; a new one by default.
    """

    def __init__(self, options: CertifierOptions, me: MemberId, certifier: Certifier | None = None) -> None:
        self._options = options
        self._me = me
        self._certifier = certifier if certifier is not None else Certifier(**options.arguments())
        self._reports: dict[str, GtidSet] = {}
        self.stable = GtidSet()
        """GTIDs known to be executed by every member."""
        self.collections = 0
        """Number of collections that removed items."""

    @classmethod
    def joined(cls, options: CertifierOptions, me: MemberId, exported: Any) -> Certification:
        """Return the certification of a joining member, made from another member's certification info (R9)."""
        certifier = Certifier.joined(exported, **options.arguments())
        certifier.commit(known_gtids(exported))
        return cls(options, me, certifier)

    @property
    def rows(self) -> int:
        """Number of items of the certification info."""
        return len(self._certifier)

    @property
    def next_number(self) -> int:
        """Number of the next remote transaction."""
        return self._certifier.next_sequence_number

    def certify(self, message: TransactionMessage) -> Decision:
        """Decide about a transaction."""
        answer = self._certifier.certify(
            message.write_set,
            snapshot=message.snapshot,
            gtid=message.gtid,
            member=message.sender.server_id,
            local=message.sender == self._me,
            barrier=message.statement is not None,
        )
        if answer.committed and answer.gtid is not None:
            # Certified counts as committed: members commit at different times, and all must reject the same (R10).
            self._certifier.commit(GtidSet(answer.gtid))
            return Decision(True, answer.gtid, answer.last_committed, answer.sequence_number)
        return Decision(False, reason=answer.reason)

    def report(self, message: ExecutedMessage, view: View) -> bool:
        """Record the executed GTIDs of a member; when all members of the view have reported, collect the common part (R7, R8).

        Returns:
            True if a collection ran with a grown stable set.
        """
        self._reports[message.sender.name] = message.executed
        reported = [self._reports.get(member.name) for member in view.members]
        stable = reported[0] if reported else None
        for executed in reported[1:]:
            stable = None if stable is None or executed is None else stable & executed
        if stable is None:
            return False
        self._reports.clear()
        collected = self._certifier.collect_garbage(stable)
        if collected:
            self.stable = stable
            self.collections += 1
        return collected

    def change_view(self) -> tuple[int, int]:
        """Begin a view: assign new blocks of GTIDs, forget reports of the old view, and return the view's numbers (R6)."""
        self._reports.clear()
        return self._certifier.view_change()

    def export(self) -> Any:
        """Return the certification info for a member that joins with the view that begins now."""
        return self._certifier.export()
