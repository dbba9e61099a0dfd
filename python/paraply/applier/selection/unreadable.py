"""The way on after a statement whose text cannot be read with certainty, for the commands that have ``--skip``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply.errors import LogNotUnderstood
from paraply.logs.statement_text import decode_logged

if TYPE_CHECKING:
    from paraply._native import Statement, Transaction

__all__ = ["decode_or_advise", "name_skip"]

_WITHOUT_GTID = "run it by hand, and begin with a later log on a new --channel, because without GTIDs no transaction can be left out"


def name_skip(error: LogNotUnderstood, transaction: Transaction) -> None:
    """Add the way on to the error of a statement whose text cannot be read.

    It is ``--skip`` and not ``--ddl-done``, which compares the target with what the text says.

    Args:
        error: The error.
        transaction: The statement's transaction.
    """
    error.gtid = transaction.gtid
    way_on = f"run it by hand, and start again with --skip {transaction.gtid}" if transaction.gtid else _WITHOUT_GTID
    error.message += f"; {way_on}"


def decode_or_advise(statement: Statement, transaction: Transaction) -> str:
    """Return the text of a statement of a transaction that is to be applied.

    Raises:
        LogNotUnderstood: It cannot be read; the message has the way on.
    """
    try:
        return decode_logged(statement, transaction)
    except LogNotUnderstood as error:
        name_skip(error, transaction)
        raise
