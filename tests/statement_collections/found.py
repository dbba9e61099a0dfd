"""Find the statement collections below a folder, by the layout of the repositories that hold them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from .server_tests import read_test
from .split import split_lines, split_script

__all__ = ["Unit", "units"]

BOTH = ("mysql", "mariadb")


@dataclass(frozen=True)
class Unit:
    """Statements that run one after the other in databases of their own.

    Attributes:
        collection: The name of the collection.
        name: The file that holds the statements, relative to the repository.
        families: Server families that the statements are meant for.
        statements: The statements in order.
    """

    collection: str
    name: str
    families: tuple[str, ...]
    statements: tuple[str, ...]


def units(folder: Path) -> Iterator[Unit]:
    """Yield the units of all collections below a folder."""
    for collection, pattern, families, read in _LAYOUTS:
        for path in sorted(folder.rglob("*")):
            text = path.as_posix()
            if not path.is_file() or ".git/" in text or not re.search(pattern, text):
                continue
            if statements := read(path):
                yield Unit(collection, "/".join(path.parts[-3:]), families, tuple(statements))


def _script(path: Path) -> list[str]:
    return split_script(path.read_text(errors="replace"))


def _lines(path: Path) -> list[str]:
    return split_lines(path.read_text(errors="replace"))


def _gh_ost(path: Path) -> list[str]:
    """Return the statements of a gh-ost test: its table, one run of the event that changes it, and the migration itself."""
    statements = []
    for statement in _script(path):
        statements.append(statement)
        if body := re.match(r"create event.*?\bdo\s+(begin\b.*)", statement, re.IGNORECASE | re.DOTALL):
            statements += ["drop procedure if exists event_body", f"create procedure event_body() {body[1]}", "call event_body()"]
    arguments = path.with_name("extra_args")
    if arguments.exists() and (alter := re.search(r"--alter=(?P<quote>['\"])(.*?)(?P=quote)", arguments.read_text(), re.DOTALL)):
        statements += [f"alter table gh_ost_test {alter[2]}", "call event_body()"]
    mode = path.with_name("sql_mode")
    if mode.exists():
        statements.insert(0, f"set session sql_mode='{mode.read_text().strip()}'")
    return statements


_LAYOUTS: tuple[tuple[str, str, tuple[str, ...], Callable[[Path], list[str]]], ...] = (
    ("Debezium, MySQL examples", r"ddl-parser/src/test/resources/mysql/examples/[^/]+\.sql$", ("mysql",), _script),
    ("Debezium, MySQL examples (legacy)", r"ddl-parser/src/test/resources/mysql/examples/legacy/[^/]+\.sql$", BOTH, _script),
    ("Debezium, MariaDB examples", r"ddl-parser/src/test/resources/mariadb/examples/.*\.sql$", ("mariadb",), _script),
    ("Debezium, connector tests", r"connector-(binlog|mysql|mariadb)/src/test/resources/ddl/[^/]+\.(sql|ddl)$", BOTH, _script),
    ("maxwell, DDL", r"src/test/resources/sql/(ddl|schema|rows)/[^/]+\.sql$", BOTH, _lines),
    ("maxwell, changes", r"src/test/resources/sql/json/test_[^/]+$", BOTH, _lines),
    ("MySQL's own tests", r"/mysql-test/(t|suite/[^/]+/t)/[^/]+\.test$", ("mysql",), read_test),
    ("MariaDB's own tests", r"/mariadb-test/(main|suite/[^/]+)/([^/]+/)*[^/]+\.test$", ("mariadb",), read_test),
    ("gh-ost, local tests", r"localtests/[^/]+/create\.sql$", BOTH, _gh_ost),
)
