"""``--skip``: the target ends as after a replay of the log without these transactions, and counts them as executed (R19)."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from command_line import Outcome, run_json
from server.replay import PostgresPlace, SqlPlace
from server.source_log import copy_binlogs
from server.undo_histories import Rows, UndoHistory, gtids_of, replayed
from servers import MariaDbServer, sql_connect

from paraply import Applier, GtidSet, make_target, open_log
from paraply.cli.apply import report_json
from paraply.errors import DependentTransactions, ParaplyError
from paraply.logs.transaction_set import TransactionSet
from paraply.undo.options import UndoOptions
from paraply.undo.undo import undo

SEEDS = range(
    int(os.environ.get("PARAPLY_SEED", "1")), int(os.environ.get("PARAPLY_SEED", "1")) + int(os.environ.get("PARAPLY_SEEDS", "2"))
)
TRANSACTIONS = 40
NUMBERS = {"parent": ("id", "n"), "child": ("id", "parent_id"), "swap": ("id", "u"), "hot": ("id", "n"), "plain": ("a",)}
"""Columns of the histories' tables that every database shows alike."""


class Made:
    """A server, and logs of what ran on it alone."""

    def __init__(self, place: SqlPlace, folder: Path, data: Path | None) -> None:
        self.place = place
        self._folder = folder
        self._data = data

    def session(self) -> Callable[[str], list[tuple[Any, ...]]]:
        """Return a function that runs a statement of one session."""
        parts = urlsplit(self.place.url)
        connection = sql_connect(host=parts.hostname, port=parts.port, user=parts.username, password=parts.password or "", autocommit=True)

        def sql(text: str) -> list[tuple[Any, ...]]:
            with connection.cursor() as cursor:
                cursor.execute(text)
                return list(cursor.fetchall())

        return sql

    def log(self, *statements: str) -> Path:
        """Run statements of one session, and return the log of everything since the server was emptied; then empty it again."""
        sql = self.session()
        for statement in statements:
            sql(statement)
        if self._data is None:
            log = copy_binlogs(self.place.url, self._folder)[0]
        else:
            sql("FLUSH BINARY LOGS")
            log = self._folder / "binlog.000001"
            log.write_bytes((self._data / "binlog.000001").read_bytes())
        self.clear()
        return log

    def clear(self) -> None:
        """Empty the server."""
        self.place.sql(*(f"DROP DATABASE IF EXISTS undo_{seed}" for seed in SEEDS))
        self.place.empty()


@pytest.fixture(params=[pytest.param("mysql", marks=pytest.mark.mysql), pytest.param("mariadb", marks=pytest.mark.mariadb)])
def made(request: pytest.FixtureRequest, tmp_path: Path) -> Made:
    place: SqlPlace = request.getfixturevalue(f"{request.param}_place")
    server: MariaDbServer | None = request.getfixturevalue("durable_mariadb") if request.param == "mariadb" else None
    found = Made(place, tmp_path, server.data if server is not None else None)
    found.clear()
    return found


def run(log: Path, url: str, *words: str) -> tuple[int, dict[str, Any]]:
    """Apply a log in this process, as the command line would; return exit code and JSON object."""
    options: dict[str, Any] = {name.removeprefix("--"): int(value) if value.isdigit() else value for name, value in pairwise(words)}
    options = {name: value for name, value in options.items() if name in ("skip", "gtid", "workers", "via")}
    try:
        with Applier([log], make_target(url), **options) as applier:
            report = applier.run()
    except ParaplyError as error:
        return error.exit_code, {"class": type(error).__name__, "message": error.message, "gtid": error.gtid}
    return 0, report_json(report)


def applied(log: Path, url: str, *words: str) -> dict[str, Any]:
    """Apply a log, which must succeed; return the JSON object."""
    code, report = run(log, url, *words)
    assert code == 0, report
    return report


def named(log: Path, text: str) -> str:
    """Return the GTID of the only transaction whose statement, or whose only table, contains a text."""
    found = [
        transaction.gtid
        for transaction in open_log(log)
        if any(text.encode() in statement.sql for statement in transaction.statements) or text in transaction.tables
    ]
    assert len(found) == 1, (text, found)
    return str(found[0])


