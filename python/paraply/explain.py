"""The keys of one row with their hashed bytes, for people who debug a write set."""

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
    """Key of one image of a row.

    Attributes:
        name: Name of the key; for a reference that of the parent's key; empty for a whole table.
        table: Table of the key.
        columns: Columns of the row that are the key's parts; None for an expression.
        values: Bytes of each part, in a form that is the same for all values equal under the column's collation.
        hashed: The bytes that are hashed (R11).
        hash: XXH64 of these bytes, seed 0; None if there is no key.
        mode: ``exclusive``, ``shared`` (R15), or None if there is no hash.
        reason: Reason why there is no hash, or why the whole table counts.
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
        """Return the key in one line."""
        what = f"{self.name or 'whole table'} of {self.table}"
        if self.hash is None:
            return f"{what}: no hash, {self.reason}"
        parts = ", ".join(f"{column or 'expression'} {shown(value)}" for column, value in zip(self.columns, self.values, strict=False))
        return f"{what}{f' ({parts})' if parts else ''}: {shown(self.hashed)} -> {self.hash} {self.mode}"


@dataclass(frozen=True, slots=True)
class Explanation:
    """Contribution of one row to the write set of its transaction.

    Attributes:
        table: The row's table.
        keys: Its keys, before image and after image, each once.
        barrier: True if the row makes its transaction conflict with every other (R13).
        reason: Reason why the row cannot be hashed at all, or None.
    """

    table: str
    keys: tuple[ExplainedKey, ...]
    barrier: bool
    reason: str | None = None

    def __str__(self) -> str:
        """Return a line for each key."""
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
    """Explain the hashed bytes of one row, key by key.

    Args:
        table: The row's table.
        before: The row before the change, as a mapping of column names or a sequence of all columns; None for an insert. A column missing
            in a mapping is missing in a partial image. Numbers, ``Decimal``, text, bytes, ``date``, ``datetime`` (a TIMESTAMP's without a
            time zone is UTC) and ``timedelta`` (for TIME); labels or numbers for ENUM and SET; None is NULL.
        after: The row after the change; None for a delete.
        tables: Further tables, to which or from which foreign keys lead.
        scheme: ``fine``, the applier's scheme, or ``group``, a server's.
        foreign_key_checks: True if the session that wrote the row checked foreign keys.
        cascades_logged: True if the source logs the changes of cascades (MySQL 9.6 and later); else R15a applies.

    Returns:
        The keys with the bytes of their values and their hashes. ``print`` shows them as lines.

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
    """Explain the hashed bytes of the first rows of a transaction.

    Args:
        transaction: A transaction of ``open_log``.
        tables: The definitions valid when it was written.
        scheme: ``fine``, the applier's scheme, or ``group``, a server's.
        rows: Most rows to explain.

    Returns:
        One explanation for each row, in the order of the log.

    Raises:
        UsageError: The scheme is unknown.
        LogDamaged: A row event contradicts itself.
    """
    catalog = tables if isinstance(tables, Catalog) else catalog_of(tables)
    return [explanation(row) for row in explain_rows(transaction, catalog, scheme=scheme, rows=rows)]


def scaled(image: Image, table: Table) -> Image:
    """Return an image whose DECIMAL values have the scale of their columns."""
    if isinstance(image, Mapping):
        columns = {column.name.lower(): column for column in table.columns}
        return {name: with_scale(value, columns.get(name.lower())) for name, value in image.items()}
    if len(image) != len(table.columns):
        return image
    return [with_scale(value, column) for value, column in zip(image, table.columns, strict=True)]


def with_scale(value: Any, column: Column | None) -> Any:
    """Return one value with the scale of its column."""
    if value is None or column is None or column.type != "decimal" or not isinstance(value, (int, Decimal)):
        return value
    return Decimal(value).quantize(Decimal(1).scaleb(-(column.scale or 0)))


def explanation(row: Mapping[str, Any]) -> Explanation:
    """Return the native answer as an explanation."""
    modes: dict[int, Literal["exclusive", "shared"]] = dict.fromkeys(row["shared"], "shared")
    modes |= dict.fromkeys(row["exclusive"], "exclusive")
    keys = [key_of(key, modes) for key in row["keys"]]
    for table, number in row["tables"]:
        keys.append(ExplainedKey("", table or "?", (), (), b"", number, modes[number], "the table counts as one value"))
    return Explanation(row["table"], tuple(dict.fromkeys(keys)), row["barrier"], row["reason"])


def key_of(key: Mapping[str, Any], modes: Mapping[int, Literal["exclusive", "shared"]]) -> ExplainedKey:
    """Return one key; its name and table precede the hashed values."""
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
    """Split ``... name ½ length`` into the part before the name and the name."""
    rest = text.rstrip(b"0123456789")
    length, rest = int(text[len(rest) :]), rest.removesuffix(SEPARATOR)
    return rest[: len(rest) - length], rest[len(rest) - length :]


def shown(value: bytes) -> str:
    """Return bytes as text if they are printable text, else in hexadecimal."""
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return f"x'{value.hex()}'"
    return repr(text) if text.isprintable() else f"x'{value.hex()}'"
