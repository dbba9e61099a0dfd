"""Faults that paraply had and that were mended, as a change of today's source and the test that finds it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

__all__ = ["FAULTS", "ROOT", "Fault", "planted"]

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Fault:
    """A mended fault.

    Attributes:
        mended: Commit that mended it, and its subject.
        file: File below ``python/paraply``.
        text: Text in today's source.
        fault: Text in place of that, with which the fault is back.
        test: The test that finds it, as pytest names it.
    """

    mended: str
    file: str
    text: str
    fault: str
    test: str

    @property
    def path(self) -> Path:
        """The file."""
        return ROOT / "python" / "paraply" / self.file

    @property
    def is_there(self) -> bool:
        """True if the source still has the text, and has it once."""
        return self.path.exists() and self.path.read_text(encoding="utf-8").count(self.text) == 1


FAULTS = [Fault(**one) for one in json.loads(Path(__file__).with_name("faults.json").read_text(encoding="utf-8"))]
"""All of them."""


@contextmanager
def planted(fault: Fault, package: Path) -> Iterator[None]:
    """Bring a fault back in a copy of the package.

    Args:
        fault: The fault.
        package: Folder of the copy, ``paraply``.
    """
    file = package / fault.file
    source = fault.path.read_text(encoding="utf-8")
    assert source.count(fault.text) == 1, f"{fault.file} has the text of this fault {source.count(fault.text)} times: {fault.text!r}"
    file.write_text(source.replace(fault.text, fault.fault), encoding="utf-8")
    try:
        yield
    finally:
        shutil.copyfile(fault.path, file)
