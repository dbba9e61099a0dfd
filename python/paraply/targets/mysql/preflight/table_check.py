"""Preconditions on a MySQL or MariaDB target for applying rows (R31 and R34)."""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING, Any

from paraply._native import KnownTables, RowEnds
from paraply.errors import ApplyFailed, SchemaMismatch, ServerError, UsageError
from paraply.schema.readers.live import by_last_column
from paraply.targets.mysql.ddl.collation_numbers import CollationNumbers
from paraply.targets.mysql.ddl.name_case import NameCase
from paraply.targets.mysql.preflight.column_check import TargetColumn, check_extra, compare_columns, may_end_in_hidden, without_hidden
from paraply.targets.mysql.preflight.privileges import Lack, account, lack_message
from paraply.targets.mysql.preflight.session_dependence import COLUMNS, SessionDependence
from paraply.targets.mysql.server_version import ServerKind
from paraply.targets.mysql.sql import Connection, identifier, name_literal, query_each, rows_of, to_int, to_text

if TYPE_CHECKING:
    from collections.abc import Callable, Set

    from paraply._native import Block, TableMap
    from paraply.targets.protocol import ApplyPlan

__all__ = ["TableChecker", "TargetColumn", "check_server", "compare_columns", "generated_refusal", "refuse_engine", "words_of"]

_TRANSACTIONAL = frozenset({"innodb", "ndbcluster", "ndb", "rocksdb", "tokudb"})
#: Databases of the server's own tables, whose engine is the server's choice.
_OF_SERVER = frozenset({"mysql", "sys"})

_VERSIONED, _ROW_END = "SYSTEM VERSIONED", "ROW END"
#: First version in which current rows of MariaDB's system-versioned tables end in 2106; before, they end in 2038.
_LATER_ENDS = (11, 5, 0)
_ANY = ServerKind(False, (9, 7, 0))
_WORD = re.compile(r"[\w$\x80-\U0010ffff]+")
_ODD = ""
"""Stands for names that are not a single word."""


def words_of(sql: str) -> set[str]:
    """Return the words of a statement, in lower case. They include the name of its table, unless that is not a single word.

    >>> sorted(words_of("ALTER TABLE `Shop`.item COMMENT 'a `b'"))
    ['a', 'alter', 'b', 'comment', 'item', 'shop', 'table']
    """
    return {word.lower() for word in _WORD.findall(sql)}


