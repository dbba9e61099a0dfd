"""Runs of a feature's script on a source, and of the commands that bring its log to a target."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pymysql
from versions.scripts import Feature
from versions.servers import MySqlFamily, Target

__all__ = ["MODES", "Ended", "ScriptFailed", "apply", "run_script"]

PACKAGE = Path(__file__).parent.parent.parent / "python"
MODES = ("offline", "live")
EMPTY_QUERY = 1065
ENDS_SECONDS = 30


class ScriptFailed(Exception):
    """A statement of a script ended otherwise than it says: the script is wrong for this source.

    Args:
        feature: Whose script.
        message: Source, statement and the server's error.
    """

    def __init__(self, feature: Feature, message: str) -> None:
        super().__init__(message)
        self.feature = feature


@dataclass(frozen=True)
class Ended:
    """Result of a command: exit code, the error's class, its message, and the transaction that it names."""

    code: int
    kind: str = ""
    message: str = ""
    gtid: str = ""


def run_script(feature: Feature, source: MySqlFamily) -> None:
    """Run a feature's statements on a source.

    Raises:
        ScriptFailed: A statement failed that should not, or the other way round.
    """
    sessions = {"one": source.connect()}
    try:
        _execute(sessions["one"], f"CREATE DATABASE {feature.database}")
        _execute(sessions["one"], f"USE {feature.database}")
        for statement in feature.statements_for(source.version):
            if statement.close:
                _close(sessions.pop(statement.session), source)
                continue
            if statement.session not in sessions:
                sessions[statement.session] = source.connect(database=feature.database)
            failed = _execute(sessions[statement.session], statement.text)
            if (failed is not None) != statement.fails:
                raise ScriptFailed(feature, f"{source.version.title}: {statement.text[:200]}: {failed or 'did not fail'}")
    finally:
        for session in sessions.values():
            session.close()


def _close(session: pymysql.connections.Connection[pymysql.cursors.Cursor], source: MySqlFamily) -> None:
    """Close a session, and wait until the server has ended it: only then may others end its prepared XA transactions."""
    number = session.thread_id()
    session.close()
    deadline = time.monotonic() + ENDS_SECONDS
    with source.connect() as connection, connection.cursor() as cursor:
        while cursor.execute(f"SELECT 1 FROM information_schema.processlist WHERE id={number}"):
            assert time.monotonic() < deadline, f"{source.version.title} has not ended session {number} within {ENDS_SECONDS} s"
            time.sleep(0.05)


def _execute(session: pymysql.connections.Connection[pymysql.cursors.Cursor], text: str) -> pymysql.MySQLError | None:
    """Run a statement; return the error that it ended in. A text of comments alone is no error."""
    try:
        with session.cursor() as cursor:
            cursor.execute(text)
    except pymysql.MySQLError as error:
        return None if error.args[0] == EMPTY_QUERY else error
    return None


def apply(mode: str, source: MySqlFamily, logs: Sequence[Path], until: str, target: Target, folder: Path, seconds: float) -> Ended:
    """Bring the source's log to a target that is empty.

    Args:
        mode: One of ``MODES``: the copied files, or the running source.
        source: The source.
        logs: Copies of its files.
        until: The last transaction's GTID.
        target: Where to.
        folder: For the relay log.
        seconds: After which the command is killed.
    """
    if mode == "offline":
        arguments = ["apply", *map(str, logs), "--to", target.url]
    else:
        relay = folder / "relay"
        shutil.rmtree(relay, ignore_errors=True)
        arguments = ["replicate", "--from", source.url, "--to", target.url, "--relay-log", str(relay), "--until", until]
    path = os.pathsep.join([str(PACKAGE), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "paraply", *arguments, "--json", "--quiet"]
    # Compiled modules are kept, wherever the environment says that they are not: a command is short.
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": ""}
    try:
        done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True, timeout=seconds, cwd=folder)
    except subprocess.TimeoutExpired:
        return Ended(-9, "Hang", f"the command did not end within {seconds:.0f} s")
    if done.returncode == 0:
        return Ended(0)
    try:
        error = json.loads(done.stdout)["error"]
    except (ValueError, KeyError):
        return Ended(done.returncode, "NoReport", done.stderr[-2000:])
    return Ended(done.returncode, str(error["class"]), str(error["message"]), str(error["gtid"] or ""))
