"""A DDL of the log that the user has made by hand: its definitions, compared with the target's tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from paraply.errors import LogNotUnderstood, SchemaMismatch
from paraply.schema.ddl import change as ch
from paraply.targets.ddl_answer import not_done
from paraply.targets.postgres.ddl.schema_change import DdlPlan, TableKey
from paraply.targets.postgres.keys import carried_keys, index_name
from paraply.targets.postgres.table_check import check_table
from paraply.targets.postgres.types import map_table, quote_identifier, quote_literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from paraply.schema.model import Table
    from paraply.targets.postgres.connection import PgConnection
    from paraply.targets.postgres.types import TableMapping

__all__ = ["DoneDdl", "done_changes"]


@dataclass(slots=True)
class DoneDdl:
    """A statement that counts as done.

    Attributes:
        plan: Its definitions, without steps.
        emptied: Tables that it left without rows.
    """

    plan: DdlPlan = field(default_factory=DdlPlan)
    emptied: set[TableKey] = field(default_factory=set)

    def check(self, connection: PgConnection) -> None:
        """Compare the target with the definitions.

        Raises:
            SchemaMismatch: A table is not as the statement leaves it; the message names the first difference.
            TypeNotMapped: A column type has no counterpart.
        """
        for database, name in sorted(self.plan.forget - set(self.plan.define)):
            if _exists(connection, database, name):
                raise SchemaMismatch(not_done(f"it has a table {database}.{name}"), table=f"{database}.{name}")
        for table in self.plan.define.values():
            difference = _difference(connection, table)
            if difference is not None:
                raise SchemaMismatch(not_done(difference), table=table.full_name)
        for database, name in sorted(self.emptied):
            target = f"{quote_identifier(database)}.{quote_identifier(name)}"
            if _exists(connection, database, name) and connection.run([f"SELECT 1 FROM {target} LIMIT 1".encode()])[0].ntuples:
                raise SchemaMismatch(not_done("the table has rows"), table=f"{database}.{name}")


def done_changes(changes: Sequence[ch.SchemaChange], known: Mapping[TableKey, Table]) -> DoneDdl:
    """Return the effect of the changes on the definitions.

    Args:
        changes: Changes of the statement, in order.
        known: The source's tables before the statement, as far as the target has them.

    Raises:
        LogNotUnderstood: The log does not tell the definitions after the statement.
    """
    done = DoneDdl()
    for change in changes:
        _take(change, done, known)
    return done


def _take(change: ch.SchemaChange, done: DoneDdl, known: Mapping[TableKey, Table]) -> None:
    plan = done.plan
    match change:
        case ch.DropDatabase(database=database):
            for key in {*known, *plan.define} - plan.forget:
                if key[0] == database:
                    plan.remove(key)
        case ch.CreateTable(table=table):
            plan.put(table)
        case ch.DropTable(database=database, name=name):
            if (database, name) in known or (database, name) in plan.define:
                plan.remove((database, name))
        case ch.TruncateTable(database=database, name=name):
            done.emptied.add((database, name))
        case ch.RenameTable(old_database=database, old_name=name, table=table):
            plan.remove((database, name))
            plan.put(table)
        case ch.AlterTable(old=old, new=new):
            plan.remove((old.database, old.name))
            plan.put(new)
        case ch.Unknown(reason=reason, tables=tables, databases=databases, everything=everything):
            if not everything and not databases and not any(key in known or key in plan.define for key in tables):
                return  # tables that are new: their rows, if there are any, stop until --schema defines them
            raise LogNotUnderstood(
                f"--ddl-done: the log does not tell the definitions after the statement ({reason}): begin another --channel with"
                " --start-after (everything up to this transaction) and --schema (a dump of the source's tables as they are there)"
            )
        case ch.CreateDatabase() | ch.AlterDatabase() | ch.Irrelevant():
            return


def _difference(connection: PgConnection, table: Table) -> str | None:
    """Return the first difference of the target's table from the source's definition in words; None if there is none."""
    mapping = map_table(table)
    try:
        check_table(connection, mapping)
    except SchemaMismatch as error:
        return error.message
    return next(_more_differences(connection, table, mapping), None)


def _more_differences(connection: PgConnection, table: Table, mapping: TableMapping) -> Iterator[str]:
    """Yield the differences in NOT NULL and in keys, which do not matter for rows, but for the statements after it."""
    relation = f"{quote_literal(mapping.target)}::regclass"
    select = f"SELECT attname, attnotnull FROM pg_attribute WHERE attrelid = {relation} AND attnum > 0 AND NOT attisdropped"
    rows = connection.run([select.encode()])[0]
    required = {(rows.get_value(row, 0) or b"").decode() for row in range(rows.ntuples) if rows.get_value(row, 1) == b"t"}
    for column in mapping.columns:
        if column.nullable == (column.name in required):
            verb = "DROP" if column.nullable else "SET"
            statement = f"ALTER TABLE {mapping.target} ALTER COLUMN {quote_identifier(column.name)} {verb} NOT NULL"
            yield f"column {column.name} of {mapping.target} {'takes no' if column.nullable else 'takes'} NULL there ({statement})"
    if difference := _index_difference(connection, table, mapping):
        yield difference


class _Index(NamedTuple):
    """An index of the target's table.

    Attributes:
        name: Its name.
        primary: True if it is the primary key's.
        unique: True if it is unique.
        columns: Names of its columns in order; empty for an index with an expression or a condition.
    """

    name: str
    primary: bool
    unique: bool
    columns: tuple[str, ...]


def _index_difference(connection: PgConnection, table: Table, mapping: TableMapping) -> str | None:
    """Return the first missing index in words, or else all indexes that have other names than those of the definitions; None for none."""
    there = _indexes(connection, mapping)
    names = {index.name for index in there}
    renames = []
    for key in carried_keys(table, mapping).values():
        wanted = index_name(mapping.table, key.name)
        if wanted in names:
            continue
        same = (key.primary, key.unique, key.columns)
        found = next((index for index in there if (index.primary, index.unique, index.columns) == same), None)
        if found is None:
            primary = next((index for index in there if index.primary and key.primary), None)
            drop = f"ALTER TABLE {mapping.target} DROP CONSTRAINT {quote_identifier(primary.name)}; " if primary is not None else ""
            return f"{mapping.target} has no index for key {key.name} ({drop}{key.create(mapping)})"
        there.remove(found)
        renames.append(key.rename(mapping.schema, found.name, wanted))
    if not renames:
        return None
    what = "an index has another name" if len(renames) == 1 else f"{len(renames)} indexes have other names"
    return f"{what} than the next statements expect ({'; '.join(renames)})"


def _indexes(connection: PgConnection, mapping: TableMapping) -> list[_Index]:
    """Return the indexes of a table."""
    select = (
        "SELECT c.relname, i.indisprimary, i.indisunique, a.attname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid"
        " LEFT JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY AS k (attnum, place)"
        " ON i.indpred IS NULL AND i.indexprs IS NULL AND k.place <= i.indnkeyatts"
        " LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum"
        f" WHERE i.indrelid = {quote_literal(mapping.target)}::regclass ORDER BY c.relname, k.place"
    )
    rows = connection.run([select.encode()])[0]
    found: dict[str, _Index] = {}
    for row in range(rows.ntuples):
        name, column = ((rows.get_value(row, place) or b"").decode() for place in (0, 3))
        primary, unique = (rows.get_value(row, place) == b"t" for place in (1, 2))
        columns = found[name].columns if name in found else ()
        found[name] = _Index(name, primary, unique, (*columns, column) if column else columns)
    return list(found.values())


def _exists(connection: PgConnection, database: str, name: str) -> bool:
    regclass = quote_literal(f"{quote_identifier(database)}.{quote_identifier(name)}")
    found = connection.run([f"SELECT to_regclass({regclass}) IS NOT NULL".encode()])[0]
    return found.get_value(0, 0) == b"t"