class TableChecker:
    """A comparison of the log's table maps with the target's tables. A table is compared once, and again after a DDL that may change it.

    At the start, all workers need the same few tables. One worker compares a table, and the others wait for the result.
    """

    def __init__(
        self, server: ServerKind = _ANY, *, allow_nontransactional: bool, names: NameCase | None = None, has_gtids: bool = True
    ) -> None:
        self._has_gtids = has_gtids
        self._mariadb = server.mariadb
        self._version = server.version
        self._allow_nontransactional = allow_nontransactional
        self.names = names or NameCase()
        """Comparison of table names between source and target."""
        self._checked: set[tuple[str, str, int]] = set()
        self._named: dict[str, list[tuple[str, str, int]]] = {}
        self._locks: dict[tuple[str, str, int], threading.Lock] = {}
        self._computes: set[tuple[str, str]] = set()
        self._sequences: set[tuple[str, str]] = set()
        self.session = SessionDependence(server)
        """Tables whose rows depend on the settings of the session that applies them."""
        self._collations: CollationNumbers | None = None
        self.row_ends = RowEnds(server.version >= _LATER_ENDS) if server.mariadb else None
        """Columns of system-versioned tables whose values differ between versions of MariaDB."""
        self.known = KnownTables()
        """Compared table maps, by their bytes in the log."""

    @classmethod
    def of(cls, connection: Connection, server: ServerKind, plan: ApplyPlan) -> TableChecker:
        """Return the checker of an apply."""
        names = NameCase.read(connection, plan.lower_case_table_names)
        return cls(server, allow_nontransactional=plan.allow_nontransactional, names=names, has_gtids=plan.has_gtids)

    def forget(self, words: Set[str] | None = None) -> None:
        """Discard the results for tables that a DDL may have changed.

        The other results are kept, because a comparison takes two or three queries. Comparing all tables again took two thirds of the time
        for a log with 1,000 tables and 40 ALTER TABLE statements.

        Args:
            words: Words of the statement (``words_of``); None if unknown, so that all tables are compared again.
        """
        self.known.clear()
        self._computes.clear()
        if words is None or not words.isdisjoint(("database", "schema")):
            self._checked, self._named, self._locks = set(), {}, {}
            return
        for key in [key for name in (_ODD, *words) for key in self._named.pop(name, ())]:
            self._checked.discard(key)
            self._locks.pop(key, None)

    def sequences_of(self, block: Block) -> list[tuple[str, str]]:
        """Return the sequences whose rows in a block, or in a part of it, must be written as SQL. The tables must have been checked."""
        if not self._sequences:
            return []
        return sorted(self._sequences & {(table_map.database, table_map.table) for table_map in block.table_maps()})

    def collations(self, connection: Connection) -> CollationNumbers:
        """Return the target's collations, which are read once."""
        if self._collations is None:
            self._collations = CollationNumbers.read(connection)
        return self._collations

    def check(self, connect: Callable[[], Connection], maps: list[TableMap], version: tuple[int, int, int]) -> None:
        """Compare the tables that have not been compared yet.

        Args:
            connect: Returns any connection to the target, outside of a transaction.
            maps: Table maps of a block.
            version: Version of the server that wrote the log.

        Raises:
            SchemaMismatch: A table is missing, differs, or has an engine without transactions.
        """
        if ServerKind(self._mariadb, version).leaves_generated_out and self._version[:2] < version[:2]:
            self._check_generated(connect, maps)
        for table_map in maps:
            key = (table_map.database, table_map.table, table_map.fingerprint)
            if key in self._checked:
                continue
            with self._locks.setdefault(key, threading.Lock()):
                if key not in self._checked:
                    self._check_table(connect(), table_map, version)
                    word = _WORD.fullmatch(table_map.table)
                    self._named.setdefault(word[0].lower() if word else _ODD, []).append(key)
                    self._checked.add(key)

    def _check_table(self, connection: Connection, table_map: TableMap, version: tuple[int, int, int]) -> None:
        from paraply.targets.mysql.ddl.own_database import check_own_rows

        check_own_rows(table_map.database, table_map.table)
        self.names.check_rows(table_map.database, table_map.table)
        name = f"{table_map.database}.{table_map.table}"
        where = f"table_schema={name_literal(table_map.database)} AND table_name={name_literal(table_map.table)}"
        statements = [
            f"SELECT engine, table_type FROM information_schema.tables WHERE {where}",
            (
                "SELECT column_name, data_type, column_type, character_octet_length, numeric_precision, numeric_scale, datetime_precision,"
                f" character_set_name, {COLUMNS}, is_nullable, column_default, ordinal_position FROM information_schema.columns"
                f" WHERE {where}"
            ),
            *self.session.question(where),
        ]
        results = query_each(connection, statements)
        self._check_engine(name, results[0].rows, lambda: self._other_case(connection, table_map))
        self._note_sequence(table_map, to_text(results[0].rows[0][1]))
        found = by_last_column(results[1].rows)
        self.session.note(
            table_map, ((*row[:2], *row[8:11]) for row in found), sum(to_int(row[0]) for result in results[2:] for row in result.rows)
        )
        columns = [TargetColumn.of(row[:8], mariadb=self._mariadb) for row in found]
        if not columns:
            lack = Lack("SELECT", f"{identifier(table_map.database)}.{identifier(table_map.table)}", "to compare the columns")
            raise ApplyFailed(lack_message([lack], account(connection)), table=name)
        own = table_map.columns
        versioned = to_text(results[0].rows[0][1]).upper() == _VERSIONED
        if len(own) > len(columns):
            unique = "non_unique=0 AND index_type='HASH' AND seq_in_index=1"
            hashed = rows_of(connection.query(f"SELECT COUNT(*) FROM information_schema.statistics WHERE {where} AND {unique}"))[0][0]
            own = without_hidden(own, len(columns), to_int(hashed), versioned=versioned)
            self._refuse_functional(connection, name, where, len(own) - len(columns))
        elif len(own) < len(columns) and not may_end_in_hidden(own, version, mariadb=self._mariadb):
            for row in found[len(own) :]:
                check_extra(name, row[0], row[8], *row[11:13], mariadb=self._mariadb)
            columns = columns[: len(own)]
        compare_columns(name, own, columns, self.collations(connection).charset)
        if self.row_ends is not None:
            named = next((place for place, row in enumerate(found) if to_text(row[8] or "").upper() == _ROW_END), None)
            # If the table names no columns for the times of a row, the log has them directly after the other columns.
            hidden = len(columns) + 1 if named is None and len(table_map.columns) > len(columns) else None
            fractions = [to_int(row[6]) if row[6] is not None else None for row in found]
            self.row_ends.note(table_map.fingerprint, (named if named is not None else hidden) if versioned else None, fractions)

    def _check_generated(self, connect: Callable[[], Connection], maps: list[TableMap]) -> None:
        """Refuse tables with generated columns.

        An older MariaDB keeps the old value of such a column if the log omits it (observed on 10.11).
        """
        for table_map in maps:
            key = (table_map.database, table_map.table)
            if key in self._computes:
                continue
            where = f"table_schema={name_literal(key[0])} AND table_name={name_literal(key[1])}"
            generated = "generation_expression IS NOT NULL AND generation_expression NOT IN ('', 'ROW START', 'ROW END')"
            found = rows_of(connect().query(f"SELECT column_name FROM information_schema.columns WHERE {where} AND {generated} LIMIT 1"))
            if found:
                raise generated_refusal(f"{key[0]}.{key[1]}", to_text(found[0][0]))
            self._computes.add(key)

    def _refuse_functional(self, connection: Connection, name: str, where: str, more: int) -> None:
        """Raise an error if the additional columns in the log are the hidden columns of the table's functional indexes."""
        if more <= 0:
            return
        try:
            rows = rows_of(connection.query(f"SELECT COUNT(*) FROM information_schema.statistics WHERE {where} AND expression IS NOT NULL"))
        except ServerError:  # a server without functional indexes
            return
        if to_int(rows[0][0]) == more:
            raise hidden_refusal(name, has_gtids=self._has_gtids)

    def _note_sequence(self, table_map: TableMap, table_type: str) -> None:
        key = (table_map.database, table_map.table)
        if table_type.upper() == "SEQUENCE":
            self._sequences.add(key)
        else:
            self._sequences.discard(key)

    def _other_case(self, connection: Connection, table_map: TableMap) -> str:
        """Return a hint if the target has a table whose name differs only in upper and lower case; else an empty text."""
        places = ((f"table_{part}", name) for part, name in (("schema", table_map.database), ("name", table_map.table)))
        where = " AND ".join(f"LOWER({column})=LOWER({name_literal(name)})" for column, name in places)
        rows = rows_of(connection.query(f"SELECT table_schema, table_name FROM information_schema.tables WHERE {where} LIMIT 1"))
        if not rows:
            return ""
        return (
            f"; the target has {to_text(rows[0][0])}.{to_text(rows[0][1])}, which differs only in upper and lower case: source and target"
            " must have the same lower_case_table_names"
        )

    def _check_engine(self, name: str, rows: list[tuple[Any, ...]], hint: Callable[[], str]) -> None:
        if not rows:
            raise SchemaMismatch(
                "the log changes a table that the target lacks, or on which the user has no privilege: start the log where it is created,"
                f" create it, or grant the privilege{hint()}",
                table=name,
            )
        engine, table_type = map(to_text, rows[0])
        if "VIEW" in table_type.upper():
            raise SchemaMismatch("the log changes a table that is a view on the target", table=name)
        refuse_engine(name, engine, allowed=self._allow_nontransactional)


