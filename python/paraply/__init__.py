"""Replays replicated MySQL and MariaDB transactions in parallel, in the source's order, and never wrongly."""

from __future__ import annotations

from paraply import errors
from paraply._native import Certified, Certifier, GtidSet, Transaction
from paraply._version import version
from paraply.analysis.rows import events, rows
from paraply.analysis.trace import trace
from paraply.applier import Applier, ApplyReport, CommitOrder
from paraply.errors import ParaplyError
from paraply.explain import ExplainedKey, Explanation, explain_transaction, explain_write_set
from paraply.hashing import WriteSet, write_set, write_set_hash
from paraply.source import open_log
from paraply.target import make_target, open_target

__version__ = version()

__all__ = [
    "Applier",
    "ApplyReport",
    "Certified",
    "Certifier",
    "CommitOrder",
    "ExplainedKey",
    "Explanation",
    "GtidSet",
    "ParaplyError",
    "Transaction",
    "WriteSet",
    "__version__",
    "errors",
    "events",
    "explain_transaction",
    "explain_write_set",
    "make_target",
    "open_log",
    "open_target",
    "rows",
    "trace",
    "write_set",
    "write_set_hash",
]
