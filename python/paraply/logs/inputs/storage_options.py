"""Options of cloud storages that a program gives instead of the environment's own variables."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from urllib.parse import urlsplit

__all__ = ["VARIABLE", "packed", "storage_options", "storage_options_for"]

VARIABLE = "PARAPLY_STORAGE_OPTIONS"
"""Variable by which a process gives its options to the processes that it starts."""
Options = Mapping[str, Mapping[str, str]]
"""Options of obstore, for a scheme such as ``s3``, or for one bucket such as ``s3://logs``."""

_given: ContextVar[Options | None] = ContextVar("storage_options", default=None)


def packed(options: Options) -> str:
    """Return options as the value of the variable.

    >>> packed({"s3": {"region": "eu-west-1"}})
    '{"s3": {"region": "eu-west-1"}}'
    """
    return json.dumps(options)


@contextmanager
def storage_options(options: Options) -> Iterator[None]:
    """Use options during a ``with`` block, in this thread.

    >>> with storage_options({"s3": {"region": "eu-west-1"}}):
    ...     storage_options_for("s3://logs/db1")
    {'region': 'eu-west-1'}
    """
    before = _given.set(options)
    try:
        yield
    finally:
        _given.reset(before)


def storage_options_for(url: str) -> dict[str, str]:
    """Return the options for a URL: those of its scheme, and then those of its bucket; empty if the environment has its own variables.

    >>> with storage_options({"s3": {"region": "eu-west-1"}, "s3://old": {"region": "us-east-1"}}):
    ...     storage_options_for("s3://old/db1"), storage_options_for("gs://logs")
    ({'region': 'us-east-1'}, {})
    """
    given = _given.get()
    if given is None:
        given = json.loads(os.environ.get(VARIABLE) or "{}")
    parts = urlsplit(url)
    return {**given.get(parts.scheme, {}), **given.get(f"{parts.scheme}://{parts.netloc}", {})}
