"""Random tables: columns, keys of every shape, foreign keys, partitions."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random

from .columns import ColumnType, random_type, text_type

__all__ = ["Column", "Options", "Table", "random_tables"]

ODD_NAMES = ("we`ird ½ name", "Select", "größe", "a b", "x'y", 'say "so"', "½", "日", "T", "%s", "1st", "a.b", "back\\slash")
VIRTUAL = ("stored", "virtual")


@dataclass(frozen=True, slots=True)
class Options:
    """Features that a seed's schema may have.

    Attributes:
        collations: Collations of text columns.
        expressions: True if there are functional and multi-valued keys, whose values no row image has.
        cascades: True if foreign keys may cascade (not in multi-primary mode).
        loose_parents: True if foreign keys to non-unique keys occur.
    """

    collations: tuple[str, ...]
    expressions: bool = False
    cascades: bool = False
    loose_parents: bool = True


@dataclass(slots=True)
class Column:
    """A column; ``pool`` is what statements write, empty for a generated one."""

    name: str
    type: ColumnType
    nullable: bool
    generated: str = ""
    invisible: bool = False

    @property
    def pool(self) -> tuple[str, ...]:
        """The literals that may be written."""
        return () if self.generated else (*self.type.pool, "null", "null") if self.nullable else self.type.pool

    def definition(self) -> str:
        """The column as CREATE TABLE has it."""
        null = "" if self.nullable else " not null"
        return f"{name(self.name)} {self.type.sql}{self.generated}{null}{' invisible' * self.invisible}"


@dataclass(slots=True)
class Table:
    """A table with what is needed to write to it."""

    database: str
    name: str
    columns: list[Column] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    tail: str = ""
    referable: list[tuple[list[Column], bool]] = field(default_factory=list)
    generated_key: bool = False
    parents: list[Table] = field(default_factory=list)
    cascading: bool = False

    @property
    def full_name(self) -> str:
        """Quoted, with its database."""
        return f"{name(self.database)}.{name(self.name)}"

    def create(self) -> str:
        """The CREATE TABLE."""
        parts = [column.definition() for column in self.columns] + self.keys
        return f"create table {self.full_name} ({', '.join(parts)}){self.tail}"

    def is_parent(self, tables: list[Table]) -> bool:
        """Return True if one of these tables refers to this one."""
        return any(self in table.parents for table in tables)

    def writable(self) -> list[Column]:
        """The columns that statements give values."""
        return [column for column in self.columns if column.pool]


def name(identifier: str) -> str:
    """A quoted identifier."""
    return "`" + identifier.replace("`", "``") + "`"


def random_tables(r: Random, databases: list[str], options: Options, count: int) -> list[Table]:
    """Some tables, parents before their children."""
    tables: list[Table] = []
    for number in range(count):
        tables.append(_Maker(r, options, tables).make(r.choice(databases), f"t{number}"))
    return tables


class _Maker:
    """Makes one table."""

    def __init__(self, r: Random, options: Options, others: list[Table]) -> None:
        self.r = r
        self.options = options
        self.others = others

    def make(self, database: str, base: str) -> Table:
        r = self.r
        self.table = table = Table(database, f"{base} {r.choice(ODD_NAMES)}" if r.random() < 0.3 else base)
        for number in range(r.randint(2, 6)):
            title = f"{r.choice(ODD_NAMES)}{number}" if r.random() < 0.15 else f"c{number}"
            table.columns.append(Column(title, random_type(r, self.options.collations), r.random() < 0.5))
        self._generated_columns()
        self._primary()
        if r.random() < 0.12 and self._partition():
            return table
        for number in range(r.choice((0, 1, 1, 2, 3))):
            self._unique(number)
        self._plain_keys()
        if self.others and r.random() < 0.6:
            for number in range(r.choice((1, 1, 2))):
                self._foreign(r.choice(self.others), number)
        if r.random() < 0.15:
            self._foreign(table, 9)
        self._passengers()
        for column in r.sample(table.columns, len(table.columns)):
            if not column.generated and column.nullable and r.random() < 0.08:
                column.invisible = True
        return table

    def _generated_columns(self) -> None:
        r, table = self.r, self.table
        if r.random() < 0.3:
            source = next((c for c in table.columns if c.type.family == "number"), None)
            if source is not None:
                how = f" generated always as (cast(round({name(source.name)} / 1e300) + mod({name(source.name)}, 7) as signed))"
                self._add_generated("bigint", how)
        if r.random() < 0.3:
            source = next((c for c in table.columns if c.type.family == "text"), None)
            if source is not None:
                wide = text_type(r, self.options.collations[:3], "varchar(80)")
                self._add_generated(wide.sql, f" generated always as (concat(left({name(source.name)}, 2), 'X'))")
        if r.random() < 0.3:
            pool = tuple(f"""'{{"a": {n}, "b": "{w}", "m": [{n}, {n + 1}]}}'""" for n in range(12) for w in ("x", "X", "é"))
            table.columns.append(Column("doc", ColumnType("json", pool, whole=False), r.random() < 0.5))
            self._add_generated("int", " generated always as (json_value(`doc`, '$.a' returning signed))")
            self._add_generated("varchar(20) collate utf8mb4_0900_ai_ci", " generated always as (json_unquote(`doc`->'$.b'))")

    def _add_generated(self, sql: str, how: str) -> None:
        kind = self.r.choice(VIRTUAL)
        family = "text" if "char" in sql else "number"
        prefix = (2, 3) if family == "text" else ()
        number = len(self.table.columns)
        self.table.columns.append(Column(f"g{number}", ColumnType(sql, (), prefix, True, family), True, f"{how} {kind}"))

    def _primary(self) -> None:
        r, table = self.r, self.table
        choice = r.random()
        if choice < 0.15:
            table.generated_key = True
            return
        candidates = [c for c in table.columns if not c.generated and c.type.sql != "json"]
        if choice < 0.25:
            candidates = [c for c in candidates if c.type.whole] or candidates
            parts = r.sample(candidates, min(len(candidates), r.randint(1, 2)))
            self._not_null(parts)
            self.prefixes: dict[str, int] = {}
            table.keys.append(f"unique key `only` ({self._parts(parts)})")
            return
        parts = r.sample(candidates, min(len(candidates), r.choice((1, 1, 2, 3))))
        self._not_null(parts)
        self.primary_columns = parts
        whole = self._whole(parts)
        table.keys.append(f"primary key ({self._parts(parts)})")
        if whole and all(c.type.whole for c in parts):
            table.referable.append((parts, True))

    def _not_null(self, columns: list[Column]) -> None:
        for column in columns:
            column.nullable = False

    def _whole(self, parts: list[Column]) -> bool:
        self.prefixes = {
            c.name: self.r.choice(c.type.prefix) for c in parts if c.type.prefix and (not c.type.whole or self.r.random() < 0.2)
        }
        return not self.prefixes

    def _parts(self, columns: list[Column]) -> str:
        if not hasattr(self, "prefixes") or any(not c.type.whole and c.name not in self.prefixes for c in columns):
            self._whole(columns)
        return ", ".join(self._part(column) for column in columns)

    def _part(self, column: Column) -> str:
        prefix = f"({self.prefixes[column.name]})" if column.name in self.prefixes else ""
        return f"{name(column.name)}{prefix}{self.r.choice(('', '', ' desc'))}"

    def _partition(self) -> bool:
        """Only where the primary key is the only one."""
        columns = getattr(self, "primary_columns", [])
        if not columns or self.prefixes or any(not c.type.whole or c.type.family in ("text", "other") for c in columns):
            return False
        by = ", ".join(name(c.name) for c in columns)
        self.table.tail = f" partition by key ({by}) partitions {self.r.randint(2, 4)}"
        self.table.referable.clear()
        return True

    def _unique(self, number: int) -> None:
        r, table = self.r, self.table
        if self.options.expressions and r.random() < 0.5:
            self._expression(number)
            return
        candidates = [c for c in table.columns if c.type.sql != "json"]
        parts = r.sample(candidates, min(len(candidates), r.choice((1, 1, 2, 3))))
        whole = self._whole(parts)
        invisible = " invisible" * (r.random() < 0.15)
        table.keys.append(f"unique key {name(r.choice(('u', 'U ½ ', 'unique')) + str(number))} ({self._parts(parts)}){invisible}")
        if whole and all(c.type.whole and "virtual" not in c.generated for c in parts):
            table.referable.append((parts, True))

    def _expression(self, number: int) -> None:
        r, table = self.r, self.table
        source = r.choice([c for c in table.columns if not c.generated])
        if any(c.name == "doc" for c in table.columns) and r.random() < 0.6:
            table.keys.append(f"unique key mv{number} ((cast(`doc`->'$.m' as unsigned array)))")
        elif source.type.family == "number":
            table.keys.append(f"unique key f{number} ((cast({name(source.name)} as char(40)) collate utf8mb4_0900_ai_ci))")
        elif source.type.family == "text" and source.type.whole:
            table.keys.append(f"unique key f{number} ((left({name(source.name)}, 3)), {name(table.columns[0].name)}"
                              f"{'' if table.columns[0].type.whole else '(3)'})")  # fmt: skip

    def _plain_keys(self) -> None:
        r, table = self.r, self.table
        column = r.choice(table.columns)
        if column.type.whole and column.type.sql != "json" and r.random() < 0.5:
            table.keys.append(f"key k0 ({name(column.name)})")
            if "virtual" not in column.generated and self.options.loose_parents and r.random() < 0.5:
                table.referable.append(([column], False))

    def _foreign(self, parent: Table, number: int) -> None:
        """Adds columns of the parent's types and a foreign key on them."""
        r, table = self.r, self.table
        if parent.tail or table.tail or not parent.referable:
            return
        keys, _ = r.choice(parent.referable)
        names: list[str] = []
        nullable = r.random() < 0.6
        for n, column in enumerate(keys):
            pool = column.type.pool or tuple(str(v) for v in range(-3, 10))
            sql = column.type.sql.replace("varchar(60)", r.choice(("varchar(60)", "varchar(70)")))
            kind = replace(column.type, sql=sql, pool=pool)
            names.append(f"f{number}_{n}")
            table.columns.append(Column(names[-1], kind, nullable))
        table.parents.append(parent)
        action = ""
        # One such key in a table: with several, where a row may be reached by two cascades, InnoDB of MySQL 9.7.4 was seen to abort in
        # the rollback of such a statement ("Error (Failed, retry may succeed) in rollback"), though not with every seed.
        if self.options.cascades and not table.cascading:
            choices = ["", "cascade", "cascade", *(["set null"] if nullable else [])]
            on_delete, on_update = r.choice(choices), r.choice(choices)
            action = f" on delete {on_delete}" * bool(on_delete) + f" on update {on_update}" * bool(on_update)
            table.cascading = bool(action)
        pairs = list(zip(names, (c.name for c in keys), strict=True))
        if r.random() < 0.2:
            r.shuffle(pairs)
        own, other = (", ".join(name(pair[side]) for pair in pairs) for side in (0, 1))
        table.keys.append(
            f"constraint {name(f'{table.name} fk{number}')} foreign key ({own}) references {parent.full_name} ({other}){action}"
        )

    def _passengers(self) -> None:
        """Columns and keys without meaning for uniqueness."""
        r, table = self.r, self.table
        if r.random() < 0.15:
            table.columns.append(Column("emb", ColumnType("vector(3)", ("to_vector('[1,2,3]')", "to_vector('[0,-0.0,1e3]')")), True))
        if r.random() < 0.15:
            points = tuple(f"st_geomfromtext('point({n} 1)')" for n in range(3))
            table.columns.append(Column("geo", ColumnType("point", points), False))
            table.keys.append("spatial key sp (geo)")
        if r.random() < 0.15:
            table.columns.append(Column("prose", ColumnType("text", ("'one two'", "'two three'")), True))
            table.keys.append("fulltext key ft (prose)")
