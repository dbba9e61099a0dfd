"""Random sequences of ALTER TABLE keep the catalog equal to the server's."""

from __future__ import annotations

import pymysql
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paraply.schema.catalog import SchemaCatalog
from paraply.schema.live import read_tables
from tests.server.test_schema_against_server import DATABASE, comparable, context_of, difference, runner
from tests.servers import MariaDbServer, mariadb_server

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
ALTERS = st.lists(st.lists(ACTIONS, min_size=1, max_size=3).map(", ".join), min_size=1, max_size=8)


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(alters=ALTERS)
def test_random_alters_keep_the_catalog_equal_to_the_servers(mariadb_server: MariaDbServer, alters: list[str]) -> None:
    with mariadb_server.connect() as connection:
        run = runner(connection)
        context = context_of(run, mariadb=True)
        catalog = SchemaCatalog(complete=True)
        run("SET SESSION sql_mode='STRICT_ALL_TABLES'")
        start = [f"create or replace database {DATABASE} charset utf8mb4", "create table p (id int primary key)",
                 "create table t (a int, b varchar(20), c int not null, key (c))"]  # fmt: skip
        done = []
        for sql in [*start, *(f"alter table t {actions}" for actions in alters)]:
            try:
                run(sql)
            except pymysql.err.MySQLError:
                continue
            if sql == start[0]:
                run(f"USE {DATABASE}")
            done.append(sql)
            catalog.advance(sql, DATABASE, context, mariadb=True, version=(10, 11, 6))
            ours = {table.name: comparable(table) for table in catalog}
            theirs = {table.name: comparable(table) for table in read_tables(run, [DATABASE])}
            # R13: unknown is allowed, different is not.
            for name, table in ours.items():
                if table != theirs.get(name):
                    pytest.fail("\n".join([*done, difference(table, theirs.get(name))]))
