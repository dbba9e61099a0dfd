"""Row changes as the servers' own tools print them: ``mysqlbinlog -vv`` and ``mariadb-binlog -vv``."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Printed", "PrintedRow", "printed_rows"]

OPERATIONS = {b"INSERT INTO": "insert", b"UPDATE": "update", b"DELETE FROM": "delete"}
Printed = tuple[bytes, str]
"""A value as printed, and the name of its type with its length."""


@dataclass(slots=True)
class PrintedRow:
    """One row change.

    Attributes:
        operation: ``insert``, ``update`` or ``delete``.
        table: Database and table, joined by a dot.
        before: Values before it; None for an insert.
        after: Values after it; None for a delete.
    """

    operation: str
    table: str
    before: list[Printed] | None = None
    after: list[Printed] | None = None
    images: dict[bytes, list[Printed]] = field(default_factory=dict)

    def close(self) -> PrintedRow:
        """Return the row with its images."""
        self.before, self.after = self.images.get(b"WHERE"), self.images.get(b"SET")
        return self


def printed_rows(command: str, path: Path) -> Iterator[PrintedRow]:
    """Yield the row changes of a log in order.

    Args:
        command: The tool.
        path: The log.

    Raises:
        RuntimeError: The tool failed.
    """
    arguments = [*shlex.split(command), str(path), "-vv", "--base64-output=DECODE-ROWS"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as tool:
        assert tool.stdout is not None
        assert tool.stderr is not None
        row: PrintedRow | None = None
        image: list[Printed] = []
        for line in tool.stdout:
            if line.startswith(b"###   @"):
                value, _, kind = line.partition(b"=")[2].rpartition(b" /* ")
                image.append((value, kind.partition(b" meta=")[0].decode()))
            elif line.startswith(b"### "):
                word = line[4:].strip()
                if word in (b"WHERE", b"SET"):
                    assert row is not None
                    image = row.images[word] = []
                    continue
                if row is not None:
                    yield row.close()
                row = _begin(word)
        if row is not None:
            yield row.close()
        errors = tool.stderr.read().decode(errors="replace")
    if tool.returncode:
        raise RuntimeError(f"{command} failed at {path}: {errors.strip()[-300:]}")


def _begin(words: bytes) -> PrintedRow:
    operation, _, names = words.partition(b" `")
    database, _, table = names.rstrip(b"`").partition(b"`.`")
    return PrintedRow(OPERATIONS[operation], f"{database.decode()}.{table.decode()}")
