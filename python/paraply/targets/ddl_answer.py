"""The user's answer that a statement of the log was made by hand (``--ddl-done``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply.errors import ApplyFailed, LogNotUnderstood, PrivilegeMissing, SchemaMismatch, TargetUnable, TypeNotMapped

if TYPE_CHECKING:
    from paraply._native import Block
    from paraply.errors import ParaplyError

__all__ = ["BY_HAND", "NOT_USED", "WAY_ON", "DdlAnswer", "name_way_on", "not_done"]

BY_HAND = "run it by hand in the target, and start again with --ddl-done"
WAY_ON = "make the change by hand in the target, and start again with --ddl-done"
NOT_USED = "--ddl-done had nothing to answer: the first transaction of this run changed rows; leave the option out"

#: The change by hand would fail in the same way, or would not mend it.
_NOT_OF_THE_STATEMENT = (PrivilegeMissing, SchemaMismatch, TargetUnable, TypeNotMapped)


class DdlAnswer:
    """The answer for one statement: the first one of a run, if the run applies no rows before it.

    After a run that ended at a statement, everything before it is committed. So the next run begins with it, except for transactions that
    the filters leave empty.

    Args:
        given: True if the user gave the answer.
    """

    def __init__(self, *, given: bool = False) -> None:
        self._open = given
        self._ordinal: int | None = None

    @property
    def open(self) -> bool:
        """True while the statement has not come yet."""
        return self._open

    def close(self) -> None:
        """Use the answer up, for a statement that an earlier run began, or because there is none that it could mean."""
        self._open = False

    def meet_rows(self) -> bool:
        """Use the answer up because rows come first; return True if it was open."""
        was, self._open = self._open, False
        return was

    def meet(self, block: Block) -> None:
        """Take a statement for the one that the answer means, if it is open."""
        if self._open:
            self._open, self._ordinal = False, block.ordinal

    def covers(self, block: Block) -> bool:
        """Return True if the block counts as done."""
        return self._ordinal is not None and block.ordinal == self._ordinal


def name_way_on(error: ParaplyError) -> None:
    """Add the way on to the error of a statement that the target cannot take.

    Errors that may pass are left alone: a missing privilege, a full disk. So is a table that the target could not have after a change by
    hand either.
    """
    if isinstance(error, _NOT_OF_THE_STATEMENT) or not isinstance(error, ApplyFailed | LogNotUnderstood):
        return
    if "--ddl-done" not in error.message:
        error.message += f"; to go on after it, {WAY_ON}"


def not_done(difference: str) -> str:
    """Return the message about a statement that counts as done and is not."""
    return f"--ddl-done: the target is not as the statement leaves it: {difference}; make the rest of the change, and start again"
