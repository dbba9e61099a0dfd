"""Replay of replicated MySQL and MariaDB transactions in parallel, in the source's order, and never wrongly."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paraply import errors
from paraply.errors import ParaplyError

if TYPE_CHECKING:
    from paraply._native import Certified, Certifier, GtidSet, Selection, Transaction
    from paraply._version import __version__
    from paraply.analysis.rows import events, rows
    from paraply.analysis.trace import trace
    from paraply.applier import Applier, ApplyReport, CommitOrder
    from paraply.archive import Archiver, ArchiveReport
    from paraply.explain import ExplainedKey, Explanation, explain_transaction, explain_write_set
    from paraply.hashing import WriteSet, write_set, write_set_hash
    from paraply.logs import open_log
    from paraply.targets import make_target, open_target
else:
    from paraply._on_demand import names_on_demand

    __getattr__, __dir__ = names_on_demand(
        __name__,
        {
            "paraply._native": ("Certified", "Certifier", "GtidSet", "Selection", "Transaction"),
            "paraply._version": ("__version__",),
            "paraply.analysis.rows": ("events", "rows"),
            "paraply.analysis.trace": ("trace",),
            "paraply.applier": ("Applier", "ApplyReport", "CommitOrder"),
            "paraply.archive": ("ArchiveReport", "Archiver"),
            "paraply.explain": ("ExplainedKey", "Explanation", "explain_transaction", "explain_write_set"),
            "paraply.hashing": ("WriteSet", "write_set", "write_set_hash"),
            "paraply.logs": ("open_log",),
            "paraply.targets": ("make_target", "open_target"),
        },
        modules=("analysis", "applier", "archive", "explain", "hashing", "lake", "logs", "schema", "targets"),
    )

__all__ = [
    "Applier",
    "ApplyReport",
    "ArchiveReport",
    "Archiver",
    "Certified",
    "Certifier",
    "CommitOrder",
    "ExplainedKey",
    "Explanation",
    "GtidSet",
    "ParaplyError",
    "Selection",
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
