"""Places of logs on Spark: paths, patterns and URLs, as the commands take them, and their plain copies where a task runs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from glob import glob, has_magic
from pathlib import Path
from urllib.parse import unquote, urlsplit

from paraply.errors import ParaplyError, UsageError
from paraply.logs import log_paths
from paraply.logs.archived import is_archive
from paraply.logs.companions import without_companions
from paraply.logs.inputs import is_url, joined_url, plain_files, plain_name
from paraply.logs.inputs.cloud import logs_below, logs_matching

__all__ = ["found_logs", "in_order", "local_paths", "renamed", "unbraced"]

_S3 = re.compile(r"s3[an]:/{1,2}(?=[^/])", re.IGNORECASE)
_FILE = re.compile(r"file:/{1,3}", re.IGNORECASE)
_HADOOP = ("hdfs", "viewfs", "webhdfs", "swebhdfs", "dbfs", "wasb", "wasbs", "abfs", "abfss", "maprfs", "adl")
_BRACES = re.compile(r"\{([^{}]*)\}")


def found_logs(patterns: Sequence[str]) -> list[str]:
    """Return the logs of paths, patterns and URLs, those of each in the order of their names, without index files.

    Compressed and remote logs keep their names here; ``local_paths`` makes plain copies where they are read.

    Raises:
        UsageError: There is none, or a file system cannot be read.
        ConnectionFailed: A storage cannot be reached, or refuses.
    """
    if not patterns:
        raise UsageError("name a log, a folder or a pattern: load(PATH)")
    logs: dict[str, None] = {}
    for pattern in patterns:
        for place in unbraced(own_form(pattern)):
            logs.update(dict.fromkeys(logs_at(place)))
    return list(logs)


def own_form(place: str) -> str:
    """Return a place as the commands write it: a path for ``file:``, ``s3://`` for Hadoop's names of S3.

    Raises:
        UsageError: It is in a file system of Hadoop.

    >>> own_form("file:///logs/binlog.000001"), own_form("s3a://bucket/logs/")
    ('/logs/binlog.000001', 's3://bucket/logs/')
    """
    scheme = place.partition(":")[0].lower()
    if scheme in _HADOOP and not Path(place).exists():
        raise UsageError(
            f"{scheme}:// is not read: mount the file system (HDFS has an NFS gateway and a FUSE mount), or copy the logs to local files or"
            " to S3, for example with `hdfs dfs -get`; logs are read from files, s3://, gs://, az:// and http(s)://"
        )
    if _FILE.match(place):
        return "/" + unquote(urlsplit(_FILE.sub("", place)).path).lstrip("/")
    return _S3.sub("s3://", place, count=1)


def unbraced(pattern: str) -> Iterator[str]:
    """Yield the patterns of one with alternatives in braces.

    >>> list(unbraced("binlog.00000{1,2}"))
    ['binlog.000001', 'binlog.000002']
    """
    match = _BRACES.search(pattern)
    if match is None or Path(pattern).exists():
        yield pattern
        return
    for choice in match[1].split(","):
        yield from unbraced(pattern[: match.start()] + choice + pattern[match.end() :])


def logs_at(place: str) -> list[str]:
    """Return the logs of one path, pattern or URL."""
    if is_url(place):
        url = joined_url(place)
        if url.endswith("/"):
            return logs_below(url)
        return logs_matching(url) if has_magic(urlsplit(url).path) else [url]
    if is_archive(place):
        raise UsageError(
            f"{place} is an archive of `paraply archive`, which has pieces of logs: name the logs in it, such as {place}/binlog.*"
        )
    found = [path for path in matching(place) if not path.endswith(".index")]
    if not found:
        return log_paths(place)  # the error says what is wrong
    return without_companions(found)[0]


def matching(pattern: str) -> list[str]:
    """Return the files of one path or pattern."""
    paths = [pattern] if Path(pattern).exists() else glob(pattern)  # noqa: PTH207  absolute patterns too
    if len(paths) == 1 and Path(paths[0]).is_dir():
        paths = [str(path) for path in Path(paths[0]).iterdir() if path.is_file() and not path.name.startswith(".")]
    return sorted(paths, key=in_order)


def in_order(path: str) -> tuple[str, int, str]:
    """Return a sort key by which logs of one name follow one another by the numbers at the end.

    >>> sorted(["b.1000000", "b.999999", "b.000007.gz", "b.index"], key=in_order)
    ['b.000007.gz', 'b.999999', 'b.1000000', 'b.index']
    """
    stem, _, number = plain_name(path).rpartition(".")
    return (stem, int(number) if number.isdigit() else 1 << 62, path)


def local_paths(places: Sequence[str]) -> list[str]:
    """Return plain files with the contents of logs: the files themselves, or copies in a temporary folder of this process.

    Credentials of storages come from the environment of the process.

    Raises:
        UsageError: A log does not exist.
        LogDamaged: Compressed data are damaged.
        ConnectionFailed: A storage cannot be reached, or refuses.
    """
    return [str(path) for path in plain_files(list(places))]


def renamed(error: ParaplyError, names: dict[str, str]) -> ParaplyError:
    """Return an error that names logs by their places, and not by their copies."""
    for copy, place in names.items():
        if error.file == copy:
            error.file = place
        error.message = error.message.replace(copy, place)
        error.args = (error.message, *error.args[1:])
    return error
