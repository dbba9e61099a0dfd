"""One run of ``undo``: choose, find dependents, write the statements to disk, and run them newest first."""

from __future__ import annotations

import errno
import tempfile
import time
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from paraply._extras import require_extra
from paraply._native import DependentFinder, RowStatements
from paraply.errors import RowNotFound, UndoRefused, UsageError
from paraply.logs import log_paths
from paraply.logs.transaction_set import TransactionSet
from paraply.output_files import new_file
from paraply.targets import MYSQL, POSTGRESQL
from paraply.undo.choice import CHOSEN, WHOLE, choose
from paraply.undo.history import earlier_undos, earlier_words
from paraply.undo.options import UndoOptions, UndoReport, everything
from paraply.undo.search import ChosenFeed, find_dependents
from paraply.undo.spool import open_spool
from paraply.undo.writer import batches, script
from paraply.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from paraply._native import Catalog, TransactionBatch, WriteSets
    from paraply.schema.model import Table
    from paraply.undo.choice import Choice
    from paraply.undo.spool import Spool
    from paraply.undo.writer import UndoWriter

__all__ = ["Undo", "open_writer", "undo"]

_CHUNK_BYTES = 1 << 20
_LONGEST_NOTE = 1 << 20
_MANY_ROWS = 1000
"""Row changes of a table from which on they are made through a table of the session."""


def open_writer(url: str | None, options: UndoOptions, *, defaults_file: Path | str | None = None) -> UndoWriter:
    """Connect to a target.

    Args:
        url: Its URL; None for the embedded PostgreSQL in ``./paraply-data``.
        options: The options of the undo.
        defaults_file: A MySQL option file with defaults for the URL.

    Raises:
        UsageError: The URL names no kind of database that is known, or there is no embedded PostgreSQL.
        ConnectionFailed: The server cannot be reached.

    >>> open_writer("oracle://localhost", UndoOptions())
    Traceback (most recent call last):
    ...
    paraply.errors.UsageError: unknown target oracle://: give a mysql://, mariadb:// or postgresql:// URL
    """
    if url is None:
        return _open_embedded(options)
    scheme = url.partition(":")[0].lower()
    if scheme in MYSQL:
        from paraply.targets.url import parse_url
        from paraply.undo.mysql_writer import MySqlWriter

        return MySqlWriter(parse_url(url, defaults_file=str(defaults_file) if defaults_file is not None else None))
    if scheme in POSTGRESQL:
        require_extra("postgres", "a postgresql:// target")
        from paraply.undo.postgres_writer import PostgresWriter

        return PostgresWriter(url, options.channel, options.schema)
    raise UsageError(f"unknown target {scheme}://: give a mysql://, mariadb:// or postgresql:// URL")


def _open_embedded(options: UndoOptions) -> UndoWriter:
    require_extra("embedded", "the embedded PostgreSQL", "or name a server with --to")
    from paraply.targets.postgres.embedded import EmbeddedPostgres
    from paraply.undo.postgres_writer import PostgresWriter

    server = EmbeddedPostgres()
    if not server.exists:
        raise UsageError(
            f"there is no embedded PostgreSQL in {server.folder} whose rows could be taken back: name the target with --to URL"
        )
    uri = server.start()
    try:
        return PostgresWriter(uri, options.channel, options.schema, server)
    except BaseException:
        server.stop()
        raise


