"""Values of options and arguments that are what they look like.

Typer has pydantic convert every value, also an option that was not given. Importing it takes longer than all else that a short command
does, so text, paths and numbers that nothing is wrong with are taken here; whatever else there is, and every complaint, is Typer's.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_origin

from typer.core import TyperArgument, TyperOption

if TYPE_CHECKING:
    from typer.models import ParameterInfo

__all__ = ["NotPlain", "PlainArgument", "PlainOption", "plain_value", "taking_plain_values"]


class NotPlain(Exception):
    """A value that Typer has to convert, or to refuse."""


class PlainOption(TyperOption):
    """An option that asks Typer only for what is not plain."""

    def process_value(self, ctx: Any, value: Any) -> Any:
        """The value as the command is given it."""
        return _processed(self, ctx, value, super().process_value)


class PlainArgument(TyperArgument):
    """An argument of the same kind."""

    def process_value(self, ctx: Any, value: Any) -> Any:
        """The value as the command is given it."""
        return _processed(self, ctx, value, super().process_value)


def taking_plain_values(parameters: list[Any]) -> list[Any]:
    """Typer's parameters as such that take plain values."""
    for parameter in parameters:
        if type(parameter) is TyperOption:
            parameter.__class__ = PlainOption
        elif type(parameter) is TyperArgument:
            parameter.__class__ = PlainArgument
    return parameters


def plain_value(parameter: TyperOption | TyperArgument, value: Any) -> Any:
    """The value as Typer would convert it.

    Raises:
        NotPlain: It is not as simple as that, or there is something wrong with it.
    """
    several = parameter.multiple or parameter.nargs == -1
    if parameter.required and (value is None or (several and not value)):
        raise NotPlain
    if value is None:
        return () if several else None
    kind: Any = parameter.type_descriptor.annotation
    about = parameter.type_descriptor.parameter_info
    if about.parser is not None or about.clamp:
        raise NotPlain
    if not several:
        return _plain(value, kind, about)
    if get_origin(kind) is not list or not isinstance(value, (list, tuple)):
        raise NotPlain
    return [_plain(item, get_args(kind)[0], about) for item in value]


def _processed(parameter: TyperOption | TyperArgument, ctx: Any, value: Any, by_typer: Callable[[Any, Any], Any]) -> Any:
    try:
        plain = plain_value(parameter, value)
    except NotPlain:
        return by_typer(ctx, value)
    return plain if parameter.callback is None else parameter.callback(ctx, parameter, plain)


def _plain(value: Any, kind: Any, about: ParameterInfo) -> Any:
    """One value."""
    if kind is bool and isinstance(value, bool):
        return value
    if kind is str and isinstance(value, str) and value.isascii():
        return value
    if kind is Path and isinstance(value, (str, Path)) and str(value).isascii() and _is_there_as_it_must_be(Path(value), about):
        return Path(value)
    if kind is int and (type(value) is int or (isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10)):
        number = int(value)
        if (about.min is None or number >= about.min) and (about.max is None or number <= about.max):
            return number
    raise NotPlain


def _is_there_as_it_must_be(path: Path, about: ParameterInfo) -> bool:
    """Whether a path is what the option says of it, and the option says nothing that is not looked at here."""
    if about.resolve_path or about.allow_dash or about.writable or about.path_type is not None:
        return False
    try:
        path.stat()
    except OSError:
        return not about.exists
    of_its_kind = (about.file_okay or not path.is_file()) and (about.dir_okay or not path.is_dir())
    return of_its_kind and (not about.readable or os.access(path, os.R_OK))
