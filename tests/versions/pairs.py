"""A pair of a source and a target: features run there, and how each came out."""

from __future__ import annotations

import contextlib
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from reader_view import differences, postgres_differences
from versions.contents import contents_of, databases_of
from versions.kinds import Pair
from versions.refusals import kind_of
from versions.runs import MODES, Ended, ScriptFailed, apply, run_script
from versions.scripts import Feature
from versions.servers import MySqlFamily, Postgres, started

__all__ = ["Outcome", "RunningPair", "running_pair"]

#: As limits.md says of a source whose log is for a MariaDB without the collations of 11.5: at its defaults it logs them for any statement.
COLLATIONS_OF_OLDER = ("--character-set-collations=", "--collation-server=utf8mb4_general_ci")
SECONDS_FOR_ONE = 120.0
SECONDS_FOR_MANY = 600.0


@dataclass(frozen=True)
class Outcome:
    """Result of a feature in one mode.

    Args:
        status: ``same``, ``refused`` or ``different``.
        text: What differs, or the error.
        error: Class of the error of a refusal.
        kind: The kind of a refusal; empty if no document tells of it.
    """

    status: str
    text: str = ""
    error: str = ""
    kind: str = ""

    def named(self, pair: Pair) -> Outcome:
        """Return the same with the kind of its refusal."""
        return replace(self, kind=kind_of(self.error, self.text, pair.source, pair.target) if self.status == "refused" else "")

    @property
    def is_good(self) -> bool:
        """True if the target has the source's content, or said why not for a documented reason."""
        return self.status == "same" or (self.status == "refused" and bool(self.kind))


Outcomes = dict[str, dict[str, Outcome]]


class _Stopped(Exception):
    """An apply of a log that several features share was stopped.

    Args:
        ended: How it ended.
        ends: The number of each feature's last transaction.
    """

    def __init__(self, ended: Ended, ends: Sequence[int]) -> None:
        super().__init__(ended.message)
        self.ended = ended
        self.ends = ends


def _number(gtid: str) -> int:
    return int(re.split("[-:]", gtid)[-1])


def _parts(batch: list[Feature], stopped: _Stopped) -> list[list[Feature]]:
    """Return a batch without the feature that an error names, by its transaction or database; its halves if it names none."""
    named = [feature for feature in batch if re.search(rf"\b{feature.database}(__\w+)?\b", stopped.ended.message)]
    if not named and stopped.ended.gtid:
        number = _number(stopped.ended.gtid)
        named = [feature for feature, end in zip(batch, stopped.ends, strict=True) if end >= number]
    if named:
        return [[named[0]], [feature for feature in batch if feature is not named[0]]]
    middle = len(batch) // 2
    return [batch[:middle], batch[middle:]]


class RunningPair:
    """A source and a target that both run.

    Args:
        pair: Which.
        source: The source.
        target: The target.
        folder: For copies of logs.
    """

    def __init__(self, pair: Pair, source: MySqlFamily, target: MySqlFamily | Postgres, folder: Path) -> None:
        self.pair = pair
        self._source = source
        self._target = target
        self._folder = folder

    def run(
        self,
        features: Sequence[Feature],
        together: int,
        report: Callable[[str, dict[str, Outcome]], None] | None = None,
        modes_of_refused: Sequence[str] = MODES,
    ) -> Outcomes:
        """Run features, and return how each came out, by name and mode.

        Features whose refusal is expected run alone. The others share logs; where an apply of these is stopped, the feature that the
        error names runs alone, or halves of them run by themselves where it names none.

        Args:
            features: Those that the source can run.
            together: How many share a log, at most.
            report: Called with each feature's outcome as soon as it is known.
            modes_of_refused: The modes in which features run whose refusal is expected.
        """
        alone = [feature for feature in features if feature.refusals(self.pair.source, self.pair.target)]
        shared = [feature for feature in features if feature not in alone]
        batches = [shared[start : start + together] for start in range(0, len(shared), together)] + [[feature] for feature in alone]
        outcomes: Outcomes = {}
        while batches:
            batch = batches.pop(0)
            if not batch:
                continue
            try:
                found = self._run_batch(batch, modes_of_refused if batch[0] in alone else MODES)
            except ScriptFailed as error:
                found = {error.feature.name: dict.fromkeys(MODES, Outcome("different", f"the script: {error}"))}
                batches.insert(0, [feature for feature in batch if feature is not error.feature])
            except _Stopped as stopped:
                batches[:0] = _parts(batch, stopped)
                continue
            outcomes.update(found)
            for name, outcome in found.items():
                if report is not None:
                    report(name, outcome)
        return outcomes

    def _run_batch(self, batch: Sequence[Feature], modes: Sequence[str]) -> Outcomes:
        """Run features with one log.

        Raises:
            _Stopped: Several share it, and the apply did not come to its end.
        """
        self._source.reset()
        ends = []
        for feature in batch:
            run_script(feature, self._source)
            ends.append(_number(self._source.last_gtid()))
        logs = self._source.copy_logs(self._folder / "logs")
        until = self._source.last_gtid()
        outcomes: Outcomes = {feature.name: {} for feature in batch}
        seconds = SECONDS_FOR_ONE if len(batch) == 1 else SECONDS_FOR_MANY
        for mode in modes:
            self._target.reset()
            ended = apply(mode, self._source, logs, until, self._target, self._folder, seconds)
            if ended.code and len(batch) > 1:
                raise _Stopped(ended, ends)
            for feature in batch:
                outcomes[feature.name][mode] = self._outcome(feature, ended)
        return outcomes

    def _outcome(self, feature: Feature, ended: Ended) -> Outcome:
        if ended.code in (1, 2, 3):
            return Outcome("refused", f"exit code {ended.code}, {ended.kind}: {ended.message}", ended.kind).named(self.pair)
        if ended.code:
            return Outcome("different", f"exit code {ended.code}, {ended.kind}: {ended.message}")
        different = self._differences(feature)
        return Outcome("different", "\n".join(different)) if different else Outcome("same")

    def _differences(self, feature: Feature) -> list[str]:
        if isinstance(self._target, Postgres):
            with self._source.connect() as connection, connection.cursor() as cursor:
                return postgres_differences(cursor, self._target.url, databases_of(cursor, feature))
        return differences(contents_of(self._source, feature), contents_of(self._target, feature))


@contextlib.contextmanager
def running_pair(pair: Pair) -> Iterator[RunningPair]:
    """Start both servers of a pair; end them with the context."""
    with (
        tempfile.TemporaryDirectory(prefix="paraply-versions-") as folder,
        started(pair.source, 1, COLLATIONS_OF_OLDER if pair.has_newer_collations else ()) as source,
        started(pair.target, 2) as target,
    ):
        assert isinstance(source, MySqlFamily)
        yield RunningPair(pair, source, target, Path(folder))