def refuse_engine(table: str, engine: str, *, allowed: bool) -> None:
    """Refuse a table whose engine has no transactions.

    Args:
        table: ``database.table``.
        engine: The table's engine.
        allowed: True if the user accepts such tables.

    Raises:
        SchemaMismatch: The engine has no transactions, and the user does not accept that.

    >>> refuse_engine("mysql.time_zone_name", "Aria", allowed=False)
    Traceback (most recent call last):
    ...
    paraply.errors.SchemaMismatch: the table's engine Aria has no transactions, ... --exclude-database mysql, or give that up ...
    """
    if engine.lower() not in _TRANSACTIONAL and not allowed:
        database = table.partition(".")[0]
        way = f"leave the server's own tables out with --exclude-database {database}" if database in _OF_SERVER else "convert it to InnoDB"
        raise SchemaMismatch(
            f"the table's engine {engine} has no transactions, so that nothing could be applied exactly once:"
            f" {way}, or give that up with --allow-nontransactional",
            table=table,
        )


def hidden_refusal(table: str, *, has_gtids: bool) -> SchemaMismatch:
    """Return the error for rows that hold the hidden columns of functional indexes.

    Args:
        table: ``database.table``.
        has_gtids: True if the log has GTIDs, without which ``--via replication`` does not take it.

    >>> str(hidden_refusal("shop.t", has_gtids=False)).partition("only: ")[2]
    'leave the table out with --exclude-table, and copy it otherwise; the log has no GTIDs, as --via replication needs (table shop.t)'
    """
    way = (
        "replay this log with --via replication, or leave the table out with --exclude-table"
        if has_gtids
        else "leave the table out with --exclude-table, and copy it otherwise; the log has no GTIDs, as --via replication needs"
    )
    return SchemaMismatch(
        "the log's rows also hold the hidden columns of the table's functional indexes, as those of MySQL 8.0.13 to 8.0.17 do,"
        f" which a server takes from its own replication only: {way}",
        table=table,
    )


