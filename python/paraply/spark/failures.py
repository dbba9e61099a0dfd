"""Errors of paraply on their way from a Spark task to the driver."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from typing import Any, ParamSpec, TypeVar

from paraply import errors
from paraply.errors import ParaplyError

__all__ = ["TaskFailed", "told", "told_at_once", "unwrap"]

MARK = "paraply-error:"
FIELDS = ("message", "file", "position", "gtid", "table", "key")

Arguments = ParamSpec("Arguments")
Item = TypeVar("Item")


class TaskFailed(RuntimeError):
    """What a task raises in place of a paraply error, which Spark would turn into text without its fields."""

    def __init__(self, error: ParaplyError) -> None:
        fields = {"class": type(error).__name__} | {name: getattr(error, name) for name in FIELDS}
        super().__init__(f"{type(error).__name__}: {error}\n{MARK}{json.dumps(fields)}")


def told(task: Callable[Arguments, Iterator[Item]]) -> Callable[Arguments, Iterator[Item]]:
    """Makes a generator that runs in a task raise its paraply errors so that ``unwrap`` finds them."""

    @functools.wraps(task)
    def run(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Iterator[Item]:
        try:
            yield from task(*args, **kwargs)
        except ParaplyError as error:
            raise TaskFailed(error) from error

    return run


def told_at_once(function: Callable[Arguments, Item]) -> Callable[Arguments, Item]:
    """The same for a function that runs in a process of Spark's planner."""

    @functools.wraps(function)
    def run(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Item:
        try:
            return function(*args, **kwargs)
        except ParaplyError as error:
            raise TaskFailed(error) from error

    return run


def unwrap(error: BaseException) -> BaseException:
    """The paraply exception that made a Spark job fail, or the error itself where it is another.

    Args:
        error: What Spark raised.

    Returns:
        The exception with its class, file, position and GTID; Spark's own is its cause.

    >>> damaged = errors.LogDamaged("the checksum does not match", file="binlog.000003", position=120)
    >>> unwrap(RuntimeError(f"Job aborted: {TaskFailed(damaged)} at PythonRunner.scala"))
    LogDamaged('the checksum does not match')
    >>> unwrap(KeyError("other"))
    KeyError('other')
    """
    if isinstance(error, ParaplyError):
        return error
    fields = fields_in(str(error))
    if fields is None:
        return error
    kind = getattr(errors, str(fields.pop("class", "")), ParaplyError)
    if not (isinstance(kind, type) and issubclass(kind, ParaplyError)):
        kind = ParaplyError
    message = str(fields.pop("message", ""))
    try:
        found = kind(message, **{name: fields.get(name) for name in FIELDS[1:]})
    except TypeError:  # a class whose arguments are others
        found = ParaplyError(message)
    found.__cause__ = error
    return found


def fields_in(text: str) -> dict[str, Any] | None:
    """The fields of the first paraply error that a text holds."""
    _, mark, rest = text.partition(MARK)
    if not mark:
        return None
    try:
        fields, _ = json.JSONDecoder().raw_decode(rest)
    except ValueError:
        return None
    return fields if isinstance(fields, dict) else None
