"""Prepared statements of a connection to PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from paraply._native import RenderedStatement
from paraply.targets.postgres.connection import StatementFailed
from paraply.targets.postgres.errors import SqlError
from paraply.targets.postgres.rows.prepared import PreparedStatements


class Server:
    """Stands in for a connection and for the renderer; notes the statements."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.fails = False

    def run(self, statements: Sequence[bytes]) -> list[Any]:
        if self.fails:
            raise StatementFailed(0, SqlError("42P05", "is there already"))
        self.sent += statements
        return []

    def preparation(self, name: str) -> bytes:
        return f"PREPARE {name}".encode()


def uses(*names: str | None) -> list[RenderedStatement]:
    return [RenderedStatement(b"", 1, "d.t", name) for name in names]


def made(server: Server, most: int) -> PreparedStatements:
    return PreparedStatements(server, server, most=most)  # type: ignore[arg-type]


def test_a_statement_is_prepared_once() -> None:
    server = Server()
    prepared = made(server, 10)
    prepared.prepare(uses(None, "a", "b", "a"))
    prepared.prepare(uses("b", None))
    assert server.sent == [b"PREPARE a", b"PREPARE b"]


def test_what_was_not_used_for_the_longest_time_goes_first() -> None:
    server = Server()
    prepared = made(server, 2)
    prepared.prepare(uses("a"))
    prepared.prepare(uses("b"))
    prepared.prepare(uses("a"))
    server.sent.clear()
    prepared.prepare(uses("c"))
    assert server.sent == [b"DEALLOCATE b", b"PREPARE c"]
    prepared.prepare(uses("a", "c", "d"))
    assert server.sent[2:] == [b"PREPARE d"], "what a block needs stays, however many"


def test_after_an_error_everything_is_prepared_anew() -> None:
    server = Server()
    prepared = made(server, 10)
    prepared.prepare(uses("a"))
    server.fails = True
    with pytest.raises(StatementFailed):
        prepared.prepare(uses("b"))
    server.fails = False
    server.sent.clear()
    prepared.prepare(uses("a"))
    prepared.prepare(uses("b"))
    assert server.sent == [b"DEALLOCATE ALL", b"PREPARE a", b"PREPARE b"]
