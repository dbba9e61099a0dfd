"""Application of an ALTER TABLE to a table's definition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from paraply.schema.ddl.elements import ColumnSpec, ForeignSpec, KeySpec
from paraply.schema.ddl.lexer import DdlSyntaxError
from paraply.schema.ddl.rules import Rules
from paraply.schema.ddl.statements import (
    Action,
    AddColumn,
    AddConstraint,
    AlterTableStatement,
    ChangeColumn,
    Conversion,
    DropPart,
    RenameKey,
    TableOptions,
)
from paraply.schema.generated_key import keeps_generated_key_first
from paraply.schema.model import Column, KeyPart, Table
from paraply.schema.readers.build import Draft, Lookup, column_of, same_name
from paraply.schema.types import TypeSpec, convert_charset

__all__ = ["Altered", "alter"]


@dataclass(frozen=True, slots=True)
class Altered:
    """A table after an ALTER: its definition, the old names of renamed columns by their new ones, and the names of added columns."""

    table: Table
    column_renames: dict[str, str]
    added: tuple[str, ...]


def alter(table: Table, statement: AlterTableStatement, rules: Rules, lookup: Lookup, defaults: TableOptions) -> Altered:
    """Return the definition after the statement, still under the old table name.

    Args:
        table: The definition before.
        statement: The ALTER TABLE.
        rules: Rules by which the server parses definitions.
        lookup: Returns the definitions of other tables, for foreign keys.
        defaults: Character set and collation of the table after the statement; ``convert`` is for its columns.

    Raises:
        DdlSyntaxError: The statement contradicts the definition, so the definition is wrong.
    """
    first = table.columns[0].name if keeps_generated_key_first(table, defaults.engine, rules) else None
    work = _Work(Draft.of(table), statement, rules, first)
    work.draft.charset, work.draft.collation = defaults.charset, defaults.collation
    work.draft.engine = defaults.engine
    work.drop_parts()
    work.change_columns()
    work.place_columns()
    if defaults.convert is not None:
        work.convert(defaults.convert)
    work.follow_renames()
    work.add_constraints(lookup)
    work.draft.promote_timestamp(rules)
    result = work.draft.table()
    return Altered(result, work.renames, tuple(work.added))


class _Work:
    """The steps of an ALTER, in the order of the server."""

    def __init__(self, draft: Draft, statement: AlterTableStatement, rules: Rules, first: str | None) -> None:
        self.draft = draft
        self.actions = statement.actions
        self.single = statement.single
        self.rules = rules
        self.first = first
        self.renames: dict[str, str] = {}
        self.added: list[str] = []
        self.before = list(draft.columns)
        self.kept = self.before
        self.keys_before = [key.name or "" for key in draft.keys]
        self.foreign_keys_before = [key.name for key in draft.foreign_keys]
        self.moved: dict[str, str] = {}

    def drop_parts(self) -> None:
        """Drop columns, keys and foreign keys, and rename keys. A key loses its dropped columns, and is dropped with the last of them.

        The statement names all of them as they were called before it, in whatever order it has its actions.
        """
        for action in self.actions:
            if isinstance(action, DropPart):
                self._drop(action)
        self.kept = list(self.draft.columns)
        self._rename_keys([action for action in self.actions if isinstance(action, RenameKey)])

    def _drop(self, action: DropPart) -> None:
        draft = self.draft
        found = False
        if action.what == "column":
            found = draft.has_column(action.name)
            if found:
                self._drop_column(draft.columns[draft.find(action.name)])
        if action.what in ("foreign key", "constraint"):
            left = [key for key in draft.foreign_keys if not same_name(key.name, action.name)]
            found = len(left) < len(draft.foreign_keys)
            # DROP CONSTRAINT leaves a foreign key in place, without an error, where MariaDB copies the table (observed on 10.5 to 11.8).
            # The log does not show that. A foreign key too many makes nothing wrong.
            if action.what == "foreign key" or self.single or not self.rules.mariadb:
                draft.foreign_keys = left
        if action.what == "key" or (action.what == "constraint" and not found):
            any_key = action.what == "key"
            kept = [key for key in draft.keys if not (same_name(key.name or "", action.name) and (any_key or key.unique))]
            found, draft.keys = len(kept) < len(draft.keys), kept
            found = found or (any_key and self._lost_with_its_columns(action.name))
        if not found and not action.if_exists and action.what != "constraint":
            raise DdlSyntaxError(f"there is no {action.what} {action.name}")

    def _lost_with_its_columns(self, key: str) -> bool:
        """Return True if a key existed before the statement. The servers check all names before they drop anything."""
        return any(same_name(name, key) for name in self.keys_before)

    def _drop_column(self, column: Column) -> None:
        draft = self.draft
        draft.columns.remove(column)
        if self._comes_again(column):
            return
        keys = []
        for key in draft.keys:
            parts = tuple(part for part in key.parts if part.column is None or not same_name(part.column, column.name))
            if parts:
                keys.append(replace(key, parts=parts))
        draft.keys = keys

    def _comes_again(self, column: Column) -> bool:
        """Return True if the statement also adds a column with the name of a dropped one: keys refer to columns by name, so they keep it.

        ADD IF NOT EXISTS adds none, because it looks at the table before the statement.

        Source: observed on MySQL 9.7 and MariaDB 10.11 and 11.8.
        """
        adds = [action for action in self.actions if isinstance(action, AddColumn) and same_name(action.column.name, column.name)]
        adds = [action for action in adds if not action.if_not_exists]
        keyed = any(part.column is not None and same_name(part.column, column.name) for key in self.draft.keys for part in key.parts)
        if keyed and any(action.column.type.type.endswith(("text", "blob")) for action in adds):
            raise DdlSyntaxError(f"column {column.name} is dropped and added, and its keys depend on the old one")
        return bool(adds)

    def _rename_keys(self, actions: Sequence[RenameKey]) -> None:
        """Rename keys, all at once: two may exchange their names."""
        new_names: dict[str, str] = {}
        for action in actions:
            there = any(same_name(key.name or "", action.old_name) for key in self.draft.keys)
            if not there and not action.if_exists and not self._lost_with_its_columns(action.old_name):
                raise DdlSyntaxError(f"there is no key {action.old_name}")
            if there:
                new_names[action.old_name.lower()] = action.new_name

        def renamed(key: KeySpec) -> KeySpec:
            new_name = new_names.get((key.name or "").lower())
            return key if new_name is None else replace(key, name=new_name, generated=False)

        self.draft.keys = [renamed(key) for key in self.draft.keys]

    def change_columns(self) -> None:
        """Replace the definitions of changed columns at their places, from which ``place_columns`` moves those with FIRST or AFTER."""
        changes = [action for action in self.actions if isinstance(action, ChangeColumn)]
        result = list(self.draft.columns)
        for action in changes:
            if self._is_skipped(action) or self._is_of_added(action):
                continue
            place = self.draft.find(action.old_name)
            old = result[place]
            new = self._changed(old, action)
            result[place] = new
            if action.new_name is not None and new.name != self.draft.columns[place].name:
                self.renames[new.name] = self.draft.columns[place].name
            if action.position is not None:
                self.moved[action.old_name.lower()] = new.name
        self.draft.columns = result

    def _changed(self, old: Column, action: ChangeColumn) -> Column:
        if action.column is not None:
            return self._column(action.column)
        if action.invisible is not None:
            return replace(old, invisible=action.invisible)
        return replace(old, name=action.new_name or old.name)

    def place_columns(self) -> None:
        """Insert new columns and move others to their positions, in the order of the statement.

        A column that moves stays at its old place, with its new name, until its turn: AFTER finds it there.
        """
        for place, action in enumerate(self.actions):
            if isinstance(action, AddColumn):
                if action.if_not_exists and self._is_there(action.column.name, self.actions[:place]):
                    continue
                if self.draft.has_column(action.column.name):
                    raise DdlSyntaxError(f"there is a column {action.column.name} already")
                self.added.append(action.column.name)
                self._insert(self._column(action.column), action.position)
            elif isinstance(action, ChangeColumn) and action.column is not None and self._is_of_added(action):
                self._replace_added(action.column, action.position)
            elif isinstance(action, ChangeColumn) and action.position is not None and action.old_name.lower() in self.moved:
                self._insert(self.draft.columns.pop(self.draft.find(self.moved[action.old_name.lower()])), action.position)

    def _column(self, spec: ColumnSpec) -> Column:
        return column_of(spec, self.draft.charset, self.draft.collation, self.rules)

    def _had(self, name: str) -> bool:
        return any(same_name(column.name, name) for column in self.before)

    def _is_there(self, name: str, before: Sequence[Action]) -> bool:
        """Return True if ADD IF NOT EXISTS finds a column in the table before the statement, or in an ADD, CHANGE or MODIFY before it.

        That may be one which IF EXISTS skips (observed on MariaDB 10.11 and 11.8).
        """
        specs = [action.column for action in before if isinstance(action, (AddColumn, ChangeColumn)) and action.column is not None]
        return self._had(name) or any(same_name(spec.name, name) for spec in specs)

    def _is_skipped(self, action: ChangeColumn) -> bool:
        """Return True if IF EXISTS does not find the column in the table before the statement."""
        return action.if_exists and not self._had(action.old_name)

    def _is_of_added(self, action: ChangeColumn) -> bool:
        """Return True for MariaDB's CHANGE or MODIFY of a column that the statement adds, which replaces the added one.

        So does the second one with the name of a column that was there: the first takes that column.
        """
        if not self.rules.mariadb or action.column is None or self._is_skipped(action):
            return False
        changes = (other for other in self.actions if isinstance(other, ChangeColumn) and other.column is not None)
        first = next(other for other in changes if same_name(other.old_name, action.old_name) and not self._is_skipped(other))
        return first is not action or not any(same_name(column.name, action.old_name) for column in self.kept)

    def _replace_added(self, spec: ColumnSpec, position: str | tuple[str] | None) -> None:
        """Put a column in the place of one that the statement added before; MariaDB looks for it by the new name."""
        if not _is_in(spec.name, self.added):
            raise DdlSyntaxError(f"there is no column {spec.name}")
        self.draft.columns.pop(self.draft.find(spec.name))
        self.added = [spec.name if same_name(name, spec.name) else name for name in self.added]
        self._insert(self._column(spec), position)

    def _insert(self, column: Column, position: str | tuple[str] | None) -> None:
        columns = self.draft.columns
        if position is None:
            columns.append(column)
        elif isinstance(position, str):
            behind = self.first is not None and bool(columns) and same_name(columns[0].name, self.first)
            columns.insert(1 if behind else 0, column)
        else:
            columns.insert(self.draft.find(position[0]) + 1, column)

    def convert(self, to: Conversion) -> None:
        """Apply CONVERT TO CHARACTER SET to every character column, including changed and new ones."""
        if to.charset is None:
            raise DdlSyntaxError("the character set to convert to is not known")
        self.draft.columns = [self._converted(column, to.charset, to.collation) for column in self.draft.columns]

    def _converted(self, column: Column, charset: str, collation: str | None) -> Column:
        spec = TypeSpec(column.type, column.length, charset=column.charset, collation=column.collation)
        new = convert_charset(spec, charset, collation, self.rules)
        return replace(column, type=new.type, length=new.length, charset=new.charset, collation=new.collation)

    def follow_renames(self) -> None:
        """Rename the columns in keys and foreign keys."""
        new_names = {old.lower(): new for new, old in self.renames.items()}
        if new_names:
            # MariaDB rewrites the expressions of generated columns, except those in the statement itself.
            self.draft.columns = [replace(column, expression=None) for column in self.draft.columns]

        def renamed(name: str) -> str:
            return new_names.get(name.lower(), name)

        def part(old: KeyPart) -> KeyPart:
            return old if old.column is None else replace(old, column=self._in_key(old.column, renamed(old.column)))

        draft = self.draft
        draft.keys = [replace(key, parts=tuple(part(p) for p in key.parts)) for key in draft.keys]
        for place, key in enumerate(draft.foreign_keys):
            own = key.parent_database == draft.database and key.parent_table == draft.name
            parents = tuple(renamed(name) for name in key.parent_columns) if own else key.parent_columns
            draft.foreign_keys[place] = replace(key, columns=tuple(renamed(name) for name in key.columns), parent_columns=parents)

    def _in_key(self, old_name: str, new_name: str) -> str:
        """Return the column of an old key: the first whose name before the statement, or whose name in ADD, is the key's.

        Source: observed on MySQL 9.7 and MariaDB 10.11 and 11.8.
        """
        if not _is_in(old_name, self.added):
            return new_name
        return min(old_name, new_name, key=self.draft.find)

    def add_constraints(self, lookup: Lookup) -> None:
        """Add the keys and foreign keys of the statement and of its columns, also those of a column that IF NOT EXISTS skips."""
        keys: list[tuple[str, str]] = []
        foreign_keys = list(self.foreign_keys_before)
        for action in self.actions:
            if isinstance(action, AddConstraint):
                self._add_constraint(action.spec, keys, foreign_keys, lookup)
            elif isinstance(action, (AddColumn, ChangeColumn)) and action.column is not None:
                column = action.column
                # MariaDB applies IF NOT EXISTS and IF EXISTS of the column to its keys too (observed on 10.5 and 11.8).
                if action.if_not_exists if isinstance(action, AddColumn) else action.if_exists:
                    column = replace(
                        column,
                        primary=column.primary and not self._is_taken(("PRIMARY", "primary"), keys),
                        unique=column.unique and not self._is_taken((column.name, "unique"), keys),
                    )
                keys += [("PRIMARY", "primary")] * column.primary + [(column.name, "unique")] * column.unique
                self.draft.add_column_keys(column, self.rules, lookup)

    def _add_constraint(self, spec: KeySpec | ForeignSpec, keys: list[tuple[str, str]], foreign_keys: list[str], lookup: Lookup) -> None:
        """Add a key or foreign key; ``keys`` holds the statement's keys so far, ``foreign_keys`` those and the ones before it."""
        if isinstance(spec, KeySpec):
            key = (_key_name(spec), "primary" if spec.primary else "unique" if spec.unique else spec.kind)
            there = self._is_taken(key, keys)
            keys.append(key)
        else:
            there = _is_in(_foreign_key_name(spec), foreign_keys)
            foreign_keys.append(_foreign_key_name(spec))
        if not (spec.if_not_exists and there):
            self.draft.add_elements([spec], self.rules, lookup)

    def _is_taken(self, key: tuple[str, str], keys: Sequence[tuple[str, str]]) -> bool:
        """Return True if IF NOT EXISTS finds a key before the statement, or one of the same kind before it in the statement."""
        return _is_in(key[0], [*self.keys_before, *(name for name, kind in keys if kind == key[1])])


def _is_in(name: str, names: Sequence[str]) -> bool:
    return any(same_name(name, other) for other in names)


def _key_name(spec: KeySpec) -> str:
    """Return the name that IF NOT EXISTS looks for: without one, that of the first column. Observed on MariaDB 10.5 and 11.8."""
    return spec.name or spec.parts[0].column or ""


def _foreign_key_name(spec: ForeignSpec) -> str:
    """Return the name that IF NOT EXISTS looks for among foreign keys. Observed on MariaDB 10.5 and 11.8."""
    return spec.index_name or spec.name or spec.columns[0]