def numbers(rows: Rows) -> dict[str, Counter[tuple[int | None, ...]]]:
    """Return the numbers of the rows that a replay in plain Python gives."""
    found: dict[str, Counter[tuple[int | None, ...]]] = {}
    for table, columns in NUMBERS.items():
        counted: Counter[tuple[int | None, ...]] = Counter()
        for row, times in rows[table].items():
            values = dict(row)
            counted[tuple(None if values[column] is None else int(str(values[column])) for column in columns)] += times
        found[table] = counted
    return found


def held(fetch: Callable[[Any], Iterable[tuple[Any, ...]]], database: str, quote: str) -> dict[str, Counter[tuple[int | None, ...]]]:
    """Return the numbers of the rows in a database."""
    selects = {table: f"SELECT {', '.join(columns)} FROM {quote}{database}{quote}.{table}" for table, columns in NUMBERS.items()}
    return {table: Counter(tuple(row) for row in fetch(select)) for table, select in selects.items()}


def independent(log: Path, url: str, history: UndoHistory) -> TransactionSet:
    """Return random transactions of a history with everything that depends on them."""
    chosen = TransactionSet.parse("seed", history.choose(gtids_of([log], history.database)[15:]))
    try:
        dependents = undo([log], url, UndoOptions(transactions=chosen, dependents="stop"), dry_run=True).dependents
    except DependentTransactions:
        dependents = undo([log], url, UndoOptions(transactions=chosen, dependents="include"), dry_run=True).dependents
    for dependent in dependents:
        chosen.add(dependent.gtid or "")
    return chosen


VARIANTS: tuple[dict[str, Any], ...] = ({"workers": 0}, {"gtid": "preserve", "workers": 4}, {"workers": 4, "merge": 8})


def test_r19_random_histories_end_as_a_replay_without_the_transactions(made: Made, postgres_place: PostgresPlace) -> None:
    for seed in SEEDS:
        made.clear()
        history = UndoHistory(made.session(), seed)
        history.run(TRANSACTIONS)
        chosen = independent_of(made, history)
        log = made.log()
        expected = numbers(replayed([log], history.database, chosen.__contains__))
        options = VARIANTS[seed % len(VARIANTS)]
        for url in (made.place.url, postgres_place.url):
            postgres = url == postgres_place.url
            with Applier([log], make_target(url), skip=str(chosen), **({"workers": 4} if postgres else options)) as applier:
                report = applier.run()
            assert report.skip is not None
            assert (report.skip.transactions, report.skip.missing) == (report.skipped, "")
            assert report.skipped > 0
            assert sum(1 for _ in open_log(log)) == report.transactions + report.skipped
            with psycopg.connect(postgres_place.url) as connection:
                found = held(connection.execute, history.database, '"') if postgres else held(made.place.sql, history.database, "`")
            assert found == expected, f"seed {seed} {url} {options}"
        postgres_place.empty()


def independent_of(made: Made, history: UndoHistory) -> TransactionSet:
    """Return such transactions, from the log of the live server."""
    folder = made._folder / "live"
    folder.mkdir(exist_ok=True)
    if made._data is None:
        log = copy_binlogs(made.place.url, folder)[0]
    else:
        log = folder / "binlog.000001"
        log.write_bytes((made._data / "binlog.000001").read_bytes())
    return independent(log, made.place.url, history)


TWO = ("CREATE DATABASE shop", "CREATE TABLE shop.t (id INT PRIMARY KEY, a INT, b INT)", "INSERT INTO shop.t VALUES (1, 10, 20)")


def test_a_skipped_drop_leaves_the_table_and_counts_as_executed(made: Made, postgres_place: PostgresPlace) -> None:
    log = made.log(*TWO, "CREATE TABLE shop.other (id INT PRIMARY KEY)", "INSERT INTO shop.other VALUES (5)", "DROP TABLE shop.t")
    drop = named(log, "DROP TABLE")
    for options in (("--gtid", "preserve"), ()):
        report = applied(log, made.place.url, "--skip", drop, "--workers", "4", *options)
        assert (report["skipped"], report["skip"]["transactions"]) == (1, 1)
        assert drop in GtidSet(report["executed"])
        # A later run does not come back to it, also without the option.
        assert applied(log, made.place.url, *options)["transactions"] == 0
        assert made.place.sql("SELECT * FROM shop.t ORDER BY id") == [(1, 10, 20)]
        if not made.place.mariadb:
            assert drop in GtidSet(str(made.place.sql("SELECT @@gtid_executed")[0][0]))
        made.clear()
    for skip in (("--skip", drop), ()):
        applied(log, postgres_place.url, *skip)
        assert postgres_place.rows("t") == [(1, 10, 20)]
        assert postgres_place.rows("other") == [(5,)]


