"""Texts of the plan, of its errors, and of the report, where a reader was led astray."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from paraply._native import GtidSet, ResultSet, WriteSetFallback
from paraply.applier.preflight.dry_run import DryRun
from paraply.applier.preflight.plan import RunPlan, check_stop
from paraply.cli.apply import show
from paraply.cli.terminal.dry_run import show_dry_run
from paraply.errors import SchemaMismatch, ServerError, UsageError
from paraply.logs.stop_point import parse_stop
from paraply.observe.counters import ApplyReport
from paraply.targets.mysql.errors import explain
from paraply.targets.mysql.preflight.table_check import TableChecker, TargetColumn, compare_columns, refuse_engine
from paraply.targets.mysql.server_version import ServerKind
from paraply.targets.protocol import ApplyPlan


def run_plan(held: str = "", *, resumed: bool = True) -> RunPlan:
    return RunPlan(("binlog.000001",), 100, "10.11.6-MariaDB", None, None, held, None, resumed, "record", 4, "dependency", "any-time", True)


@pytest.mark.parametrize("mariadb", [False, True])
@pytest.mark.parametrize("option", ["stop_at", "stop_before"])
def test_a_date_without_a_time_is_not_only_called_no_gtid(option: str, mariadb: bool) -> None:
    with pytest.raises(UsageError, match="2026-11-20T00:00:00"):
        check_stop(parse_stop(**{option: "2026-11-20"}), [], GtidSet(), has_gtids=True, mariadb=mariadb)


def test_a_run_that_applied_nothing_is_not_continued() -> None:
    assert any("the last run applied none" in line for line in run_plan().lines())
    assert any("continues where the last run ended" in line for line in run_plan("0-1-7").lines())
    assert not any(line.startswith("start ") for line in run_plan(resumed=False).lines())


def test_the_report_names_new_connections(capsys: pytest.CaptureFixture[str]) -> None:
    show(ApplyReport(transactions=1, reconnects=2, fallbacks=[WriteSetFallback("known definition differs from the log", "shop.sv", 3)]))
    printed = " ".join(capsys.readouterr().out.split())
    assert "2 new connections after lost ones" in printed
    assert "known definition differs from the log (as for a system-versioned table" in printed
    show(ApplyReport(transactions=1))
    assert "connections" not in capsys.readouterr().out


def test_one_time_is_printed_once(capsys: pytest.CaptureFixture[str]) -> None:
    show_dry_run(DryRun(run_plan()))
    assert "time: about 1 s, by" in capsys.readouterr().out


def test_a_length_of_utf8_names_old_mode() -> None:
    target = TargetColumn("name", "varchar(10)", 15, 30, False, "utf8mb3")
    log: Any = SimpleNamespace(name=None, type_code=15, metadata=40, unsigned=None, collation_id=None)
    with pytest.raises(SchemaMismatch, match="old_mode"):
        compare_columns("shop.t", [log], [target], lambda _: None)


def test_a_missing_parent_names_the_filter() -> None:
    for code in (1452, 1824):
        assert "filter" in str(explain(ServerError("failed", code), file=None, position=None, gtid=None))


@pytest.mark.parametrize("has_gtids", [True, False])
def test_hidden_columns_name_the_targets_replication_only_to_a_log_that_it_takes(has_gtids: bool) -> None:
    one: Any = SimpleNamespace(query=lambda sql: [ResultSet(["1"], [(1,)], 0)])
    checker = TableChecker.of(one, ServerKind(False, (9, 7, 4)), ApplyPlan("c", "f", 4, has_gtids=has_gtids))
    with pytest.raises(SchemaMismatch, match="hidden columns") as refused:
        checker._refuse_functional(one, "shop.t", "TRUE", 1)
    assert ("replay this log with --via replication" in refused.value.message) is has_gtids
    assert "--exclude-table" in refused.value.message


@pytest.mark.parametrize(("table", "way"), [("mysql.time_zone_name", "--exclude-database mysql"), ("shop.old", "convert it to InnoDB")])
def test_an_engine_without_transactions_has_the_advice_of_its_table(table: str, way: str) -> None:
    with pytest.raises(SchemaMismatch) as refused:
        refuse_engine(table, "Aria", allowed=False)
    assert f"{way}, or give that up with --allow-nontransactional" in refused.value.message
