"""Results that were found already: a JSON file per pair, whose entries hold for the code and the script that made them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict
from functools import cache
from pathlib import Path

from versions.kinds import Pair
from versions.pairs import Outcome
from versions.scripts import Feature

__all__ = ["FOLDER", "Results", "code_key"]

#: Modules of this suite that results depend on. The kinds of refusals do not belong to these: they are looked up when results are read.
MODULES = ("contents", "pairs", "runs", "servers")
ROOT = Path(__file__).parent.parent.parent
FOLDER = ROOT / "target" / "versions"


@cache
def code_key() -> str:
    """Return a digest of the product and of this suite: everything that a result depends on but the script."""
    digest = hashlib.sha256()
    for path in sorted(_code()):
        digest.update(str(path.relative_to(ROOT)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _code() -> Iterable[Path]:
    yield from (ROOT / "python" / "paraply").rglob("*.py")
    yield from (ROOT / "python" / "paraply").glob("_native*.so")
    yield from (ROOT / "tests" / "versions" / f"{name}.py" for name in MODULES)
    yield ROOT / "tests" / "reader_view.py"


class Results:
    """The outcomes of one pair.

    Args:
        pair: Which.
        folder: Where its file is.
    """

    def __init__(self, pair: Pair, folder: Path = FOLDER) -> None:
        self._pair = pair
        self._file = folder / f"{pair.name}.json"
        self._entries: dict[str, dict[str, object]] = {}
        if self._file.exists():
            self._entries = json.loads(self._file.read_text(encoding="utf-8"))

    def of(self, feature: Feature) -> dict[str, Outcome] | None:
        """Return the outcome of a feature with this code and script; None if it is not known."""
        entry = self._entries.get(feature.name)
        if entry is None or entry["key"] != _key(feature):
            return None
        modes = entry["modes"]
        assert isinstance(modes, dict)
        return {mode: Outcome(**outcome).named(self._pair) for mode, outcome in modes.items()}

    def add(self, feature: Feature, outcomes: dict[str, Outcome]) -> None:
        """Keep how a feature came out."""
        self._entries[feature.name] = {"key": _key(feature), "modes": {mode: asdict(outcome) for mode, outcome in outcomes.items()}}
        self._file.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self._file.with_suffix(".new")
        unfinished.write_text(json.dumps(self._entries, indent=1, ensure_ascii=False), encoding="utf-8")
        unfinished.replace(self._file)


def _key(feature: Feature) -> str:
    return hashlib.sha256(f"{code_key()} {feature!r} {feature.statements!r}".encode()).hexdigest()[:16]
