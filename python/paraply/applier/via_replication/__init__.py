"""Paraply as the source of a replica: the target's own applier applies and commits what paraply certified (``--via replication``).

One direction of data: the coordinator puts its jobs into the ``Outbox``, ``SourceServer`` sends them to the target's receiver with the
numbers that follow from their write sets, the target's workers apply them and commit in order inside of the server (WL#6813), and
``Watch`` learns from ``gtid_executed`` what is through.
"""
