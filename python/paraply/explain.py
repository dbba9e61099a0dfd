"""The keys of one row as they are hashed, for people who debug a write set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from paraply._native import Catalog, Transaction, explain_rows, explain_values
from paraply.errors import UsageError
from paraply.hashing import catalog_of
from paraply.schema.model import Column, Table

__all__ = ["ExplainedKey", "Explanation", "Image", "explain_transaction", "explain_write_set"]

Image = Mapping[str, Any] | Sequence[Any]
SEPARATOR = "½".encode()


@dataclass(frozen=True, slots=True)
class ExplainedKey:
    """One key of one image of a row.

    Attributes:
        name: The key's name; for a reference, that of the parent's key; empty for a whole table.
        table: The table whose key it is.
        columns: The row's columns that are its parts; None for an expression.
        values: Each part's bytes in the form that is equal for values that the column's collation calls equal.
        hashed: The bytes that are hashed (R11).
        hash: XXH64 of these, seed 0; None where there is no key.
        mode: ``exclusive``, ``shared`` (R15), or None where there is no hash.
        reason: Why there is no hash, or why a whole table is taken.
    """

    name: str
    table: str
    columns: tuple[str | None, ...]
    values: tuple[bytes, ...]
    hashed: bytes
    hash: int | None
    mode: Literal["exclusive", "shared"] | None
    reason: str | None = None

    def __str__(self) -> str:
        """One line."""
        what = f"{self.name or 'whole table'} of {self.table}"
        if self.hash is None:
            return f"{what}: no hash, {self.reason}"
        parts = ", ".join(f"{column or 'expression'} {shown(value)}" for column, value in zip(self.columns, self.values, strict=False))
        return f"{what}{f' ({parts})' if parts else ''}: {shown(self.hashed)} -> {self.hash} {self.mode}"


@dataclass(frozen=True, slots=True)
class Explanation:
    """What one row adds to the write set of its transaction.

    Attributes:
        table: The row's table.
        keys: Its keys, before image and after image, each once.
        barrier: Whether the row makes its transaction conflict with every other (R13).
        reason: Why the row cannot be hashed at all, or None.
    """

    table: str
    keys: tuple[ExplainedKey, ...]
    barrier: bool
    reason: str | None = None

    def __str__(self) -> str:
        """A line for each key."""
        lines = [f"row of {self.table}"]
        if self.barrier:
            lines[0] += ": a barrier" + (f", because {self.reason}" if self.reason else "")
        return "\n".join([*lines, *(f"  {key}" for key in self.keys)])


def explain_write_set(
    table: Table,
    before: Image | None = None,
    after: Image | None = None,
    *,
    tables: Iterable[Table] = (),
    scheme: str = "fine",
    foreign_key_checks: bool = True,
    cascades_logged: bool = True,
) -> Explanation:
    """Shows what is hashed of one row, key by key.

    Args:
        table: The row's table.
        before: The row before the change, as a mapping of column names or a sequence of all columns; None for an insert. A column
            that a mapping leaves out is one that a partial image lacks. Numbers, ``Decimal``, text, bytes, ``date``, ``datetime``
            (a TIMESTAMP's without a time zone is UTC) and ``timedelta`` (for TIME); labels or numbers for ENUM and SET; None is NULL.
        after: The row after it; None for a delete.
        tables: The other tables that foreign keys lead to or come from.
        scheme: ``fine``, what the applier uses, or ``group``, what a server hashes.
        foreign_key_checks: Whether the session that wrote the row checked foreign keys.
        cascades_logged: Whether the source logs what cascades change (MySQL 9.6 and later); else R15a applies.

    Returns:
        The keys with the bytes of their values and their hashes. ``print`` shows it as lines.

    Raises:
        UsageError: A value does not fit its column, or neither image is given.

    >>> from paraply.schema.catalog import SchemaCatalog
    >>> catalog = SchemaCatalog()
    >>> sql = "create table t (id int primary key, name varchar(20) collate utf8mb4_0900_ai_ci unique)"
    >>> from paraply.schema.advance import advance
    >>> _ = advance(catalog, sql, "d", {}, mariadb=False, version=(9, 7, 0))
    >>> upper, lower = (explain_write_set(catalog.table("d", "t"), after={"id": 7, "name": name}) for name in ("ÉA", "ea"))
    >>> upper.keys[0].values, upper.keys[0].mode
    ((b'7',), 'exclusive')
    >>> upper.keys[1].hash == lower.keys[1].hash
    True
    """
    if before is None and after is None:
        raise UsageError("a row needs a before image, an after image or both")
    catalog = catalog_of([*tables, table])
    images = [None if image is None else scaled(image, table) for image in (before, after)]
    found = explain_values(
        catalog, table.database, table.name, *images,
        scheme=scheme, foreign_key_checks=foreign_key_checks, cascades_logged=cascades_logged,
    )  # fmt: skip
    return explanation(found)


def explain_transaction(
    transaction: Transaction, tables: Iterable[Table] | Catalog, *, scheme: str = "fine", rows: int = 100
) -> list[Explanation]:
    """Shows what is hashed of the first rows of a transaction of a log.

    Args:
        transaction: From ``open_log``.
        tables: The definitions that held when it was written.
        scheme: ``fine``, what the applier uses, or ``group``, what a server hashes.
        rows: How many rows at most.

    Returns:
        One explanation for each row, in the order of the log.

    Raises:
        UsageError: The scheme is not known.
        LogDamaged: A row event contradicts itself.
    """
    catalog = tables if isinstance(tables, Catalog) else catalog_of(tables)
    return [explanation(row) for row in explain_rows(transaction, catalog, scheme=scheme, rows=rows)]


def scaled(image: Image, table: Table) -> Image:
    """DECIMAL values with the number of digits that their column keeps."""
    if isinstance(image, Mapping):
        columns = {column.name.lower(): column for column in table.columns}
        return {name: with_scale(value, columns.get(name.lower())) for name, value in image.items()}
    if len(image) != len(table.columns):
        return image
    return [with_scale(value, column) for value, column in zip(image, table.columns, strict=True)]


def with_scale(value: Any, column: Column | None) -> Any:
    """One value of that kind."""
    if value is None or column is None or column.type != "decimal" or not isinstance(value, (int, Decimal)):
        return value
    return Decimal(value).quantize(Decimal(1).scaleb(-(column.scale or 0)))


def explanation(row: Mapping[str, Any]) -> Explanation:
    """The native answer in words."""
    modes: dict[int, Literal["exclusive", "shared"]] = dict.fromkeys(row["shared"], "shared")
    modes |= dict.fromkeys(row["exclusive"], "exclusive")
    keys = [key_of(key, modes) for key in row["keys"]]
    for table, number in row["tables"]:
        keys.append(ExplainedKey("", table or "?", (), (), b"", number, modes[number], "the table counts as one value"))
    return Explanation(row["table"], tuple(dict.fromkeys(keys)), row["barrier"], row["reason"])


def key_of(key: Mapping[str, Any], modes: Mapping[int, Literal["exclusive", "shared"]]) -> ExplainedKey:
    """One key; its name and table stand in front of the values that are hashed."""
    rest, table = last_name(key["prefix"])
    name, database = last_name(rest)
    number = key["hash"]
    return ExplainedKey(
        name.removesuffix(SEPARATOR).decode(),
        f"{database.decode()}.{table.decode()}",
        tuple(key["columns"]),
        tuple(key["values"]),
        key["hashed"],
        number,
        None if number is None else modes.get(number),
        key["reason"],
    )


def last_name(text: bytes) -> tuple[bytes, bytes]:
    """Cuts ``... name ½ length`` in two, before the name and the name."""
    rest = text.rstrip(b"0123456789")
    length, rest = int(text[len(rest) :]), rest.removesuffix(SEPARATOR)
    return rest[: len(rest) - length], rest[len(rest) - length :]


def shown(value: bytes) -> str:
    """Bytes as text where they are text, else in hexadecimal."""
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return f"x'{value.hex()}'"
    return repr(text) if text.isprintable() else f"x'{value.hex()}'"
