"""Check of a stop by file and position, before anything is written."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from paraply.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from paraply._native import Transaction
    from paraply.logs.file_order import LogFile

__all__ = ["check_position"]


def check_position(place: tuple[str, int], files: Sequence[LogFile], passed: Callable[[Transaction], bool]) -> None:
    """Check that a transaction begins at the position, by reading the file up to there.

    Args:
        place: Base name of the file, and the position.
        files: The logs, in order.
        passed: Returns True if the target holds a transaction already.

    Raises:
        UsageError: None of the logs has the name, no transaction begins there, or the target holds it already.
        LogError: The file is damaged or not understood before the position.
    """
    from paraply._native import LogReader

    name, position = place
    option = f"--stop-before {name}:{position}"
    found = [file for file in files if PurePath(file.path).name == name]
    if len(found) != 1:
        problem = "two of the logs have this name" if found else "none of the logs has this name"
        raise UsageError(f"{option}: {problem}; the logs are {', '.join(PurePath(file.path).name for file in files)}")
    reader = LogReader([found[0].path], count_rows=False, passes_statements=True)
    before: Transaction | None = None
    while (batch := reader.next_batch()) is not None:
        for transaction in batch:
            if transaction.offset < position:
                before = transaction
                continue
            if transaction.offset == position:
                _refuse_held(option, transaction, passed)
                return
            raise _no_begin(option, name, before, transaction)
    raise _no_begin(option, name, before, None)


def _refuse_held(option: str, transaction: Transaction, passed: Callable[[Transaction], bool]) -> None:
    if passed(transaction):
        raise UsageError(
            f"{option}: the target holds this transaction already; restore an older backup to stop before it",
            file=transaction.file,
            position=transaction.offset,
            gtid=transaction.gtid,
        )


def _no_begin(option: str, name: str, before: Transaction | None, after: Transaction | None) -> UsageError:
    near = [f"{name}:{one.offset}{f' ({one.gtid})' if one.gtid else ''}" for one in (before, after) if one is not None]
    if not near:
        return UsageError(f"{option}: the file has no transaction")
    which = f"the nearest ones begin at {near[0]} and {near[1]}" if len(near) == 2 else f"the nearest one begins at {near[0]}"
    last = "" if after is not None else ", the last of the file; to apply the whole file, leave out the files after it"
    return UsageError(f"{option}: no transaction begins there; {which}{last}")
