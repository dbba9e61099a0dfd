"""Recognition of an archive among the locations of logs, without what reads one."""

from __future__ import annotations

from pathlib import Path

from paraply.logs.file_names import split_name
from paraply.logs.inputs.compression import plain_name
from paraply.logs.inputs.locations import CLOUD_SCHEMES, is_url, joined_url

__all__ = ["MANIFEST", "is_archive"]

MANIFEST = "paraply-archive.jsonl"
"""Name of the object that holds the manifest."""


def is_archive(location: Path | str) -> bool:
    """Return True for the folder or the URL of an archive.

    >>> is_archive("binlog.000001")
    False
    """
    if not is_url(location):
        return (Path(location) / MANIFEST).is_file()
    url = joined_url(location).rstrip("/")
    name = url.partition("?")[0].rpartition("/")[2]
    if url.partition(":")[0] not in CLOUD_SCHEMES or split_name(plain_name(name))[1] is not None:
        return False
    from paraply.logs.archived.storage import open_storage

    return open_storage(url).read(MANIFEST) is not None
