"""Replay what a unit left in the source's binlog into each target, and compare."""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
from command_line import run_json
from reader_view import differences, family_contents, postgres_differences, user_databases
from servers import LocalServer
from versions.contents import spelled

from .found import Unit
from .reasons import Refusal
from .source import NotLogged, Taken, connect, run_unit, wipe

__all__ = ["Family", "FamilyTarget", "PostgresTarget", "Result", "Source", "Target", "replay_unit"]

_RUNS = 60
#: Reasons that lie in the statement itself, not in another one that was refused before it.
_OF_ITSELF = re.compile(r"has no counterpart in PostgreSQL|of engine \w+ are not those")
#: Errors that say what is not taken, before anything of it is written.
_REFUSALS = ("LogNotUnderstood", "SchemaMismatch", "TypeNotMapped", "ValueNotStorable")
#: Likewise, of a class that also has errors which come from elsewhere.
_REFUSED = re.compile(r"the source does not log those")


@dataclass(frozen=True)
class Family:
    """A source of one server family."""

    name: str
    mariadb: bool
    server: LocalServer


class Target:
    """A target that can be emptied, filled and compared with a source."""

    name: str

    def empty(self) -> str:
        """Empty the target and return its URL."""
        raise NotImplementedError

    def differences(self, source: LocalServer) -> list[str]:
        """Return the differences from the source, a line each."""
        raise NotImplementedError


class FamilyTarget(Target):
    """A second server of the source's family.

    Args:
        family: Name and kind of the server.
        url: The server as ``--to`` takes it.
        other_version: True if the source is of another version, which may spell the same definition in another way.
    """

    def __init__(self, family: Family, url: str, *, other_version: bool = False) -> None:
        self.name = family.name
        self._family = family
        self._url = url
        self._other_version = other_version

    @property
    def port(self) -> int:
        """The port on loopback."""
        return self._family.server.port

    def empty(self) -> str:
        wipe(self.port, self._family.mariadb)
        return self._url

    def prepare(self) -> None:
        """Make the database that every server of former versions began with, in the character set that it had."""
        self._family.server.sql("SET SESSION sql_log_bin=0", "CREATE DATABASE IF NOT EXISTS test CHARACTER SET latin1")

    def differences(self, source: LocalServer) -> list[str]:
        with contextlib.closing(connect(source.port)) as here, contextlib.closing(connect(self._family.server.port)) as there:
            contents = [family_contents(connection.cursor()) for connection in (here, there)]
        if self._other_version:
            contents = [{name: [spelled(line) for line in lines] for name, lines in each.items()} for each in contents]
        return differences(*contents)


class PostgresTarget(Target):
    """A database of a PostgreSQL, made anew for each unit.

    Args:
        server: URL of a database to connect to.
        url_of: Returns the URL of a database by its name.
    """

    def __init__(self, server: str, url_of: Callable[[str], str]) -> None:
        self.name = "PostgreSQL"
        self._server = server
        self.url = url_of("collections")

    def empty(self) -> str:
        with psycopg.connect(self._server, autocommit=True) as connection:
            connection.execute("DROP DATABASE IF EXISTS collections WITH (FORCE)")
            connection.execute("CREATE DATABASE collections")
        return self.url

    def differences(self, source: LocalServer) -> list[str]:
        with contextlib.closing(connect(source.port)) as connection:
            cursor = connection.cursor()
            return postgres_differences(cursor, self.url, user_databases(cursor))


@dataclass
class Result:
    """Result of a unit's statements in one target.

    Attributes:
        statements: How many the source took and logged.
        same: How many of them were replayed, with the source's content and definitions afterwards.
        refused: The refusals.
        after: The others: behind a refusal where the replay ended, or no longer taken by the source once the refused ones were left out.
        not_logged: The statements that left nothing in the source's log, and why.
        different: What differed where the replay ended with exit code 0, or failed without a reason from the log.
    """

    statements: int = 0
    same: int = 0
    refused: list[Refusal] = field(default_factory=list)
    after: int = 0
    different: list[str] = field(default_factory=list)
    not_logged: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Logged:
    """Result of statements on a source.

    Attributes:
        taken: Those that it logged.
        not_logged: The others.
        logs: Copies of its logs.
    """

    taken: list[Taken]
    not_logged: list[NotLogged]
    logs: list[Path]


