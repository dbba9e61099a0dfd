"""Preconditions on a MySQL or MariaDB target for applying rows (R31 and R34)."""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paraply._native import KnownTables, RowEnds
from paraply.errors import ApplyFailed, SchemaMismatch, ServerError, UsageError
from paraply.schema.readers.live import by_last_column
from paraply.targets.mysql.ddl.collation_numbers import CollationNumbers
from paraply.targets.mysql.ddl.name_case import NameCase
from paraply.targets.mysql.preflight.privileges import Lack, account, lack_message
from paraply.targets.mysql.preflight.session_dependence import COLUMNS, SessionDependence
from paraply.targets.mysql.server_version import ServerKind
from paraply.targets.mysql.sql import Connection, identifier, name_literal, query_each, rows_of, to_int, to_text

if TYPE_CHECKING:
    from collections.abc import Callable, Set

    from paraply._native import Block, ColumnInfo, TableMap
    from paraply.targets.protocol import ApplyPlan

__all__ = ["TableChecker", "TargetColumn", "check_server", "words_of"]

_TRANSACTIONAL = frozenset({"innodb", "ndbcluster", "ndb", "rocksdb", "tokudb"})

# Type codes of table-map events.
_FLOAT, _DOUBLE, _VARCHAR, _BIT, _TIMESTAMP2, _DATETIME2, _TIME2 = 4, 5, 15, 16, 17, 18, 19
_JSON, _DECIMAL, _ENUM, _SET, _BLOB, _STRING, _GEOMETRY, _VECTOR = 245, 246, 247, 248, 252, 254, 255, 242
_FIXED = {"tinyint": (1, 0), "smallint": (2, 0), "int": (3, 0), "float": (_FLOAT, 4), "double": (_DOUBLE, 8), "bigint": (8, 0),
          "mediumint": (9, 0), "date": (10, 0), "year": (13, 0), "json": (_JSON, 4), "vector": (_VECTOR, 4),
          "uuid": (_STRING, 16), "inet6": (_STRING, 16), "inet4": (_STRING, 4)}  # fmt: skip
_BLOBS = {"tinyblob": 1, "tinytext": 1, "blob": 2, "text": 2, "mediumblob": 3, "mediumtext": 3, "longblob": 4, "longtext": 4}
_FRACTIONS = {"time": _TIME2, "datetime": _DATETIME2, "timestamp": _TIMESTAMP2}
_GEOMETRIES = frozenset({"geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon",
                         "geomcollection", "geometrycollection"})  # fmt: skip
#: MariaDB's temporal types before 10.1.2 and its compressed columns: another storage format of the same column. The server converts.
_OTHER_STORAGE = {7: _TIMESTAMP2, 11: _TIME2, 12: _DATETIME2, 14: 10, 140: _BLOB, 141: _VARCHAR}
_LONGLONG = 8
_VERSIONED, _ROW_END = "SYSTEM VERSIONED", "ROW END"
#: First version in which current rows of MariaDB's system-versioned tables end in 2106; before, they end in 2038.
_LATER_ENDS = (11, 5, 0)
_ANY = ServerKind(False, (9, 7, 0))
_NUMBERS = frozenset({1, 2, 3, 4, 5, _LONGLONG, 9, _DECIMAL})
_WORD = re.compile(r"[\w$\x80-\U0010ffff]+")
_ODD = ""
"""Stands for names that are not a single word."""
_LABEL = re.compile(r"'(?:[^']|'')*'")


@dataclass(frozen=True, slots=True)
class TargetColumn:
    """A column of the target, as described in its information_schema.

    Attributes:
        name: The name.
        declared: The declaration, for example ``int unsigned``.
        type_code: Type code in a table-map event; None for a type unknown to this version.
        metadata: Metadata in a table-map event.
        unsigned: Whether a number is UNSIGNED.
        charset: Character set, or None.
    """

    name: str
    declared: str
    type_code: int | None
    metadata: int
    unsigned: bool
    charset: str | None

    @classmethod
    def of(cls, row: tuple[Any, ...], *, mariadb: bool = False) -> TargetColumn:
        """Convert a row of the query of ``TableChecker``."""
        name, data_type, declared, octets, precision, scale, fraction, charset = row
        declared, data_type = to_text(declared), to_text(data_type).lower()
        code = _type_code(data_type, declared, to_int(octets), to_int(precision), to_int(scale), to_int(fraction))
        if mariadb and data_type == "vector":
            code = _VARCHAR, to_int(octets)
        type_code, metadata = code if code is not None else (None, 0)
        unsigned = "unsigned" in declared.lower() if data_type not in ("enum", "set") else False
        return cls(to_text(name), declared, type_code, metadata, unsigned, to_text(charset) or None)


