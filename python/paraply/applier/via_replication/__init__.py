"""Replay through the target's own replication (``--via replication``): paraply is the source of a replica.

Data flows in one direction. The coordinator puts its jobs into the ``Outbox``. ``SourceServer`` sends them to the target's receiver with
numbers computed from their write sets. The target's workers apply them and commit in order inside the server (WL#6813). ``Watch`` reads
``gtid_executed`` to learn which are committed.
"""
