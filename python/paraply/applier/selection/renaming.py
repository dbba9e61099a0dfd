"""Renames of databases and tables: the options, and the statements of a transaction."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Literal, cast

from paraply.errors import LogNotUnderstood, UsageError
from paraply.logs.statement_text import name_skip, read_statement_text, statement_start
from paraply.schema.ddl.renamed import CannotRename, RenamedStatement, rename_statement
from paraply.schema.ddl.rules import Rules
from paraply.schema.model import OWN_DATABASE, SYSTEM_DATABASES
from paraply.schema.renames import NameTaken, Renames
from paraply.wording import table_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paraply._native import Statement, Transaction, TransactionBatch
    from paraply.applier.selection.filters import Filters
    from paraply.logs.statement_text import StatementText
    from paraply.schema.catalog import SchemaCatalog

__all__ = ["Renaming", "gtid_mode_of", "parse_renames", "renamed_definitions"]

_NAME = r"(?:`((?:[^`]|``)+)`|([^.=`]+))"
_DATABASES = re.compile(rf"{_NAME}={_NAME}")
_TABLES = re.compile(rf"{_NAME}\.{_NAME}={_NAME}\.{_NAME}")
_LONGEST = 64
"""Most characters of a name, on every server."""
_RESERVED = (*SYSTEM_DATABASES, OWN_DATABASE)
#: A statement that no server knows, in place of an applied one whose tables are not known any more.
_NOT_FOLLOWED = b"A STATEMENT THAT WAS NOT RENAMED"


def parse_renames(databases: Sequence[str] = (), tables: Sequence[str] = (), *, lower_case: bool = False) -> Renames:
    """Return the renames of ``--rename-database`` and ``--rename-table``.

    Args:
        databases: Each as ``old=new``.
        tables: Each as ``database.table=database.table``.
        lower_case: True if the source does not distinguish upper and lower case (``lower_case_table_names``).

    Raises:
        UsageError: An option has another form, a name is renamed twice, or two names would become one.

    >>> parse_renames(["shop=copy"], ["hr.pay=old.pay"]).table("hr", "pay")
    ('old', 'pay')
    """
    found = Renames(tuple(_pair(text) for text in databases), tuple(_table_pair(text) for text in tables))
    found = found.in_lower_case() if lower_case else found
    _check_pairs("--rename-database", [((old,), (new,)) for old, new in found.databases])
    _check_pairs("--rename-table", list(found.tables))
    return found


def _pair(text: str) -> tuple[str, str]:
    names = _names("--rename-database", _DATABASES, text, "OLD=NEW")
    return names[0], names[1]


def _table_pair(text: str) -> tuple[tuple[str, str], tuple[str, str]]:
    names = _names("--rename-table", _TABLES, text, "DATABASE.TABLE=DATABASE.TABLE")
    return (names[0], names[1]), (names[2], names[3])


def _names(option: str, form: re.Pattern[str], text: str, example: str) -> list[str]:
    match = form.fullmatch(text)
    if match is None:
        more = ", and a backtick within them is doubled, as in `back``tick`" if "`" in text else ""
        raise UsageError(f"{option} {text}: write {example}; a name with a dot, an equals sign or a backtick goes between backticks{more}")
    groups = match.groups()
    names = [quoted.replace("``", "`") if quoted else bare for quoted, bare in zip(groups[::2], groups[1::2], strict=True)]
    for name in names:
        if len(name) > _LONGEST:
            raise UsageError(f"{option} {text}: a name has at most {_LONGEST} characters")
        if name.endswith(" ") or "\0" in name:
            raise UsageError(f"{option} {text}: {name!r} cannot be the name of a database or table")
    return names


def _check_pairs(option: str, pairs: list[tuple[tuple[str, ...], tuple[str, ...]]]) -> None:
    seen: dict[tuple[str, ...], str] = {}
    taken: dict[tuple[str, ...], str] = {}
    for old, new in pairs:
        text = f"{'.'.join(old)}={'.'.join(new)}"
        if [name.lower() for name in old] == [name.lower() for name in new]:
            raise UsageError(f"{option} {text} changes nothing, or only upper and lower case, which not every server distinguishes")
        for name in (old[0], new[0]):
            if name.lower() in _RESERVED:
                raise UsageError(f"{option} {text}: {name} belongs to the server or to paraply, and keeps its name")
        if old in seen:
            raise UsageError(f"{option} {text}: {'.'.join(old)} is renamed already, by {seen[old]}")
        if new in taken:
            raise UsageError(f"{option} {text}: {taken[new]} has the same new name, and two would become one")
        seen[old], taken[new] = text, text


def gtid_mode_of(renames: Renames, filters: Filters, gtid: str) -> Literal["none"]:
    """Return the GTID mode of an apply with renames, in which the target does not claim the source's transactions.

    Raises:
        UsageError: Another mode was asked for, or the filters leave out what is renamed.
    """
    if gtid not in ("auto", "none"):
        raise UsageError(
            f"--gtid {gtid} would let the target claim the source's transactions, which it holds under other names: use --gtid none with"
            f" {renames}"
        )
    for old, _ in renames.databases:
        if not filters.chooses_some(old):
            raise UsageError(f"--rename-database {old}: the filters leave this database out ({filters})")
    for place, _ in renames.tables:
        if not filters.chooses(*place):
            raise UsageError(f"{table_option('--rename-table', place)}: the filters leave this table out ({filters})")
    return "none"


def renamed_definitions(renames: Renames, schema: SchemaCatalog | None) -> SchemaCatalog | None:
    """Return the definitions of ``--schema`` with the names of the target.

    Raises:
        UsageError: Two tables would have one name.
    """
    if schema is None or not renames:
        return schema
    try:
        return renames.catalog(schema)
    except NameTaken as error:
        raise UsageError(f"--schema: {error}: rename this one too, or leave it out of the dump") from None


@dataclass(frozen=True, slots=True)
class Renaming:
    """The names of the target in a log's statements and tables.

    Attributes:
        renames: The renames.
        filters: The filters, which know the log's names.
        beside: True if the log is the target's own, so that the log's own tables are in use there.
    """

    renames: Renames
    filters: Filters
    beside: bool = field(default=False)

    def chooses(self, database: str, table: str) -> bool:
        """Return True if a table of the target gets the rows of an applied table of the log."""
        return any(self.filters.chooses(*name) for name in self.renames.log_names(database, table))

    def batch(self, batch: TransactionBatch, *, applied: bool = False) -> TransactionBatch:
        """Return a batch of one transaction with the target's names in its statements; row events have them already.

        Args:
            batch: The batch, after the filters.
            applied: True if the target holds the transaction, whose statements are only followed.

        Raises:
            LogNotUnderstood: A statement may name a renamed table where it is not understood.
        """
        if not self.renames or len(batch) != 1 or batch[0].xid is not None:
            return batch
        transaction = batch[0]
        if not transaction.statements:
            return batch
        try:
            renamed = [self._statement(transaction, statement) for statement in transaction.statements]
        except LogNotUnderstood:
            if not applied:
                raise
            return batch.with_statements([(_NOT_FOLLOWED, "") for _ in transaction.statements])
        if not any(statement.runs for statement, _ in renamed):
            return batch.emptied()
        if not all(statement.runs for statement, _ in renamed):
            raise self._refused(transaction, "only a part of the transaction's statements has a counterpart on the target", "")
        return batch.with_statements([(sql, statement.database) for statement, sql in renamed])

    def transaction(self, batch: TransactionBatch, transaction: Transaction, *, applied: bool = False) -> Transaction:
        """Return a transaction of a batch with the target's names in its statements; see ``batch``."""
        if not self.renames or not transaction.statements or len(batch) != 1:
            return transaction
        return self.batch(batch, applied=applied)[0]

    def _statement(self, transaction: Transaction, statement: Statement) -> tuple[RenamedStatement, bytes]:
        log = transaction.format
        try:
            read = read_statement_text(
                statement, mariadb=log.mariadb, version=log.version, file=transaction.file, has_rows=transaction.rows > 0
            )
        except LogNotUnderstood as error:
            name_skip(error, transaction)
            raise
        rules = Rules.of(statement.context, mariadb=log.mariadb, version=log.version)
        try:
            renamed = rename_statement(read.text, statement.database, rules, self.renames, self._keeps, beside=self.beside)
        except CannotRename as error:
            raise self._refused(transaction, str(error), read.text) from None
        if not renamed.runs or renamed.text == read.text:
            return renamed, bytes(statement.sql)
        return renamed, self._encoded(transaction, statement, read, renamed.text)

    def _keeps(self, database: str) -> bool:
        """Return True if an applied table of a database may keep its name, or objects other than tables are applied."""
        filters = self.filters
        if not filters.includes or filters.chooses_database(database):
            return True
        renamed = [old for old, _ in self.renames.tables]
        return any(of == database and (of, name) not in renamed for of, name in filters.tables)

    def _encoded(self, transaction: Transaction, statement: Statement, read: StatementText, text: str) -> bytes:
        """Return the bytes of a new text, which are read as this text again."""
        log = transaction.format
        for data in (read.edited(text), text.encode()):
            if data is None:
                continue
            again = cast("Statement", SimpleNamespace(sql=data, context=statement.context, offset=statement.offset))
            try:
                found = read_statement_text(again, mariadb=log.mariadb, version=log.version, has_rows=transaction.rows > 0)
            except LogNotUnderstood:
                continue
            if found.text == text:
                return data
        raise self._refused(transaction, "the statement's character set cannot express the new names", read.text)

    @staticmethod
    def _refused(transaction: Transaction, reason: str, text: str) -> LogNotUnderstood:
        named = f"; the statement is: {statement_start(text)}" if text else ""
        return LogNotUnderstood(
            f"the names in a statement cannot be replaced: {reason}; or stop before it with --stop-before, run what you need of it"
            f" by hand, and go on after it with --start-after on a new --channel{named}",
            file=transaction.file,
            position=transaction.offset,
            gtid=transaction.gtid,
        )
