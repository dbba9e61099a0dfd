"""Random sequences of ALTER TABLE keep the catalog equal to the server's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pymysql
import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from tests.mariadb_versions import MARIADB_VERSIONS, mariadb_of_version
from tests.server.schema.test_schema_against_server import DATABASE, Run, comparable, context_of, difference, mysql_connection, runner
from tests.servers import MariaDbServer, mariadb_server, mysql_url

from paraply.schema.advance import advance
from paraply.schema.catalog import SchemaCatalog
from paraply.schema.model import Key, Table
from paraply.schema.readers.live import read_tables

__all__ = ["mariadb_server"]

NAMES = st.sampled_from(["a", "b", "c", "d", "B"])
KEYS = st.sampled_from(["a", "b", "k", "a_2"])
TYPES = st.sampled_from(
    [
        "int",
        "int not null",
        "varchar(9)",
        "varchar(30) collate utf8mb4_bin not null",
        "text",
        "char(4) charset latin1",
        "int unsigned unique",
    ]
)
PLACES = st.sampled_from(["", " first", " after a", " after c"])
PARTS = st.lists(st.sampled_from(["a", "b", "c", "d", "a(3)", "c desc"]), min_size=1, max_size=3, unique=True).map(", ".join)


def _text(template: str, **parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.fixed_dictionaries(parts).map(lambda values: template.format(**values))


ACTIONS = st.one_of(
    _text("add column {n} {t}{p}", n=NAMES, t=TYPES, p=PLACES),
    _text("drop column {n}", n=NAMES),
    _text("modify {n} {t}{p}", n=NAMES, t=TYPES, p=PLACES),
    _text("change {n} {m} {t}{p}", n=NAMES, m=NAMES, t=TYPES, p=PLACES),
    _text("rename column {n} to {m}", n=NAMES, m=NAMES),
    _text("add {u}key ({parts})", u=st.sampled_from(["", "unique "]), parts=PARTS),
    _text("add {u}key {k} ({parts})", u=st.sampled_from(["", "unique "]), k=KEYS, parts=PARTS),
    _text("add primary key ({parts})", parts=PARTS),
    _text("drop key {k}", k=KEYS),
    _text("rename key {k} to {l}", k=KEYS, l=KEYS),
    _text("add foreign key ({n}) references p (id)", n=NAMES),
    st.just("drop primary key"),
    st.just("convert to character set latin1"),
    st.just("default charset utf8mb4 collate utf8mb4_unicode_ci"),
)

#: Columns that stand first, and invisible ones, in every server that has them.
ORDERS = st.one_of(
    ACTIONS,
    _text("add column {n} {t} invisible{p}", n=NAMES, t=TYPES, p=PLACES),
    _text("add column {n} int first, add column {m} int first", n=NAMES, m=NAMES),
    _text("modify {n} {t} invisible{p}", n=NAMES, t=TYPES, p=PLACES),
    _text("add column {n} int as (1) virtual{p}", n=NAMES, p=PLACES),
    st.just("add unique key ((a + 1))"),
)
ROW_ID = "my_row_id bigint unsigned not null auto_increment"
#: MySQL's generated invisible primary key, and columns of the same name.
GENERATED_KEYS = st.one_of(
    ORDERS,
    _text("add column {n} {t} after my_row_id", n=NAMES, t=TYPES),
    _text("alter column my_row_id set {v}", v=st.sampled_from(["visible", "invisible"])),
    _text("add column {c}{i} primary key{p}", c=st.just(ROW_ID), i=st.sampled_from(["", " invisible"]), p=PLACES),
    _text("modify {c}{p}", c=st.just(ROW_ID), p=PLACES),
    _text("drop primary key, drop column my_row_id{more}", more=st.sampled_from(["", ", add column d int first", ", add primary key (c)"])),
    st.sampled_from(["engine=myisam", "engine=innodb"]),
)


@dataclass
class Understood:
    """Count of the ALTERs of a known table that the server took, and of those that left it known."""

    statements: int = 0
    known: int = 0

    def add(self, known: bool) -> None:
        """Count an ALTER."""
        self.statements += 1
        self.known += known


@pytest.fixture
def understood() -> Iterator[Understood]:
    """Count over all examples of a test, and ask for nine in ten: a parser that knows nothing is never different."""
    counts = Understood()
    yield counts
    print(f"{counts.known} of {counts.statements} ALTERs were understood")
    assert counts.statements >= 5
    assert counts.known >= 0.9 * counts.statements, counts


def _alters(actions: st.SearchStrategy[str]) -> st.SearchStrategy[list[str]]:
    return st.lists(st.lists(actions, min_size=1, max_size=3).map(", ".join), min_size=1, max_size=8)


def _compare(
    run: Run,
    alters: Sequence[str],
    *,
    mariadb: bool,
    version: tuple[int, int, int],
    made: str,
    before: str = "",
    seen: Callable[[Table], Table] = comparable,
    understood: Understood,
) -> None:
    """Run each ALTER in the server and on a catalog, and compare the two after each of them.

    Args:
        run: Runs a statement in the server.
        alters: The actions of each ALTER.
        mariadb: True if it is a MariaDB.
        version: The server's version.
        made: The statement that makes the table.
        before: What is run behind it.
        seen: What of a table is compared.
        understood: Counts the ALTERs that keep the table known.
    """
    context = context_of(run, mariadb=mariadb)
    catalog = SchemaCatalog(complete=True)
    run("SET SESSION sql_mode='STRICT_ALL_TABLES'")
    done = []
    run(f"DROP DATABASE IF EXISTS {DATABASE}")
    start = [f"create database {DATABASE} charset utf8mb4", "create table p (id int primary key)", made]
    for sql in [*start, *(f"alter table t {actions}" for actions in alters)]:
        try:
            run(sql)
        except pymysql.err.MySQLError:
            continue
        if sql == start[0]:
            run(f"USE {DATABASE}")
        logged = sql
        if sql == made:  # the log has the text with the generated key, as SHOW CREATE TABLE does
            logged = str(run("SHOW CREATE TABLE t")[0][1])
            if before:
                run(before)
        done.append(logged)
        was_known = sql not in start and any(table.name == "t" for table in catalog)
        advance(catalog, logged, DATABASE, context, mariadb=mariadb, version=version)
        parsed = {table.name: seen(table) for table in catalog}
        held = {table.name: seen(table) for table in read_tables(run, [DATABASE])}
        if was_known:
            understood.add("t" in parsed)
        # R13: unknown is allowed, different is not.
        for name, table in parsed.items():
            if table != held.get(name):
                pytest.fail("\n".join([*done, difference(table, held.get(name))]))


def without_cut_keys(table: Table) -> Table:
    """Leave out the lengths of keys over a TEXT: MariaDB cuts one that is not unique to what its engine can hold."""
    whole = comparable(table)
    texts = {column.name for column in whole.columns if column.type.endswith("text")}

    def uncut(key: Key) -> Key:
        return replace(key, parts=tuple(replace(part, prefix=None) if part.column in texts else part for part in key.parts))

    return replace(whole, keys=tuple(key if key.unique else uncut(key) for key in whole.keys))


def columns_and_unique_keys(table: Table) -> Table:
    """Return the parts of a definition that the reading of rows depends on."""
    whole = comparable(table)
    return replace(whole, keys=tuple(key for key in whole.keys if key.unique), foreign_keys=())


MADE = "create table t (a int, b varchar(20), c int not null, key (c))"
FEW = settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@FEW
@given(alters=_alters(ACTIONS))
@example(alters=["add column a int", "modify c text"])
@example(alters=["drop column a", "add column a int, add column c int, drop column c"])
def test_random_alters_keep_the_catalog_equal_to_the_servers(
    mariadb_server: MariaDbServer, understood: Understood, alters: list[str]
) -> None:
    with mariadb_server.connect() as connection:
        _compare(runner(connection), alters, mariadb=True, version=(10, 11, 6), made=MADE, seen=without_cut_keys, understood=understood)


@pytest.fixture(scope="module", params=MARIADB_VERSIONS)
def mariadb(request: pytest.FixtureRequest) -> Iterator[tuple[Any, tuple[int, int, int]]]:
    with mariadb_of_version(request.param) as server:
        yield server, (*map(int, request.param.split(".")), 9)  # type: ignore[misc]


QUICK = settings(FEW, phases=(Phase.explicit, Phase.reuse, Phase.generate))
"""Without shrinking, which takes many statements of a server."""


@QUICK
@given(alters=_alters(ORDERS))
def test_random_places_of_columns_in_every_mariadb(
    mariadb: tuple[Any, tuple[int, int, int]], understood: Understood, alters: list[str]
) -> None:
    server, version = mariadb
    with server.connect() as connection:
        run = runner(connection)
        _compare(run, alters, mariadb=True, version=version, made=MADE, seen=columns_and_unique_keys, understood=understood)


@pytest.fixture
def mysql() -> str:
    """The MySQL that tests may empty. Asked for before the count, which a test that skips would leave at none."""
    return mysql_url()


@settings(QUICK, max_examples=40)
@given(alters=_alters(GENERATED_KEYS), generates=st.booleans(), made=st.sampled_from([MADE, "create table t (c int not null)"]))
@example(alters=["add column d bigint first"], generates=True, made=MADE)
@example(alters=["alter column my_row_id set visible, add column d int first", "add column b int first"], generates=True, made=MADE)
@example(alters=["engine=myisam, add column d int first"], generates=False, made=MADE)
@example(alters=["engine=myisam", "engine=innodb, add column d int first"], generates=False, made=MADE)
@example(
    alters=["drop primary key, drop column my_row_id", f"add column {ROW_ID} invisible primary key", "add column d int first"],
    generates=False,
    made=MADE,
)
def test_random_places_of_columns_beside_a_generated_key_of_mysql(
    mysql: str, understood: Understood, alters: list[str], generates: bool, made: str
) -> None:
    connection = mysql_connection()
    try:
        run = runner(connection)
        run("SET SESSION sql_generate_invisible_primary_key=1")
        version = str(run("SELECT VERSION()")[0][0]).split("-", 1)[0].split(".")
        _compare(
            run,
            alters,
            mariadb=False,
            version=(int(version[0]), int(version[1]), int(version[2])),
            made=made,
            seen=columns_and_unique_keys,
            understood=understood,
            before="" if generates else "SET SESSION sql_generate_invisible_primary_key=0",
        )
    finally:
        connection.close()
