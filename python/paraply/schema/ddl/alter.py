"""Parser for ALTER TABLE, CREATE INDEX and DROP INDEX."""

from __future__ import annotations

from paraply.schema.collations import canonical_charset, canonical_collation
from paraply.schema.ddl.create import read_elements, read_option
from paraply.schema.ddl.cursor import Cursor
from paraply.schema.ddl.elements import ColumnSpec, KeySpec, Kind, at_constraint, read_column, read_constraint, read_key_options, read_parts
from paraply.schema.ddl.statements import (
    Action,
    AddColumn,
    AddConstraint,
    AlterTableStatement,
    ChangeColumn,
    Conversion,
    DropPart,
    Name,
    RenameKey,
    TableOptions,
)

__all__ = ["read_alter_table", "read_create_index", "read_drop_index"]

PARTITION_WORDS = ("PARTITION", "PARTITIONING")
#: Actions on partitions that change rows without logging them.
_UNLOGGED = ("DROP", "TRUNCATE", "EXCHANGE", "DISCARD", "IMPORT")


def read_alter_table(cursor: Cursor) -> AlterTableStatement:
    """Parse the part of a statement after ``ALTER TABLE``."""
    if_exists = cursor.accept("IF", "EXISTS")
    name = cursor.table_name()
    if cursor.accept("WAIT"):
        cursor.number()
    cursor.accept("NOWAIT")
    reader = _Reader(cursor)
    while not cursor.done and not reader.finished:
        reader.action()
        if cursor.accept(",") and cursor.done:
            cursor.fail("an action")
    return AlterTableStatement(
        name, tuple(reader.actions), reader.options, reader.rename, if_exists, reader.taken, reader.made, reader.unlogged, reader.exchanged,
        single=reader.count == 1,
    )  # fmt: skip


