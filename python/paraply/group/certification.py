"""What a member decides about each message of the group, in the group's order (R1 to R10)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from paraply._native import Certifier, GtidSet
from paraply.group.messages import ExecutedMessage, MemberId, TransactionMessage, View

__all__ = ["Certification", "CertifierOptions", "Decision", "known_gtids"]


KNOWN = "known"


def known_gtids(exported: Any) -> GtidSet:
    """The GTIDs that stand in certification info."""
    return GtidSet(exported.schema.metadata[KNOWN.encode()].decode())


@dataclass(frozen=True, slots=True)
class CertifierOptions:
    """What all members of a group must agree on.

    Attributes:
        group: The group's name, a UUID.
        block_size: GTIDs of a member's block (R10).
        first_remote_alone: The first remote transaction of a member that has just started is stamped (0,0), as MySQL 9.7 does (R6);
            WL#8440's examples do without.
        collection_burns_number: A collection uses up one number, as in MySQL 5.7 (R7).
    """

    group: str
    block_size: int = 1_000_000
    first_remote_alone: bool = True
    collection_burns_number: bool = False

    def arguments(self) -> dict[str, Any]:
        """For the native certifier."""
        return {
            "group": self.group,
            "block_size": self.block_size,
            "first_remote_alone": self.first_remote_alone,
            "collection_burns_number": self.collection_burns_number,
        }


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer for one transaction.

    Attributes:
        committed: Whether it may commit.
        gtid: Its GTID; None if it is rejected.
        last_committed: What must be committed before it starts; None for a local or rejected one.
        sequence_number: Its own number; likewise.
        reason: Why it is rejected.
    """

    committed: bool
    gtid: str | None = None
    last_committed: int | None = None
    sequence_number: int | None = None
    reason: str | None = None


class Certification:
    """A member's certifier, and what it knows of the others.

    Members that certify the same messages in the same order come to the same decisions; their numbers differ, because a local
    transaction uses up none (R4).

    Args:
        options: What the group has agreed on.
        me: The member.
        certifier: The certifier of a member that joined; a new one by default.
    """

    def __init__(self, options: CertifierOptions, me: MemberId, certifier: Certifier | None = None) -> None:
        self._options = options
        self._me = me
        self._certifier = certifier if certifier is not None else Certifier(**options.arguments())
        self._reports: dict[str, GtidSet] = {}
        self.stable = GtidSet()
        """What every member is known to have executed."""
        self.collections = 0
        """Collections that removed something."""

    @classmethod
    def joined(cls, options: CertifierOptions, me: MemberId, exported: Any) -> Certification:
        """That of a member which joins, with the certification info of another one (R9)."""
        certifier = Certifier.joined(exported, **options.arguments())
        certifier.commit(known_gtids(exported))
        return cls(options, me, certifier)

    @property
    def rows(self) -> int:
        """Items of the certification info."""
        return len(self._certifier)

    @property
    def next_number(self) -> int:
        """The number that the next remote transaction gets."""
        return self._certifier.next_sequence_number

    def certify(self, message: TransactionMessage) -> Decision:
        """Decides about a transaction."""
        answer = self._certifier.certify(
            message.write_set,
            snapshot=message.snapshot,
            gtid=message.gtid,
            member=message.sender.server_id,
            local=message.sender == self._me,
            barrier=message.statement is not None,
        )
        if answer.committed and answer.gtid is not None:
            # Certified is as good as committed: when a member has committed it differs, and all must reject the same (R10).
            self._certifier.commit(GtidSet(answer.gtid))
            return Decision(True, answer.gtid, answer.last_committed, answer.sequence_number)
        return Decision(False, reason=answer.reason)

    def report(self, message: ExecutedMessage, view: View) -> bool:
        """Takes what a member has executed; once all members of the view have told, the common part is collected (R7, R8).

        Returns:
            Whether a collection ran with a grown stable set.
        """
        self._reports[message.sender.name] = message.executed
        told = [self._reports.get(member.name) for member in view.members]
        stable = told[0] if told else None
        for executed in told[1:]:
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
        """A view begins: blocks of GTIDs are given out anew, and reports of the old view count no more; gives its numbers (R6)."""
        self._reports.clear()
        return self._certifier.view_change()

    def export(self) -> Any:
        """The certification info for a member that joins with the view that begins here."""
        return self._certifier.export()
