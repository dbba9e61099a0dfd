"""Retries for the start and the end of a run after a lost connection (R24)."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from paraply.errors import ConnectionLost, ParaplyError
from paraply.runtime import runtime

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["with_retries"]

T = TypeVar("T")
_STARTS = 5
_START_PAUSE = 0.1


def with_retries(
    begin: Callable[[], T],
    lost: type[ParaplyError] | tuple[type[ParaplyError], ...] = ConnectionLost,
    passes: Callable[[ParaplyError], bool] = lambda _: True,
) -> T:
    """Call a function, and call it again a few times if it loses its connection.

    Args:
        begin: A function that may be called twice.
        lost: Errors after which the function is called again; not that of an unreachable server, which no retry mends.
        passes: Returns True for those errors of ``lost`` after which a retry can succeed.

    >>> tries = iter([ConnectionLost("server disconnected"), None])
    >>> def look() -> str:
    ...     if error := next(tries):
    ...         raise error
    ...     return "seen"
    >>> with_retries(look)
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
            runtime.sleep(_START_PAUSE)
