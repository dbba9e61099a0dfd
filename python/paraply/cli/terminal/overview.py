"""The overview of commands, ``paraply --help``, without the library of the command line.

It is asked for often, and that library needs a fifth of a second of CPU time for it. The text is the same.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping

from paraply.cli.terminal.panels import command_groups
from paraply.cli.terminal.plain import print_text
from paraply.cli.terminal.summaries import EPILOG, PURPOSE, ROOT_OPTIONS, SUMMARIES

__all__ = ["overview", "print_overview"]

_WIDTH_OF_FILES = 80
_NAMES_OF_OPTIONS = 28
_NARROWEST = 60
"""Columns below which the library's own help is shown."""

_FORM_OF_LIBRARY = (
    "FORCE_COLOR", "GITHUB_ACTIONS", "PY_COLORS", "TERMINAL_WIDTH", "TTY_COMPATIBLE", "TYPER_USE_RICH", "_PARAPLY_COMPLETE",
    "_TYPER_FORCE_DISABLE_TERMINAL",
)  # fmt: skip
"""Variables that change the form of the library's help."""

_BOLD_CYAN, _BOLD_YELLOW, _DIM = "1;36", "1;33", "2"


def print_overview() -> bool:
    """Print the overview; return False if the library must print it, for a narrow terminal or by the environment."""
    width = _width()
    if width < _NARROWEST or (sys.stdout.encoding or "").lower() != "utf-8" or any(name in os.environ for name in _FORM_OF_LIBRARY):
        return False
    colored = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") not in {"dumb", "unknown"}
    print_text(overview(width, _program(), colored=colored))
    return True


def overview(width: int, program: str, *, colored: bool = False) -> str:
    r"""Return the overview for a terminal of some columns.

    >>> print("\n".join(overview(80, "paraply").splitlines()[1:5]))
     Usage: paraply [OPTIONS] COMMAND [ARGS]...
    <BLANKLINE>
     Replay replicated MySQL and MariaDB transactions in parallel, in the source's
     order.
    """
    usage = f" {_styled('Usage:', _BOLD_YELLOW, colored)} {program} [OPTIONS] COMMAND [ARGS]..."
    lines = ["", usage, "", *(f" {line}" for line in _wrapped(PURPOSE, width - 2)), ""]
    lines += _panel("Options", {f"{name:<{_NAMES_OF_OPTIONS}}": text for name, text in ROOT_OPTIONS.items()}, width, colored)
    groups = command_groups()
    group_of = {name: title for title, names in groups.items() for name in names}
    for title in dict.fromkeys(group_of[name] for name in SUMMARIES):
        lines += _panel(title, {name: text for name, text in SUMMARIES.items() if group_of[name] == title}, width, colored)
    return "\n".join([*lines, "", *(f" {line}" for line in _wrapped(EPILOG, width - 2)), "", ""])


def _width() -> int:
    """Return the columns of the terminal, or those of COLUMNS; 80 without a terminal."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdigit():
        return int(columns)
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        try:
            return os.get_terminal_size(stream.fileno()).columns or _WIDTH_OF_FILES
        except (AttributeError, OSError, ValueError):
            continue
    return _WIDTH_OF_FILES


def _program() -> str:
    """Return the command as the user gave it."""
    name = os.path.basename(sys.argv[0])  # noqa: PTH119 - importing pathlib takes longer than all the rest
    return "python -m paraply" if name == "__main__.py" else name


def _panel(title: str, rows: Mapping[str, str], width: int, colored: bool) -> Iterator[str]:
    """Yield the lines of a frame with two columns; the first one is as wide as that of all frames of commands."""
    first = max(map(len, rows if title == "Options" else SUMMARIES))
    bar = _styled("│", _DIM, colored)
    yield _styled(f"╭─ {title} {'─' * (width - len(title) - 5)}╮", _DIM, colored)
    for name, text in rows.items():
        for number, line in enumerate(_wrapped(text, width - first - 6)):
            label = _styled(f"{'' if number else name:<{first}}", _BOLD_CYAN, colored)
            yield f"{bar} {label}  {line:<{width - first - 6}} {bar}"
    yield _styled(f"╰{'─' * (width - 2)}╯", _DIM, colored)


def _wrapped(text: str, width: int) -> list[str]:
    """Return the text in lines of at most that many characters, cut between words."""
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
    return lines


def _styled(text: str, style: str, colored: bool) -> str:
    return f"\x1b[{style}m{text}\x1b[0m" if colored else text
