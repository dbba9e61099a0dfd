"""Checks that the logs of a load or a stream follow each other: no log twice, none missing, none out of order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from paraply.errors import UsageError
from paraply.logs.file_order import check_order, problem_between, read_heads, refuse_twice
from paraply.spark.inputs import in_order

if TYPE_CHECKING:
    from collections.abc import Iterable

    from paraply.logs.file_order import LogFile

__all__ = ["check_next", "check_sequence"]

HINT = "; if these logs are to be read without the others, or are of several servers, set gaps=true"


def check_sequence(places: Sequence[str], copies: Sequence[str], *, gaps: bool, typed: bool) -> None:
    """Check that logs follow each other, as ``paraply apply`` does.

    Args:
        places: The logs as they are named, in the order in which they are read.
        copies: Plain files with their contents.
        gaps: True if logs may be missing between them, or may be of several servers.
        typed: True if values are typed, for which no log may be missing.

    Raises:
        UsageError: They do not; the message says what to do.
    """
    if len(copies) < 2:
        return
    files = read_heads(copies)
    if gaps:
        refuse_twice(files)
        check_numbers(places)
        return
    try:
        check_order(files)
    except UsageError as error:
        if typed or not readable_with_gaps(files, places):
            raise
        raise UsageError(error.message + HINT, file=error.file) from None


def readable_with_gaps(files: Sequence[LogFile], places: Sequence[str]) -> bool:
    """Return True if no log is given twice, and those of each series are in the order of their numbers."""
    try:
        refuse_twice(files)
        check_numbers(places)
    except UsageError:
        return False
    return True


def check_numbers(places: Iterable[str]) -> None:
    """Check that the logs of each series are in the order of their numbers.

    Raises:
        UsageError: They are not.

    >>> check_numbers(["a/binlog.000001", "a/binlog.000007", "b/binlog.000002"])
    >>> check_numbers(["binlog.000002", "binlog.000001"])
    Traceback (most recent call last):
    ...
    paraply.errors.UsageError: binlog.000001 is given after binlog.000002, which was written later; name the logs in their order
    """
    last: dict[str, str] = {}
    for place in places:
        before = last.setdefault(in_order(place)[0], place)
        if in_order(place)[1] < in_order(before)[1]:
            raise UsageError(f"{place} is given after {before}, which was written later; name the logs in their order", file=place)
        last[in_order(place)[0]] = place


def check_next(places: Sequence[str], copies: Sequence[str], *, typed: bool) -> None:
    """Check that a log of a stream follows the one before it.

    Args:
        places: The log before it, and this one, as they are named.
        copies: Plain files with their contents.
        typed: As for ``check_sequence``.

    Raises:
        UsageError: It does not: logs between them are missing.
    """
    before, place = places
    problem = problem_between(*read_heads(copies))
    if problem is not None:
        raise UsageError(
            f"{place} cannot be read after {before}: {problem}, and start the query again with the same checkpoint{'' if typed else HINT}",
            file=place,
        )
