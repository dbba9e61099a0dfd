"""The places of a log that an apply with a stop reaches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paraply.applier.options import Options

__all__ = ["before_stop"]


class Placed(Protocol):
    """Something at a place of a log."""

    @property
    def file(self) -> str:
        """The log file, as it was named."""

    @property
    def offset(self) -> int:
        """Offset in it."""


P = TypeVar("P", bound=Placed)


def before_stop(options: Options, parts: Sequence[P]) -> list[P]:
    """Return the parts before the transaction at which the log is left, or all where it is read to its end; reads up to there.

    Raises:
        LogError: The log is damaged or not understood before that place.
    """
    from paraply._native import LogReader

    if options.stop is None:
        return list(parts)
    reader = LogReader(options.paths, passes_statements=True, stop=options.stop.native())
    while reader.next_batch() is not None:
        pass
    stopped = reader.stopped
    if stopped is None:
        return list(parts)
    at = options.paths.index(stopped.file), stopped.offset
    places = [(part, (options.paths.index(part.file), part.offset)) for part in parts]
    return [part for part, place in places if place < at or (place == at and stopped.included)]
