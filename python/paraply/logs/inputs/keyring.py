"""Keys of encrypted logs: MySQL's keyring file and MariaDB's key file, named by an environment variable (R27)."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from paraply._native import Decrypter, is_encrypted
from paraply.errors import LogUnreadable, UsageError
from paraply.logs.inputs.compression import write

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["KEYRING", "decrypt", "keys_for", "keys_of"]

KEYRING = "PARAPLY_KEYRING"
"""Environment variable with the path of the keyring file."""

_START = 1024
"""First bytes of a log that tell whether it is encrypted: MariaDB says so in the second event."""
_LINE = re.compile(r"(\d+)\s*;\s*([0-9a-fA-F]+)\s*(?:#.*)?")
_ENCRYPTED = b"Salted__"


def keys_for(path: Path) -> Mapping[str, bytes] | None:
    """Return the keys for an encrypted log; None for a log that is not encrypted, or if no keyring is named.

    Raises:
        UsageError: The keyring cannot be read.
        LogUnreadable: The log cannot be read.
    """
    keyring = os.environ.get(KEYRING, "")
    if not keyring or not path.is_file():
        return None
    try:
        with path.open("rb") as file:
            start = file.read(_START)
    except OSError as error:
        raise LogUnreadable(f"{path} cannot be read: {error.strerror}", file=str(path)) from None
    return keys_of(Path(keyring)) if is_encrypted(start) else None


def keys_of(keyring: Path) -> Mapping[str, bytes]:
    """Return the keys of a keyring by their names.

    Two forms are read: the JSON file of MySQL's ``component_keyring_file``, and the plain key file of MariaDB's
    ``file_key_management`` with lines of a number and a key in hexadecimal.

    Raises:
        UsageError: The file cannot be read, or has another form.
    """
    try:
        content = keyring.read_bytes()
    except OSError as error:
        raise UsageError(f"{KEYRING}={keyring}: the keyring cannot be read: {error.strerror}") from None
    if content.startswith(_ENCRYPTED):
        raise UsageError(
            f"{KEYRING}={keyring}: the key file is encrypted itself; decrypt it first: openssl enc -d -aes-256-cbc -md sha1"
            " -pass file:FILEKEY -in KEYS"
        )
    try:
        text = content.decode()
        found = _json_keys(text) if text.lstrip().startswith("{") else _line_keys(text)
    except (ValueError, TypeError, KeyError):
        found = {}
    if not found:
        raise UsageError(
            f"{KEYRING}={keyring}: no key was found; it takes the JSON file of MySQL's component_keyring_file, or MariaDB's key file with"
            " lines such as 1;770A8A65DA156D24EE2A093277530142"
        )
    return found


def _json_keys(text: str) -> dict[str, bytes]:
    """Return the keys of MySQL's keyring.

    >>> _json_keys('{"version": "1.0", "elements": [{"data_id": "a", "data_type": "AES", "data": "6162", "user": ""}]}')
    {'a': b'ab'}
    """
    return {str(element["data_id"]): bytes.fromhex(element["data"]) for element in json.loads(text)["elements"]}


def _line_keys(text: str) -> dict[str, bytes]:
    """Return the keys of MariaDB's key file.

    >>> _line_keys("1;6162  # the key of the logs")
    {'1': b'ab'}
    """
    lines = [line.strip() for line in text.splitlines()]
    matches = [_LINE.fullmatch(line) for line in lines if line and not line.startswith("#")]
    return {match[1]: bytes.fromhex(match[2]) for match in matches if match is not None}


def decrypt(path: Path, keys: Mapping[str, bytes], target: Path) -> None:
    """Write the contents of an encrypted log to another file, which only its owner may read.

    Raises:
        LogNotUnderstood: The key is missing or does not fit.
        LogDamaged: The log is damaged or, as ``LogTruncated``, cut off.
        ParaplyError: There is no space left for the contents.
    """
    log = Decrypter(path, keys)
    with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as plain:
        while (piece := log.next_piece()) is not None:
            write(plain.write, piece, path, target)