def _type_code(data_type: str, declared: str, octets: int, precision: int, scale: int, fraction: int) -> tuple[int, int] | None:
    if data_type in _FIXED:
        return _FIXED[data_type]
    if data_type in _BLOBS:
        return _BLOB, _BLOBS[data_type]
    if data_type in _FRACTIONS:
        return _FRACTIONS[data_type], fraction
    if data_type in _GEOMETRIES:
        return _GEOMETRY, 4
    labels = len(_LABEL.findall(declared))
    others: dict[str, tuple[int, int]] = {
        "decimal": (_DECIMAL, precision << 8 | scale),
        "bit": (_BIT, precision % 8 << 8 | precision // 8),
        "char": (_STRING, octets),
        "binary": (_STRING, octets),
        "varchar": (_VARCHAR, octets),
        "varbinary": (_VARCHAR, octets),
        "enum": (_ENUM, 1 if labels < 256 else 2),
        "set": (_SET, 8 if labels > 32 else (labels + 7) // 8),
    }
    return others.get(data_type)


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

    def __init__(self, server: ServerKind = _ANY, *, allow_nontransactional: bool, names: NameCase | None = None) -> None:
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
        return cls(server, allow_nontransactional=plan.allow_nontransactional, names=names)

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
                    self._check_table(connect(), table_map)
                    word = _WORD.fullmatch(table_map.table)
                    self._named.setdefault(word[0].lower() if word else _ODD, []).append(key)
                    self._checked.add(key)

    def _check_table(self, connection: Connection, table_map: TableMap) -> None:
        self.names.check_rows(table_map.database, table_map.table)
        name = f"{table_map.database}.{table_map.table}"
        where = f"table_schema={name_literal(table_map.database)} AND table_name={name_literal(table_map.table)}"
        statements = [
            f"SELECT engine, table_type FROM information_schema.tables WHERE {where}",
            (
                "SELECT column_name, data_type, column_type, character_octet_length, numeric_precision, numeric_scale, datetime_precision,"
                f" character_set_name, {COLUMNS}, ordinal_position FROM information_schema.columns WHERE {where}"
            ),
            *self.session.question(where),
        ]
        results = query_each(connection, statements)
        self._check_engine(name, results[0][1], lambda: self._other_case(connection, table_map))
        self._note_sequence(table_map, to_text(results[0][1][0][1]))
        found = by_last_column(results[1][1])
        self.session.note(
            table_map, ((*row[:2], *row[8:11]) for row in found), sum(to_int(row[0]) for result in results[2:] for row in result[1])
        )
        columns = [TargetColumn.of(row[:8], mariadb=self._mariadb) for row in found]
        if not columns:
            lack = Lack("SELECT", f"{identifier(table_map.database)}.{identifier(table_map.table)}", "to compare the columns")
            raise ApplyFailed(lack_message([lack], account(connection)), table=name)
        own = table_map.columns
        versioned = to_text(results[0][1][0][1]).upper() == _VERSIONED
        if len(own) > len(columns):
            unique = "non_unique=0 AND index_type='HASH' AND seq_in_index=1"
            hashed = rows_of(connection.query(f"SELECT COUNT(*) FROM information_schema.statistics WHERE {where} AND {unique}"))[0][0]
            own = without_hidden(own, len(columns), to_int(hashed), versioned=versioned)
            self._refuse_functional(connection, name, where, len(own) - len(columns))
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
                raise SchemaMismatch(
                    f"the log's server may leave the generated column {to_text(found[0][0])} out of changed rows, and a target of an older"
                    " version would keep the column's old value: apply to a MariaDB of the source's version or later, or leave the table"
                    " out with --exclude-table",
                    table=f"{key[0]}.{key[1]}",
                )
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
            raise SchemaMismatch(
                "the log's rows also hold the hidden columns of the table's functional indexes, as those of MySQL 8.0.13 to 8.0.17 do,"
                " which a server takes from its own replication only: replay this log with --via replication, or leave the table out"
                " with --exclude-table",
                table=name,
            )

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
        if engine.lower() not in _TRANSACTIONAL and not self._allow_nontransactional:
            raise SchemaMismatch(
                f"the table's engine {engine} has no transactions, so that nothing could be applied exactly once:"
                " convert it to InnoDB, or give that up with --allow-nontransactional",
                table=name,
            )


def without_hidden(log: list[ColumnInfo], own: int, hashed: int, *, versioned: bool = False) -> list[ColumnInfo]:
    """Return the columns that the table's information_schema shows, without the hidden columns that MariaDB logs after them.

    The hidden columns are, in this order:

    - in a table WITH SYSTEM VERSIONING that names no columns for them, the start and end time of a row version;
    - a hash for each unique key that is too long for an index, or has ``USING HASH``.

    Source: logs of MariaDB 10.11. Its BINLOG statement stores the logged values of both, so that the target has the source's row history.

    Args:
        log: All columns of a table map.
        own: Number of columns that the target's table shows.
        hashed: Number of its unique keys with a hash.
        versioned: Whether the table is system-versioned.
    """
    behind = log[own:]
    times = 2 if versioned and len(behind) == hashed + 2 else 0
    are_times = all((column.type_code, column.metadata) == (_TIMESTAMP2, 6) for column in behind[:times])
    are_hashes = all(column.type_code == _LONGLONG and column.unsigned is not False for column in behind[times:])
    return log[:own] if len(behind) == times + hashed and are_times and are_hashes else log


_OLD_MODE = (
    "or, between MariaDB servers, give the target the source's old_mode (UTF8_IS_UTF8MB3), under which the name utf8 has another meaning,"
    " before the table is made: no log holds it"
)


def compare_columns(table: str, log: list[ColumnInfo], target: list[TargetColumn], charset_of: Callable[[int], str | None]) -> None:
    """Compare a table map's columns with the target's columns, in order.

    Raises:
        SchemaMismatch: A column differs; the message describes the first difference.
    """
    advice = "bring the target's tables to the state that they had where the log begins"
    if len(log) != len(target):
        raise SchemaMismatch(f"the table has {len(log)} columns in the log and {len(target)} on the target: {advice}", table=table)
    for number, (ours, theirs) in enumerate(zip(log, target, strict=True), 1):
        difference = _difference(ours, theirs, charset_of)
        if difference is not None:
            if "utf8" in (theirs.charset or ""):
                advice += f"; {_OLD_MODE}"
            raise SchemaMismatch(f"column {number} ({theirs.name} {theirs.declared} on the target) differs from the log's:"
                                 f" {difference}; {advice}", table=table)  # fmt: skip


def _difference(log: ColumnInfo, target: TargetColumn, charset_of: Callable[[int], str | None]) -> str | None:
    if log.name is not None and log.name.lower() != target.name.lower():
        return f"there it is {log.name}"
    if target.type_code is None:
        return "its type is not known to this version"
    code = _OTHER_STORAGE.get(log.type_code, log.type_code)
    if code != target.type_code:
        return f"there its type has code {log.type_code}, here {target.type_code}"
    if code == log.type_code and log.metadata != target.metadata:
        return f"there its length or precision is {log.metadata}, here {target.metadata}"
    if log.unsigned is not None and code in _NUMBERS and log.unsigned != target.unsigned:
        return "there it is UNSIGNED" if log.unsigned else "there it is not UNSIGNED"
    if log.collation_id is not None and target.charset is not None:
        charset = charset_of(log.collation_id)
        if charset is not None and charset != target.charset:
            return f"there its character set is {charset}"
    return None


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
