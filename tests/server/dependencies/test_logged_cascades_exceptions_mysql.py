"""Logged cascades of MySQL 9.6 and later that are not corrected: what the target has in the end is what docs/limits.md says."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from large import FEW_BYTES, command_with
from server.dependencies.test_logged_cascades_mysql import BOTH, CASCADE, Content, Source, recorded, source
from server.point_in_time import apply
from server.replay import Outcome, end

__all__ = ["source"]

pytestmark = pytest.mark.mysql

FILLER = "CREATE TABLE filler (id INT PRIMARY KEY, t TEXT)"
LARGE = ["BEGIN", *(f"INSERT INTO filler VALUES ({number}, REPEAT('x', 1000))" for number in range(20))]
MOST_BYTES = 1 << 25
VIA = ("--via", "replication", "--workers", "4")
HINT = "bugs 102586 and 80821 of bugs.mysql.com"


def large_log(source: Source, folder: Path, statement: str) -> tuple[Path, Content]:
    """Return the log of a statement at the end of a transaction of 20 KB, and what the source held."""
    source.run(["CREATE DATABASE casc_big", "USE casc_big", *CASCADE, FILLER, *LARGE, statement, "COMMIT"])
    (log,), expected = recorded(source, folder)
    return log, expected


def applied_with(most: int, log: Path, url: str, *options: str) -> Outcome:
    """Apply a log with so many bytes of a transaction in memory."""
    return end(subprocess.Popen(command_with(most, log, url, *options), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))


def test_a_large_transaction_goes_to_the_servers_applier_as_it_is_logged(source: Source, tmp_path: Path) -> None:
    log, expected = large_log(source, tmp_path, "REPLACE INTO p VALUES (1,5)")
    assert expected["casc_big.c"] == [(1, 1), (2, 1), (3, 2), (4, 3)]
    for most, options in ((MOST_BYTES, VIA), (FEW_BYTES, ()), (MOST_BYTES, ())):
        outcome = applied_with(most, log, source.url, *options)
        assert outcome.code == 0, outcome.report.get("error")
        assert source.content() == expected, (most, options)
        source.clear()
    outcome = applied_with(FEW_BYTES, log, source.url, *VIA)
    assert outcome.code == 0, outcome.report.get("error")
    assert source.content() == expected | {"casc_big.c": [(3, 2), (4, 3)]}, "the server's applier loses the parent's children"


def test_a_large_transaction_at_which_the_servers_applier_stops_names_the_reports(source: Source, tmp_path: Path) -> None:
    log, expected = large_log(source, tmp_path, BOTH)
    for most, options in ((MOST_BYTES, VIA), (FEW_BYTES, ())):
        outcome = applied_with(most, log, source.url, *options)
        assert outcome.code == 0, outcome.report.get("error")
        assert source.content() == expected, (most, options)
        source.clear()
    outcome = applied_with(FEW_BYTES, log, source.url, *VIA)
    assert outcome.code == 1, outcome
    assert HINT in outcome.report["error"]["message"]
    assert source.content()["casc_big.filler"] == [], "nothing of the transaction is left"


#: One key's children are in ``a``, the other one's in ``b``.
TWO_KEYS = [
    "CREATE TABLE p (id INT PRIMARY KEY, u INT UNIQUE, n INT)",
    "CREATE TABLE a (id INT PRIMARY KEY, r INT, FOREIGN KEY (r) REFERENCES p (id) ON DELETE {0})",
    "CREATE TABLE b (id INT PRIMARY KEY, r INT, FOREIGN KEY (r) REFERENCES p (u) ON DELETE {0})",
    "INSERT INTO p VALUES (1,1,0),(2,2,0)",
    "INSERT INTO a VALUES (1,1),(2,2)",
    "INSERT INTO b VALUES (1,1),(2,2)",
]
#: Keeps a key and loses the other: the statement, the children of the kept key, and those of the lost one.
REPLACES = [("REPLACE INTO p VALUES (1,10,1)", "a", "b"), ("REPLACE INTO p VALUES (11,1,1)", "b", "a")]
OWN = [
    "SET sql_log_bin=0",
    "USE casc_cut",
    "CREATE TABLE own_a (r INT PRIMARY KEY, FOREIGN KEY (r) REFERENCES p (id) ON DELETE CASCADE)",
    "CREATE TABLE own_b (r INT PRIMARY KEY, FOREIGN KEY (r) REFERENCES p (u) ON DELETE CASCADE)",
    "INSERT INTO own_a VALUES (1),(2)",
    "INSERT INTO own_b VALUES (1),(2)",
]


def before_and_after(source: Source, folder: Path, action: str, statement: str) -> tuple[list[Path], Content]:
    """Return the logs of a REPLACE and of what was before it, which stands on the target, and what the source held."""
    before = [text.format(action) for text in TWO_KEYS]
    source.run(["CREATE DATABASE casc_cut", "USE casc_cut", *before, "FLUSH BINARY LOGS"])
    source.run(["USE casc_cut", statement])
    files, expected = recorded(source, folder)
    assert apply(files[:1], source.url).code == 0
    return files, expected


def cut(source: Source, log: Path, *filters: str) -> Outcome:
    """Apply the second log with filters, on a channel of its own."""
    executed = str(source.sql("SELECT @@GLOBAL.gtid_executed")[0][0])
    outcome = apply([log], source.url, *filters, "--channel", "cut", "--start-after", executed)
    assert outcome.code == 0, outcome.report.get("error")
    return outcome


@pytest.mark.parametrize(("statement", "kept", "lost"), REPLACES, ids=["keeps id", "keeps u"])
@pytest.mark.parametrize("action", ["CASCADE", "SET NULL"])
def test_a_child_left_out_of_a_lost_key_costs_the_children_of_the_kept_one(
    source: Source, tmp_path: Path, action: str, statement: str, kept: str, lost: str
) -> None:
    files, expected = before_and_after(source, tmp_path, action, statement)
    gone = [(2, 2)] if action == "CASCADE" else [(1, None), (2, 2)]
    assert expected[f"casc_cut.{kept}"] == [(1, 1), (2, 2)]
    assert expected[f"casc_cut.{lost}"] == gone
    source.clear()
    for options, found in (
        (("--exclude-table", f"casc_cut.{lost}"), gone),
        (("--table", "casc_cut.p"), gone),
        (("--table", "casc_cut.p", "--table", f"casc_cut.{kept}"), gone),
        (("--exclude-table", f"casc_cut.{kept}"), [(1, 1), (2, 2)]),
    ):
        assert apply(files[:1], source.url).code == 0
        outcome = cut(source, files[1], *options)
        if found == gone:
            assert any(note.startswith(f"casc_cut.{lost} refers to casc_cut.p") for note in outcome.report["notes"]), options
        assert source.content() == expected | {f"casc_cut.{kept}": found}, options
        source.clear()


@pytest.mark.parametrize(("statement", "kept", "lost"), REPLACES, ids=["keeps id", "keeps u"])
def test_children_that_only_the_target_has_refer_to_nothing_or_go_with_a_filter(
    source: Source, tmp_path: Path, statement: str, kept: str, lost: str
) -> None:
    files, expected = before_and_after(source, tmp_path, "CASCADE", statement)
    source.run(OWN)
    assert apply(files, source.url).code == 0
    content = source.content()
    assert content == expected | {f"casc_cut.own_{kept}": [(1,), (2,)], f"casc_cut.own_{lost}": [(1,), (2,)]}
    column = 0 if lost == "a" else 1
    assert 1 not in [row[column] for row in content["casc_cut.p"]], "the child's parent is not there"
    source.clear()
    assert apply(files[:1], source.url).code == 0
    source.run(OWN)
    outcome = cut(source, files[1], "--table", "casc_cut.p")
    assert any(note.startswith(f"casc_cut.own_{lost} refers to casc_cut.p") for note in outcome.report["notes"])
    found = source.content()
    assert found["casc_cut.p"] == expected["casc_cut.p"]
    assert {name: rows for name, rows in found.items() if name != "casc_cut.p"} == {
        "casc_cut.a": [(2, 2)], "casc_cut.b": [(2, 2)], "casc_cut.own_a": [(2,)], "casc_cut.own_b": [(2,)],
    }, "foreign keys hold across the filter"  # fmt: skip
