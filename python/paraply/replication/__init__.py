"""Live replication: a relay log, the receiver that fills it, and the apply from it (R28 to R30)."""

from __future__ import annotations

from paraply._native import RelayLog, RelayStatus, relay_event, relay_format
from paraply.replication.options import ReplicationOptions
from paraply.replication.receiver import Receiver
from paraply.replication.reception import Reception, ReceptionOptions
from paraply.replication.replication import Replication
from paraply.replication.source import Source, parse_source
from paraply.replication.until import parse_until

__all__ = [
    "Receiver",
    "Reception",
    "ReceptionOptions",
    "RelayLog",
    "RelayStatus",
    "Replication",
    "ReplicationOptions",
    "Source",
    "parse_source",
    "parse_until",
    "relay_event",
    "relay_format",
]
