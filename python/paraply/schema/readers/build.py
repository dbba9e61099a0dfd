"""Construction of table definitions from parsed columns, keys and foreign keys, with the names and additions of the server."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from paraply.schema.ddl.elements import ColumnSpec, ForeignSpec, KeySpec
from paraply.schema.ddl.lexer import DdlSyntaxError
from paraply.schema.ddl.literals import to_utc
from paraply.schema.ddl.rules import Rules
from paraply.schema.ddl.statements import Element
from paraply.schema.model import Column, Default, ForeignKey, Key, KeyPart, Table
from paraply.schema.types import resolve_type

__all__ = ["Draft", "Lookup", "column_of", "in_order", "same_name"]

Lookup = Callable[[str, str], Table | None]
WITHOUT_FOREIGN_KEYS = ("myisam", "memory", "aria", "archive", "csv", "blackhole")
GENERATED_KEYS = "generated_keys"


def same_name(left: str, right: str) -> bool:
    """Return True if two names of columns, keys or constraints are equal to the server."""
    return left.lower() == right.lower()


def in_order(keys: Iterable[Key]) -> tuple[Key, ...]:
    """Return the keys in a canonical order: the primary key, unique keys, other keys, each by name."""
    return tuple(sorted(keys, key=lambda key: (not key.primary, not key.unique, key.name.lower())))


def column_of(spec: ColumnSpec, charset: str | None, collation: str | None, rules: Rules) -> Column:
    """Return the column that the server creates from a definition, in a table with these defaults."""
    kind = resolve_type(spec.type, charset, collation, rules)
    nullable = False if spec.primary else spec.nullable
    if nullable is None:
        nullable = not spec.automatic and not (kind.type == "timestamp" and rules.explicit_timestamp is False and not spec.generated)
    return Column(
        spec.name,
        kind.type,
        length=kind.length,
        scale=kind.scale,
        unsigned=kind.unsigned,
        zerofill=kind.zerofill,
        nullable=nullable,
        charset=kind.charset,
        collation=kind.collation,
        labels=kind.text_labels,
        generated=spec.generated,
        invisible=spec.invisible,
        default=Default("automatic") if spec.automatic else _default(spec.default, kind.type, rules),
        expression=spec.expression,
    )


def _default(default: Default, type_: str, rules: Rules) -> Default:
    """Return the default in a form that does not depend on the session's time zone, or an expression if the server's value is unknown.

    MariaDB stores the default of a BLOB or TEXT as text, in which the bytes of ``_latin1 x'E9'`` become the characters ``xE9``.
    """
    if rules.mariadb and default.introduced and type_.endswith(("blob", "text")):
        return Default("expression")
    if type_ != "timestamp" or default.kind != "literal" or default.text is None:
        return default
    text = to_utc(default.text, rules.time_zone) if default.form in {"string", "temporal"} else None
    return Default("expression") if text is None else Default("literal", text, "utc")


@dataclass(slots=True)
class Draft:
    """A table under construction: resolved columns, and keys that may still lack a name."""

    database: str
    name: str
    columns: list[Column]
    keys: list[KeySpec]
    foreign_keys: list[ForeignKey]
    charset: str | None
    collation: str | None
    engine: str | None
    options: dict[str, str]

    @classmethod
    def empty(cls, database: str, name: str, charset: str | None, collation: str | None, engine: str | None) -> Draft:
        """Return a draft without columns."""
        return cls(database, name, [], [], [], charset, collation, engine, {})

    @classmethod
    def of(cls, table: Table) -> Draft:
        """Return a draft of an existing table, for an ALTER."""
        generated = json.loads(table.options.get(GENERATED_KEYS, "[]"))
        keys = [KeySpec(key.name, key.parts, key.unique, key.primary, key.kind, generated=key.name in generated)
                for key in sorted(table.keys, key=lambda key: key.position)]  # fmt: skip
        return cls(
            table.database, table.name, list(table.columns), keys, list(table.foreign_keys), table.charset, table.collation, table.engine,
            dict(table.options),
        )  # fmt: skip

    @property
    def supports_foreign_keys(self) -> bool:
        """True if the engine supports foreign keys; a table without ENGINE counts as InnoDB."""
        return (self.engine or "innodb").lower() not in WITHOUT_FOREIGN_KEYS

    def find(self, name: str) -> int:
        """Return the index of a column.

        Raises:
            DdlSyntaxError: There is no column of this name, so the definition is wrong.
        """
        for place, column in enumerate(self.columns):
            if same_name(column.name, name):
                return place
        raise DdlSyntaxError(f"there is no column {name}")

    def has_column(self, name: str) -> bool:
        """Return True if there is a column of this name."""
        return any(same_name(column.name, name) for column in self.columns)

    def add_elements(self, elements: Sequence[Element], rules: Rules, lookup: Lookup) -> None:
        """Add keys and foreign keys in the order of the definition; the columns must have been added before."""
        for element in elements:
            if isinstance(element, KeySpec):
                self.keys.append(element)
            elif isinstance(element, ForeignSpec):
                self.add_foreign_key(element, rules, lookup)
            else:
                self.add_column_keys(element, rules, lookup)

    def add_column_keys(self, spec: ColumnSpec, rules: Rules, lookup: Lookup) -> None:
        """Add the keys from a column's own attributes: PRIMARY KEY, UNIQUE, REFERENCES."""
        part = (KeyPart(spec.name),)
        if spec.primary:
            self.keys.append(KeySpec("PRIMARY", part, unique=True, primary=True))
        if spec.unique:
            self.keys.append(KeySpec(None, part, unique=True))
        if spec.references and rules.inline_references:
            self.add_foreign_key(spec.references, rules, lookup)

    def add_foreign_key(self, spec: ForeignSpec, rules: Rules, lookup: Lookup) -> None:
        """Add a foreign key, and the key on its columns that the server adds if no other key can be used."""
        columns = tuple(self.columns[self.find(name)].name for name in spec.columns)
        self.keys.append(KeySpec(spec.name or spec.index_name, tuple(KeyPart(name) for name in columns), generated=True))
        if not self.supports_foreign_keys:
            return
        database = spec.parent_database or self.database
        own = database == self.database and spec.parent_table == self.name
        parents = spec.parent_columns or self._parent_key(None if own else lookup(database, spec.parent_table), own=own)
        given = spec.name or (spec.index_name if rules.index_names_constraint else None)
        name = given or self._foreign_key_name()
        self.foreign_keys.append(ForeignKey(name, columns, database, spec.parent_table, parents, spec.on_delete, spec.on_update))

    def _parent_key(self, parent: Table | None, *, own: bool) -> tuple[str, ...]:
        """Return the columns of the parent's primary key, which REFERENCES without columns refers to."""
        if own:
            parts = next((key.parts for key in self.keys if key.primary), ())
        else:
            parts = parent.primary_key.parts if parent and parent.primary_key else ()
        if not parts:
            raise DdlSyntaxError("a foreign key names no columns and the parent's primary key is not known")
        return tuple(part.column or "" for part in parts)

    def _foreign_key_name(self) -> str:
        """Return the server's name for a constraint without one: the table's name, ``_ibfk_`` and a number."""
        pattern = re.compile(re.escape(self.name.lower()) + r"_ibfk_(\d+)")
        matches = (pattern.fullmatch(key.name.lower()) for key in self.foreign_keys)
        return f"{self.name}_ibfk_{max((int(match.group(1)) for match in matches if match), default=0) + 1}"

    def promote_timestamp(self, rules: Rules) -> None:
        """Give the first TIMESTAMP column the default that it has without ``explicit_defaults_for_timestamp``, if it has none.

        As promote_first_timestamp_column in sql/sql_table.cc of both families does; the ON UPDATE clause is of no concern here.
        """
        if rules.explicit_timestamp is not False:
            return
        for place, column in enumerate(self.columns):
            if column.type != "timestamp":
                continue
            if not column.nullable and column.generated is None and column.default is not None and column.default.kind == "none":
                self.columns[place] = replace(column, default=Default("expression", str(column.scale or 0), "now"))
            return

    def table(self) -> Table:
        """Return the finished definition."""
        self._drop_served_keys()
        keys = self._named_keys()
        places = self._server_order(keys)
        keys = [replace(key, position=places[key.name]) for key in keys]
        primary = next((key for key in keys if key.primary), None)
        required = {(part.column or "").lower() for part in primary.parts} if primary else set()
        columns = tuple(replace(c, nullable=False) if c.name.lower() in required else c for c in self.columns)
        options = {name: value for name, value in self.options.items() if name != GENERATED_KEYS}
        if generated := [key.name for key, spec in zip(keys, self.keys, strict=True) if spec.generated]:
            options[GENERATED_KEYS] = json.dumps(generated)
        foreign = tuple(sorted(self.foreign_keys, key=lambda key: key.name.lower()))
        return Table(
            self.database, self.name, columns, in_order(keys), foreign, self.engine, self.charset, self.collation, options
        )  # fmt: skip

    def _drop_served_keys(self) -> None:
        """Remove keys for foreign keys that are a leading part of another key, like mysql_prepare_create_table."""
        kept: list[KeySpec] = []
        for key in self.keys:
            if key.generated and any(_leads(key, other) for other in kept if not other.generated or len(other.parts) > len(key.parts)):
                continue
            kept = [other for other in kept if not (other.generated and _leads(other, key))]
            kept.append(key)
        self.keys = kept

    def _server_order(self, keys: Sequence[Key]) -> dict[str, int]:
        """Return the index of each key by its name, in the order of ``sort_keys`` in sql/sql_table.cc.

        Otherwise equal keys stay in order of creation.
        """
        virtual = {column.name for column in self.columns if column.generated == "virtual"}
        nullable = {column.name for column in self.columns if column.nullable}

        def rank(key: Key) -> tuple[bool, ...]:
            expression = any(part.column is None for part in key.parts)
            has_null = expression or any(part.column in nullable for part in key.parts)
            has_virtual = expression or any(part.column in virtual for part in key.parts)
            has_prefix = any(part.prefix is not None for part in key.parts)
            return not key.primary, not key.unique, key.kind != "btree", has_null and not key.primary, has_prefix, has_virtual

        return {key.name: place for place, key in enumerate(sorted(keys, key=rank))}

    def _named_keys(self) -> list[Key]:
        """Return all keys with their names; check their parts against the columns."""
        names = {spec.name.lower() for spec in self.keys if spec.name}
        named: list[Key] = []
        for spec in self.keys:
            name = spec.name or self._free_name(spec, names)
            names.add(name.lower())
            parts = tuple(self._part(part, spec) for part in spec.parts)
            named.append(Key(name, parts, spec.unique, spec.kind))
        return named

    def _part(self, part: KeyPart, spec: KeySpec) -> KeyPart:
        if part.column is None:
            return part
        column = self.columns[self.find(part.column)]
        cut = spec.kind == "btree" and column.type.endswith(("char", "binary", "text", "blob"))
        whole = part.prefix is None or not cut or (column.length is not None and part.prefix >= column.length)
        return KeyPart(column.name, None if whole else part.prefix)

    def _free_name(self, spec: KeySpec, taken: set[str]) -> str:
        """Return the server's name for a key without one: the name of its first column, with a number if that name is taken."""
        first = spec.parts[0].column
        base = self.columns[self.find(first)].name if first is not None else "functional_index"
        if base.lower() not in taken and base.lower() != "primary":
            return base
        return next(name for number in range(2, 1000) if (name := f"{base}_{number}").lower() not in taken)


def _leads(key: KeySpec, other: KeySpec) -> bool:
    """Return True if a key's columns are the first ones of another key, whole and in the same order."""
    if len(key.parts) > len(other.parts):
        return False
    pairs = zip(key.parts, other.parts, strict=False)
    return all(a.column and b.column and same_name(a.column, b.column) and a.prefix == b.prefix for a, b in pairs)
