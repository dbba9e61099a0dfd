"""Comparison of all row changes of a log, in order, value by value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from second_decoder.server_rows import Printed, PrintedRow, printed_rows
from second_decoder.values import Labels, is_partial, kind_of, same

from paraply._native import log_head
from paraply.analysis.rows import rows
from paraply.errors import ParaplyError

__all__ = ["Comparison", "Tools", "compare", "logs_below"]

MOST_SHOWN = 20
UNKNOWN = b"!! Don't know"
"""Text of MySQL's tool for a type that it does not know, such as GEOMETRY; no value follows it."""
Image = list[tuple[str, str | None]]


@dataclass(frozen=True, slots=True)
class Tools:
    """Commands that print the log file that is appended to them."""

    mysql: str
    mariadb: str

    def of(self, path: Path) -> str:
        """Return the tool of the server that wrote a log."""
        return self.mariadb if "mariadb" in log_head(str(path)).server_version.lower() else self.mysql


@dataclass
class Comparison:
    """Counts over logs.

    Attributes:
        logs: Number of logs.
        rows: Number of row changes.
        same: Number of equal values by type.
        untold: Number of values by type that the tool does not tell.
        different: The first differences, as text.
        differences: Number of all differences.
        refused: Logs that one of the two does not read, and why.
    """

    logs: int = 0
    rows: int = 0
    same: Counter[str] = field(default_factory=Counter)
    untold: Counter[str] = field(default_factory=Counter)
    different: list[str] = field(default_factory=list)
    differences: int = 0
    refused: dict[str, str] = field(default_factory=dict)

    @property
    def values(self) -> int:
        """Number of compared values."""
        return self.same.total() + self.differences

    def differ(self, text: str) -> None:
        """Note a difference."""
        self.differences += 1
        if len(self.different) < MOST_SHOWN:
            self.different.append(text[:400])

    def table(self) -> Iterator[str]:
        """Yield the lines of a table by type."""
        yield f"{'type':<12} {'compared':>12} {'not told':>10}"
        for kind in sorted(self.same | self.untold):
            yield f"{kind:<12} {self.same[kind]:>12,} {self.untold[kind]:>10,}"
        yield f"{'all':<12} {self.same.total():>12,} {self.untold.total():>10,}"
        yield f"{self.logs} logs, {self.rows:,} row changes, {self.values:,} values compared, {self.differences} different"


def logs_below(folder: Path) -> Iterator[Path]:
    """Yield the log files below a folder."""
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        with path.open("rb") as file:
            if file.read(4) == b"\xfebin":
                yield path


def compare(path: Path, tools: Tools, found: Comparison) -> None:
    """Compare all row changes of a log."""
    found.logs += 1
    labels = Labels()
    own_changes = _changes(path)
    number = 0
    try:
        for number, printed in enumerate(printed_rows(tools.of(path), path), 1):
            change = next(own_changes, None)
            if change is None:
                found.differ(f"{path.name}: the tool has more than {number - 1} rows")
                return
            _compare_row(f"{path.name}, row {number}", change, printed, labels, found)
        if next(own_changes, None) is not None:
            found.differ(f"{path.name}: the tool has only {number} rows")
    except (ParaplyError, RuntimeError) as error:
        found.refused[path.name] = str(error)
    found.rows += number


def _changes(path: Path) -> Iterator[dict[str, Any]]:
    for batch in rows(path, columns=("database", "table", "operation", "before", "after")):
        yield from batch.to_pylist()


def _compare_row(where: str, change: dict[str, Any], printed: PrintedRow, labels: Labels, found: Comparison) -> None:
    table = f"{change['database']}.{change['table']}"
    if (change["operation"], table) != (printed.operation, printed.table):
        found.differ(f"{where}: {change['operation']} {table} and {printed.operation} {printed.table}")
        return
    for image, printed_image in ((change["before"], printed.before), (change["after"], printed.after)):
        if (image is None) != (printed_image is None):
            found.differ(f"{where}: one has an image that the other has not")
        elif image is not None and printed_image is not None:
            _compare_image(where, table, image, printed_image, labels, found)


def _compare_image(where: str, table: str, image: Image, printed_image: list[Printed], labels: Labels, found: Comparison) -> None:
    if printed_image and printed_image[-1][0].startswith(UNKNOWN):
        printed_image = printed_image[:-1]
        found.untold["behind one"] += len(image) - len(printed_image)
        image = image[: len(printed_image)]
    if len(image) != len(printed_image):  # a partial document is not shown where the log lacks the one before it
        found.untold["JSON"] += sum(is_partial(value) for value, _ in printed_image)
        printed_image = [one for one in printed_image if not is_partial(one[0])]
    if len(image) != len(printed_image):
        found.differ(f"{where}: {len(image)} and {len(printed_image)} columns: {image} {printed_image}")
        return
    for column, ((name, text), (value, printed)) in enumerate(zip(image, printed_image, strict=True)):
        outcome = same(text, value, printed, labels, (f"{table}.{name}", column))
        kind = kind_of(printed)
        if outcome is None:
            found.untold[kind] += 1
        elif outcome:
            found.same[kind] += 1
        else:
            found.differ(f"{where}: {table}.{name} is {text!r}, and {value!r} as {printed}")
