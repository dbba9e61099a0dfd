"""The logs of real servers that ``PARAPLY_TRUTH`` names, packed with xz or not, unpacked for tests in Python and in Rust.

``python tests/truth_logs.py FOLDER`` unpacks all of them into a folder and prints it; Rust's tests read them there.
"""

from __future__ import annotations

import lzma
import os
import shutil
import sys
import tempfile
from pathlib import Path

__all__ = ["UNPACKED", "plain_log", "truth_folder", "unpack", "unpack_all"]

#: Folder into which tests unpack them: once for all runs and processes.
UNPACKED = Path(__file__).parent.parent / "target" / "truth"


def truth_folder() -> Path | None:
    """Return the folder that ``PARAPLY_TRUTH`` names; None where it names none.

    Raises:
        FileNotFoundError: It is no folder.
    """
    named = os.environ.get("PARAPLY_TRUTH")
    if not named:
        return None
    if not Path(named).is_dir():
        raise FileNotFoundError(f"PARAPLY_TRUTH names no folder: {named}")
    return Path(named)


def unpack(packed: Path, plain: Path) -> Path:
    """Unpack an .xz file unless it was unpacked since it was last written; return the plain one."""
    if plain.exists() and plain.stat().st_mtime >= packed.stat().st_mtime:
        return plain
    plain.parent.mkdir(parents=True, exist_ok=True)
    with lzma.open(packed) as source, tempfile.NamedTemporaryFile(dir=plain.parent, delete=False) as out:
        shutil.copyfileobj(source, out)
    Path(out.name).chmod(0o644)
    return Path(out.name).rename(plain)  # whole at once: another process may unpack it too


def plain_log(folder: Path, name: str) -> Path:
    """Return a file by its name below the folder of such logs, without ``.xz``."""
    packed = folder / f"{name}.xz"
    return unpack(packed, UNPACKED / name) if packed.exists() else folder / name


def unpack_all(folder: Path, into: Path) -> None:
    """Put all files of a folder into another one, those that are packed without the packing."""
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        place = into / path.relative_to(folder)
        if path.suffix == ".xz":
            unpack(path, place.with_suffix(""))
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, place)


if __name__ == "__main__":
    source = truth_folder()
    if source is None:
        sys.exit("PARAPLY_TRUTH names no folder with logs of real servers")
    unpack_all(source, Path(sys.argv[1]))
    print(Path(sys.argv[1]).resolve())
