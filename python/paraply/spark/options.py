"""Options of the data source, parsed once."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from paraply._native import Selection, TableFilter
from paraply.analysis.carried.finding import only_name
from paraply.analysis.rows import table_filter, values_of
from paraply.analysis.statement_rows import ChosenTables
from paraply.analysis.trace import SCHEMES
from paraply.applier.selection.filters import parse_filters
from paraply.errors import UsageError
from paraply.logs.stop_point import StopPoint, moment_text, parse_moment, parse_stop
from paraply.logs.transaction_set import TransactionSet
from paraply.schema.readers.dump import read_dump

if TYPE_CHECKING:
    from paraply._native import CommitTimes, Transaction
    from paraply.schema.model import Table

__all__ = ["MODES", "Options"]

SPLIT = 128 << 20
IMAGE = "map<string,string>"
ORDERING = "struct<source:bigint,file:string,number:bigint,offset:bigint,event:bigint>"

TRANSACTIONS = {
    "position": "bigint", "gtid": "string", "origin": "string", "session": "bigint", "committed_at": "timestamp", "kind": "string",
    "tables": "array<string>", "write_set": "array<bigint>", "reads": "array<bigint>", "snapshot": "string", "rows": "int",
    "bytes": "bigint", "last_committed": "bigint", "sequence_number": "bigint", "server_id": "bigint", "file": "string",
    "offset": "bigint", "barrier": "boolean", "statement": "string", "ordering": ORDERING,
}  # fmt: skip
ROWS = {
    "position": "bigint", "gtid": "string", "committed_at": "timestamp", "server_id": "bigint", "session": "bigint",
    "database": "string", "table": "string", "operation": "string", "row": "bigint", "key": IMAGE, "before": IMAGE, "after": IMAGE,
    "file": "string", "offset": "bigint", "transaction_offset": "bigint", "xid": "string", "absent": "array<string>",
    "statement": "string", "ordering": ORDERING,
}  # fmt: skip
EVENTS = {
    "file": "string", "offset": "bigint", "type": "string", "type_code": "int", "size": "bigint", "server_id": "bigint",
    "timestamp": "timestamp", "gtid": "string", "end_position": "bigint", "flags": "int", "ordering": ORDERING,
}  # fmt: skip
KEYS = ("key_before", "key_after")
MODES = {"transactions": TRANSACTIONS, "rows": ROWS, "events": EVENTS}
KNOWN = (
    "path", "paths", "mode", "columns", "tables", "since", "until", "gtids", "at", "statements", "unknown_tables", "earlier_tables",
    "scheme", "schema_dump", "schema_from", "values", "split", "max_bytes", "gaps",
)  # fmt: skip
TRUTHS = {"true": True, "false": False}
ONLY_IN = {"statements": "rows", "earlier_tables": "rows", "scheme": "transactions"}
"""Options that only one mode has."""
_QUOTED = r"(?<![^,.\s])`(?:[^`]|``)*`(?=\s*(?:[,.]|$))"
_NAME = re.compile(rf"(?:{_QUOTED}|[^,])+")


@dataclass(frozen=True)
class Options:
    """The options of the source.

    Attributes:
        paths: Logs, folders, patterns or URLs.
        mode: ``transactions``, ``rows`` or ``events``.
        columns: The requested columns; empty for all.
        tables: The requested databases and tables; empty for all.
        since: Earliest commit time, microseconds since 1970.
        until: Commit time before which the transactions are.
        gtids: The requested transactions, as text.
        at: Point up to which the logs are read: a time, or the last GTID.
        statements: True for rows of statements that change tables, in mode ``rows``.
        empty_if_unknown: True to give nothing for a table that the logs do not have.
        earlier_tables: True to give rows of earlier tables of the same name too, with ``values=typed``.
        scheme: Scheme of the write sets.
        schema_dump: Dump of the tables at the start of the logs.
        schema_from: URL of a server with the tables as they were at the start of the logs.
        values: ``text`` or ``typed``.
        split: Size of a part in bytes.
        max_bytes: Most bytes in a batch of a stream; None for all available bytes.
        gaps: True if logs may be missing between those that are read, or may be of several servers.
    """

    paths: tuple[str, ...] = ()
    mode: str = "transactions"
    columns: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    since: int | None = None
    until: int | None = None
    gtids: str | None = None
    at: str | None = None
    statements: bool = True
    empty_if_unknown: bool = False
    earlier_tables: bool = True
    scheme: str = "fine"
    schema_dump: str | None = None
    schema_from: str | None = None
    values: str = "text"
    split: int = SPLIT
    max_bytes: int | None = None
    gaps: bool = False

    @classmethod
    def of(cls, options: dict[str, str]) -> Options:
        """Read the options.

        Raises:
            UsageError: An option is wrong.
        """
        given = {name.lower(): value for name, value in options.items()}
        unknown = [name for name in given if name not in KNOWN]
        if unknown:
            raise UsageError(f"unknown option `{unknown[0]}`: the source binlog has {', '.join(KNOWN[2:])}")
        made = cls(
            paths=paths_of(given),
            mode=given.get("mode", "transactions").strip().lower(),
            columns=names_of(given.get("columns")),
            tables=names_of(given.get("tables")),
            since=moment_of("since", given.get("since")),
            until=moment_of("until", given.get("until")),
            gtids=given.get("gtids"),
            at=given.get("at"),
            statements=truth_of("statements", given.get("statements", "true")),
            empty_if_unknown=choice_of("unknown_tables", given.get("unknown_tables", "error"), ("error", "empty")) == "empty",
            earlier_tables=truth_of("earlier_tables", given.get("earlier_tables", "true")),
            scheme=given.get("scheme", "fine"),
            schema_dump=given.get("schema_dump"),
            schema_from=given.get("schema_from"),
            values=values_of(given.get("values", "text")),
            split=bytes_of("split", given.get("split")) or SPLIT,
            max_bytes=bytes_of("max_bytes", given.get("max_bytes")),
            gaps=truth_of("gaps", given.get("gaps", "false")),
        )
        made.check()
        for option, mode in ONLY_IN.items():
            if option in given and made.mode != mode:
                raise UsageError(f"{option} is an option of mode {mode}, and this is mode {made.mode}: leave it out")
        for option in ("columns", "tables"):
            if option in given and not getattr(made, option):
                raise UsageError(f"{option}={given[option]} names none: leave the option out for all {option}")
        return made

    def check(self) -> None:
        """Raise ``UsageError`` if options do not fit together."""
        if self.mode not in MODES:
            raise UsageError(f"unknown mode `{self.mode}`: it is {', '.join(MODES)}")
        if self.scheme not in SCHEMES:
            raise UsageError(f"unknown scheme `{self.scheme}`: it is {' or '.join(SCHEMES)}")
        for name in self.columns:
            if name not in self.known_columns:
                raise UsageError(f"mode {self.mode} has no column `{name}`; it has {', '.join(self.known_columns)}")
        twice = next((name for place, name in enumerate(self.columns) if name in self.columns[:place]), None)
        if twice is not None:
            raise UsageError(f"columns names `{twice}` twice: name it once")
        if self.mode == "events":
            for option in ("tables", "since", "until", "gtids", "at"):
                if getattr(self, option):
                    raise UsageError(f"mode events cannot select by {option}; use mode rows, or `where`")
        if self.values == "typed" and self.mode != "rows":
            raise UsageError("values=typed needs mode rows")
        if self.typed:
            only_name(self.tables)
        if self.since is not None and self.until is not None and self.since >= self.until:
            raise UsageError(f"since={moment_text(self.since)} is not before until={moment_text(self.until)}: nothing lies between them")
        if self.gaps and self.typed:
            raise UsageError("gaps=true: a missing log may change the table's definition, so rows after it are read with values=text only")
        if self.schema_dump and self.schema_from:
            raise UsageError("schema_dump and schema_from are both definitions at the start of the logs: give one of them")
        table_filter(self.tables)
        self.named  # noqa: B018  raises if it is wrong
        self.stop  # noqa: B018

    @property
    def typed(self) -> bool:
        """True for structs with the types of one table."""
        return self.values == "typed"

    @property
    def known_columns(self) -> list[str]:
        """Columns of the mode."""
        return [*MODES[self.mode], *(KEYS if self.typed else ())]

    @property
    def chosen(self) -> ChosenTables:
        """The databases and tables by name."""
        databases = frozenset(name.strip("`") for name in self.tables if "." not in name)
        return ChosenTables(databases, frozenset(parse_filters((), [name for name in self.tables if "." in name]).tables))

    @property
    def named(self) -> TransactionSet | None:
        """The requested transactions."""
        return None if self.gtids is None else TransactionSet.parse("gtids", self.gtids)

    @property
    def stop(self) -> StopPoint | None:
        """Point up to which the logs are read."""
        try:
            return parse_stop(self.at)
        except UsageError as error:
            raise UsageError(error.message.replace("--stop-at", "at")) from None

    def selection(self, tables: TableFilter | None) -> Selection:
        """Return the conditions that the reader checks."""
        committed = (self.since, None if self.until is None else self.until - 1)
        return Selection(committed=committed, tables=tables, named=None if self.named is None else self.named.native())

    def takes(self, transaction: Transaction) -> bool:
        """Return True if a statement's transaction meets the conditions on time and GTIDs."""
        time = transaction.committed_us
        if (self.since is not None and (time is None or time < self.since)) or (
            self.until is not None and (time is None or time >= self.until)
        ):
            return False
        return self.named is None or (transaction.gtid is not None and transaction.gtid in self.named)

    def may_hold(self, committed: CommitTimes | None, transactions: int | None) -> bool:
        """Return False for a part none of whose transactions meets the conditions on time."""
        if self.since is None and self.until is None:
            return True
        if committed is None:
            return transactions is None
        return (self.since is None or committed.latest >= self.since) and (self.until is None or committed.earliest < self.until)

    def definitions(self) -> list[Table]:
        """Return the tables of the dump or the server, if one is named."""
        return named_definitions(self.schema_dump, self.schema_from)

    def pruning(self) -> str:
        """Return the options that leave out data, for the plan that ``explain`` prints."""
        shown = {"mode", "columns", "tables", "since", "until", "gtids", "at", "statements", "scheme", "values"}
        plain = Options()
        parts = [(each.name, getattr(self, each.name)) for each in fields(self) if each.name in shown]
        return ", ".join(f"{name}={shown_value(value)}" for name, value in parts if value != getattr(plain, name) or name == "mode")


