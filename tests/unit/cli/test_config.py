"""``--config``: a file's keys are a command's options, the command line has precedence, and mistakes are named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from command_line import DATA, paraply, run_json

from paraply.cli.app import app
from paraply.cli.service.config import CONFIGURED, keys_of, options_in

GROUP: Any = typer.main.get_command(app)
CONTEXT = GROUP.context_class(GROUP)
COMMANDS = {name: keys_of(GROUP.get_command(CONTEXT, name)) for name in CONFIGURED}


def written(folder: Path, text: str, mode: int = 0o600) -> Path:
    path = folder / "paraply.toml"
    path.write_text(text)
    path.chmod(mode)
    return path


def test_shared_keys_are_for_every_command_that_has_them_and_a_table_has_precedence(tmp_path: Path) -> None:
    text = 'to = "mysql://db"\nworkers = 4\n[apply]\nworkers = 2\nlog = ["a", "b"]\ndry-run = true\n[status]\nmax-lag = 1.5\n'
    found = options_in(written(tmp_path, text), COMMANDS)
    assert found["apply"] == {"to": "mysql://db", "workers": "2", "log": ["a", "b"], "dry_run": True}
    assert found["replicate"] == {"to": "mysql://db", "workers": "4"}
    assert found["status"] == {"to": "mysql://db", "max_lag": "1.5"}


def test_every_option_of_every_command_can_be_in_the_file(tmp_path: Path) -> None:
    for name, keys in COMMANDS.items():
        values = {key: json.dumps(bool(getattr(parameter, "is_flag", False)) or "1") for key, parameter in keys.items()}
        text = f"[{name}]\n" + "".join(f"{key} = {value}\n" for key, value in values.items())
        assert set(options_in(written(tmp_path, text), COMMANDS)[name]) == {parameter.name for parameter in keys.values()}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("wokers = 4", "a command has no option wokers; the nearest is workers"),
        ("[apply]\nstart_after = 'x'", "paraply apply has no option start_after; the nearest is start-after"),
        ("[aply]\nworkers = 4", r"\[aply\] is no table for a command; the nearest is apply"),
        ("[apply]\ndry-run = 1", "dry-run is true or false, not 1"),
        ("[apply]\nworkers = [1, 2]", r"workers is one text or number, not \[1, 2\]"),
        ("[apply]\nworkers = true", "workers is one text or number, not True"),
        ("[apply]\nconfig = 'other.toml'", "paraply apply has no option config"),
        ("workers = ", "Invalid value"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        options_in(written(tmp_path, text), COMMANDS)


def test_a_password_needs_a_file_that_not_everybody_may_read(tmp_path: Path) -> None:
    text = 'to = "mysql://app:secret@db"\n'
    assert options_in(written(tmp_path, text), COMMANDS)["apply"]["to"] == "mysql://app:secret@db"
    with pytest.raises(ValueError, match="chmod 600") as failed:
        options_in(written(tmp_path, text, 0o644), COMMANDS)
    assert "secret" not in str(failed.value)
    assert options_in(written(tmp_path, 'to = "mysql://app@db"\n', 0o644), COMMANDS)["apply"]["to"] == "mysql://app@db"


def test_the_command_line_has_precedence(tmp_path: Path) -> None:
    config = written(tmp_path, 'max-rate = 0\n[apply]\nlog = "/no/such/log"\n')
    assert "/no/such/log" in run_json("apply", "--config", config).line
    assert "/no/such/other" in run_json("apply", "/no/such/other", "--config", config).line
    log = next(iter(sorted(DATA.glob("*.binlog"))))
    assert "--max-rate 0" in run_json("apply", log, "--config", config, "--to", "mysql://127.0.0.1:1").line
    assert "--max-rate -5" in run_json("apply", log, "--config", config, "--to", "mysql://127.0.0.1:1", "--max-rate", "-5").line


def test_a_wrong_file_and_a_wrong_value_are_usage_errors_that_name_the_file(tmp_path: Path) -> None:
    config = written(tmp_path, "[apply]\nworkers = 5000\nlog = 'x'\n")
    outcome = run_json("apply", "--config", config)
    assert outcome.code == 2
    assert str(config) in outcome.line
    assert "--workers" in outcome.line
    outcome = run_json("status", "--config", tmp_path / "missing.toml")
    assert (outcome.code, outcome.error["class"]) == (2, "UsageError")
    assert "missing.toml" in outcome.line


def test_a_required_option_may_be_in_the_file(tmp_path: Path) -> None:
    config = written(tmp_path, '[replicate]\nfrom = "postgresql://db"\n')
    assert "a PostgreSQL has no binlog" in run_json("replicate", "--config", config, "--relay-log", tmp_path / "relay").line
    assert paraply("replicate", "--relay-log", str(tmp_path / "relay")).returncode == 2
