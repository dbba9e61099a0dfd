"""Transactions that ``--skip`` leaves out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from paraply.errors import UsageError
from paraply.logs.skipping import SkipResult
from paraply.logs.transaction_set import TransactionSet
from paraply.targets.xid import canonical_xid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from paraply._native import LogReader, Transaction

__all__ = ["SkippedXa", "XaPart", "check_skip", "skip_result"]


def skip_result(skip: TransactionSet | None, reader: LogReader | None, transactions: int) -> SkipResult | None:
    """Return the outcome of the option; None without it.

    Args:
        skip: The option.
        reader: The reader of the logs.
        transactions: Number of transactions left out.
    """
    if not skip:
        return None
    found = TransactionSet.found_by(reader.skipped) if reader is not None else TransactionSet()
    return SkipResult(str(skip), transactions, skip.missing(found))


def check_skip(skip: TransactionSet | None, *, has_gtids: bool, mariadb: bool) -> None:
    """Check that the option can name transactions of the log.

    Raises:
        UsageError: The log has no GTIDs, or those of the other server family.
    """
    if not skip:
        return
    if not has_gtids:
        raise UsageError(f"--skip {skip} names GTIDs, but the log's transactions carry none; end before one with --stop-before")
    if skip.is_of_mysql if mariadb else skip.is_of_mariadb:
        writer = "MariaDB" if mariadb else "MySQL"
        raise UsageError(f"--skip {skip} is not in the form of {writer}, whose server wrote the log")


@dataclass(frozen=True, slots=True)
class XaPart:
    """A part of an XA transaction: its XA PREPARE, or its end.

    Attributes:
        xid: Name of the XA transaction, in canonical form.
        gtid: GTID of the part, if there is one.
        ends: True for XA COMMIT and XA ROLLBACK.
        skipped: True if the option names it.
        passed: True if the target holds it already.
        file: Its log file.
        position: Offset of the part.
    """

    xid: str
    gtid: str | None
    ends: bool
    skipped: bool
    passed: bool
    file: str
    position: int

    @classmethod
    def of(cls, transaction: Transaction, *, passed: bool) -> XaPart:
        """Return a part as a log has it."""
        return cls(
            canonical_xid(transaction.xid or ""),
            transaction.gtid,
            transaction.kind == "xa_end",
            transaction.skipped,
            passed,
            transaction.file,
            transaction.offset,
        )


class SkippedXa:
    """Decisions about XA transactions, of which both parts are left out, or none.

    Args:
        held: Returns the XIDs that the target holds prepared; called at the first part, before this run has applied any. A log without XA
            transactions needs no privilege for the question.
    """

    def __init__(self, held: Callable[[], Iterable[str]] = tuple) -> None:
        self._held: Callable[[], Iterable[str]] | None = held
        self._prepared: dict[str, str | None] = {}
        self._left_out: dict[str, str | None] = {}

    def leaves_out(self, part: XaPart) -> bool:
        """Return True if a part is left out; called for each part in the order of the log.

        Raises:
            UsageError: The option names only one half.
        """
        if self._held is not None:
            self._prepared, self._held = dict.fromkeys(self._held()), None
        if not part.ends:
            if part.skipped and not (part.passed and part.xid in self._prepared):
                self._left_out[part.xid] = part.gtid
                return not part.passed
            self._prepared[part.xid] = part.gtid
            return False
        if part.passed:
            self._left_out.pop(part.xid, None)
            self._prepared.pop(part.xid, None)
            return False
        if part.skipped and part.xid in self._prepared:
            prepare = self._prepared[part.xid]
            raise _half(part, f"XA PREPARE{f' {prepare}' if prepare else ''} is not, and would stay prepared and keep its locks")
        if not part.skipped and part.xid in self._left_out:
            raise _half(part, f"XA PREPARE {self._left_out[part.xid]} is left out, and its end {part.gtid} is not", ends=False)
        self._left_out.pop(part.xid, None)
        self._prepared.pop(part.xid, None)
        return part.skipped


def _half(part: XaPart, what: str, *, ends: bool = True) -> UsageError:
    first = f"its end {part.gtid} is left out, and its " if ends else "its "
    return UsageError(
        f"--skip leaves out only one half of the XA transaction {part.xid}: {first}{what}; name both GTIDs, or none of them",
        file=part.file,
        position=part.position,
        gtid=part.gtid,
    )
