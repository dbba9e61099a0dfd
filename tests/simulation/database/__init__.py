"""A model of a transactional database: rows, locks of rows and gaps, deadlocks, statement errors, and crashes.

It runs in a simulation, where only one thread runs between two steps, so it needs no lock of its own. A writer holds its locks until its
transaction ends, a cycle of waits costs one of its transactions, and a wait that takes too long ends the statement. It locks as MySQL,
MariaDB or PostgreSQL does at READ COMMITTED; ``tests/conformance`` compares it with these servers.
"""

from __future__ import annotations

from simulation.database.connection import Connection
from simulation.database.database import Database
from simulation.database.settings import Commit, Fault, LockName, Settings

__all__ = ["Commit", "Connection", "Database", "Fault", "LockName", "Settings"]
