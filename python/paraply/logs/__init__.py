"""Reading of logs: files, schema changes, and batches of transactions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from paraply._native import GtidSet, LogReader, Transaction
from paraply.errors import UsageError
from paraply.logs.archived import Wanted, is_archive
from paraply.logs.companions import without_companions
from paraply.logs.folders import logs_in
from paraply.logs.inputs import STANDARD_INPUT, is_index, is_url, joined_url, logs_of_index, plain_files

__all__ = ["Wanted", "beside_logs", "log_paths", "open_log"]


def beside_logs(paths: Path | str | Sequence[Path | str]) -> list[str]:
    """Return the given files that servers keep beside their logs, and that are skipped."""
    return without_companions([str(path) for path in _given(paths) if Path(path).is_file()])[1]


def _given(paths: Path | str | Sequence[Path | str]) -> list[Path | str]:
    return [paths] if isinstance(paths, (str, Path)) else list(paths)


def log_paths(paths: Path | str | Sequence[Path | str], wanted: Wanted | None = None) -> list[str]:
    """Return the file names of one or several logs, for the native reader.

    Files that servers keep beside their logs are skipped, if there are also logs among the paths. A folder stands for the logs in it, in
    the order of their numbers, and a server's list of its logs, given alone, for those. ``-`` is standard input. What is compressed,
    comes from standard input or has a URL becomes a plain file in a temporary folder first, once in a process. The folder or URL of an
    archive of ``paraply archive`` stands for those of its files that hold the wanted part.

    Args:
        paths: The logs.
        wanted: The part that is read; None for everything.

    Raises:
        UsageError: No path is given, a path does not exist, or a folder holds no logs or logs of several series.
        LogDamaged: Compressed data are damaged or, as ``LogTruncated``, cut off.
        ConnectionFailed: A storage cannot be reached, or refuses.

    >>> log_paths("no/such/log")
    Traceback (most recent call last):
    ...
    paraply.errors.UsageError: there is no log file no/such/log
    """
    given = _given(paths)
    if not given:
        raise UsageError("name at least one log file")
    listed = [Path(path) for path in given if is_index(Path(path))]
    if len(listed) == len(given):
        return [str(path) for path in plain_files([log for index in listed for log in logs_of_index(index)])]
    found: list[Path | str] = [log for path in given for log in _logs_at(path, wanted)]
    logs, _ = without_companions([str(path) for path in plain_files(found)])
    return logs


def _logs_at(location: Path | str, wanted: Wanted | None) -> Sequence[Path | str]:
    """Return the logs at one of the given locations."""
    if str(location) == STANDARD_INPUT:
        return [STANDARD_INPUT]
    if is_archive(location):
        from paraply.logs.archived.fetching import archived_logs

        return archived_logs(location, wanted)
    if is_url(location):
        url = joined_url(location)
        if not url.endswith("/"):
            return [url]
        from paraply.logs.inputs.cloud import logs_below

        return logs_below(url)
    path = Path(location)
    if not path.exists():
        raise UsageError(f"there is no log file {path}", file=str(path))
    if path.is_dir():
        return logs_in(path)
    if path.is_char_device() or path.is_block_device():
        raise UsageError(f"{path} is neither a file nor a folder", file=str(path))
    return [path]


def open_log(
    paths: Path | str | Sequence[Path | str], *, verify_checksums: bool = True, gtids: GtidSet | str | None = None
) -> Iterator[Transaction]:
    """Yield the transactions of binlogs or relay logs of MySQL and MariaDB, in order.

    Only a batch of transactions is held in memory, not the whole file.

    Args:
        paths: One file or folder, or several in order.
        verify_checksums: True to check the CRC32 of every event, if the log has checksums.
        gtids: Transactions to yield; by default all.

    Yields:
        Each wanted transaction, including those without rows.

    Raises:
        UsageError: A file does not exist, or the text is no GTID set.
        NotALog: A file does not begin like a log.
        LogDamaged: A checksum or a structure is wrong, or (as ``LogTruncated``) the log ends too early.
        LogNotUnderstood: The log has contents that cannot be applied with certainty, such as row changes in statement format.
    """
    wanted = GtidSet(gtids) if isinstance(gtids, str) else gtids
    reader = LogReader(log_paths(paths), verify_checksums=verify_checksums)
    while (batch := reader.next_batch()) is not None:
        yield from batch if wanted is None else (found for found in batch if found.gtid is not None and found.gtid in wanted)
