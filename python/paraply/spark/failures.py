"""Transport of paraply's errors from a Spark task to the driver."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from typing import Any, ParamSpec, TypeVar

from paraply import errors
from paraply.errors import ParaplyError

__all__ = ["MARK", "TaskFailed", "marked", "reporting", "reporting_at_once", "show_causes_first", "unwrap"]

MARK = "paraply-error:"
FIELDS = ("message", "file", "position", "gtid", "table", "key")

Arguments = ParamSpec("Arguments")
Item = TypeVar("Item")


class TaskFailed(RuntimeError):
    """Error of a task in place of a paraply error, which Spark would turn into text without its fields."""

    def __init__(self, error: ParaplyError) -> None:
        super().__init__(f"{type(error).__name__}: {error}\n{marked(error)}")


def marked(error: ParaplyError) -> str:
    """Return the fields of an error as text in which ``unwrap`` finds them."""
    return MARK + json.dumps({"class": type(error).__name__} | {name: getattr(error, name) for name in FIELDS})


def reporting(task: Callable[Arguments, Iterator[Item]]) -> Callable[Arguments, Iterator[Item]]:
    """Wrap a generator of a task, so that its paraply errors can be found by ``unwrap``."""

    @functools.wraps(task)
    def run(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Iterator[Item]:
        try:
            yield from task(*args, **kwargs)
        except ParaplyError as error:
            raise TaskFailed(error) from error

    return run


def reporting_at_once(function: Callable[Arguments, Item]) -> Callable[Arguments, Item]:
    """Wrap a function of Spark's planner process in the same way."""

    @functools.wraps(function)
    def run(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Item:
        try:
            return function(*args, **kwargs)
        except ParaplyError as error:
            raise TaskFailed(error) from error

    return run


def unwrap(error: BaseException) -> BaseException:
    """Return the paraply exception that made a Spark job fail, or the error itself if there is none.

    Args:
        error: The error that Spark raised.

    Returns:
        The exception with its class, file, position and GTID; Spark's own error is its cause.

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


def show_causes_first() -> None:
    """Make the text of Spark's errors begin with the paraply error in them, and not with Spark's own words.

    Classes, conditions and the rest of the text stay Spark's, and so do errors without a paraply error. If PySpark converts its errors
    elsewhere, nothing changes. Further calls have no effect.
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
    """Return a class of Spark's errors whose text begins with the paraply error in it."""

    def text(error: Exception) -> str:
        spark = kind.__str__(error)
        found = error_in(spark)
        return spark if found is None else f"{type(found).__name__}: {found}\n{spark}"

    return type(kind.__name__, (kind,), {"__str__": text, "__module__": kind.__module__, "__qualname__": kind.__qualname__})


def error_in(text: str) -> ParaplyError | None:
    """Return the first paraply error in a text."""
    fields = fields_in(text)
    if fields is None:
        return None
    kind = getattr(errors, str(fields.get("class")), ParaplyError)
    if not (isinstance(kind, type) and issubclass(kind, ParaplyError)):
        kind = ParaplyError
    message = str(fields.get("message", ""))
    try:
        return kind(message, **{name: fields.get(name) for name in FIELDS[1:]})
    except TypeError:  # a class with other arguments
        return ParaplyError(message)


def fields_in(text: str) -> dict[str, Any] | None:
    """Return the fields of the first paraply error in a text."""
    _, mark, rest = text.partition(MARK)
    if not mark:
        return None
    try:
        fields, _ = json.JSONDecoder().raw_decode(rest)
    except ValueError:
        return None
    return fields if isinstance(fields, dict) else None
