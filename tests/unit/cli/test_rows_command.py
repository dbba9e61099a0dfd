"""``paraply rows``: the row changes of a log in all its forms."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from command_line import paraply, run_json

from paraply import open_log

LOGS = Path(__file__).parents[3] / "rust" / "binlog" / "tests" / "data"
LOG = Path(__file__).parents[2] / "data" / "xa-group.relay"
GTID = "aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa:4"


def lines(*arguments: str) -> list[str]:
    """Return the standard output of the command on the log."""
    ended = paraply("rows", str(LOG), *arguments)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.splitlines()


def test_a_json_line_has_the_fields_of_the_contract() -> None:
    first = json.loads(lines("--format", "jsonl")[0])
    assert first == {
        "gtid": GTID, "committed_at": "2026-11-22T06:12:51.130231Z", "database": "shop", "table": "t", "operation": "insert",
        "key": {"id": "1"}, "before": None, "after": {"id": "1", "v": "a"},
    }  # fmt: skip


def test_text_names_the_transaction_once_and_fits_a_terminal() -> None:
    shown = lines("--transactions", GTID)
    assert shown[1] == GTID
    assert shown.count(GTID) == 1
    assert "  insert shop.t  id=1" in shown
    assert max(map(len, shown)) <= 80


@pytest.mark.parametrize("options", [[], ["--since", "2026-11-22T06:12:51.2Z"], ["--gtid", f"{GTID}-5"]])
def test_text_names_the_position_at_which_the_transaction_begins(options: list[str]) -> None:
    begins = {transaction.gtid: f"{LOG.name}:{transaction.offset}" for transaction in open_log(LOG)}
    shown = lines("--full", *options)
    heads = {gtid: head.split()[-1] for head, gtid in pairwise(shown) if gtid in begins}
    assert heads
    assert heads.items() <= begins.items()


def test_text_of_a_damaged_log_ends_where_its_rows_end(tmp_path: Path) -> None:
    log = tmp_path / "binlog.000001"
    whole = (LOGS / "mysql-9.7.000001").read_bytes()
    log.write_bytes(whole[:3100] + bytes(8) + whole[3108:])
    ended = paraply("rows", log)
    assert ended.returncode == 3
    assert "binlog.000001:754" in ended.stdout


@pytest.mark.parametrize(
    ("options", "count"),
    [
        (["--gtid", f"{GTID}-5"], 5),
        (["--gtid", GTID, "--key", "id=2"], 1),
        (["--gtid", f"{GTID}-5", "--table", "shop.u"], 1),
        (["--database", "other"], 0),
        (["--since", "2026-11-22T06:12:51.130231Z", "--until", "2026-11-22T06:12:51.130232Z"], 3),
    ],
)
def test_filters_hold_together(options: list[str], count: int) -> None:
    assert len(lines("--format", "jsonl", *options)) == count


def test_csv_has_a_header_and_json_images() -> None:
    rows = list(csv.DictReader(lines("--format", "csv", "--gtid", GTID)))
    assert [json.loads(row["after"]) for row in rows] == [{"id": str(n), "v": v} for n, v in [(1, "a"), (2, "b"), (3, "c")]]


def test_sql_says_which_row_it_must_find() -> None:
    text = "\n".join(lines("--format", "sql", "--gtid", GTID))
    assert "INSERT INTO `shop`.`t` (`id`, `v`) VALUES\n  (1, 'a'),\n  (2, 'b'),\n  (3, 'c'); -- 3 rows\nCOMMIT;" in text


def test_parquet_holds_the_same_rows(tmp_path: Path) -> None:
    out = tmp_path / "rows.parquet"
    result = run_json("rows", str(LOG), "-o", str(out), "--gtid", GTID, "--key", "id=3")
    assert result.report["rows"] == 1
    assert pq.read_table(out).column("after").to_pylist() == [[("id", "3"), ("v", "c")]]


def test_the_form_is_that_of_the_files_name(tmp_path: Path) -> None:
    for ending, begin in ((".jsonl", "{"), (".csv", "gtid,"), (".sql", "SET NAMES"), (".txt", "20")):
        out = tmp_path / f"rows{ending}"
        assert run_json("rows", str(LOG), "-o", str(out), "--gtid", GTID).report["rows"] == 3
        assert out.read_text(encoding="utf-8").lstrip("\n").startswith(begin), ending
    assert lines("-o", "-", "--format", "jsonl", "--gtid", GTID)[0].startswith("{")
    refused = run_json("rows", str(LOG), "-o", str(tmp_path / "rows.parquet"), "--format", "csv")
    assert (refused.code, refused.report["error"]["class"]) == (2, "UsageError")


def test_conditions_that_nothing_meets_are_told() -> None:
    ended = paraply("rows", str(LOG), "--table", "shop.nothing", "--key", "id=1")
    assert (ended.returncode, ended.stdout) == (0, "")
    assert "no row change of these logs meets the conditions" in ended.stderr
    assert "no table of these logs: shop.nothing" in ended.stderr
    assert paraply("rows", str(LOG), "--table", "shop.t", "--key", "id=1").stderr == ""


def test_a_column_that_no_table_has_is_told() -> None:
    errors = paraply("rows", str(LOG), "--key", "Nonsense=1").stderr
    assert "no table of these logs has a column Nonsense" in errors
    assert "no table of these logs has a column" not in paraply("rows", str(LOG), "--key", "id=4711").stderr


@pytest.mark.parametrize("reader", ["head -1", "true"])
@pytest.mark.parametrize("form", ["text", "jsonl", "csv", "sql"])
def test_a_reader_that_ends_early_is_no_error(reader: str, form: str) -> None:
    shell = f"{sys.executable} -m paraply rows {LOG} --format {form} | {reader}"
    ended = subprocess.run(["bash", "-o", "pipefail", "-c", shell], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_reader_that_ends_early_is_not_told_that_nothing_was_found() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-u", "-m", "paraply", "rows", str(LOG), "--table", "shop.t", "--key", "id=1"]
    ended = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_json_needs_a_file_for_the_rows() -> None:
    result = run_json("rows", str(LOG))
    assert result.code == 2
    assert "-o FILE" in result.error["message"]
