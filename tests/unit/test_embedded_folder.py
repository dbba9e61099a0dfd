"""Folders in which the embedded PostgreSQL does not start are refused before anything is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from paraply.errors import UsageError
from paraply.targets.postgres.embedded import EmbeddedPostgres


@pytest.mark.parametrize("name", ["my data", "it's", 'a"b', "a$b", "a\\b", "50%", "a`b", "tab\tbed"])
def test_a_folder_that_the_server_does_not_take_is_named(tmp_path: Path, name: str) -> None:
    server = EmbeddedPostgres(tmp_path / name)
    with pytest.raises(UsageError, match="use a folder without blanks"):
        server.start()
    assert list(tmp_path.iterdir()) == []
