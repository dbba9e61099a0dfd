"""A dry run into MariaDB that names the stops of databases and tables which the log itself makes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from mariadb_versions import MariaDbInTree, mariadb_of_version
from servers import MariaDbServer

from paraply.applier import Applier, DryRun
from paraply.applier.selection.filters import Filters, parse_filters
from paraply.errors import ParaplyError
from paraply.targets import make_target

pytestmark = pytest.mark.mariadb

Server = MariaDbServer | MariaDbInTree
ALL_TYPES = (
    "id INT PRIMARY KEY, a TINYINT UNSIGNED, b BIGINT, c DECIMAL(20, 5), d FLOAT, e DOUBLE, f BIT(11), g DATE, h DATETIME(3),"
    " i TIMESTAMP NULL, j TIME(6), k YEAR, l CHAR(5), m VARCHAR(300) CHARACTER SET latin1, n BINARY(4), o VARBINARY(9), p TEXT, q LONGBLOB,"
    " r ENUM('x', 'y'), s SET('x', 'y', 'z'), t JSON, u POINT, v INET6, w VARCHAR(9) CHARACTER SET utf8, x NVARCHAR(9), y BOOLEAN,"
    " z NUMERIC"
)


@dataclass(frozen=True)
class Case:
    """Statements of a source, and the text of the reason at which the apply of their log stops.

    Attributes:
        reason: Part of the reason; empty if the apply does not stop.
        statements: The source's statements, in the database ``made``.
        source: Version of the source.
        target: Version of the target.
        before: Statements on source and target before the log begins.
        only_there: Statements on the target before the apply.
    """

    reason: str
    statements: tuple[str, ...]
    source: str = "10.11"
    target: str = "10.11 target"
    before: tuple[str, ...] = ()
    only_there: tuple[str, ...] = ()
    filters: Filters = field(default_factory=Filters)


STANDING = ("CREATE TABLE made.t (id INT)",)
ROW = "INSERT INTO t (id) VALUES (1)"
CASES: Mapping[str, Case] = {
    "aria": Case("the table's engine Aria has no transactions", ("CREATE TABLE t (id INT) ENGINE=aria", ROW)),
    "myisam": Case("the table's engine MyISAM has no transactions", ("CREATE TABLE t (id INT) ENGINE=MyISAM", ROW)),
    "memory": Case("the table's engine MEMORY has no transactions", ("CREATE TABLE t (id INT) ENGINE=memory", ROW)),
    "became myisam": Case("engine MyISAM", ("CREATE TABLE t (id INT)", ROW, "ALTER TABLE t ENGINE=MyISAM", "UPDATE t SET id = 2")),
    "became innodb": Case("", ("CREATE TABLE t (id INT) ENGINE=MyISAM", "ALTER TABLE t ENGINE=InnoDB", ROW)),
    "no rows": Case("", ("CREATE TABLE t (id INT) ENGINE=MyISAM",)),
    "generated": Case("the generated column b out of changed rows", ("CREATE TABLE t (id INT, b INT AS (id + 1))", ROW), source="11.8"),
    "vector": Case("Unknown data type: 'VECTOR' (error 4161)", ("CREATE TABLE t (id INT, e VECTOR(3))",), source="11.8"),
    "added vector": Case("Unknown data type", ("CREATE TABLE t (id INT)", "ALTER TABLE t ADD e VECTOR(3)"), source="11.8"),
    "uuid": Case("Unknown data type: 'UUID' (error 4161)", ("CREATE TABLE t (id UUID PRIMARY KEY)",), target="10.5"),
    "old mode": Case(
        "in the log its length or precision is 80, in the target 60",
        ("SET SESSION old_mode=''", "CREATE TABLE t (id INT, v VARCHAR(20) CHARACTER SET utf8)", ROW),
    ),
    "own database": Case("", ("CREATE DATABASE paraply",)),  # left out
    "own database made if missing": Case("", ("CREATE DATABASE IF NOT EXISTS paraply",)),
    "standing database": Case("database exists", ("CREATE DATABASE made_too",), only_there=("CREATE DATABASE made_too",)),
    "standing table": Case("already exists (error 1050)", ("CREATE TABLE t (id INT)",), only_there=("CREATE TABLE made.t (a INT)",)),
    "replaced table": Case("", ("CREATE OR REPLACE TABLE t (id INT)", ROW), only_there=("CREATE TABLE made.t (a INT)",)),
    "missing table": Case("doesn't exist (error 1146)", ("ALTER TABLE t ADD b INT",), before=STANDING, only_there=("DROP TABLE made.t",)),
    "altered standing table": Case(
        "engine MyISAM", ("ALTER TABLE t ADD b INT", ROW), before=STANDING, only_there=("ALTER TABLE made.t ENGINE=MyISAM",)
    ),
    "all types": Case("", (f"CREATE TABLE t ({ALL_TYPES})", ROW, "UPDATE t SET m = 'm'")),
    "other tables": Case(
        "",
        (
            "CREATE TABLE p (id INT PRIMARY KEY) CHARACTER SET latin1", "CREATE TABLE t (id INT, FOREIGN KEY (id) REFERENCES p (id))",
            "CREATE SEQUENCE s", "ALTER SEQUENCE s INCREMENT 5", "RENAME TABLE s TO r", "ALTER TABLE r COMMENT 'a'",
            "CREATE TABLE u LIKE p",
            "ALTER TABLE u ADD c CHAR(4)", "CREATE TABLE v (id INT, w TEXT UNIQUE, x INT INVISIBLE) WITH SYSTEM VERSIONING",
            "INSERT INTO v (id, w) VALUES (1, 'a')", "INSERT INTO p VALUES (1)", "INSERT INTO u VALUES (1, 'a')", ROW,
            "CREATE TABLE x SELECT id FROM t", "ALTER TABLE x ADD b INT", "RENAME TABLE p TO q", "TRUNCATE TABLE x", "DROP TABLE t, q",
            "CREATE VIEW w AS SELECT 1", "DROP VIEW w", "CREATE TABLE w (id INT)", "CREATE FUNCTION f() RETURNS INT DETERMINISTIC RETURN 1",
            "CREATE TRIGGER g BEFORE INSERT ON w FOR EACH ROW SET NEW.id = 1", "INSERT INTO w VALUES (5)",
        ),
    ),
    "without foreign key checks": Case("", ("SET SESSION foreign_key_checks=0", "CREATE TABLE t (id INT REFERENCES p (id))")),
}  # fmt: skip


@pytest.fixture(scope="module")
def servers() -> Iterator[Mapping[str, Server]]:
    with ExitStack() as stack:
        versions = ("10.11", "11.8", "10.5")
        found = {version: stack.enter_context(mariadb_of_version(version)) for version in versions}
        found["10.11 target"] = stack.enter_context(mariadb_of_version("10.11"))
        yield found


def log_of(servers: Mapping[str, Server], case: Case, folder: Path) -> tuple[Path, str]:
    """Return the log of a case, and the URL of the target as it is before the apply."""
    source, target = servers[case.source], servers[case.target]
    for server in (source, target):
        databases = [str(row[0]) for row in server.sql("SHOW DATABASES")]
        server.sql(*(f"DROP DATABASE IF EXISTS {name}" for name in databases if name.startswith(("made", "paraply"))), "DO 1")
        server.sql("CREATE DATABASE made CHARACTER SET utf8mb4", *case.before)
    target.sql(*case.only_there, "DO 1")
    source.sql("FLUSH BINARY LOGS", "USE made", *case.statements, "FLUSH BINARY LOGS")
    name = str(source.sql("SHOW BINARY LOGS")[-2][0])
    return Path(shutil.copy(source.data / name, folder / name)), f"mariadb://app:app@127.0.0.1:{target.port}"


def both(log: Path, url: str, filters: Filters) -> tuple[DryRun, ParaplyError | None]:
    """Return the dry run, and the error with which the apply ends."""
    options = {"workers": 0, "allow_gap": True, "gtid": "none"}
    with Applier([log], make_target(url), filters=filters, **options) as applier:  # type: ignore[arg-type]
        found = applier.dry_run()
    assert found is not None
    try:
        with Applier([log], make_target(url), filters=filters, **options) as applier:  # type: ignore[arg-type]
            applier.run()
    except ParaplyError as error:
        return found, error
    return found, None


@pytest.mark.parametrize("name", CASES)
def test_the_dry_run_names_what_ends_the_apply(servers: Mapping[str, Server], tmp_path: Path, name: str) -> None:
    case = CASES[name]
    log, url = log_of(servers, case, tmp_path)
    found, error = both(log, url, case.filters)
    stops = sorted((stop.place.position, stop.problem) for stop in (*found.statements, *found.stops) if stop.problem)
    assert stops[:1] == ([] if error is None else [(error.position, error.message)])
    assert bool(stops) is bool(case.reason)
    assert all(case.reason in problem for _, problem in stops)
    assert (found.before_stop is not None) is bool(stops)


def test_a_parent_that_the_filters_leave_out(servers: Mapping[str, Server], tmp_path: Path) -> None:
    keys = "FOREIGN KEY mine (id) REFERENCES p (id)"
    statements = ("CREATE TABLE p (id INT PRIMARY KEY)", "CREATE TABLE u (id INT)", f"CREATE TABLE t (id INT, {keys})")
    log, url = log_of(servers, Case("", statements), tmp_path)
    found, error = both(log, url, parse_filters(exclude_tables=["made.p"]))
    stops = [(stop.place.position, stop.problem) for stop in found.statements if stop.problem]
    assert error is not None
    assert [position for position, _ in stops] == [error.position]
    assert "refers to made.p, which the target does not have here" in stops[0][1]
    assert found.before_stop == 1
    assert any("made.t refers to made.p" in note and "is left out" in note for note in found.run_plan.notes)
