"""``--config FILE``: options of commands in a TOML file."""

from __future__ import annotations

import datetime
import difflib
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from paraply.cli.process.secrets import redacted
from paraply.cli.terminal.output import one_line

__all__ = ["CONFIGURED", "CONFIG_KEY", "Config", "keys_of", "options_in"]

CONFIGURED = ("apply", "replicate", "serve", "archive", "status", "pause", "resume", "forget", "doctor", "undo")
"""Commands with ``--config``."""

CONFIG_KEY = "paraply.config"
"""Name under which the context keeps the path of the file."""


def read_config(ctx: typer.Context, value: Path | None) -> Path | None:
    """Make the values of the file the defaults of the command's options; a callback of Typer."""
    if value is not None and not ctx.resilient_parsing:
        root = ctx.find_root()
        commands = {name: keys_of(root.command.get_command(root, name)) for name in CONFIGURED}  # type: ignore[attr-defined]
        try:
            found = options_in(value, commands)
        except ValueError as error:
            raise typer.BadParameter(f"{value}: {one_line(str(error))}") from None
        ctx.default_map = {**(ctx.default_map or {}), **found[str(ctx.info_name)]}
        ctx.meta[CONFIG_KEY] = value
    return value


Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        dir_okay=False,
        is_eager=True,
        callback=read_config,
        help="A TOML file with options, by their names without --; the command line has precedence.",
    ),
]
"""File with options."""


def keys_of(command: Any) -> dict[str, Any]:
    """Return the parameters of a command by their keys in the file: an option's long name without ``--``, an argument's name."""
    keys = {}
    for parameter in command.params:
        if parameter.name in ("config", "help"):
            continue
        if parameter.param_type_name == "argument":
            keys[parameter.name] = parameter
        else:
            keys |= {name[2:]: parameter for name in parameter.opts if name.startswith("--")}
    return keys


def options_in(path: Path, commands: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the values in a file for each command, by the names of the command's parameters.

    Args:
        path: The file.
        commands: For each command the parameters by their keys.

    Raises:
        ValueError: The file cannot be read, has an unknown key or a value of a wrong kind, or has a password and everybody may read it.
    """
    import tomllib

    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(error.strerror or str(error)) from None
    shared = {key: value for key, value in document.items() if not isinstance(value, Mapping)}
    every = {key for keys in commands.values() for key in keys}
    for key in shared:
        check_known(key, every, "a command", tables=commands)
    for name, table in document.items():
        if isinstance(table, Mapping):
            check_known(name, commands, "the file", tables=commands)
    found = {}
    for name, keys in commands.items():
        own = document.get(name, {})
        for key in own:
            check_known(key, keys, f"paraply {name}")
        given = {key: value for key, value in shared.items() if key in keys} | own
        found[name] = {keys[key].name: default_of(keys[key], key, value) for key, value in given.items()}
    check_secrets(path, document)
    return found


def check_known(key: str, known: Any, where: str, *, tables: Any = ()) -> None:
    """Check that a key is known.

    Raises:
        ValueError: It is not; names the nearest one.
    """
    if key in known:
        return
    near = difflib.get_close_matches(key, [*known, *tables], 1, 0.5)
    nearest = f"; the nearest is {near[0]}" if near else ""
    raise ValueError(f"{where} has no option {key}{nearest}" if where != "the file" else f"[{key}] is no table for a command{nearest}")


def default_of(parameter: Any, key: str, value: Any) -> Any:
    """Return a value of the file as the command line would give it.

    Raises:
        ValueError: The value is of a wrong kind.
    """
    if getattr(parameter, "is_flag", False):
        if not isinstance(value, bool):
            raise ValueError(f"{key} is true or false, not {value!r}")
        return value
    if getattr(parameter, "multiple", False) or parameter.nargs == -1:
        return [text_of(key, one) for one in (value if isinstance(value, list) else [value])]
    return text_of(key, value)


def text_of(key: str, value: Any) -> str:
    """Return a single value as text.

    Raises:
        ValueError: The value is not a single one.

    >>> text_of("workers", 8), text_of("stop-at", datetime.datetime(2026, 3, 1, 14, 7, tzinfo=datetime.UTC))
    ('8', '2026-03-01T14:07:00+00:00')
    """
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f"{key} is one text or number, not {value!r}")
    return str(value)


def check_secrets(path: Path, document: Mapping[str, Any]) -> None:
    """Check that a file with passwords cannot be read by everybody.

    Raises:
        ValueError: It can.
    """
    if path.stat().st_mode & (stat.S_IROTH | stat.S_IWOTH) and any(redacted(text) != text for text in texts_in(document)):
        raise ValueError(f"it has a password, and everybody on this machine may read it: chmod 600 {path}, or use PARAPLY_PASSWORD")


def texts_in(value: Any) -> list[str]:
    """Return all texts in a value of a TOML document.

    >>> texts_in({"to": "mysql://db", "apply": {"log": ["a", "b"], "workers": 8}})
    ['mysql://db', 'a', 'b']
    """
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return [text for one in inner for text in texts_in(one)]
