"""The row that an error of a MySQL or MariaDB server is about. The server does not report it, so the rows are compared with the target.

After the rollback of the failed transaction, each of its rows is looked up on the target by key, in order. Changes of the same key
by earlier rows of the transaction are taken into account. The result is the first row that would give the error.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from paraply.schema.readers.live import by_last_column
from paraply.targets.mysql.errors import DUPLICATE_KEY, NO_SUCH_ROW
from paraply.targets.mysql.rows.values import KeyColumn, condition, shown
from paraply.targets.mysql.sql import Connection, identifier, name_literal, query_each, rows_of, to_int, to_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from paraply._native import Block

__all__ = ["FoundRow", "RowFinder", "TableKeys", "UniqueKey"]

CHILD_STANDS = frozenset({1217, 1451})
NO_PARENT = frozenset({1216, 1452})

#: Most rows of a transaction that are compared, and most keys in one query.
_MOST_ROWS = 5000
_ASKED_AT_ONCE = 100
#: Most keys that are looked up without an index, and time limit of a query in seconds.
_ASKED_WITHOUT_INDEX = 10
_PATIENCE = 5
#: Most keys in the message if the row cannot be determined.
_NAMED = 3
_LONGEST = 300

_CONSTRAINT = re.compile(r"`((?:[^`]|``)+)`\.`((?:[^`]|``)+)`, CONSTRAINT `((?:[^`]|``)+)`")

Image = dict[int, Any]


@dataclass(frozen=True, slots=True)
class UniqueKey:
    """A unique key of a table, or a substitute for tables without one.

    Attributes:
        columns: Columns in the order of the key.
        unique: True if the key is unique.
        indexed: True if an index supports a lookup by the key.
    """

    columns: tuple[KeyColumn, ...]
    unique: bool = True
    indexed: bool = True

    def values(self, image: Image | None) -> tuple[Any, ...] | None:
        """Return the key's values in an image, or None if the image lacks one of them."""
        if image is None or any(column.position not in image for column in self.columns):
            return None
        return tuple(column.value(image[column.position]) for column in self.columns)

    def text(self, values: Sequence[Any]) -> str:
        """Return the key as text for messages, for example ``id=7``."""
        text = ", ".join(f"{column.name}={shown(column, value)}" for column, value in zip(self.columns, values, strict=True))
        return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."

    def where(self, values: Sequence[Any]) -> str:
        """Return the condition that finds the row."""
        return " AND ".join(condition(column, value) for column, value in zip(self.columns, values, strict=True))


class FoundRow(NamedTuple):
    """The row that an error is about.

    Attributes:
        table: Its table as ``database.table``; None if it is not known.
        key: Its key as text; None if it cannot be determined.
        hint: What else the target shows about the cause, to be added to the message.
    """

    table: str | None
    key: str | None = None
    hint: str = ""


class _Row(NamedTuple):
    """A changed row: its images before and after the change, limited to logged columns of interest."""

    before: Image | None
    after: Image | None

    @property
    def became(self) -> Image | None:
        """The whole row after the change; a minimal image lacks unchanged columns."""
        return {**(self.before or {}), **self.after} if self.after is not None else None


@dataclass(frozen=True, slots=True)
class TableKeys:
    """A table of the target with its unique keys, the primary key first.

    Attributes:
        database: The database.
        table: The table.
        columns: All columns, in order.
        keys: Its unique keys over whole columns; without one, a key of all comparable columns.
    """

    database: str
    table: str
    columns: tuple[KeyColumn, ...]
    keys: tuple[UniqueKey, ...]

    @property
    def name(self) -> str:
        """Database and table, quoted."""
        return f"{identifier(self.database)}.{identifier(self.table)}"

    @classmethod
    def read(cls, connection: Connection, database: str, table: str) -> TableKeys:
        """Read a table from the target's catalog."""
        where = f"table_schema={name_literal(database)} AND table_name={name_literal(table)}"
        statements = [
            (
                "SELECT column_name, data_type, column_type, character_maximum_length, character_set_name, ordinal_position"
                f" FROM information_schema.columns WHERE {where}"
            ),
            f"SELECT index_name, column_name, sub_part, seq_in_index FROM information_schema.statistics WHERE {where} AND non_unique=0",
        ]
        results = query_each(connection, statements)
        columns = tuple(KeyColumn.of(position, row) for position, row in enumerate(by_last_column(results[0].rows)))
        by_name = {column.name: column for column in columns}
        parts: dict[str, list[KeyColumn | None]] = {}
        for key, column, prefix in by_last_column(results[1].rows):
            found = by_name.get(to_text(column)) if prefix is None else None  # keys on expressions and prefixes are not used
            parts.setdefault(to_text(key), []).append(found)
        wholes = [parts[name] for name in sorted(parts, key=lambda name: (name != "PRIMARY", name))]
        keys = [UniqueKey(tuple(c for c in whole if c is not None)) for whole in wholes if None not in whole]
        if not keys:
            keys = [UniqueKey(tuple(column for column in columns if column.comparable), unique=False, indexed=False)]
        return cls(database, table, columns, tuple(keys))

    def key_for(self, images: Iterable[Image | None]) -> UniqueKey | None:
        """Return the first key whose columns are in all of the images."""
        given = [image for image in images if image is not None]
        whole = next((key for key in self.keys if all(key.values(image) is not None for image in given)), None)
        if whole is not None or not given:
            return whole
        present = set.intersection(*(set(image) for image in given))
        return UniqueKey(tuple(c for c in self.columns if c.position in present and c.comparable), unique=False, indexed=False)

    def text_of(self, row: _Row) -> str | None:
        """Return the row's key as text for messages."""
        image = row.before or row.after
        key = self.key_for([image])
        values = key.values(image) if key is not None else None
        return key.text(values) if key is not None and values else None