class Undo:
    """An undo of chosen transactions in a live target.

    Args:
        paths: The logs, in order, up to now.
        writer: The target, as ``open_writer`` returns it.
        options: The transactions.
        on_progress: Called with the bytes read in all readings, and words for people.
    """

    def __init__(
        self,
        paths: Sequence[Path | str],
        writer: UndoWriter,
        options: UndoOptions,
        *,
        on_progress: Callable[[float, str], None] | None = None,
    ) -> None:
        self._paths = log_paths(paths)
        self._writer = writer
        self._options = options
        self._on_progress = on_progress or (lambda _done, _words: None)
        self._total = sum(Path(path).stat().st_size for path in self._paths)
        self._undone = TransactionSet()
        self.report = UndoReport()
        """The result so far."""

    def run(self, *, dry_run: bool = False, sql: Path | None = None) -> UndoReport:
        """Undo, or show what would be undone.

        Args:
            dry_run: Change the rows back, and take that back again, so that it ends as the undo itself would.
            sql: Write the statements to this file instead of running them.

        Raises:
            UsageError: The logs do not hold the transactions.
            UndoRefused: The undo is not possible, or has dependents; nothing was changed.
            RowNotFound: A row was changed by someone else; nothing was changed.
            ParaplyError: Any other error; nothing was changed.
        """
        choice = choose(self._paths, self._options)
        self.report.earlier = earlier_undos(self._writer.history(), choice.gtids)
        try:
            self._undo(choice, dry_run=dry_run, sql=sql)
        except (RowNotFound, UndoRefused) as error:
            if self.report.earlier:
                error.message += f". {earlier_words(self.report.earlier)}: the rows may be as wanted already"
            raise
        return self.report

    def _undo(self, choice: Choice, *, dry_run: bool, sql: Path | None) -> None:
        """Undo chosen transactions, or try it, or write the statements to a file."""
        tables = self._writer.definitions()
        finder = find_dependents(self._paths, choice, self._options, tables, self.report, self._progress("dependents", 0))
        self._writer.check(finder.affected)
        with open_spool() as spool:
            staged = self._stage(tables, finder) if sql is None else {}
            self._spool(spool, choice, tables, finder, staged)
            if sql is not None:
                frame = self._writer.frame(checks=spool.has_checks)
                with new_file(sql, "--sql") as file:
                    file.writelines(script(frame, spool.backwards(), spool.checks()))
            else:
                self._write(spool, choice, dry_run=dry_run)

    def _progress(self, words: str, done: float) -> Callable[[float, int], None]:
        return lambda read, count: self._on_progress(done + read, f"{words}: {counted(count, 'transaction')} read")

    def _stage(self, tables: Sequence[Table], finder: DependentFinder) -> Mapping[tuple[str, str], str]:
        """Make tables of the session for tables of which many rows are changed."""
        many = {name for name, rows in finder.affected.items() if rows >= _MANY_ROWS}
        return self._writer.stage([table for table in tables if (table.database, table.name) in many]) if many else {}

    def _spool(
        self,
        spool: Spool,
        choice: Choice,
        tables: Sequence[Table],
        finder: DependentFinder,
        staged: Mapping[tuple[str, str], str],
    ) -> None:
        """Write the statements to disk, and turn a full disk into advice."""
        try:
            self._fill(spool, choice, tables, finder, staged)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            folder = tempfile.gettempdir()
            raise UndoRefused(
                f"the statements do not fit into {folder}; nothing was changed: set TMPDIR to a folder with more room"
            ) from None

    def _fill(
        self,
        spool: Spool,
        choice: Choice,
        tables: Sequence[Table],
        finder: DependentFinder,
        staged: Mapping[tuple[str, str], str],
    ) -> None:
        """Write the statements of all undone transactions to disk."""
        keeps = self._options.dependents == "keep"
        made = partial(RowStatements, backwards=True, postgres=self._writer.renderer, staged=staged)
        writers = {
            CHOSEN: made(tables=self._options.chosen, kept=finder if keeps else None),
            WHOLE: made(tables=everything()),
        }

        def visit(batch: TransactionBatch, begun: int, _sets: WriteSets, catalog: Catalog) -> None:
            marks = choice.marks[begun : begun + len(batch)]
            for index in (index for index, mark in enumerate(marks) if mark):
                statements = writers[marks[index]]
                before = self.report.row_count
                statements.begin(batch, index, catalog)
                spool.begin(batch[index].gtid)
                self.report.transactions += 1
                while (found := statements.next(_CHUNK_BYTES)) is not None:
                    spool.add(found)
                    spool.add_checks(statements.take_checks(last=False))
                    for statement in found:
                        self.report.rows[statement.table] = self.report.rows.get(statement.table, 0) + len(statement.keys)
                self.report.add_kept(statements.take_skipped())
                if (gtid := batch[index].gtid) and self.report.row_count > before:
                    self._undone.add(gtid)

        ChosenFeed(self._paths, choice, self._options, tables, "none", visit).run(self._progress("changes", self._total))
        for statements in writers.values():
            spool.add_checks(statements.take_checks(last=True))

    def _write(self, spool: Spool, choice: Choice, *, dry_run: bool) -> None:
        """Run the statements, newest transaction first, in one transaction; without any, leave the target as it is."""
        if not self.report.row_count:
            return
        started = time.monotonic()
        note = str(self._undone) or f"{counted(self.report.transactions, 'transaction')} from {choice.first}"
        self._writer.begin(None if dry_run else note[:_LONGEST_NOTE], checks=spool.has_checks)
        done = 0
        for changes in batches(spool.backwards()):
            self._writer.write(changes)
            done += sum(len(change.keys) for change in changes)
            share = done / max(self.report.row_count, 1)
            self._on_progress(self._total * (2 + share), f"{done:,} of {counted(self.report.row_count, 'row')} changed back")
        self._writer.check_keys(spool.checks())
        if dry_run:
            self._writer.roll_back()
        else:
            self._writer.commit()
        self.report.applied = not dry_run
        self.report.seconds = time.monotonic() - started


def undo(
    paths: Sequence[Path | str],
    url: str | None,
    options: UndoOptions,
    *,
    defaults_file: Path | str | None = None,
    dry_run: bool = False,
    sql: Path | None = None,
) -> UndoReport:
    """Undo transactions in a live target, and return the report.

    Raises:
        ParaplyError: As ``Undo.run``.
    """
    with closing(open_writer(url, options, defaults_file=defaults_file)) as writer:
        return Undo(paths, writer, options).run(dry_run=dry_run, sql=sql)