def test_rows_after_a_skipped_change_of_columns_are_refused_also_by_a_later_run(made: Made, postgres_place: PostgresPlace) -> None:
    swap = "ALTER TABLE shop.t MODIFY b INT FIRST"
    other = ("CREATE TABLE shop.other (id INT PRIMARY KEY)", swap, "INSERT INTO shop.other VALUES (7)")
    log = made.log(*TWO, *other, "INSERT INTO shop.t VALUES (200, 2, 100)", "INSERT INTO shop.t VALUES (300, 3, 100)")
    with Applier([log], make_target(made.place.url), skip=named(log, "MODIFY")) as applier:
        forecast = applier.dry_run()
    assert forecast is not None
    assert [(stop.sql, stop.place.gtid) for stop in forecast.stops] == [("rows of shop.t", list(open_log(log))[-2].gtid)]
    for url, fetch in (
        (made.place.url, lambda: made.place.sql("SELECT id, a, b FROM shop.t")),
        (postgres_place.url, lambda: postgres_place.rows("t")),
    ):
        for skip in (("--skip", named(log, "MODIFY")), ()):
            code, error = run(log, url, *skip)
            assert (code, error["class"], error["gtid"]) == (1, "SchemaMismatch", list(open_log(log))[-2].gtid), error
            assert "column 1 is b" in error["message"] or not skip
            assert fetch() == [(1, 10, 20)]
    assert made.place.sql("SELECT id FROM shop.other") == postgres_place.rows("other") == [(7,)], "everything before it is applied"


def test_rows_after_a_skipped_index_go_on(made: Made, postgres_place: PostgresPlace) -> None:
    log = made.log(
        *TWO, "ALTER TABLE shop.t ADD UNIQUE KEY u (a)", "INSERT INTO shop.t VALUES (2, 11, 20)", "DELETE FROM shop.t WHERE id=1"
    )
    for url in (made.place.url, postgres_place.url):
        applied(log, url, "--skip", named(log, "UNIQUE"), "--workers", "4")
    assert made.place.sql("SELECT * FROM shop.t ORDER BY id") == [(2, 11, 20)]
    assert made.place.sql("SHOW INDEX FROM shop.t WHERE key_name='u'") == []
    assert postgres_place.rows("t") == [(2, 11, 20)]


def test_a_change_in_statement_format_can_be_skipped(made: Made) -> None:
    log = made.log(
        *TWO,
        "SET SESSION binlog_format='STATEMENT'",
        "UPDATE shop.t SET a = 11",
        "SET SESSION binlog_format='ROW'",
        "INSERT INTO shop.t VALUES (2, 2, 2)",
    )
    code, error = run(log, made.place.url)
    assert code == 3
    assert applied(log, made.place.url, "--skip", error["gtid"])["skip"]["transactions"] == 1
    assert made.place.sql("SELECT * FROM shop.t ORDER BY id") == [(1, 10, 20), (2, 2, 2)]


def xa(change: str, end: str) -> list[str]:
    """Return the statements of an XA transaction."""
    return ["XA START 'x'", change, "XA END 'x'", "XA PREPARE 'x'", f"XA {end} 'x'"]


def test_r35_an_xa_transaction_is_skipped_whole_or_not_at_all(made: Made, postgres_place: PostgresPlace) -> None:
    log = made.log(*TWO, *xa("INSERT INTO shop.t VALUES (2, 2, 2)", "COMMIT"), "INSERT INTO shop.t VALUES (3, 3, 3)")
    prepare, end = (part.gtid or "" for part in open_log(log) if part.kind in ("xa_prepare", "xa_end"))
    for half in (prepare, end):
        code, error = run(log, made.place.url, "--skip", half)
        assert (code, error["class"]) == (2, "UsageError")
        assert "only one half" in error["message"]
        assert made.place.sql("SHOW DATABASES LIKE 'shop'") == [], "nothing was written"
    report = applied(log, made.place.url, "--skip", f"{prepare},{end}", "--workers", "4")
    assert report["skip"]["transactions"] == 2
    assert made.place.sql("SELECT id FROM shop.t ORDER BY id") == [(1,), (3,)]
    assert made.place.sql("XA RECOVER") == []
    applied(log, postgres_place.url, "--skip", f"{prepare},{end}")
    assert [row[0] for row in postgres_place.rows("t")] == [1, 3]