class RowFinder:
    """A search for the row that an error is about.

    Args:
        connection: Any connection to the target, outside of a transaction.
        block: The failed block, which is rolled back.
    """

    def __init__(self, connection: Connection, block: Block) -> None:
        self._connection = connection
        self._block = block

    def find(self, code: int, message: str, table: str | None) -> FoundRow:
        """Return the table and the key of the row.

        Args:
            code: The server's error number.
            message: The server's error message.
            table: The table as ``database.table``, if known.
        """
        if code in CHILD_STANDS or code in NO_PARENT:
            return self._foreign_key(code, message, table)
        keys = self._table(table)
        if keys is None:
            return FoundRow(table)
        rows = self._rows(keys)
        if code == NO_SUCH_ROW:
            return FoundRow(table, self._named(keys, rows, self._missing(keys, rows)))
        if code in DUPLICATE_KEY:
            return FoundRow(table, self._duplicate(keys, rows))
        return FoundRow(table, self._named(keys, rows, None))

    def _table(self, name: str | None) -> TableKeys | None:
        for table_map in self._block.table_maps():
            if name == f"{table_map.database}.{table_map.table}":
                return TableKeys.read(self._connection, table_map.database, table_map.table)
        return None

    def _rows(self, keys: TableKeys, more: Sequence[KeyColumn] = ()) -> list[_Row]:
        wanted = {column.position for key in keys.keys for column in key.columns} | {column.position for column in more}
        rows = [_Row(*change) for change in self._block.changes(keys.database, keys.table, sorted(wanted), _MOST_ROWS)]
        if keys.key_for(row.before or row.after for row in rows) in keys.keys:
            return rows
        # Minimal images lack the key: read all logged columns.
        return [_Row(*change) for change in self._block.changes(keys.database, keys.table, range(len(keys.columns)), _MOST_ROWS)]

    def _missing(self, keys: TableKeys, rows: list[_Row]) -> _Row | None:
        """Return the first row to change or delete that does not exist on the target."""
        key = keys.key_for(row.before for row in rows)
        if key is None or not key.columns:
            return None
        standing: dict[tuple[Any, ...], bool] = {}
        olds = [key.values(row.before) for row in rows]
        answers = self._stand(keys, key, {old for old in olds if old is not None})
        for row, old in zip(rows, olds, strict=True):
            if old is not None:
                if not standing.get(old, answers.get(old, True)):
                    return row
                # Without a unique key, another row may have the same values.
                if key.unique:
                    standing[old] = False
            new = key.values(row.became)
            if new is not None:
                standing[new] = True
        return None

    def _duplicate(self, keys: TableKeys, rows: list[_Row]) -> str | None:
        """Return the key of the first row whose new key belongs to another row."""
        unique = [key for key in keys.keys if key.unique]
        answers = [self._stand(keys, key, self._not_null(key, (row.became for row in rows))) for key in unique]
        standing: list[dict[tuple[Any, ...], bool]] = [{} for _ in unique]
        for row in rows:
            for key, answer, known in zip(unique, answers, standing, strict=True):
                old, new = key.values(row.before), key.values(row.became)
                if old is not None and old != new:
                    known[old] = False
                if new is None or None in new or new == old:
                    continue
                if known.get(new, answer.get(new, False)):
                    return key.text(new)
                known[new] = True
        return self._named(keys, rows, None)

    @staticmethod
    def _not_null(key: UniqueKey, images: Iterable[Image | None]) -> set[tuple[Any, ...]]:
        values = (key.values(image) for image in images)
        return {value for value in values if value is not None and None not in value}

    def _foreign_key(self, code: int, message: str, table: str | None) -> FoundRow:
        """Return table and key of the child without a parent, or of the parent with remaining children."""
        named = _CONSTRAINT.search(message)
        if named is None:
            return FoundRow(table)
        database, child, constraint = (part.replace("``", "`") for part in named.groups())
        results = self._connection.query(
            "SELECT column_name, referenced_table_schema, referenced_table_name, referenced_column_name, ordinal_position"
            f" FROM information_schema.key_column_usage WHERE constraint_schema={name_literal(database)}"
            f" AND table_name={name_literal(child)} AND constraint_name={name_literal(constraint)}"
        )
        parts = [[to_text(value) for value in row] for row in by_last_column(rows_of(results))]
        if not parts:
            return FoundRow(table)
        parent = f"{parts[0][1]}.{parts[0][2]}"
        here = f"{database}.{child}" if code in NO_PARENT else parent
        own, far = (0, 3) if code in NO_PARENT else (3, 0)
        keys = self._table(here)
        if keys is None:
            return FoundRow(here)
        others = TableKeys.read(self._connection, *((parts[0][1], parts[0][2]) if code in NO_PARENT else (database, child)))
        link = _Link(
            UniqueKey(tuple(c for part in parts for c in keys.columns if c.name == part[own]), unique=False),
            UniqueKey(tuple(c for part in parts for c in others.columns if c.name == part[far]), unique=False),
        )
        rows = self._rows(keys, link.here.columns)
        if code in NO_PARENT and len(link.there.columns) < len(link.here.columns):
            row = next((row for row in rows if None not in (link.here.values(row.after) or (None,))), None)
            hint = (
                f"; the foreign key {constraint} of {here} refers to {parent}, which is not in the target or has no such column: load that"
                " table too, or drop the foreign key in the target"
            )
            return FoundRow(here, self._named(keys, rows, row), hint)
        row = self._orphan(others, link, rows) if code in NO_PARENT else self._referred(others, link, rows)
        return FoundRow(here, self._named(keys, rows, row))

    def _orphan(self, parents: TableKeys, link: _Link, rows: list[_Row]) -> _Row | None:
        """Return the first row whose parent neither exists nor is inserted by the transaction."""
        answers = self._stand(parents, link.there, self._not_null(link.here, (row.after for row in rows)))
        changes = self._block.changes(parents.database, parents.table, [c.position for c in link.there.columns], _MOST_ROWS)
        made = self._not_null(link.there, (after for _, after in changes))
        for row in rows:
            value = link.here.values(row.after)
            if value is not None and None not in value and not answers.get(value, True) and value not in made:
                return row
        return None

    def _referred(self, children: TableKeys, link: _Link, rows: list[_Row]) -> _Row | None:
        """Return the first removed row with children that the transaction does not remove."""
        answers = self._stand(children, link.there, self._not_null(link.here, (row.before for row in rows)))
        changes = self._block.changes(children.database, children.table, [c.position for c in link.there.columns], _MOST_ROWS)
        gone = self._not_null(link.there, (before for before, _ in changes))
        candidates = []
        for row in rows:
            value = link.here.values(row.before)
            if value is not None and answers.get(value, False) and link.here.values(row.after) != value:
                if value not in gone:
                    return row
                candidates.append(row)
        return candidates[0] if len(candidates) == 1 else None

    def _stand(self, keys: TableKeys, key: UniqueKey, wanted: set[tuple[Any, ...]]) -> dict[tuple[Any, ...], bool]:
        """Return for each key whether the target has it; leave out keys that cannot be looked up."""
        found: dict[tuple[Any, ...], bool] = {}
        asked = list(wanted) if key.indexed else list(wanted)[:_ASKED_WITHOUT_INDEX]
        for some in _batches(asked):
            questions = ", ".join(f"EXISTS(SELECT 1 FROM {keys.name} WHERE {key.where(values)})" for values in some)
            answers = rows_of(self._connection.query(f"{self._select()} {questions}"))[0]
            found.update(zip(some, (bool(to_int(answer)) for answer in answers), strict=True))
        return found

    def _select(self) -> str:
        if "MariaDB" in self._connection.server_version:
            return f"SET STATEMENT max_statement_time={_PATIENCE} FOR SELECT"
        return f"SELECT /*+ MAX_EXECUTION_TIME({_PATIENCE * 1000}) */"

    @staticmethod
    def _named(keys: TableKeys, rows: list[_Row], row: _Row | None) -> str | None:
        """Return the key of the row; without a row, a text with the first few possible keys."""
        texts = [keys.text_of(found) for found in ([row] if row is not None else rows[:_NAMED])]
        named = [text for text in texts if text is not None]
        if row is not None or len(rows) == 1 or not named:
            return named[0] if named else None
        more = f" and {len(rows) - len(named)} more" if len(rows) > len(named) else ""
        return f"one of {'; '.join(named)}{more}"


class _Link(NamedTuple):
    """A foreign key: its columns in the table of the error, and its columns in the other table."""

    here: UniqueKey
    there: UniqueKey


def _batches(values: list[tuple[Any, ...]]) -> Iterator[list[tuple[Any, ...]]]:
    for start in range(0, len(values), _ASKED_AT_ONCE):
        yield values[start : start + _ASKED_AT_ONCE]
