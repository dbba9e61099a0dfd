"""The family of PostgreSQL, for the client of the floor."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from paraply.targets.postgres.connection import PgConnection, StatementFailed
from paraply.targets.postgres.errors import failure
from paraply.targets.postgres.target import PostgresTarget
from paraply.targets.protocol import ApplyPlan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from psycopg.pq.abc import PGresult

    from paraply._native import Block
    from paraply.bench.floor.family import FloorConnection
    from paraply.bench.floor.recording import Tape
    from paraply.targets.protocol import Target

__all__ = ["PostgresFamily"]

_PG_BEGIN = b"BEGIN ISOLATION"
_PG_OWN = re.compile(rb"\A(SELECT pg_advisory_xact_lock_shared|(UPDATE|INSERT INTO|DELETE FROM) paraply\.|PREPARE |DEALLOCATE )")
_PG_NAMED = re.compile(rb"\A(?:PREPARE|EXECUTE) ([A-Za-z0-9_]+)")


class PostgresFamily:
    """PostgreSQL.

    Args:
        uri: URI of the database.
        mariadb: True if the log is of a MariaDB.
    """

    def __init__(self, uri: str, *, mariadb: bool) -> None:
        self._uri = uri
        self._prepared: dict[bytes, bytes] = {}
        self.plan = ApplyPlan("floor", "floor", 1, mariadb=mariadb)

    def target(self, tape: Tape | None = None) -> Target:
        """Return the target."""
        if tape is None:
            return PostgresTarget(self._uri)
        return PostgresTarget(self._uri, connector=lambda *args, **named: _TapedPg(tape, *args, **named))

    def connect(self, target: Target) -> FloorConnection:
        """Return a connection with the settings of a session."""
        del target
        return _PgFloorConnection(PgConnection(self._uri, name="paraply floor"))

    def needs(self, block: Block, sent: list[list[bytes]]) -> tuple[bytes, ...]:
        """Return the preparations of the statements that a block executes."""
        del block
        names = dict.fromkeys(
            found[1] for statements in sent for text in statements if text.startswith(b"EXECUTE ") and (found := _PG_NAMED.match(text))
        )
        for text in (text for statements in sent for text in statements if text.startswith(b"PREPARE ")):
            if found := _PG_NAMED.match(text):
                self._prepared[found[1]] = text
        return tuple(self._prepared[name] for name in names)

    def begins(self, statements: list[bytes]) -> bool:
        """Return True if a text begins the transaction of a block with rows."""
        return statements[0].startswith(_PG_BEGIN)

    def rows(self, statements: list[bytes]) -> bytes:
        """Return a text of a transaction with rows, without the progress; empty if nothing is left."""
        left = [text for text in statements if not _PG_OWN.match(text)]
        return b"" if len(left) == 1 and left[0].startswith(_PG_BEGIN) else b";".join(left)

    def statement(self, statements: list[bytes]) -> bytes:
        """Return a text of a DDL, without the progress."""
        return b";".join(text for text in statements if not _PG_OWN.match(text))


class _TapedPg(PgConnection):
    """A connection to PostgreSQL that records its statements."""

    def __init__(self, tape: Tape, *args: Any, **named: Any) -> None:
        self._tape = tape
        super().__init__(*args, **named)

    def run(self, statements: Sequence[bytes]) -> list[PGresult]:
        """Record and run statements."""
        self._tape.note(list(statements))
        return super().run(statements)


class _PgFloorConnection:
    def __init__(self, connection: PgConnection) -> None:
        self._connection = connection

    def send(self, text: bytes) -> None:
        try:
            self._connection.run([text])
        except StatementFailed as failed:
            raise failure(failed.error) from failed

    def close(self) -> None:
        self._connection.close()