def named_definitions(dump: str | None, server: str | None) -> list[Table]:
    """Return the tables of a dump or of a server; none if neither is named.

    Args:
        dump: Path of the dump.
        server: URL of the server.
    """
    if dump:
        return list(read_dump(Path(dump)))
    if server:
        from paraply.targets.definitions import read_definitions

        return list(read_definitions(server))
    return []


def shown_value(value: object) -> str:
    """Return the value of an option as text."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(str, value))}]"
    return moment_text(value) if isinstance(value, int) and not isinstance(value, bool) else str(value)


def paths_of(given: dict[str, str]) -> tuple[str, ...]:
    """Return the paths of ``load(path)`` or ``load([path, ...])``, which Spark passes as JSON text.

    >>> paths_of({"paths": '["a.1", "b.1"]'})
    ('a.1', 'b.1')
    """
    several = json.loads(given.get("paths", "[]"))
    return (*([given["path"]] if given.get("path") else []), *(str(path) for path in several))


def names_of(option: str | None) -> tuple[str, ...]:
    """Return the names in an option, which are separated by commas; a name with a comma is between backticks.

    >>> names_of("shop.product, crm,"), names_of("shop.`a,b`,crm")
    (('shop.product', 'crm'), ('shop.`a,b`', 'crm'))
    """
    return tuple(name.strip() for name in _NAME.findall(option or "") if name.strip())


def moment_of(name: str, option: str | None) -> int | None:
    """Return a time in RFC 3339 as microseconds since 1970."""
    return None if option is None else parse_moment(name, option)


def choice_of(name: str, option: str, choices: tuple[str, ...]) -> str:
    """Check that an option is one of some words, and return it.

    Raises:
        UsageError: It is another word.
    """
    if option.strip().lower() not in choices:
        raise UsageError(f"{name}={option}: it is {' or '.join(choices)}")
    return option.strip().lower()


def truth_of(name: str, option: str) -> bool:
    """Return the truth of an option."""
    return TRUTHS[choice_of(name, option, tuple(TRUTHS))]


def bytes_of(name: str, option: str | None) -> int | None:
    """Return a number of bytes written as ``67108864``, ``64m`` or ``1g``.

    Raises:
        UsageError: The text is not such a number.
    """
    if option is None:
        return None
    text = option.strip().lower().removesuffix("b")
    unit = {"k": 10, "m": 20, "g": 30}.get(text[-1:], 0)
    digits = text[:-1] if unit else text
    if not digits.isdecimal() or int(digits) == 0:
        raise UsageError(f"{name}={option}: write a number of bytes, such as 67108864 or 64m")
    return int(digits) << unit