class Source:
    """A source whose log of the last statements is kept, for the next target.

    Args:
        family: The server.
        folder: A folder for logs, which is emptied for each run.
    """

    def __init__(self, family: Family, folder: Path) -> None:
        self.family = family
        self.folder = folder
        self._last: tuple[list[str], Logged] | None = None

    def logged(self, statements: Sequence[str]) -> Logged:
        """Run statements on the emptied server, unless they are the last ones."""
        if self._last is None or self._last[0] != list(statements):
            self._last = None
            self._last = list(statements), _logged(self.family, statements, self.folder)
        return self._last[1]


def replay_unit(unit: Unit, source: Source, target: Target) -> Result:
    """Run a unit on the source and replay its log; leave out each statement that is refused, until the rest goes through.

    Args:
        unit: The statements.
        source: Where they run.
        target: Where the log is replayed.
    """
    statements = list(unit.statements)
    result = Result()
    for run in range(_RUNS):
        logged = source.logged(statements)
        taken, logs = logged.taken, logged.logs
        if run == 0:
            result.statements = len(taken)
            result.not_logged = [(each.statement, each.reason) for each in logged.not_logged]
        if not taken:
            break
        try:
            outcome = run_json("apply", *logs, "--to", target.empty(), "--workers", 2, cwd=source.folder)
        except subprocess.TimeoutExpired as late:
            result.different.append(f"no end of: {' '.join(map(str, late.cmd))}")
            break
        if outcome.code == 0:
            result.different = target.differences(source.family.server)
            result.same = 0 if result.different else min(len(taken), result.statements - len(result.refused))
            break
        refused = _refused(taken, outcome.error)
        kind, message = outcome.error["class"], str(outcome.error["message"])
        if refused is not None and (kind in _REFUSALS or _REFUSED.search(message)):
            result.refused.append(Refusal(refused.statement, kind, message))
        else:
            result.different.append(f"exit code {outcome.code}: {kind}: {message} (at: {refused.statement if refused else None})")
        if refused is None or not _leave_out(statements, refused.statement):
            break
        if run == 0:
            for other, stop in _known_stops(source, target, taken, logs):
                if other is not refused and _leave_out(statements, other.statement):
                    result.refused.append(Refusal(other.statement, "TypeNotMapped", stop))
    else:
        result.different.append(f"more than {_RUNS} statements are refused")
    if not result.different:
        result.after = result.statements - result.same - len(result.refused)
    return result


def _logged(source: Family, statements: Sequence[str], folder: Path) -> Logged:
    wipe(source.server.port, source.mariadb)
    every = list(run_unit(source.server.port, source.mariadb, statements))
    source.server.sql("FLUSH BINARY LOGS")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    logs = sorted(path for path in source.server.data.glob("binlog.0*") if re.fullmatch(r"binlog\.\d+", path.name))
    taken = [each for each in every if isinstance(each, Taken)]
    others = [each for each in every if isinstance(each, NotLogged)]
    return Logged(taken, others, [Path(shutil.copy(path, folder)) for path in logs])


def _known_stops(source: Source, target: Target, taken: Sequence[Taken], logs: Sequence[Path]) -> Iterator[tuple[Taken, str]]:
    """Yield the further statements that are refused by themselves, as a dry run tells, so that not each one takes a run of its own."""
    outcome = run_json("apply", *logs, "--to", target.empty(), "--dry-run", cwd=source.folder)
    for stop in outcome.report.get("statements") or ():
        place = _refused(taken, stop)
        if stop["problem"] and place is not None and _OF_ITSELF.search(stop["problem"]):
            yield place, str(stop["problem"])


def _refused(taken: Sequence[Taken], error: dict[str, object]) -> Taken | None:
    position = error.get("position")
    if not isinstance(position, int):
        return None
    return next((each for each in taken if each.start <= position < each.end), None)


def _leave_out(statements: list[str], refused: str) -> bool:
    """Remove a statement, or the pieces that it was put together from; return False if it is not there."""
    for index, statement in enumerate(statements):
        joined = statement
        for last in range(index, len(statements)):
            joined = statement if last == index else f"{joined};{statements[last]}"
            if joined == refused:
                del statements[index : last + 1]
                return True
            if not refused.startswith(joined):
                break
    return False


def totals(results: Sequence[Result]) -> Counter[str]:
    """Return the sums of a collection's results."""
    counts: Counter[str] = Counter()
    for result in results:
        counts.update(files=result.statements + len(result.not_logged), not_logged=len(result.not_logged))
        counts.update(statements=result.statements, same=result.same, different=len(result.different))
        counts.update(refused=len(result.refused), after=result.after)
    return counts


def refusals(results: Sequence[Result]) -> Iterator[Refusal]:
    """Yield each refusal."""
    for result in results:
        yield from result.refused
