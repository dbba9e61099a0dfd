from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ET

import pytest

from paraply.bench.chart import bars
from paraply.bench.loads import LOADS, load_names, loads_of
from paraply.bench.loads.five import FIVE
from paraply.bench.peers import pipeline_for
from paraply.bench.server import BenchServer
from paraply.bench.sync_counts import SyncCounts
from paraply.errors import UsageError


@pytest.mark.parametrize("name", LOADS)
def test_a_session_draws_the_same_again_and_another_one_does_not(name):
    first, again, other = (list(itertools.islice(LOADS[name].session(number, seed), 50)) for number, seed in ((3, 7), (3, 7), (4, 7)))
    assert first == again
    assert first != other
    assert all(statements for statements in first)


@pytest.mark.parametrize("name", FIVE)
def test_sessions_never_give_one_number_twice(name):
    new = [
        statement.split("VALUES (", 1)[1].split(",")[0]
        for number in (1, 2)
        for statements in itertools.islice(LOADS[name].session(number, 1), 200)
        for statement in statements
        if statement.startswith(
            ("INSERT INTO orders", "INSERT INTO movement", "INSERT INTO event", "INSERT INTO reading", "INSERT INTO task")
        )
    ]
    assert len(new) > 20
    assert len(set(new)) == len(new)


def test_hot_rows_are_hot():
    items = [statements[0].rsplit("=", 1)[1] for statements in itertools.islice(LOADS["hot-rows"].session(1, 1), 1000)]
    assert sum(item in {"0", "1", "2", "3"} for item in items) > 850


def test_the_tables_of_sysbench_begin_with_as_many_rows_as_asked():
    load = loads_of(table_size=700)["sysbench-insert"]
    rows = [statement.count("),(") + 1 for statement in load.fill() if statement.startswith("INSERT INTO sbtest3 ")]
    assert (sum(rows), len(rows)) == (700, 2)
    assert sum(statement.startswith("CREATE INDEX") for statement in load.fill()) == 8


def test_a_transaction_of_sysbench_write_only_replaces_a_row_and_updates_two():
    statements = next(LOADS["sysbench-write-only"].session(1, 1))
    assert [statement.split()[0] for statement in statements] == ["UPDATE", "UPDATE", "DELETE", "INSERT"]
    gone, new = (re.search(r"(sbtest\d).*?(\d+)(?:$|,)", statement.replace("(id, k, c, pad) VALUES (", "")) for statement in statements[2:])
    assert gone
    assert new
    assert gone.groups() == new.groups()


def test_the_transactions_of_tpcc_come_in_the_shares_of_the_specification():
    kinds = [statements[0].split()[:2] for statements in itertools.islice(LOADS["tpcc"].session(1, 1), 3000)]
    payments = sum(kind == ["UPDATE", "warehouse"] for kind in kinds)
    new_orders = sum(kind == ["SELECT", "d_next_o_id"] for kind in kinds)
    assert 0.40 < payments / 3000 < 0.53
    assert 0.43 < new_orders / 3000 < 0.55
    assert 0.02 < 1 - (payments + new_orders) / 3000 < 0.07


def test_the_warehouses_of_tpcc_can_be_chosen():
    filled = list(loads_of(warehouses=3)["tpcc"].fill())
    assert sum(statement.startswith("INSERT INTO warehouse") for statement in filled) == 3
    only = loads_of(warehouses=1)["tpcc"].session(1, 1)
    assert all(re.search(r"_w_id=[^1]", statement) is None for statements in itertools.islice(only, 300) for statement in statements)


def test_a_load_that_there_is_not_is_said():
    with pytest.raises(ValueError, match="unknown load olpt: choose from oltp, hot-rows"):
        load_names("olpt,large")
    with pytest.raises(ValueError, match=r"unknown load \(none given\)"):
        load_names(" , ")


def test_groups_are_told_only_of_what_was_logged():
    assert SyncCounts(500, 250).as_json(1000)["group"] == 4.0
    assert SyncCounts(500, 7).as_json(1000)["group"] == 0.0


def test_the_plot_has_a_bar_for_each_replay_to_scale():
    replays = [{"name": "a & b | c", "per_second": 50}, {"name": "paraply, 8 workers", "per_second": 200}]
    plot = ET.fromstring(bars("MySQL <9>", [{"title": "large", "transactions": 1000, "replays": replays}]))
    widths = [float(bar.get("width", "")) for bar in plot.iter("{http://www.w3.org/2000/svg}rect")]
    assert widths == [100.0, 400.0]
    assert "a & b | c" in [text.text for text in plot.iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.parametrize(("kind", "mysql_takes_it"), [("MariaDB Corporation Ab", False), ("Oracle and/or its affiliates", True)])
def test_mariadbs_decoder_under_mysqls_name_is_no_peer_of_a_mysql(tmp_path, monkeypatch, kind, mysql_takes_it):
    for name in ("mysqlbinlog", "mysql", "mariadb-binlog", "mariadb"):
        command = tmp_path / name
        command.write_text(f"#!/bin/sh\necho 'mysqlbinlog Ver 3.5 for debian-linux-gnu'\n[ \"$2\" = --help ] && echo '{kind}'\n")
        command.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    mysql = BenchServer("mysql://app@127.0.0.1", "9.7.4", mariadb=False, may_reset=False)
    if mysql_takes_it:
        assert pipeline_for(mysql, None, None).decode == [str(tmp_path / "mysqlbinlog")]
    else:
        with pytest.raises(UsageError, match=f"{tmp_path}/mysqlbinlog is MariaDB's.*--decode.*--no-peer"):
            pipeline_for(mysql, None, None)
    assert pipeline_for(mysql, "lab binlog", None).decode == ["lab", "binlog"]
    mariadb = BenchServer("mariadb://app@127.0.0.1", "10.11.19-MariaDB", mariadb=True, may_reset=False)
    assert pipeline_for(mariadb, None, None).decode == [str(tmp_path / "mariadb-binlog")]
