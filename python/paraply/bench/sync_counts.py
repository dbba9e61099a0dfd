"""Counters of a server during a replay: how often it forced its logs to disk, and for how many commits at once (WL#6813)."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from paraply.bench.server import BenchServer, text

__all__ = ["SyncCounts", "sync_counts"]

#: MariaDB 10.11 has no counter for InnoDB's log alone; checkpoints are the only other cause of syncs of its data files.
_MARIADB = "SELECT variable_name, variable_value FROM information_schema.global_status WHERE variable_name IN ('INNODB_DATA_FSYNCS', 'BINLOG_GROUP_COMMITS')"  # noqa: E501
_MYSQL = "SELECT 'INNODB_DATA_FSYNCS', variable_value FROM performance_schema.global_status WHERE variable_name='Innodb_os_log_fsyncs'"
#: Operations on a binary log's file other than reads and writes are syncs (seen with events_waits_history_long on 9.7).
_BINLOG_FILE = "SELECT 'BINLOG_GROUP_COMMITS', count_misc FROM performance_schema.file_summary_by_event_name WHERE event_name='wait/io/file/sql/binlog'"  # noqa: E501


@dataclass(frozen=True, slots=True)
class SyncCounts:
    """Counters of the server; those of a replay are a difference of two.

    Attributes:
        redo: Number of syncs of InnoDB's log; on MariaDB including the few of its data files.
        binlog: Number of syncs of the binary log; with ``sync_binlog=1`` one for each group of commits.
    """

    redo: int
    binlog: int

    def since(self, before: SyncCounts) -> SyncCounts:
        """Return the difference to an earlier moment.

        >>> SyncCounts(50, 20).since(SyncCounts(10, 5))
        SyncCounts(redo=40, binlog=15)
        """
        return SyncCounts(self.redo - before.redo, self.binlog - before.binlog)

    def as_json(self, transactions: int) -> dict[str, float | int]:
        """Return the fields for the results file; ``group`` is 0 if nothing was logged.

        >>> SyncCounts(40, 20).as_json(100)
        {'redo': 40, 'binlog': 20, 'redo_per_transaction': 0.4, 'binlog_per_transaction': 0.2, 'group': 5.0}
        """
        logged = self.binlog * 20 > transactions  # a few syncs belong to the replay's own tables and to DDL
        return asdict(self) | {
            "redo_per_transaction": round(self.redo / transactions, 3),
            "binlog_per_transaction": round(self.binlog / transactions, 3),
            "group": round(transactions / self.binlog, 1) if logged else 0.0,
        }


def sync_counts(server: object) -> SyncCounts:
    """Return the present counters; 0 for one that the server lacks, and for PostgreSQL."""
    if not isinstance(server, BenchServer):
        return SyncCounts(0, 0)
    found = server.query(_MARIADB) if server.mariadb else [*server.query(_MYSQL), *server.query(_BINLOG_FILE)]
    counts = {text(name).upper(): int(text(value)) for name, value in found}
    return SyncCounts(counts.get("INNODB_DATA_FSYNCS", 0), counts.get("BINLOG_GROUP_COMMITS", 0))
