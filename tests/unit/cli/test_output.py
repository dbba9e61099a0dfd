"""Width of a command's output, which is printed unchanged."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import pytest
from command_line import paraply
from unit.archive.archives import LOG, archive

from paraply.cli.terminal import output
from paraply.cli.terminal.output import PatientConsole
from paraply.logs.inputs.staging import Stage


def test_in_a_file_there_is_room_for_every_column(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert PatientConsole(file=io.StringIO()).width == 160


def test_columns_of_the_environment_and_a_given_width_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "70")
    assert PatientConsole(file=io.StringIO()).width == 70
    monkeypatch.delenv("COLUMNS")
    assert PatientConsole(file=io.StringIO(), width=50, height=20).width == 50


@pytest.mark.parametrize("shown", [output.console, output.stderr])
def test_a_tagged_gtid_is_printed_as_it_is(shown: PatientConsole) -> None:
    gtid = "6746adb1-e9c2-11f1-9106-02fc00000001:b:5"
    with shown.capture() as printed:
        shown.print(f"transaction {gtid}")
    assert printed.get() == f"transaction {gtid}\n"


@pytest.mark.parametrize("shown", [output.console, output.stderr])
def test_a_temporary_copy_of_a_log_is_shown_by_its_name(shown: PatientConsole) -> None:
    copies = Stage()
    copy = copies.made("archived", "binlog.000002", lambda place: place.write_bytes(b"") and None)
    with shown.capture() as printed:
        shown.print(f"stopped before 0-1-7 ({copy}:491)", soft_wrap=True)
    assert printed.get() == "stopped before 0-1-7 (binlog.000002:491)\n"


def test_a_temporary_copy_of_a_log_is_named_without_its_folder_in_json(tmp_path: Path) -> None:
    archive(tmp_path / "db1")
    done = paraply("analyze", tmp_path / "db1", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["transactions"]
    assert "paraply-logs-" not in done.stdout
    assert '"binlog.000001"' in done.stdout


def test_an_error_in_an_archived_log_names_the_log_without_its_folder(tmp_path: Path) -> None:
    log = tmp_path / "binlog.000001"
    log.write_bytes(LOG.read_bytes()[:-60] + bytes(60))
    packed = tmp_path / "binlog.000001.gz"
    packed.write_bytes(gzip.compress(log.read_bytes()))
    done = paraply("analyze", packed, "--json")
    assert done.returncode == 3, done.stderr
    assert json.loads(done.stdout)["error"]["file"] == "binlog.000001"
    assert "paraply-logs-" not in done.stdout + done.stderr
