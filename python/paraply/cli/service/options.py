"""Options that several commands get beside those of their own function."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from paraply.cli.service.config import Config
from paraply.cli.terminal.events import FORMATS, begin_events

__all__ = ["with_service_options"]


def check_format(value: str | None) -> str | None:
    """Return the value of ``--log-format``; a callback of Typer."""
    if value is not None and value not in FORMATS:
        raise typer.BadParameter(f"give one of {', '.join(FORMATS)}")
    return value


LogFormat = Annotated[
    str | None,
    typer.Option("--log-format", metavar="text|json", callback=check_format, help="Events and progress as lines on stderr, with the time."),
]
"""Form of events."""

_LAST = ("quiet", "as_json", "debug")
"""Parameters that stay the last in the help."""


def with_service_options(function: Callable[..., None], *, events: bool) -> Callable[..., None]:
    """Return a command's function with ``--config``, and ``--log-format`` for one that writes events.

    Args:
        function: The command's function.
        events: True if the command writes events.
    """
    added: dict[str, Any] = {"config": Config} | ({"log_format": LogFormat} if events else {})

    @functools.wraps(function)
    def command(**options: Any) -> None:
        options.pop("config", None)
        if events:
            begin_events(options.pop("log_format", None), quiet=bool(options.get("quiet") or options.get("as_json")))
        function(**options)

    signature = inspect.signature(function, eval_str=True)
    own = list(signature.parameters.values())
    before = next((place for place, parameter in enumerate(own) if parameter.name in _LAST), len(own))
    new = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None, annotation=kind) for name, kind in added.items()]
    command.__signature__ = signature.replace(parameters=[*own[:before], *new, *own[before:]])  # type: ignore[attr-defined]
    command.__annotations__ = {**function.__annotations__, **added}
    return command