def test_names_that_no_log_has_are_told_and_other_forms_refused(made: Made) -> None:
    log = made.log(*TWO)
    gtid = list(open_log(log))[-1].gtid or ""
    absent = f"{gtid[: gtid.rindex('-') + 1]}999" if made.place.mariadb else f"{gtid.split(':')[0]}:999"
    report = applied(log, made.place.url, "--skip", absent)
    assert report["skip"] == {"asked": absent, "transactions": 0, "missing": absent}
    assert any("in none of the logs" in note and absent in note for note in report["notes"])
    other = "3e11fa47-71ca-11e1-9e33-c80aa9429562:5" if made.place.mariadb else "0-1-5"
    assert run(log, made.place.url, "--skip", other)[0] == 2
    assert run(log, made.place.url, "--skip", "nonsense")[0] == 2


@pytest.mark.mysql
def test_mysql_via_replication_sends_an_empty_transaction(mysql_place: SqlPlace, tmp_path: Path) -> None:
    made = Made(mysql_place, tmp_path, None)
    made.clear()
    log = made.log(*TWO, "INSERT INTO shop.t VALUES (2, 2, 2)", "TRUNCATE shop.t", "INSERT INTO shop.t VALUES (3, 3, 3)")
    gtids = [transaction.gtid or "" for transaction in open_log(log)]
    skip = f"{gtids[3]},{gtids[4]}"
    report = applied(log, mysql_place.url, "--via", "replication", "--skip", skip)
    assert mysql_place.sql("SELECT id FROM shop.t ORDER BY id") == [(1,), (3,)]
    assert mysql_place.sql("SELECT @@gtid_executed") == [(f"{gtids[0].split(':')[0]}:1-{len(gtids)}",)]
    assert (report["skipped"], report["transactions"]) == (2, len(gtids) - 2)


@pytest.mark.mariadb
def test_mariadb_python_takes_a_text_and_a_set(mariadb_place: SqlPlace, durable_mariadb: MariaDbServer, tmp_path: Path) -> None:
    made = Made(mariadb_place, tmp_path, durable_mariadb.data)
    log = made.log(*TWO, "INSERT INTO shop.t VALUES (2, 2, 2)")
    gtids = [transaction.gtid or "" for transaction in open_log(log)]
    one = GtidSet()
    one.add(gtids[-1])
    for skip in (one, gtids[-1]):
        with Applier([log], make_target(mariadb_place.url), skip=skip) as applier:
            report = applier.run()
        assert report.skip is not None
        assert report.skip.transactions == 1
        assert mariadb_place.sql("SELECT id FROM shop.t ORDER BY id") == [(1,)]
        made.clear()


@pytest.mark.postgres
def test_mariadb_replicate_skips_what_a_new_start_names_and_stops_before_a_position(
    mariadb_place: SqlPlace, durable_mariadb: MariaDbServer, postgres_place: PostgresPlace, tmp_path: Path
) -> None:
    mariadb_place.sql(*TWO, "INSERT INTO shop.t VALUES (2, 2, 2)", "DROP TABLE shop.t")
    mariadb_place.sql(
        "CREATE TABLE shop.other (id INT PRIMARY KEY)", "INSERT INTO shop.other VALUES (1)", "INSERT INTO shop.other VALUES (2)"
    )
    log = durable_mariadb.data / "binlog.000001"
    *_, two, drop, _, one, last = open_log(log)

    def replicate(*options: str) -> Outcome:
        relay = str(tmp_path / "relay")
        return run_json("replicate", "--from", mariadb_place.url, "--to", postgres_place.url, "--relay-log", relay, *options)

    assert replicate("--until", two.gtid or "").code == 0
    # The channel is stopped; what it is to leave out is told with the new start.
    outcome = replicate("--skip", drop.gtid or "", "--stop-before", f"binlog.000001:{one.offset}")
    assert outcome.code == 0, outcome.report
    assert outcome.report["skip"] == {"asked": drop.gtid, "transactions": 1, "missing": None}
    assert outcome.report["stop"]["gtid"] == one.gtid
    assert [row[0] for row in postgres_place.rows("t")] == [1, 2]
    assert postgres_place.rows("other") == []
    outcome = replicate("--stop-before", f"binlog.000001:{last.offset - 7}")
    assert (outcome.code, outcome.error["class"]) == (1, "StopNotReached"), outcome.report
    assert f"binlog.000001:{last.offset}" in outcome.error["message"]