def generated_refusal(table: str, column: str) -> SchemaMismatch:
    """Return the error for a generated column, of which a target of an older MariaDB would keep the old value.

    Args:
        table: ``database.table``.
        column: The generated column.
    """
    return SchemaMismatch(
        f"the log's server may leave the generated column {column} out of changed rows, and a target of an older"
        " version would keep the column's old value: apply to a MariaDB of the source's version or later, or leave the table"
        " out with --exclude-table",
        table=table,
    )


def check_server(connection: Connection, server: ServerKind) -> None:
    """Check the server settings that row events depend on.

    Raises:
        UsageError: A setting has a wrong value; the message names the setting and the statement that changes it.
    """
    prefix = "replica" if not server.mariadb and server.version >= (8, 0, 26) else "slave"
    rows = rows_of(connection.query(f"SELECT @@GLOBAL.{prefix}_exec_mode, @@GLOBAL.read_only"))
    mode, read_only = rows[0]
    if to_text(mode).upper() != "STRICT":
        raise UsageError(
            f"the target ignores missing rows ({prefix}_exec_mode is {to_text(mode)}): run SET GLOBAL {prefix}_exec_mode='STRICT' there"
        )
    if server.mariadb:
        triggers = to_text(rows_of(connection.query("SELECT @@GLOBAL.slave_run_triggers_for_rbr"))[0][0])
        if triggers.upper() != "NO":
            raise UsageError("the target would run triggers for replicated rows: run SET GLOBAL slave_run_triggers_for_rbr='NO' there")
    elif to_int(rows_of(connection.query("SELECT @@GLOBAL.super_read_only"))[0][0]):
        raise ApplyFailed("the target is read only: run SET GLOBAL super_read_only=OFF there")
    # Users with SUPER or READ ONLY ADMIN may write to a read-only server. For others, writing the progress tables will fail.
    _ = read_only
