"""``paraply doctor`` of a replication: logs that the source has purged, and the GTID mode that ``replicate`` takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from command_line import paraply, run_json
from server.archive.test_archive import is_mariadb, purge, server_of

pytestmark = pytest.mark.mysql


def found(source: Any, target: Any, subject: str) -> dict[str, str] | None:
    """Return the finding about the target, or None."""
    findings = run_json("doctor", "--from", source.url, "--to", target.url).report["findings"]
    return next((one for one in findings if (one["where"], one["subject"]) == ("target", subject)), None)


@pytest.mark.by_turns
@pytest.mark.parametrize("kind", ["mysql", "10.11"])
def test_logs_that_the_target_lacks_are_found(kind: str, tmp_path: Path) -> None:
    with server_of(kind) as source, server_of(kind, "--server-id=42") as target:
        mariadb = is_mariadb(source)
        if mariadb:
            target.sql("RESET MASTER")

        def replicate() -> int:
            newest = str(source.sql(f"SELECT @@GLOBAL.{'gtid_binlog_pos' if mariadb else 'gtid_executed'}")[0][0])
            last = newest if mariadb else f"{newest.partition(':')[0]}:{newest.rpartition('-')[2]}"
            arguments = ("--from", source.url, "--to", target.url, "--relay-log", tmp_path / "relay", "--until", last)
            return paraply("replicate", *arguments).returncode

        mode = found(source, target, "privileges")
        assert mode is not None
        assert "--gtid preserve, which replicate takes here" in mode["text"]
        source.sql("CREATE DATABASE shop", "CREATE TABLE shop.t (id INT PRIMARY KEY)")
        assert found(source, target, "purged logs") is None
        assert replicate() == 0
        source.sql("FLUSH BINARY LOGS")
        purge(source)
        held = found(source, target, "purged logs")
        assert held is not None
        assert held["level"] == "good"
        source.sql("INSERT INTO shop.t VALUES (1)", "FLUSH BINARY LOGS")
        purge(source)
        lacking = found(source, target, "purged logs")
        assert lacking is not None
        assert (lacking["level"], lacking["text"].endswith("0-41-3" if mariadb else ":3")) == ("error", True), lacking
        assert lacking["mend"].startswith("$ paraply apply ARCHIVE --to TARGET --gtid preserve")
        assert replicate() == 1

    with server_of(kind) as source, server_of(kind, "--server-id=42") as target:
        source.sql("CREATE DATABASE shop", "FLUSH BINARY LOGS")
        purge(source)
        if mariadb:
            target.sql("RESET MASTER")
        empty = found(source, target, "purged logs")
        assert empty is not None
        assert (empty["level"], "--start-after" in empty["text"]) == ("warning", True)