class _Reader:
    """The parsed actions of one ALTER TABLE."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.actions: list[Action] = []
        self.options: TableOptions | None = None
        self.rename: Name | None = None
        self.taken: Name | None = None
        self.made: Name | None = None
        self.unlogged = ""
        self.exchanged: Name | None = None
        self.finished = False
        self.count = 0

    def action(self) -> None:
        """Parse one action; table options may follow each other without a comma."""
        cursor = self.cursor
        self.count += 1
        if self._partitions():
            self.finished = True
        elif cursor.accept("ADD"):
            self._add()
        elif cursor.accept("DROP"):
            self._drop()
        elif cursor.at("CHANGE") or cursor.at("MODIFY"):
            self._change()
        elif cursor.accept("RENAME"):
            self._rename()
        elif cursor.accept("ALTER"):
            self._alter()
        elif cursor.accept("CONVERT", "TO"):
            self._convert()
        elif not self._without_meaning():
            self.options = self.options or TableOptions()
            read_option(cursor, self.options)

    def _partitions(self) -> bool:
        """Parse an action on partitions, and return True for one.

        It is the last action; only MariaDB's CONVERT creates or takes a table.
        """
        cursor = self.cursor
        first, second = cursor.token.upper, cursor.ahead(1).upper
        if cursor.accept("CONVERT", "PARTITION"):
            cursor.name()
            cursor.expect("TO", "TABLE")
            self.made, self.unlogged = cursor.table_name(), "CONVERT PARTITION"
            return True
        if cursor.accept("CONVERT", "TABLE"):
            self.taken, self.unlogged = cursor.table_name(), "CONVERT TABLE"
            cursor.expect("TO", "PARTITION")
            return True
        verbs = ("ADD", "DROP", "DISCARD", "IMPORT", "TRUNCATE", "COALESCE", "REORGANIZE", "EXCHANGE", "ANALYZE", "CHECK", "OPTIMIZE",
                 "REBUILD", "REPAIR", "REMOVE")  # fmt: skip
        if first not in verbs or second not in PARTITION_WORDS:
            return first == "PARTITION" and second == "BY"
        if first in _UNLOGGED:
            self.unlogged = f"{first} PARTITION"
        if cursor.accept("EXCHANGE", "PARTITION"):
            cursor.name()
            cursor.expect("WITH", "TABLE")
            self.exchanged = cursor.table_name()
        return True

    def _without_meaning(self) -> bool:
        """Skip an action that does not change the definition, and return True for one."""
        cursor = self.cursor
        if cursor.accept_any(("FORCE", "ENABLE", "DISABLE", "NOWAIT")):
            cursor.accept("KEYS")
            return True
        if cursor.accept_any(("ALGORITHM", "LOCK")):
            cursor.accept("=")
            cursor.next()
            return True
        if cursor.accept_any(("WITH", "WITHOUT")):
            cursor.expect("VALIDATION")
            return True
        if cursor.accept("ORDER", "BY"):
            while True:
                cursor.column_name()
                cursor.accept_any(("ASC", "DESC"))
                if not cursor.accept(","):
                    return True
        verb = cursor.token.upper
        if cursor.accept_any(("DISCARD", "IMPORT")):
            cursor.expect("TABLESPACE")
            self.unlogged = f"{verb} TABLESPACE"
            return True
        return cursor.accept("SECONDARY_LOAD") or cursor.accept("SECONDARY_UNLOAD")

    def _add(self) -> None:
        cursor = self.cursor
        if cursor.at("SYSTEM", "VERSIONING"):
            cursor.fail("no system versioning")
        if at_constraint(cursor):
            constraint = read_constraint(cursor)
            if constraint is not None:
                self.actions.append(AddConstraint(constraint))
            return
        cursor.accept("COLUMN")
        if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
        if cursor.at("("):
            for element in read_elements(cursor):
                if isinstance(element, ColumnSpec):
                    self.actions.append(AddColumn(element, None, if_not_exists))
                else:
                    self.actions.append(AddConstraint(element))
            return
        column = read_column(cursor)
        self.actions.append(AddColumn(column, self._position(), if_not_exists))

    def _position(self) -> str | tuple[str] | None:
        if self.cursor.accept("FIRST"):
            return "FIRST"
        return (self.cursor.column_name(),) if self.cursor.accept("AFTER") else None

    def _drop(self) -> None:
        cursor = self.cursor
        if cursor.at("SYSTEM", "VERSIONING") or cursor.at("PERIOD", "FOR"):
            cursor.fail("no system versioning")
        if cursor.accept("PRIMARY", "KEY"):
            self.actions.append(DropPart("key", "PRIMARY"))
            return
        what = "column"
        if cursor.accept("FOREIGN", "KEY"):
            what = "foreign key"
        elif cursor.accept_any(("KEY", "INDEX")):
            what = "key"
        elif cursor.accept("CONSTRAINT"):
            what = "constraint"
        elif cursor.accept("CHECK"):
            what = "check"
        else:
            cursor.accept("COLUMN")
        if_exists = cursor.accept("IF", "EXISTS")
        name = cursor.column_name() if what == "column" else cursor.name()
        cursor.accept_any(("RESTRICT", "CASCADE"))
        if what != "check":
            self.actions.append(DropPart(what, name, if_exists))

    def _change(self) -> None:
        cursor = self.cursor
        change = cursor.next().upper == "CHANGE"
        cursor.accept("COLUMN")
        if_exists = cursor.accept("IF", "EXISTS")
        old_name = cursor.column_name()
        column = read_column(cursor, None if change else old_name)
        self.actions.append(ChangeColumn(old_name, column, column.name, None, self._position(), if_exists))

    def _rename(self) -> None:
        cursor = self.cursor
        if cursor.accept("COLUMN"):
            if_exists = cursor.accept("IF", "EXISTS")
            old_name = cursor.column_name()
            cursor.expect("TO")
            self.actions.append(ChangeColumn(old_name, new_name=cursor.column_name(), if_exists=if_exists))
        elif cursor.accept_any(("KEY", "INDEX")):
            if_exists = cursor.accept("IF", "EXISTS")
            old_name = cursor.name()
            cursor.expect("TO")
            self.actions.append(RenameKey(old_name, cursor.name(), if_exists))
        else:
            cursor.accept_any(("TO", "AS", "="))
            self.rename = cursor.table_name()

    def _alter(self) -> None:
        cursor = self.cursor
        if cursor.accept("CHECK") or cursor.accept("CONSTRAINT"):
            cursor.name()
            cursor.accept("NOT")
            cursor.expect("ENFORCED")
            return
        if cursor.accept_any(("INDEX", "KEY")):
            cursor.accept("IF", "EXISTS")
            cursor.name()
            cursor.skip_to_separator()
            return
        cursor.accept("COLUMN")
        if_exists = cursor.accept("IF", "EXISTS")
        name = cursor.column_name()
        if cursor.accept("SET", "INVISIBLE"):
            self.actions.append(ChangeColumn(name, invisible=True, if_exists=if_exists))
        elif cursor.accept("SET", "VISIBLE"):
            self.actions.append(ChangeColumn(name, invisible=False, if_exists=if_exists))
        elif cursor.accept("SET", "DEFAULT") or cursor.accept("DROP", "DEFAULT"):
            cursor.skip_to_separator()
        else:
            cursor.fail("SET or DROP")

    def _convert(self) -> None:
        cursor = self.cursor
        if not (cursor.accept("CHARACTER", "SET") or cursor.accept("CHAR", "SET")):
            cursor.expect("CHARSET")
        charset = canonical_charset(cursor.next().text)
        collation = canonical_collation(cursor.next().text) if cursor.accept("COLLATE") else None
        known = None if charset == "default" else charset
        before = self.options or TableOptions()
        self.options = TableOptions(engine=before.engine, convert=Conversion(known, collation, (before.charset, before.collation)))


def read_create_index(cursor: Cursor, kind: str, *, replace: bool = False) -> AlterTableStatement:
    """Parse the part of a statement after ``CREATE [OR REPLACE] [UNIQUE|FULLTEXT|SPATIAL|VECTOR] INDEX``."""
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    name = cursor.name()
    if cursor.accept("USING") or cursor.accept("TYPE"):
        cursor.name()
    cursor.expect("ON")
    table = cursor.table_name()
    if cursor.accept("WAIT"):
        cursor.number()
    cursor.accept("NOWAIT")
    key_kind: Kind = "fulltext" if kind == "FULLTEXT" else "spatial" if kind == "SPATIAL" else "btree"
    key = KeySpec(name, read_parts(cursor), unique=kind == "UNIQUE", kind=key_kind, if_not_exists=if_not_exists)
    read_key_options(cursor)
    _pass_waits(cursor)
    dropped = (DropPart("key", name, if_exists=True),) if replace else ()
    return AlterTableStatement(table, (*dropped, AddConstraint(key)))


def read_drop_index(cursor: Cursor) -> AlterTableStatement:
    """Parse the part of a statement after ``DROP INDEX``."""
    if_exists = cursor.accept("IF", "EXISTS")
    name = cursor.name()
    cursor.expect("ON")
    table = cursor.table_name()
    _pass_waits(cursor)
    return AlterTableStatement(table, (DropPart("key", name, if_exists),))


def _pass_waits(cursor: Cursor) -> None:
    """Skip the execution options of CREATE INDEX and DROP INDEX; anything else after them is an error."""
    while not cursor.done:
        if cursor.accept_any(("ALGORITHM", "LOCK")):
            cursor.accept("=")
            cursor.next()
        elif cursor.accept("WAIT"):
            cursor.number()
        elif not cursor.accept("NOWAIT"):
            cursor.expect_end()
