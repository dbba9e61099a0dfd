"""Streams of random statements for one session, and of DDL."""

from __future__ import annotations

from collections.abc import Container, Iterator
from random import Random

from .tables import Column, Table, name

__all__ = ["ddl", "transactions"]


def transactions(r: Random, tables: list[Table], count: int, frozen: Container[str] = ()) -> Iterator[list[str]]:
    """So many transactions; each a list of statements, a single one to be committed by itself.

    Args:
        r: Where chance comes from.
        tables: The tables to write.
        count: How many.
        frozen: Full names of tables that are only inserted into.
    """
    for _ in range(count):
        if r.random() < 0.8:
            yield [_statement(r, r.choice(tables), frozen)]
            continue
        body = [_statement(r, r.choice(tables), frozen) for _ in range(r.randint(2, 5))]
        if r.random() < 0.15:
            body[1:1] = ["savepoint s"]
            body.append("rollback to savepoint s")
        yield ["begin", *body, "rollback" if r.random() < 0.05 else "commit"]


def _statement(r: Random, table: Table, frozen: Container[str]) -> str:
    kind = r.random()
    if kind < 0.45 or table.full_name in frozen:
        return _insert(r, table, table.full_name in frozen)
    if kind < 0.78:
        chosen = r.sample(table.writable(), r.randint(1, min(3, len(table.writable()))))
        sets = ", ".join(f"{name(c.name)} = {r.choice(c.pool)}" for c in chosen)
        return f"update ignore {table.full_name} set {sets} where {_where(r, table)} limit {r.randint(1, 2)}"
    return f"delete from {table.full_name} where {_where(r, table)} limit {r.randint(1, 2)}"


def _insert(r: Random, table: Table, plain: bool) -> str:
    columns = table.writable()
    names = ", ".join(name(c.name) for c in columns)
    rows = ", ".join("(" + ", ".join(r.choice(c.pool) for c in columns) + ")" for _ in range(r.choice((1, 1, 1, 2, 4))))
    how = "insert ignore" if plain else r.choice(("insert", "insert ignore", "insert ignore", "replace", "insert"))
    tail = ""
    if how == "insert" and r.random() < 0.4:
        column = r.choice(columns)
        tail = f" on duplicate key update {name(column.name)} = {r.choice(column.pool)}"
    return f"{how} into {table.full_name} ({names}) values {rows}{tail}"


def _where(r: Random, table: Table) -> str:
    column: Column = r.choice([c for c in table.columns if c.pool and c.type.sql not in ("json", "point", "vector(3)")])
    return f"{name(column.name)} <=> {r.choice(column.pool)}"


def ddl(r: Random, tables: list[Table], number: int) -> str:
    """One change of the schema that rows written under the old definition survive."""
    table = r.choice(tables)
    column = r.choice([c for c in table.columns if not c.generated and c.type.whole and c.type.sql not in ("json", "point", "vector(3)")])
    return r.choice((
        f"alter table {table.full_name} add column x{number} int default {number}",
        f"alter table {table.full_name} add unique key ux{number} ({name(column.name)})",
        f"alter table {table.full_name} add key kx{number} ({name(column.name)})",
        f"alter table {table.full_name} comment 'number {number}'",
        f"alter table {table.full_name} drop key ux{number - 1}",
        f"alter table {table.full_name} drop key ux{number - 2}",
        f"create table {name(table.database)}.n{number} like {table.full_name}",
        f"create table {name(table.database)}.s{number} (id int primary key) select {number} as id",
        f"create or replace view {name(table.database)}.v as select * from {table.full_name}",
        f"truncate table {table.full_name}" if not table.referable else f"analyze table {table.full_name}",
    ))  # fmt: skip
