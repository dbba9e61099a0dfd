"""Reading of logs: files, schema changes, and batches of transactions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from paraply._native import LogReader, Transaction
from paraply.errors import UsageError
from paraply.logs.companions import without_companions
from paraply.logs.folders import logs_in

__all__ = ["beside_logs", "log_paths", "open_log"]


def beside_logs(paths: Path | str | Sequence[Path | str]) -> list[str]:
    """Return the given files that servers keep beside their logs, and that are skipped."""
    return without_companions([str(path) for path in _given(paths) if not Path(path).is_dir()])[1]


def _given(paths: Path | str | Sequence[Path | str]) -> list[Path | str]:
    return [paths] if isinstance(paths, (str, Path)) else list(paths)


def log_paths(paths: Path | str | Sequence[Path | str]) -> list[str]:
    """Return the file names of one or several logs, for the native reader.

    Files that servers keep beside their logs are skipped, if there are also logs among the paths. A folder stands for the logs in it, in
    the order of their numbers.

    Raises:
        UsageError: No path is given, a path does not exist, or a folder holds no logs or logs of several series.

    >>> log_paths("no/such/log")
    Traceback (most recent call last):
    ...
    paraply.errors.UsageError: there is no log file no/such/log
    """
    given = _given(paths)
    if not given:
        raise UsageError("name at least one log file")
    files: list[str] = []
    for path in given:
        if not Path(path).exists():
            raise UsageError(f"there is no log file {path}", file=str(path))
        if Path(path).is_dir():
            files += logs_in(Path(path))
        elif Path(path).is_file():
            files.append(str(path))
        else:
            raise UsageError(f"{path} is neither a file nor a folder", file=str(path))
    logs, _ = without_companions(files)
    return logs


def open_log(paths: Path | str | Sequence[Path | str], *, verify_checksums: bool = True) -> Iterator[Transaction]:
    """Yield the transactions of binlogs or relay logs of MySQL and MariaDB, in order.

    Only a batch of transactions is held in memory, not the whole file.

    Args:
        paths: One file or folder, or several in order.
        verify_checksums: Whether to check the CRC32 of every event, if the log has checksums.

    Yields:
        Each transaction, including those without rows.

    Raises:
        UsageError: A file does not exist.
        NotALog: A file does not begin like a log.
        LogDamaged: A checksum or a structure is wrong, or (as ``LogTruncated``) the log ends too early.
        LogNotUnderstood: The log has contents that cannot be applied with certainty, such as row changes in statement format.
    """
    reader = LogReader(log_paths(paths), verify_checksums=verify_checksums)
    while (batch := reader.next_batch()) is not None:
        yield from batch
