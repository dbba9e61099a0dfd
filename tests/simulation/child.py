"""A search for a failure in a process of its own: a planted fault can make a thread turn in a circle."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from multiprocessing.connection import Connection

__all__ = ["found_in_child"]


def found_in_child(search: Callable[[], str | None], seconds: float) -> str | None:
    """Return the result of a search in a child process; a sentence if it does not end in time, or the process ends without an answer.

    Args:
        search: The search.
        seconds: Longest time of the process.
    """
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(search, sender))
    process.start()
    sender.close()
    text: str | None = "it never ends"
    if receiver.poll(seconds):
        try:
            text = receiver.recv()
        except EOFError:
            text = "the process ended"
    process.kill()
    process.join()
    return text


def _answer(search: Callable[[], str | None], sender: Connection) -> None:
    sender.send(search())
    os._exit(0)
