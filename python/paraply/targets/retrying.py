"""Starts and ends of a run that lose their connection (R24)."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

from paraply.errors import ConnectionLost, ParaplyError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["steadily"]

T = TypeVar("T")
_STARTS = 5
_START_PAUSE = 0.1


def steadily(
    begin: Callable[[], T],
    lost: type[ParaplyError] | tuple[type[ParaplyError], ...] = ConnectionLost,
    passes: Callable[[ParaplyError], bool] = lambda _: True,
) -> T:
    """Begins something on the target, and begins it again where the connection is lost meanwhile; a few times.

    Args:
        begin: What may be done twice.
        lost: The errors after which it is begun again. A server that cannot be reached at all ends the first thing that is begun at once.
        passes: Which of these errors.

    >>> tries = iter([ConnectionLost("server disconnected"), None])
    >>> def look() -> str:
    ...     if error := next(tries):
    ...         raise error
    ...     return "seen"
    >>> steadily(look)
    'seen'
    """
    tries = 1
    while True:
        try:
            return begin()
        except lost as error:
            if tries == _STARTS or not passes(error):
                raise
            tries += 1
            time.sleep(_START_PAUSE)
