"""Errors of paraply on their way from a Spark task to the driver."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from typing import Any, ParamSpec, TypeVar

from paraply import errors
from paraply.errors import ParaplyError

__all__ = ["TaskFailed", "marked", "say_first", "told", "told_at_once", "unwrap"]

MARK = "paraply-error:"
FIELDS = ("message", "file", "position", "gtid", "table", "key")

Arguments = ParamSpec("Arguments")
Item = TypeVar("Item")


class TaskFailed(RuntimeError):
    """What a task raises in place of a paraply error, which Spark would turn into text without its fields."""

    def __init__(self, error: ParaplyError) -> None:
        super().__init__(f"{type(error).__name__}: {error}\n{marked(error)}")


def marked(error: ParaplyError) -> str:
    """The fields of an error as ``unwrap`` finds them in a text."""
    return MARK + json.dumps({"class": type(error).__name__} | {name: getattr(error, name) for name in FIELDS})


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
    found = error_in(str(error))
    if found is None:
        return error
    found.__cause__ = error
    return found


def say_first() -> None:
    """Makes the text of what Spark raises begin with the paraply error that it carries, and not with Spark's own words.

    Classes, conditions and the rest of the text stay Spark's; so does all that carries no such error. A PySpark that converts its errors
    in another place is left as it is. Calling it again changes nothing.
    """
    from pyspark.errors.exceptions import captured

    convert = getattr(captured, "convert_exception", None)
    if convert is None or getattr(convert, "says_first", False):
        return

    @functools.wraps(convert)
    def with_first_line(error: Any) -> Any:
        converted = convert(error)
        if error_in(str(converted)) is not None:
            converted.__class__ = with_our_words(type(converted))
        return converted

    vars(with_first_line)["says_first"] = True
    vars(captured)["convert_exception"] = with_first_line


def with_our_words(kind: type[Exception]) -> type[Exception]:
    """A class of Spark's errors whose text begins with the paraply error in it."""

    def text(error: Exception) -> str:
        spark = kind.__str__(error)
        found = error_in(spark)
        return spark if found is None else f"{type(found).__name__}: {found}\n{spark}"

    return type(kind.__name__, (kind,), {"__str__": text, "__module__": kind.__module__, "__qualname__": kind.__qualname__})


def error_in(text: str) -> ParaplyError | None:
    """The first paraply error that a text holds."""
    fields = fields_in(text)
    if fields is None:
        return None
    kind = getattr(errors, str(fields.get("class")), ParaplyError)
    if not (isinstance(kind, type) and issubclass(kind, ParaplyError)):
        kind = ParaplyError
    message = str(fields.get("message", ""))
    try:
        return kind(message, **{name: fields.get(name) for name in FIELDS[1:]})
    except TypeError:  # a class whose arguments are others
        return ParaplyError(message)


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
