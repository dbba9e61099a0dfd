"""The logs in a folder. They must be of one series, and are in the order of the numbers in their names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from paraply.errors import LogDamaged, UsageError
from paraply.logs.companions import LOG_STARTS, companion_kind
from paraply.logs.file_names import split_name
from paraply.logs.inputs.compression import plain_name, start_of

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["logs_in"]

_IN_INNODB = ".ibb"


def logs_in(folder: Path) -> list[str]:
    """Return the logs in a folder, in order; skip other files of a server's data folder.

    Raises:
        UsageError: There are no logs, logs of several series, or a file of the series that is not a log.
    """
    files = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    # Logs inside InnoDB must not be skipped, nor taken for those of another series: the reader reports what to do.
    if in_innodb := [str(path) for path in files if path.suffix == _IN_INNODB]:
        return in_innodb[:1]
    logs = [path for path in files if _is_log(path)]
    if not logs:
        raise UsageError(f"there is no log in the folder {folder}; name the logs themselves", file=str(folder))
    stems = sorted({split_name(plain_name(path.name))[0] for path in logs})
    if len(stems) > 1:
        examples = " or ".join(f"{folder / stem}.[0-9]*[0-9]" for stem in stems[:2])
        raise UsageError(
            f"{folder} holds logs of several series ({', '.join(stems)}); name those of one, such as {examples}", file=str(folder)
        )
    _refuse_others(set(files) - set(logs), stems[0])
    _refuse_twice(logs)
    return [str(path) for path in sorted(logs, key=lambda path: split_name(plain_name(path.name))[1] or 0)]


def _refuse_twice(logs: Iterable[Path]) -> None:
    """Refuse a log that is there twice, such as plain and compressed."""
    seen: dict[str, Path] = {}
    for path in logs:
        other = seen.setdefault(plain_name(path.name), path)
        if other is not path:
            raise UsageError(f"{other} and {path} are one log; remove one of them, or name the logs themselves", file=str(path))


def _refuse_others(files: Iterable[Path], stem: str) -> None:
    """Refuse a file with the name of a log of the series that is not a log: without it, transactions may be missing."""
    for path in sorted(files):
        if re.match(rf"{re.escape(stem)}\.\d{{6}}", path.name) and companion_kind(path) is None:
            raise UsageError(
                f"{path} is named as one of the logs beside it, and does not begin as one; fetch it again, or name the logs themselves",
                file=str(path),
            )


def _is_log(path: Path) -> bool:
    try:
        return start_of(path, 4) in LOG_STARTS
    except LogDamaged:
        return False
